"""Random tensors. Seeds are TensorFlow's pair of a graph seed and an op seed."""

import numpy as np

from capstan import _capstan
from capstan.core import convert, dtypes
from capstan.core.apply import apply_op
from capstan.core.convert import convert_to_tensor
from capstan.core.graph import get_seed, name_scope
from capstan.core.public import public
from capstan.core.shapes import TensorShape


def _shape_tensor(shape):
    """Whole numbers even where the list is empty."""
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    if isinstance(shape, (list, tuple)) and not any(convert.is_tensor(dim) for dim in shape):
        sizes = convert.static_or_tensor_shape(shape)
        wide = any(size > np.iinfo(np.int32).max for size in sizes)
        return convert_to_tensor(np.array(sizes, np.int64 if wide else np.int32), name="shape")
    return convert_to_tensor(shape, name="shape")


def _normal_like(make, default_name):
    def draw(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
        dtype = dtypes.as_dtype(dtype).base_dtype
        with name_scope(name, default_name, [shape, mean, stddev]) as scope:
            dims = _shape_tensor(shape)
            mean = convert_to_tensor(mean, dtype=dtype, name="mean")
            stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
            return make(dims, mean, stddev, seed, scope)

    draw.__name__ = default_name
    return draw


random_normal = public("random_normal", "random.normal")(
    _normal_like(_capstan.random_normal, "random_normal")
)
truncated_normal = public("truncated_normal", "random.truncated_normal")(
    _normal_like(_capstan.truncated_normal, "truncated_normal")
)


@public("random_uniform", "random.uniform")
def random_uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None):
    dtype = dtypes.as_dtype(dtype).base_dtype
    if maxval is None:
        if dtype.is_integer:
            raise ValueError("Must specify maxval for integer dtype %r" % dtype)
        maxval = 1
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        dims = _shape_tensor(shape)
        from_zero = type(minval) is int and minval == 0
        to_one = type(maxval) is int and maxval == 1
        if dtype.is_integer or not (from_zero and to_one):
            minval = convert_to_tensor(minval, dtype=dtype, name="min")
            maxval = convert_to_tensor(maxval, dtype=dtype, name="max")
        low = None if from_zero and not dtype.is_integer else minval
        high = None if low is None and to_one else maxval
        return _capstan.random_uniform(dims, low, high, dtype, seed, scope)


@public("random_shuffle", "random.shuffle")
def random_shuffle(value, seed=None, name=None):
    seed1, seed2 = get_seed(seed)
    return apply_op("RandomShuffle", value=value, seed=seed1, seed2=seed2, name=name)
