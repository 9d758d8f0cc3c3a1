"""Order: no_op, group, tuple, and what waits for what."""

from capstan import _capstan
from capstan.core import convert
from capstan.core.apply import apply_op
from capstan.core.elements import Operation, Tensor
from capstan.core.graph import colocate_with, control_dependencies, get_default_graph, name_scope
from capstan.core.public import public
from capstan.ops.sparse import IndexedSlices


@public("no_op")
def no_op(name=None):
    return apply_op("NoOp", name=name)


def _flat(inputs):
    for item in inputs:
        if isinstance(item, (list, tuple)):
            yield from _flat(item)
        elif isinstance(item, dict):
            yield from _flat(item[key] for key in sorted(item))
        elif item is not None:
            yield item


def _op_of(item):
    if isinstance(item, Operation):
        return item
    if hasattr(item, "op"):
        return item.op
    raise TypeError(
        "'inputs' should be zero or more (nested) Tensors or Operations, got %r" % (item,)
    )


@public("group")
def group(*inputs, **kwargs):
    """One operation that is done when all inputs are."""
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError("Unknown keyword arguments: " + ", ".join(kwargs))
    ops = [_op_of(item) for item in _flat(inputs)]
    graph = ops[0].graph if ops else get_default_graph()
    return _capstan.group(graph, ops, name or "group_deps")


@public("with_dependencies")
def with_dependencies(dependencies, output_tensor, name=None):
    """`output_tensor`, once the dependencies are done."""
    with name_scope(name, "control_dependency", list(dependencies) + [output_tensor]) as scope:
        with colocate_with(output_tensor.op):
            with control_dependencies(dependencies):
                output = convert.convert_to_tensor(output_tensor)
                return apply_op("Identity", input=output, name=scope)


@public("tuple")
def tuple_(tensors, name=None, control_inputs=None):
    """The tensors, each available only when all are."""
    with name_scope(name, "tuple", [t for t in tensors if t is not None]):
        gating = [_op_of(t) for t in tensors if t is not None]
        gating += [_op_of(c) for c in control_inputs or ()]
        if not gating:
            raise ValueError("Must have at least one Tensor: %r" % (tensors,))
        # In the order in which they were made, each once.
        gating = sorted(set(gating), key=lambda op: op._id)
        gate = group(*gating)
        return [_gated(t, gate) for t in tensors]


def _gated(tensor, gate):
    if tensor is None:
        return None
    if hasattr(tensor, "values") and hasattr(tensor, "indices"):
        return IndexedSlices(
            with_dependencies([gate], tensor.values), tensor.indices, tensor.dense_shape
        )
    if isinstance(tensor, Operation):
        with control_dependencies([gate]):
            return no_op()
    return with_dependencies([gate], tensor)


def as_graph_element(value):
    return get_default_graph().as_graph_element(value)


def is_graph_element(value):
    return isinstance(value, (Tensor, Operation))
