"""A graph in files: graph.pbtxt, and the .meta beside a checkpoint with all that training needs."""

import os

from capstan import _capstan, about, gfile, logs, protos
from capstan import graph as graphs
from capstan.importer import mapped_inputs
from capstan.messages import Message
from capstan.queue_runner import QueueRunner, QueueRunnerDef
from capstan.variables import Variable


class CollectionDef(Message):
    class NodeList(Message):
        FIELDS = "1 repeated string value"

    class BytesList(Message):
        FIELDS = "1 repeated bytes value"

    class Int64List(Message):
        FIELDS = "1 repeated int64 value"

    class FloatList(Message):
        FIELDS = "1 repeated float value"

    FIELDS = """
        oneof kind
        1 NodeList node_list
        2 BytesList bytes_list
        3 Int64List int64_list
        4 FloatList float_list
        end
    """


class MetaGraphDef(Message):
    class MetaInfoDef(Message):
        FIELDS = """
            1 string meta_graph_version
            4 repeated string tags
            5 string tensorflow_version
            6 string tensorflow_git_version
        """

    FIELDS = """
        1 MetaInfoDef meta_info_def
        2 GraphDef graph_def
        3 SaverDef saver_def
        4 map<string,CollectionDef> collection_def
    """


# Where a message field of this module looks for its class.
GraphDef, SaverDef = protos.GraphDef, protos.SaverDef


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
_VARIABLES = (
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
    if key in _VARIABLES and all(isinstance(item, Variable) for item in items):
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
    meta = MetaGraphDef.FromString(content)
    if clear_devices:
        for node in meta.graph_def.node:
            node.device = ""
        content = meta.SerializeToString()
    if filename:
        gfile.MakeDirs(os.path.dirname(filename))
        _capstan.write_file(filename, str(meta).encode() if as_text else content)
    return meta


def import_meta_graph(
    meta_graph_or_file,
    clear_devices=False,
    import_scope=None,
    input_map=None,
    restore_collections_predicate=None,
):
    """Adds a written graph to the default one, with its collections. Returns its saver, or None."""
    from capstan.saver import Saver

    if isinstance(meta_graph_or_file, Message):
        content = meta_graph_or_file.SerializeToString()
    else:
        with open(meta_graph_or_file, "rb") as file:
            content = file.read()
    graph_def, saver_def, collections = _capstan.parse_meta_graph(content)
    graph = graphs.get_default_graph()
    if clear_devices:
        graph_def = _without_devices(graph_def)
    graph._import_graph_def(graph_def, import_scope or "", mapped_inputs(input_map))
    known = {}
    for key in sorted(filter(restore_collections_predicate, collections)):
        for item in _imported(graph, key, *collections[key], import_scope, known):
            graph.add_to_collection(key, item)
    if saver_def is not None:
        return Saver(saver_def=protos.SaverDef.FromString(saver_def), name=import_scope)
    return None


def _without_devices(graph_def):
    graph_def = protos.GraphDef.FromString(graph_def)
    for node in graph_def.node:
        node.device = ""
    return graph_def.SerializeToString()


def _imported(graph, key, kind, values, scope, known):
    def element(name):
        return graph.as_graph_element(graphs.prepend_name_scope(name, scope))

    if kind == "node":
        return [element(name) for name in values]
    if key in _VARIABLES:
        return [_variable(value, element, known) for value in values]
    if key == "queue_runners":
        return [QueueRunner.from_proto(QueueRunnerDef.FromString(value), scope) for value in values]
    if kind == "bytes":
        from capstan.saver import Saver

        return [
            Saver.from_proto(protos.SaverDef.FromString(v), scope) if key == "savers" else v
            for v in values
        ]
    return values


def _variable(content, element, known):
    """One object per variable, however many collections it is in."""
    name, snapshot, initial, initializer, trainable = _capstan.parse_variable_def(content)
    if name not in known:
        read = element(snapshot or name)
        parts = element(name), read, element(initial) if initial else read, element(initializer)
        known[name] = Variable._from_parts(parts, trainable)
    return known[name]
