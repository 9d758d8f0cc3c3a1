"""Python and numpy values to tensors: constants, with TensorFlow's choice of type and name."""

import numpy as np

from capstan import dtypes
from capstan import graph as graphs
from capstan.elements import Operation, Tensor
from capstan.shapes import Dimension, TensorShape

_converters = []  # (type, function, priority), what programs registered


def register(base_type, function, priority=100):
    _converters.append((base_type, function, priority))
    _converters.sort(key=lambda item: item[2])


# --- Arrays -------------------------------------------------------------------------------------


def to_array(value, dtype=None, shape=None):
    """An array of just this type (a DType or None) and shape; raises TypeError for misfits."""
    if value is None:
        raise ValueError("None values not supported.")
    array = _array_of(value, dtype)
    if shape is not None:
        array = _filled(array, tuple(int(dim) for dim in TensorShape(shape)))
    return array


def _array_of(value, dtype):
    if isinstance(value, (np.ndarray, np.generic)):
        return _from_numpy(np.asarray(value), dtype)
    if dtype is not None:
        _check_python(value, dtype)
    if dtype is dtypes.string or (dtype is None and _has_text(value)):
        return _strings(np.array(value, dtype=object))
    array = np.array(value, None if dtype is None else dtype.as_numpy_dtype)
    if array.dtype.kind in "OSU":
        raise _unfit(value, array)
    return array if dtype is not None else _narrowed(array)


def _unfit(value, array):
    """The error for a value of which numpy makes objects, or numbers beside text, which it makes text."""
    if any(isinstance(leaf, (list, tuple, np.ndarray)) for leaf in array.ravel().tolist()):
        return ValueError("cannot make a tensor of %r: its parts differ in shape" % (value,))
    return TypeError(
        "cannot make a tensor of %r: it holds a value of no type that a tensor has, or text beside "
        "numbers" % (value,)
    )


def _from_numpy(array, dtype):
    if array.dtype.kind in "SUO":
        if dtype not in (None, dtypes.string):
            return array.astype(dtype.as_numpy_dtype)
        return _strings(array)
    if dtype is dtypes.string:
        raise TypeError("Expected string, got an array of %s" % array.dtype)
    return array if dtype is None else array.astype(dtype.as_numpy_dtype, copy=False)


def _text(value):
    if isinstance(value, (str, bytes)):
        return value.encode() if isinstance(value, str) else bytes(value)
    if isinstance(value, (list, tuple)):
        raise ValueError("cannot make a tensor of lists of different lengths, as of %r" % (value,))
    raise _misfit(value, dtypes.string)


def _strings(array):
    flat = [_text(value) for value in array.ravel().tolist()]
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(array.shape)


def _narrowed(array):
    """Python's numbers are float32 and, where they fit, int32."""
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        narrow = array.astype(np.int32)
        return narrow if np.array_equal(narrow, array) else array
    return array


def _has_text(value):
    while isinstance(value, (list, tuple)):
        if not value:
            return False
        value = value[0]
    return isinstance(value, (str, bytes, np.str_, np.bytes_))


def _leaves(value):
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _check_python(value, dtype):
    for leaf in _leaves(value):
        if not _fits(leaf, dtype):
            raise _misfit(leaf, dtype)


def _misfit(value, dtype):
    return TypeError(
        "Expected %s, got %r of type '%s' instead." % (dtype.name, value, type(value).__name__)
    )


def _fits(leaf, dtype):
    if dtype is dtypes.string:
        return isinstance(leaf, (str, bytes, np.ndarray, np.generic))
    if isinstance(leaf, (str, bytes)):
        return False
    if isinstance(leaf, bool):
        return dtype is dtypes.bool
    if isinstance(leaf, int):
        return dtype is not dtypes.bool
    if isinstance(leaf, float):
        return dtype.is_floating or dtype.is_complex
    return leaf is not None


def _filled(array, shape):
    """The last value stands for all that are missing."""
    count = int(np.prod(shape, dtype=np.int64))
    if array.size == count:
        return array.reshape(shape)
    if array.size > count or array.size == 0:
        raise ValueError(
            "Too many elements provided. Needed at most %d, but received %d" % (count, array.size)
        )
    filled = np.full(count, array.ravel()[-1], array.dtype)
    filled[: array.size] = array.ravel()
    return filled.reshape(shape)


# --- Constants ----------------------------------------------------------------------------------


def constant(value, dtype=None, shape=None, name="Const", verify_shape=False):
    """A Const node."""
    dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    array = to_array(value, dtype, None)
    if verify_shape and shape is not None and array.shape != tuple(TensorShape(shape).as_list()):
        raise TypeError("Expected Tensor's shape: %s, got %s." % (TensorShape(shape), array.shape))
    if shape is not None:
        array = _filled(array, tuple(int(dim) for dim in TensorShape(shape)))
    return constant_array(array, name)


def constant_array(array, name="Const"):
    attrs = {"value": array, "dtype": dtypes.as_dtype(array.dtype)}
    return graphs.get_default_graph()._create_op("Const", (), attrs, name).outputs[0]


def constant_value(tensor, partial=False):
    """The value as an array when it follows from constants alone, else None."""
    return tensor._constant_value() if isinstance(tensor, Tensor) else np.asarray(tensor)


# --- Tensors ------------------------------------------------------------------------------------


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
    if isinstance(value, (list, tuple)) and any(_as_existing_quietly(v) for v in _leaves(value)):
        from capstan.array_ops import pack_values

        return pack_values(value, dtype, name or "packed")
    if isinstance(value, (list, tuple)):
        value = _without_dimensions(value)
    return constant_array(to_array(value, dtype), name or "Const")


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


def convert_to_tensor_or_indexed_slices(value, dtype=None, name=None):
    if hasattr(value, "indices") and hasattr(value, "values"):
        return value
    return convert_to_tensor(value, dtype, name)


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
