"""Nodes from the rows of the catalog.

`apply_op("MatMul", a=x, b=y, transpose_b=True)` converts the inputs (constants are named after the
argument, under the op's name), lets the engine infer the types, and returns the outputs.
"""

import collections

from capstan import _capstan
from capstan.core import convert, dtypes
from capstan.core import graph as graphs
from capstan.core.elements import Tensor


class Arg:
    __slots__ = ("name", "count", "type_attr", "list_attr", "fixed", "is_ref")

    def __init__(self, row):
        self.name, self.count, self.type_attr, self.list_attr, fixed, self.is_ref = row
        self.fixed = dtypes.from_number(fixed) if fixed else None

    @property
    def is_list(self):
        return bool(self.count or self.list_attr)


class Row:
    """An op's row, as Python needs it."""

    def __init__(self, row):
        self.name, self.doc, inputs, outputs, attrs, self.python = row
        self.inputs = [Arg(arg) for arg in inputs]
        self.outputs = [Arg(arg) for arg in outputs]
        self.attrs = {name: (kind, default) for name, kind, _, default in attrs}
        self.allowed = {
            name: [dtypes.as_dtype(text) for text in texts.split("|")]
            for name, kind, texts, _ in attrs
            if kind == "type" and texts
        }
        inferred = {
            a for arg in self.inputs for a in (arg.count, arg.type_attr, arg.list_attr) if a
        }
        required = [
            a for a, (_, default) in self.attrs.items() if default is None and a not in inferred
        ]
        optional = [
            a for a, (_, default) in self.attrs.items() if default is not None and a not in inferred
        ]
        # As TensorFlow's generated functions order them.
        self.parameters = [arg.name for arg in self.inputs] + required + optional
        self.result = self._result_type()
        # The position of the first reference among the inputs, counted from 1; 0: none.
        self.takes_ref = next((i for i, arg in enumerate(self.inputs, 1) if arg.is_ref), 0)

    def _result_type(self):
        if len(self.outputs) < 2:
            return None
        return collections.namedtuple(self.name, [arg.name for arg in self.outputs], rename=True)


_rows = {}


def find_row(op_type):
    """The row of an op, or None."""
    if op_type not in _rows:
        raw = _capstan.op_row(op_type)
        _rows[op_type] = None if raw is None else Row(raw)
    return _rows[op_type]


def apply_op(op_type, name=None, **arguments):
    """Adds a node and returns its outputs (the operation itself when there are none)."""
    row = find_row(op_type)
    if row is None:
        # The engine's message names the op, the program's line and the nearest ops.
        graphs.get_default_graph()._create_op(op_type, (), {}, name or op_type)
    inputs = [arguments.pop(arg.name) for arg in row.inputs]
    attrs = {key: value for key, value in arguments.items() if value is not None}
    graph = graphs._graph_of(_flat(inputs))
    if all(_is_ready(arg, value) for arg, value in zip(row.inputs, inputs)):
        return _outputs(row, _create(graph, row, _flat(inputs), attrs, name or op_type))
    with graphs.name_scope(name or op_type, values=_flat(inputs)) as scope:
        op = _create(graph, row, _convert_inputs(row, inputs, attrs), attrs, scope)
    return _outputs(row, op)


def _create(graph, row, tensors, attrs, name):
    """An op that takes references lives with the first of their variables."""
    try:
        if not row.takes_ref:
            return graph._create_op(row.name, tensors, attrs, name)
        with graph.colocate_with(tensors[row.takes_ref - 1].op):
            return graph._create_op(row.name, tensors, attrs, name)
    except ValueError as error:
        if _types_clash(row, tensors) or _type_not_taken(row, tensors):
            raise TypeError(str(error)) from None
        raise


def _type_not_taken(row, tensors):
    """Whether an input is of a type that the op does not have."""
    if any(arg.is_list for arg in row.inputs[:-1]):
        return False
    last = len(row.inputs) - 1
    args = (row.inputs[min(i, last)] for i in range(len(tensors)))
    return any(
        arg.type_attr in row.allowed and tensor.dtype.base_dtype not in row.allowed[arg.type_attr]
        for arg, tensor in zip(args, tensors)
    )


