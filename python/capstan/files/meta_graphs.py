"""A graph in files: graph.pbtxt, and the .meta beside a checkpoint with all that training needs."""

import os

from capstan import _capstan
from capstan.core import graph as graphs
from capstan.core import protos
from capstan.core.public import public
from capstan.ops.variables import Variable
from capstan.platform import about, gfile, logs


@public("train.write_graph")
def write_graph(graph_or_graph_def, logdir, name, as_text=True):
    """The graph as a file of text or bytes; returns its path."""
    given = graph_or_graph_def
    in_graph = isinstance(given, graphs.Graph)
    content = given._graph_def(0, False) if in_graph else given.SerializeToString()
    return _write_graph(content, logdir, name, as_text)


def write_graph_with_shapes(graph, logdir, name):
    """As supervisors and the checkpoint hook write it."""
    return _write_graph(graph._graph_def(0, True), logdir, name, True)


def _write_graph(content, logdir, name, as_text):
    gfile.MakeDirs(logdir)
    path = os.path.join(logdir, name)
    (_capstan.write_graph_text if as_text else _capstan.write_file)(path, content)
    return path


# Collections that hold variables as messages; in others they stand by name, as tensors do.
VARIABLES = (
    "variables",
    "trainable_variables",
    "local_variables",
    "model_variables",
    "moving_average_variables",
    "metric_variables",
    "global_step",
)


def _element_name(item):
    if hasattr(item, "_as_graph_element"):
        item = item._as_graph_element()
    return getattr(item, "name", None) if hasattr(item, "graph") else None


def _collection(key, items):
    """(kind, values) of a collection as meta_graph() takes it; None for other objects."""
    if key in VARIABLES and all(isinstance(item, Variable) for item in items):
        return "bytes", [_capstan.variable_def(item, item.trainable) for item in items]
    if all(hasattr(item, "to_proto") for item in items):
        return "bytes", [item.to_proto().SerializeToString() for item in items]
    if all(isinstance(item, (str, bytes)) for item in items):
        return "bytes", [item.encode() if isinstance(item, str) else item for item in items]
    if all(isinstance(item, int) for item in items):
        return "int", items
    if all(isinstance(item, float) for item in items):
        return "float", items
    names = [_element_name(item) for item in items]
    return ("node", names) if all(names) else None


def meta_graph_bytes(graph, saver_def=None, collection_list=None):
    """A serialized MetaGraphDef."""
    collections = {}
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        items = graph.get_collection(key)
        packed = _collection(key, items) if items else None
        if packed:
            collections[key] = packed
        elif items:
            logs.debug(
                "the collection %s is not written: it holds %s", key, type(items[0]).__name__
            )
    saver = None if saver_def is None else saver_def.SerializeToString()
    return _capstan.meta_graph(graph, saver, collections, about.__version__, about.__git_version__)


@public(
    "train.export_meta_graph",
    differs="whole graphs only: no `meta_info_def`, `graph_def`, `export_scope` or `clear_extraneous_savers`",
)
def export_meta_graph(
    filename=None,
    meta_info_def=None,
    graph_def=None,
    saver_def=None,
    collection_list=None,
    as_text=False,
    graph=None,
    export_scope=None,
    clear_devices=False,
    clear_extraneous_savers=False,
    strip_default_attrs=False,
    save_debug_info=False,
):
    """The default graph, or the one given, as a MetaGraphDef; written where a name is given."""
    refused = dict(
        meta_info_def=meta_info_def,
        graph_def=graph_def,
        export_scope=export_scope,
        clear_extraneous_savers=clear_extraneous_savers,
    )
    for name, value in refused.items():
        if value:
            raise NotImplementedError(
                "export_meta_graph(%s=...): only whole graphs are written, as they are" % name
            )
    graph = graph or graphs.get_default_graph()
    content = meta_graph_bytes(graph, saver_def, collection_list)
    meta = protos.MetaGraphDef.FromString(content)
    if clear_devices:
        for node in meta.graph_def.node:
            node.device = ""
        content = meta.SerializeToString()
    if filename:
        gfile.MakeDirs(os.path.dirname(filename))
        _capstan.write_file(filename, str(meta).encode() if as_text else content)
    return meta
