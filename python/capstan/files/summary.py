"""tf.summary: ops that make summaries, and the writer of event files. The 0.x spellings too."""

import atexit
import os
import threading
import time
import warnings
import weakref

from capstan import _capstan
from capstan.core import convert, protos
from capstan.core import graph as graphs
from capstan.core.apply import apply_op
from capstan.core.graph import GraphKeys
from capstan.core.public import public
from capstan.files.meta_graphs import meta_graph_bytes


def _collected(summary, collections, default=(GraphKeys.SUMMARIES,)):
    graphs.add_to_collections(default if collections is None else collections, summary)
    return summary


def _in_family(op, tag_input, name, family, **inputs):
    """The node under "family/name", tagged so that its family is shown first."""
    with graphs.name_scope("%s/%s" % (family, name), values=list(inputs.values())) as scope:
        tag = "%s/%s" % (family, scope.rstrip("/"))
        return apply_op(op, name=scope, **{tag_input: tag}, **inputs)


@public("summary.scalar")
def scalar(name, tensor, collections=None, family=None):
    tensor = convert.convert_to_tensor(tensor)
    if family:
        return _collected(
            _in_family("ScalarSummary", "tags", name, family, values=tensor), collections
        )
    return _collected(_capstan.scalar_summary(tensor.graph, name, tensor), collections)


@public("summary.histogram")
def histogram(name, values, collections=None, family=None):
    values = convert.convert_to_tensor(values)
    if family:
        return _collected(
            _in_family("HistogramSummary", "tag", name, family, values=values), collections
        )
    return _collected(_capstan.histogram_summary(values.graph, name, values), collections)


@public("summary.image")
def image(name, tensor, max_outputs=3, collections=None, family=None):
    if family:
        made = _in_family(
            "ImageSummary", "tag", name, family, tensor=tensor, max_images=max_outputs
        )
        return _collected(made, collections)
    with graphs.name_scope(name, values=[tensor]) as scope:
        made = apply_op(
            "ImageSummary", tag=scope.rstrip("/"), tensor=tensor, max_images=max_outputs, name=scope
        )
    return _collected(made, collections)


@public("summary.merge")
def merge(inputs, collections=None, name=None):
    """One summary with the values of all."""
    inputs = [convert.convert_to_tensor(summary) for summary in inputs]
    if name is None:
        merged = _capstan.merge_summaries(inputs[0].graph, inputs, "Merge")
    else:
        with graphs.name_scope(name, values=inputs):
            merged = apply_op("MergeSummary", inputs=inputs, name=name)
    return _collected(merged, collections, ())


@public("summary.merge_all")
def merge_all(key=GraphKeys.SUMMARIES, scope=None, name=None):
    """All collected summaries as one, or None when there are none."""
    summaries = graphs.get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None


# --- 0.x ------------------------------------------------------------------------------------------


def _tagged(op, tag_input, build, tags, values, collections, name):
    values = convert.convert_to_tensor(values)
    if name is None and isinstance(tags, (str, bytes)):
        tags = tags.decode() if isinstance(tags, bytes) else tags
        return _collected(build(values.graph, tags, values), collections)
    return _collected(apply_op(op, name=name, values=values, **{tag_input: tags}), collections)


@public("scalar_summary")
def scalar_summary(tags, values, collections=None, name=None):
    return _tagged(
        "ScalarSummary", "tags", _capstan.scalar_summary_tagged, tags, values, collections, name
    )


@public("histogram_summary")
def histogram_summary(tag, values, collections=None, name=None):
    return _tagged(
        "HistogramSummary", "tag", _capstan.histogram_summary_tagged, tag, values, collections, name
    )


@public("image_summary")
def image_summary(tag, tensor, max_images=3, collections=None, name=None):
    made = apply_op("ImageSummary", tag=tag, tensor=tensor, max_images=max_images, name=name)
    return _collected(made, collections)


@public("merge_summary")
def merge_summary(inputs, collections=None, name=None):
    return merge(inputs, collections, name)


@public("merge_all_summaries")
def merge_all_summaries(key=GraphKeys.SUMMARIES):
    return merge_all(key)


# --- Event files ----------------------------------------------------------------------------------


_writers = weakref.WeakSet()


@atexit.register
def _flush_all():
    """Programs often end without closing their writers."""
    for writer in list(_writers):
        writer.close()


