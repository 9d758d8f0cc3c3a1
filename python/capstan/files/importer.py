"""Graphs out of and into files."""

from capstan.core import graph as graphs
from capstan.core import protos
from capstan.core.graph_defs import make_tensor_proto
from capstan.core.public import public


@public("import_graph_def")
def import_graph_def(
    graph_def, input_map=None, return_elements=None, name=None, op_dict=None, producer_op_list=None
):
    """Adds the nodes of a GraphDef to the default graph, under a prefix ("import" by default)."""
    graph = graphs.get_default_graph()
    prefix = "import" if name is None else name.rstrip("/")
    if prefix:
        prefix = graph.unique_name(prefix)
    graph._import_graph_def(graph_def.SerializeToString(), prefix, mapped_inputs(input_map))
    if return_elements is None:
        return None
    full = [prefix + "/" + element if prefix else element for element in return_elements]
    return [graph.as_graph_element(element) for element in full]


def mapped_inputs(input_map):
    """Names of outputs to the tensors that take their places."""
    return {key if ":" in key else key + ":0": value for key, value in (input_map or {}).items()}


def _needed(graph_def, dest_nodes):
    by_name = {node.name: node for node in graph_def.node}
    seen, todo = set(), list(dest_nodes)
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        if name not in by_name:
            raise AssertionError("%s is not in graph" % name)
        seen.add(name)
        todo.extend(i.lstrip("^").split(":")[0] for i in by_name[name].input)
    return seen


@public("graph_util.extract_sub_graph")
def extract_sub_graph(graph_def, dest_nodes):
    """The nodes that these need, in the order of the graph."""
    needed = _needed(graph_def, dest_nodes)
    return protos.GraphDef(
        node=[node for node in graph_def.node if node.name in needed], versions=graph_def.versions
    )


@public("graph_util.convert_variables_to_constants")
def convert_variables_to_constants(
    sess,
    input_graph_def,
    output_node_names,
    variable_names_whitelist=None,
    variable_names_blacklist=None,
):
    """The part of a graph that these nodes need, its variables frozen: all, or those listed."""
    part = extract_sub_graph(input_graph_def, output_node_names)
    names = [
        node.name
        for node in part.node
        if node.op in ("Variable", "VariableV2")
        and (variable_names_whitelist is None or node.name in variable_names_whitelist)
        and node.name not in (variable_names_blacklist or ())
    ]
    values = dict(zip(names, sess.run([name + ":0" for name in names]))) if names else {}
    frozen = protos.GraphDef(versions=part.versions)
    for node in part.node:
        if node.name in values:
            tensor = make_tensor_proto(values[node.name])
            made = frozen.node.add(name=node.name, op="Const", device=node.device)
            made.attr["dtype"].CopyFrom(node.attr["dtype"])
            made.attr["value"].tensor.CopyFrom(tensor)
        else:
            frozen.node.append(node)
    return frozen
