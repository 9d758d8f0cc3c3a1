"""Nodes and graphs as messages: NodeDef, GraphDef, attr values."""

from capstan.core import dtypes, protos
from capstan.core.arrays import to_array
from capstan.core.public import public
from capstan.core.shapes import TensorShape


def attr_value(typed):
    """A (kind, value) of the extension as what Operation.get_attr returns."""
    kind, value = typed
    if kind == "type":
        return dtypes.from_number(value)
    if kind == "list(type)":
        return [dtypes.from_number(number) for number in value]
    if kind == "shape":
        return TensorShape(value)
    if kind == "list(shape)":
        return [TensorShape(dims) for dims in value]
    return value


_LIST_FIELDS = {
    "int": "i",
    "float": "f",
    "bool": "b",
    "string": "s",
    "type": "type",
    "shape": "shape",
}


def attr_message(typed):
    """A (kind, value) of the extension as an AttrValue message."""
    kind, value = typed
    if kind.startswith("list("):
        field = _LIST_FIELDS[kind[5:-1]]
        if field == "shape":
            value = [TensorShape(dims).as_proto() for dims in value]
        items = protos.AttrValue.ListValue(**{field: value})
        return protos.AttrValue(list=items)
    if kind == "tensor":
        return protos.AttrValue(tensor=make_tensor_proto(value))
    if kind == "shape":
        return protos.AttrValue(shape=TensorShape(value).as_proto())
    return protos.AttrValue(**{_LIST_FIELDS[kind]: value})


def input_name(tensor):
    return tensor.op.name if tensor.value_index == 0 else tensor.name


def node_def(op):
    made = protos.NodeDef(name=op.name, op=op.type, device=op.device)
    made.input.extend(input_name(tensor) for tensor in op.inputs)
    made.input.extend("^" + before.name for before in op.control_inputs)
    for name, typed in op._attrs().items():
        made.attr[name].CopyFrom(attr_message(typed))
    return made


@public(
    "make_tensor_proto",
    differs="never checks a shape against the values: it fills, as tf.constant does",
)
def make_tensor_proto(values, dtype=None, shape=None):
    array = to_array(values, None if dtype is None else dtypes.as_dtype(dtype), shape)
    number = dtypes.as_dtype(array.dtype).as_datatype_enum
    made = protos.TensorProto(dtype=number, tensor_shape=TensorShape(array.shape).as_proto())
    if array.dtype.kind == "O":
        made.string_val.extend(array.ravel().tolist())
    else:
        made.tensor_content = array.tobytes()
    return made


_VALUE_FIELDS = {
    1: "float_val",
    2: "double_val",
    3: "int_val",
    4: "int_val",
    5: "int_val",
    6: "int_val",
    7: "string_val",
    9: "int64_val",
    10: "bool_val",
    17: "int_val",
    22: "uint32_val",
    23: "uint64_val",
}


@public("make_ndarray")
def make_ndarray(tensor):
    """The array that a TensorProto holds."""
    import numpy as np

    shape = tuple(dim.size for dim in tensor.tensor_shape.dim)
    kind = dtypes.from_number(tensor.dtype).as_numpy_dtype
    if tensor.tensor_content:
        return np.frombuffer(tensor.tensor_content, kind).reshape(shape).copy()
    values = list(getattr(tensor, _VALUE_FIELDS[tensor.dtype])) or [b"" if tensor.dtype == 7 else 0]
    count = int(np.prod(shape))
    # The last value stands for all that follow.
    values += values[-1:] * (count - len(values))
    return np.array(values[:count], kind).reshape(shape)
