"""Random tensors; normal ones are rows of src/build/random.cc. Seeds are TensorFlow's pair of a graph
seed and an op seed."""

from capstan import _capstan
from capstan.core import dtypes
from capstan.core.apply import apply_op
from capstan.core.convert import convert_to_tensor
from capstan.core.graph import get_seed, name_scope
from capstan.core.public import public
from capstan.ops.composites import sizes_tensor


@public("random_uniform", "random.uniform")
def random_uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None):
    dtype = dtypes.as_dtype(dtype).base_dtype
    if maxval is None:
        if dtype.is_integer:
            raise ValueError("Must specify maxval for integer dtype %r" % dtype)
        maxval = 1
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        dims = sizes_tensor(shape, "shape")
        from_zero = type(minval) is int and minval == 0
        to_one = type(maxval) is int and maxval == 1
        if dtype.is_integer or not (from_zero and to_one):
            minval = convert_to_tensor(minval, dtype=dtype, name="min")
            maxval = convert_to_tensor(maxval, dtype=dtype, name="max")
        low = None if from_zero and not dtype.is_integer else minval
        high = None if low is None and to_one else maxval
        return _capstan.build("random_uniform", dims, low, high, dtype, seed, scope)


@public("random_shuffle", "random.shuffle")
def random_shuffle(value, seed=None, name=None):
    seed1, seed2 = get_seed(seed)
    return apply_op("RandomShuffle", value=value, seed=seed1, seed2=seed2, name=name)
