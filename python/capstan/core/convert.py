"""Python and numpy values to tensors: constants, with TensorFlow's choice of type and name."""

import numpy as np

from capstan.core import dtypes
from capstan.core import graph as graphs
from capstan.core.arrays import filled, leaves, to_array
from capstan.core.elements import Operation, Tensor
from capstan.core.public import public
from capstan.core.shapes import Dimension, TensorShape

_converters = []  # (type, function, priority), what programs registered


@public("register_tensor_conversion_function")
def register_tensor_conversion_function(base_type, conversion_func, priority=100):
    _converters.append((base_type, conversion_func, priority))
    _converters.sort(key=lambda item: item[2])


# --- Constants ----------------------------------------------------------------------------------


@public("constant")
def constant(value, dtype=None, shape=None, name="Const", verify_shape=False):
    """A Const node."""
    dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    array = to_array(value, dtype, None)
    if verify_shape and shape is not None and array.shape != tuple(TensorShape(shape).as_list()):
        raise TypeError("Expected Tensor's shape: %s, got %s." % (TensorShape(shape), array.shape))
    if shape is not None:
        array = filled(array, tuple(int(dim) for dim in TensorShape(shape)))
    return constant_array(array, name)


def constant_array(array, name="Const"):
    attrs = {"value": array, "dtype": dtypes.as_dtype(array.dtype)}
    return graphs.get_default_graph()._create_op("Const", (), attrs, name).outputs[0]


def constant_value(tensor, partial=False):
    """The value as an array when it follows from constants alone, else None."""
    return tensor._constant_value() if isinstance(tensor, Tensor) else np.asarray(tensor)


# --- Tensors ------------------------------------------------------------------------------------


@public("convert_to_tensor")
def convert_to_tensor(
    value, dtype=None, name=None, preferred_dtype=None, dtype_hint=None, as_ref=False
):
    """A tensor of anything that can be one; constants get `name`."""
    dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    hint = preferred_dtype if dtype_hint is None else dtype_hint
    hint = None if hint is None else dtypes.as_dtype(hint).base_dtype
    tensor = _as_existing(value, as_ref)
    if tensor is None:
        return _convert_new(value, dtype, hint, name)
    if dtype is not None and tensor.dtype.base_dtype is not dtype:
        raise ValueError(
            "Tensor conversion requested dtype %s for Tensor with dtype %s: %r"
            % (dtype.name, tensor.dtype.name, tensor)
        )
    return tensor


def _as_existing(value, as_ref):
    """The tensor that a value already is, or None."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Operation):
        raise TypeError("Can't convert Operation '%s' to Tensor" % value.name)
    if hasattr(value, "_as_tensor"):
        return value._as_tensor(as_ref)
    return None


def _convert_new(value, dtype, hint, name):
    for kind, function, _ in _converters:
        if isinstance(value, kind):
            converted = function(value, dtype=dtype, name=name, as_ref=False)
            if converted is not NotImplemented:
                return converted
    if hint is not None and dtype is None:
        try:
            return _convert_plain(value, hint, name)
        except (TypeError, ValueError):
            pass  # a hint that does not fit is dropped
    return _convert_plain(value, dtype, name)


def _convert_plain(value, dtype, name):
    if isinstance(value, Dimension):
        value = _known(value.value, "Dimension")
    if isinstance(value, TensorShape):
        return _shape_constant(value, dtype, name or "shape_as_tensor")
    if isinstance(value, (list, tuple)) and any(_as_existing_quietly(v) for v in leaves(value)):
        return pack_values(value, dtype, name or "packed")
    if isinstance(value, (list, tuple)):
        value = _without_dimensions(value)
    return constant_array(to_array(value, dtype), name or "Const")


def pack_values(values, dtype, name):
    """A nested list that holds tensors, as one tensor; plain leaves take the tensors' type."""
    if dtype is None:
        dtype = next(leaf.dtype.base_dtype for leaf in leaves(values) if is_tensor(leaf))
    with graphs.name_scope(name) as scope:
        parts = [_part(value, dtype, str(i)) for i, value in enumerate(values)]
        return _packed(parts, scope)


def _part(value, dtype, name):
    if isinstance(value, (list, tuple)) and any(is_tensor(leaf) for leaf in leaves(value)):
        return pack_values(value, dtype, name)
    return convert_to_tensor(value) if is_tensor(value) else constant(value, dtype=dtype, name=name)


def _packed(parts, scope):
    try:
        return graphs._graph_of(parts)._create_op("Pack", parts, {"axis": 0}, scope).outputs[0]
    except ValueError as error:
        if len({part.dtype.base_dtype for part in parts}) > 1:
            raise TypeError(str(error)) from None
        raise


def _as_existing_quietly(value):
    return isinstance(value, Tensor) or hasattr(value, "_as_tensor")


def _known(value, what):
    if value is None:
        raise ValueError("Cannot convert an unknown %s to a Tensor" % what)
    return value


def _without_dimensions(value):
    if isinstance(value, (list, tuple)):
        return [_without_dimensions(item) for item in value]
    return _known(value.value, "Dimension") if isinstance(value, Dimension) else value


def _shape_constant(shape, dtype, name):
    if not shape.is_fully_defined():
        raise ValueError("Cannot convert a partially known TensorShape to a Tensor: %s" % shape)
    return constant_array(np.array(shape.as_list(), (dtype or dtypes.int32).as_numpy_dtype), name)


def convert_n_to_tensor(values, dtype=None, name=None, as_ref=False, preferred_dtype=None):
    """Each of `values`; constants are named name_0, name_1 and so on."""
    return [
        convert_to_tensor(
            value,
            dtype,
            None if name is None else "%s_%d" % (name, i),
            preferred_dtype,
            as_ref=as_ref,
        )
        for i, value in enumerate(values)
    ]


@public("convert_to_tensor_or_indexed_slices")
def convert_to_tensor_or_indexed_slices(value, dtype=None, name=None):
    if hasattr(value, "indices") and hasattr(value, "values"):
        return value
    return convert_to_tensor(value, dtype, name)


@public("is_tensor")
def is_tensor(x):
    return _as_existing_quietly(x)


def number_or_tensor(value, dtype=None, name=None):
    """What the engine's composites take: a plain number stays one, unless it is to be a whole one."""
    whole = dtype is not None and dtype.is_integer
    if is_tensor(value) or not np.isscalar(value) or whole:
        return convert_to_tensor(value, dtype=None if is_tensor(value) else dtype, name=name)
    return float(value)


def constant_of(value):
    """The value of a number or of a tensor that is known beforehand."""
    known = value._constant_value() if isinstance(value, Tensor) else value
    if known is None:
        raise ValueError("%r must be known when the graph is built" % (value,))
    return known


def static_or_tensor_shape(shape):
    """None, a list of sizes, or a tensor."""
    if shape is None or is_tensor(shape):
        return None if shape is None else convert_to_tensor(shape)
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    sizes = list(shape) if hasattr(shape, "__iter__") else [shape]
    if any(is_tensor(size) for size in sizes):
        return convert_to_tensor(sizes)
    if any(size is None or (isinstance(size, Dimension) and size.value is None) for size in sizes):
        raise ValueError("Cannot make a tensor of the partially known shape %s" % (shape,))
    return [int(size) for size in sizes]
