"""Python values as numpy arrays of TensorFlow's types."""

import numpy as np

from capstan.core import dtypes
from capstan.core.shapes import TensorShape


def to_array(value, dtype=None, shape=None):
    """An array of just this type (a DType or None) and shape; raises TypeError for misfits."""
    if value is None:
        raise ValueError("None values not supported.")
    array = _array_of(value, dtype)
    if shape is not None:
        array = filled(array, tuple(int(dim) for dim in TensorShape(shape)))
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


def leaves(value):
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def _check_python(value, dtype):
    for leaf in leaves(value):
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


def filled(array, shape):
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