@public("train.SummaryWriter", "summary.FileWriter", "python.training.summary_io.SummaryWriter")
class FileWriter:
    """Appends events to a file of its own in `logdir`, which TensorBoard reads."""

    def __init__(
        self,
        logdir,
        graph=None,
        max_queue=10,
        flush_secs=120,
        graph_def=None,
        filename_suffix=None,
        session=None,
    ):
        self._logdir = os.fspath(logdir)
        self._options = (filename_suffix or "", max_queue, float(flush_secs))
        self._closed = True
        self._run_tags, self._seen_tags = set(), set()
        self.reopen()
        _writers.add(self)
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)
        if isinstance(graph, graphs.Graph):
            self._add_meta_graph(meta_graph_bytes(graph), None)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def get_logdir(self):
        return self._logdir

    def reopen(self):
        """A closed writer goes on in a new file."""
        if self._closed:
            suffix, max_queue, flush_secs = self._options
            self._events = _capstan.EventWriter(self._logdir, suffix, max_queue, flush_secs)
            self._closed = False

    def _open(self):
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the "
                "FileWriter is explicitly reopened.",
                stacklevel=3,
            )
        return not self._closed

    def add_event(self, event):
        if self._open():
            self._events.add_event(event.SerializeToString())

    def _add(self, step, **what):
        event = protos.Event(wall_time=time.time(), **what)
        if step is not None:
            event.step = int(step)
        self.add_event(event)

    def add_summary(self, summary, global_step=None):
        """`summary`: a Summary, or its bytes as a summary op makes them."""
        if protos.is_message(summary, "Summary"):
            summary = self._without_known_metadata(summary).SerializeToString()
        elif hasattr(summary, "item"):
            summary = summary.item()
        if not isinstance(summary, bytes):
            raise TypeError(
                "a summary is a tf.Summary or what a summary op gives, not %r" % (summary,)
            )
        if self._open():
            self._events.add_summary(summary, 0 if global_step is None else int(global_step))

    def _without_known_metadata(self, summary):
        """A tag's metadata is written once."""
        for value in summary.value:
            if value.HasField("metadata"):
                if value.tag in self._seen_tags:
                    value.ClearField("metadata")
                self._seen_tags.add(value.tag)
        return summary

    def add_session_log(self, session_log, global_step=None):
        self._add(global_step, session_log=session_log)

    def add_graph(self, graph, global_step=None, graph_def=None):
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        given = graph_def if graph is None else graph
        if isinstance(given, graphs.Graph):
            content = given._graph_def(0, True)
        elif protos.is_message(given, "GraphDef"):
            content = given.SerializeToString()
        else:
            raise TypeError(
                "The passed graph must be an instance of `Graph` or the deprecated `GraphDef`"
            )
        self._add(global_step, graph_def=content)

    def add_meta_graph(self, meta_graph_def, global_step=None):
        self._add_meta_graph(meta_graph_def.SerializeToString(), global_step)

    def _add_meta_graph(self, content, global_step):
        self._add(global_step, meta_graph_def=content)

    def add_run_metadata(self, run_metadata, tag, global_step=None):
        if tag in self._run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._run_tags.add(tag)
        tagged = protos.TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add(global_step, tagged_run_metadata=tagged)

    def flush(self):
        if self._open():
            self._events.flush()

    def close(self):
        if not self._closed:
            self._closed = True
            self._events.close()


@public("summary.FileWriterCache", "python.training.summary_io.SummaryWriterCache")
class FileWriterCache:
    """One writer per folder, shared by all hooks."""

    _cache = {}
    _lock = threading.RLock()

    @staticmethod
    def get(logdir):
        with FileWriterCache._lock:
            if logdir not in FileWriterCache._cache:
                FileWriterCache._cache[logdir] = FileWriter(
                    logdir, graph=graphs.get_default_graph()
                )
            return FileWriterCache._cache[logdir]

    @staticmethod
    def clear():
        with FileWriterCache._lock:
            for writer in FileWriterCache._cache.values():
                writer.close()
            FileWriterCache._cache.clear()


@public("train.summary_iterator")
def summary_iterator(path):
    """The events of a file."""
    reader = _capstan.EventReader(os.fspath(path))
    content = reader.next()
    while content is not None:
        yield protos.Event.FromString(content)
        content = reader.next()