def _types_clash(row, tensors):
    """Whether two inputs that must be of one type are not."""
    if any(arg.is_list for arg in row.inputs) or len(tensors) != len(row.inputs):
        return len({t.dtype.base_dtype for t in tensors}) > 1 and len(row.inputs) == 1
    seen = {}
    for arg, tensor in zip(row.inputs, tensors):
        dtype = tensor.dtype.base_dtype
        if dtype is not (arg.fixed or seen.setdefault(arg.type_attr, dtype)):
            return True
    return False


def _flat(inputs):
    return [
        item
        for value in inputs
        for item in (value if isinstance(value, (list, tuple)) else (value,))
    ]


def _is_ready(arg, value):
    if arg.is_list:
        return isinstance(value, (list, tuple)) and all(isinstance(v, Tensor) for v in value)
    return isinstance(value, Tensor)


def _known_types(row, inputs, attrs):
    """Type attrs that are given, or that follow from inputs which are tensors already."""
    known = {}
    for attr, value in attrs.items():
        if row.attrs.get(attr, ("",))[0] == "type":
            known[attr] = dtypes.as_dtype(value).base_dtype
    for arg, value in zip(row.inputs, inputs):
        if not arg.type_attr or arg.type_attr in known:
            continue
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Tensor) or hasattr(item, "_as_tensor"):
                known[arg.type_attr] = item.dtype.base_dtype
                break
    return known


def _hint(row, arg):
    """The default of a type attr."""
    default = row.attrs.get(arg.type_attr, ("", None))[1]
    return None if default is None else dtypes.from_number(default[1])


def _convert_inputs(row, inputs, attrs):
    known = _known_types(row, inputs, attrs)
    tensors = []
    for arg, value in zip(row.inputs, inputs):
        dtype = arg.fixed or known.get(arg.type_attr)
        hint = None if dtype else _hint(row, arg)
        if arg.is_list:
            if not isinstance(value, (list, tuple)):
                raise TypeError(
                    "Expected list for '%s' argument to '%s' Op, not %r."
                    % (arg.name, row.name, value)
                )
            made = [
                _convert_one(row, arg, item, dtype, hint, "%s_%d" % (arg.name, i))
                for i, item in enumerate(value)
            ]
        else:
            made = [_convert_one(row, arg, value, dtype, hint, arg.name)]
        if arg.type_attr and made:
            known.setdefault(arg.type_attr, made[0].dtype.base_dtype)
        tensors.extend(made)
    return tensors


def _convert_one(row, arg, value, dtype, hint, name):
    if value is None:
        raise ValueError(
            "Argument '%s' of '%s' Op is None: a tensor is needed." % (arg.name, row.name)
        )
    if hint is not None and not arg.is_list and arg.type_attr in row.allowed:
        tensor = _of_allowed_type(value, row.allowed[arg.type_attr], name, arg.is_ref)
        if tensor is not None:
            return tensor
    tensor = convert.convert_to_tensor(
        value, None if _is_tensor(value) else dtype, name, hint, as_ref=arg.is_ref
    )
    if dtype is not None and tensor.dtype.base_dtype is not dtype:
        raise TypeError(
            "Input '%s' of '%s' Op has type %s that does not match %s."
            % (arg.name, row.name, tensor.dtype.base_dtype.name, dtype.name)
        )
    return tensor


def _of_allowed_type(value, allowed, name, as_ref):
    """The value in its own type where the op takes that. An empty list is float32 at first, and its
    constant stays behind, as TensorFlow's does: later names depend on it."""
    try:
        tensor = convert.convert_to_tensor(value, name=name, as_ref=as_ref)
    except TypeError:
        return None
    return tensor if tensor.dtype.base_dtype in allowed else None


def _is_tensor(value):
    return isinstance(value, Tensor) or hasattr(value, "_as_tensor")


def _outputs(row, op):
    if not row.outputs:
        return op
    outputs = op.outputs
    if row.result is None:
        return outputs if row.outputs[0].is_list else outputs[0]
    if any(arg.is_list for arg in row.outputs):
        return outputs
    return row.result(*outputs)
