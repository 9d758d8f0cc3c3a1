"""A graph out of the .meta beside a checkpoint, with its collections and its saver."""

from capstan import _capstan
from capstan.core import graph as graphs
from capstan.core import protos
from capstan.core.public import public
from capstan.files.importer import mapped_inputs
from capstan.files.meta_graphs import VARIABLES
from capstan.files.saver import Saver
from capstan.ops.variables import Variable
from capstan.session.queue_runner import QueueRunner


@public("train.import_meta_graph")
def import_meta_graph(
    meta_graph_or_file,
    clear_devices=False,
    import_scope=None,
    input_map=None,
    restore_collections_predicate=None,
):
    """Adds a written graph to the default one, with its collections. Returns its saver, or None."""
    if hasattr(meta_graph_or_file, "SerializeToString"):
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
    if key in VARIABLES:
        return [_variable(value, element, known) for value in values]
    if key == "queue_runners":
        return [
            QueueRunner.from_proto(protos.QueueRunnerDef.FromString(value), scope)
            for value in values
        ]
    if kind == "bytes":
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
