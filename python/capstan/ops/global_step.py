"""The variable that counts the steps."""

from capstan import _capstan
from capstan.core import graph as graphs
from capstan.core.elements import Tensor
from capstan.core.graph import GraphKeys
from capstan.core.public import public
from capstan.ops import variable_scope
from capstan.ops.variables import Variable


@public("train.get_global_step", "contrib.framework.get_global_step")
def get_global_step(graph=None):
    """The graph's global step, or None."""
    graph = graph or graphs.get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) == 1:
        step = found[0]
    elif not found:
        step = _by_name(graph)
        if step is None:
            return None
    else:
        raise ValueError("Multiple tensors in global_step collection.")
    assert_global_step(step)
    return step


def _by_name(graph):
    op = graph._find("global_step")
    if op is None:
        return None
    for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
        if isinstance(variable, Variable) and variable.op is op:
            return variable
    return op.outputs[0]


@public("train.assert_global_step", "contrib.framework.assert_global_step")
def assert_global_step(global_step_tensor):
    if not (
        hasattr(global_step_tensor, "_as_graph_element") or isinstance(global_step_tensor, Tensor)
    ):
        raise TypeError(
            'Existing "global_step" must be a Variable or Tensor: %s.' % (global_step_tensor,)
        )
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(
            'Existing "global_step" does not have integer type: %s' % global_step_tensor.dtype
        )
    if global_step_tensor.get_shape().ndims not in (0, None):
        raise TypeError('Existing "global_step" is not scalar: %s' % global_step_tensor.get_shape())


@public("train.create_global_step", "contrib.framework.create_global_step")
def create_global_step(graph=None):
    graph = graph or graphs.get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default():
        step = Variable._from_parts(_capstan.make_global_step(graph))
        graph.add_to_collection(GraphKeys.GLOBAL_VARIABLES, step)
        graph.add_to_collection(GraphKeys.GLOBAL_STEP, step)
        variable_scope._variables().setdefault("global_step", step)
    return step


@public("train.get_or_create_global_step", "contrib.framework.get_or_create_global_step")
def get_or_create_global_step(graph=None):
    graph = graph or graphs.get_default_graph()
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


@public("train.global_step")
def global_step(sess, global_step_tensor):
    """Its value in a session."""
    return int(sess.run(global_step_tensor))


_READ_KEY = "global_step_read_op_cache"


def global_step_read(graph=None):
    """The global step before a run's own update, for the hooks, or None where no step is counted. One
    node per graph: all hooks share its value."""
    graph = graph or graphs.get_default_graph()
    found = graph.get_collection(_READ_KEY)
    if found:
        return found[0]
    step = get_global_step(graph)
    if step is None:
        return None
    with graph.as_default(), graph.name_scope(None), graph.name_scope(step.op.name + "/"):
        read = step + 0
        graph.add_to_collection(_READ_KEY, read)
    return read
