"""Shapes, slices, joins and fills."""

import numbers

import numpy as np

from capstan import _capstan
from capstan.core import convert, dtypes
from capstan.core import graph as graphs
from capstan.core.apply import apply_op
from capstan.core.convert import convert_to_tensor
from capstan.core.elements import Tensor
from capstan.core.graph import name_scope
from capstan.core.public import public, public_values
from capstan.core.shapes import TensorShape
from capstan.ops.math_ops import _either

public_values(
    newaxis="newaxis",
)

newaxis = None


@public("placeholder")
def placeholder(dtype, shape=None, name=None):
    return apply_op(
        "Placeholder", dtype=dtypes.as_dtype(dtype).base_dtype, shape=TensorShape(shape), name=name
    )


@public("placeholder_with_default")
def placeholder_with_default(input, shape, name=None):
    return apply_op("PlaceholderWithDefault", input=input, shape=TensorShape(shape), name=name)


@public("identity")
def identity(input, name=None):
    return apply_op("Identity", input=convert_to_tensor(input, name="input"), name=name)


@public("stop_gradient")
def stop_gradient(input, name=None):
    return apply_op("StopGradient", input=input, name=name)


# --- Shapes -------------------------------------------------------------------------------------


@public("shape")
def shape(input, name=None, out_type=None):
    return _shape(input, name, out_type or dtypes.int32, optimize=True)


def _shape(input, name=None, out_type=dtypes.int32, optimize=True):
    """A constant where the shape is known, unless the caller wants the node itself."""
    out_type = dtypes.as_dtype(out_type)
    with name_scope(name, "Shape", [input]) as scope:
        input = convert_to_tensor(input)
        if optimize:
            return _capstan.build("shape_of", input, scope, out_type)
        return apply_op("Shape", input=input, out_type=out_type, name=scope)


@public("size")
def size(input, name=None, out_type=None):
    with name_scope(name, "Size", [input]) as scope:
        return _capstan.build(
            "size_of", convert_to_tensor(input), scope, dtypes.as_dtype(out_type or dtypes.int32)
        )


@public("rank")
def rank(input, name=None):
    with name_scope(name, "Rank", [input]) as scope:
        return _capstan.build("rank_of", convert_to_tensor(input), scope)


@public("reshape")
def reshape(tensor, shape, name=None):
    return apply_op("Reshape", tensor=tensor, shape=_shape_argument(shape), name=name)


def _shape_argument(shape):
    return shape.as_list() if isinstance(shape, TensorShape) else shape


@public("expand_dims")
def expand_dims(input, axis=None, name=None, dim=None):
    axis = _either(axis, dim, "axis", "dim")
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return apply_op("ExpandDims", input=input, dim=axis, name=name)


@public("squeeze")
def squeeze(input, axis=None, name=None, squeeze_dims=None):
    axis = _either(axis, squeeze_dims, "axis", "squeeze_dims")
    axis = [] if axis is None else [axis] if np.isscalar(axis) else list(axis)
    return apply_op("Squeeze", input=input, squeeze_dims=axis, name=name)


@public("transpose")
def transpose(a, perm=None, name="transpose", conjugate=False):
    with name_scope(name, "transpose", [a]) as scope:
        a = convert_to_tensor(a, name="a")
        if perm is None:
            perm = _reversed_axes(a)
        return apply_op("Transpose", x=a, perm=perm, name=scope)


def _reversed_axes(a):
    if a.shape.ndims is not None:
        return np.arange(a.shape.ndims - 1, -1, -1, dtype=np.int32)
    return _capstan.build("reversed_axes", a)


# --- Fills --------------------------------------------------------------------------------------


@public("fill")
def fill(dims, value, name=None):
    return apply_op("Fill", dims=dims, value=value, name=name)


def _filled_with(value, default_name):
    def make(shape, dtype=dtypes.float32, name=None):
        dtype = dtypes.as_dtype(dtype).base_dtype
        with name_scope(name, default_name, [shape]) as scope:
            shape = convert.static_or_tensor_shape(shape)
            if shape is None:
                raise ValueError("%s needs a shape, not None" % default_name)
            if isinstance(shape, Tensor):
                return _capstan.build("filled_with_tensor", shape, dtype, value, scope)
            graph = graphs.get_default_graph()
            return _capstan.build("filled_with", graph, shape, dtype, value, scope)

    make.__name__ = default_name
    return make


zeros = public("zeros")(_filled_with(0, "zeros"))
ones = public("ones")(_filled_with(1, "ones"))


@public("zeros_like")
def zeros_like(tensor, dtype=None, name=None, optimize=True):
    with name_scope(name, "zeros_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        return _capstan.build("zeros_like", tensor, dtypes.as_dtype(dtype or tensor.dtype), scope)


@public("ones_like")
def ones_like(tensor, dtype=None, name=None, optimize=True):
    with name_scope(name, "ones_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        return _capstan.build("ones_like", tensor, dtypes.as_dtype(dtype or tensor.dtype), scope)


@public("one_hot")
def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value]) as scope:
        given = [value for value in (on_value, off_value) if value is not None]
        dtype = _one_hot_type(given, dtype)
        on_name, off_name = "on_value", "off_value"
        on = _one_hot_value(on_value, 1, dtype, on_name)
        off = _one_hot_value(off_value, 0, dtype, off_name)
        return apply_op(
            "OneHot",
            indices=indices,
            depth=depth,
            on_value=on,
            off_value=off,
            axis=-1 if axis is None else axis,
            name=scope,
        )


def _one_hot_type(given, dtype):
    if dtype is not None:
        return dtypes.as_dtype(dtype).base_dtype
    if not given:
        return dtypes.float32
    held = given[0] if convert.is_tensor(given[0]) else convert.to_array(given[0])
    return dtypes.as_dtype(held.dtype).base_dtype


def _one_hot_value(value, default, dtype, name):
    """A value that is given is a plain constant; a default is named after its argument."""
    if value is None:
        return convert_to_tensor(default, dtype or dtypes.float32, name=name)
    return convert_to_tensor(value, dtype_hint=dtype)


# --- Joins --------------------------------------------------------------------------------------


@public("concat")
def concat(values, axis=None, name="concat", concat_dim=None):
    """1.x order concat(values, axis); the 0.x order concat(axis, values) is told by its types."""
    axis = _either(axis, concat_dim, "axis", "concat_dim")
    if _looks_like_values(axis) and not _looks_like_values(values):
        values, axis = axis, values
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        with name_scope(name):
            convert_to_tensor(axis, name="concat_dim", dtype=dtypes.int32)
            return identity(values[0], name="concat")
    return apply_op("ConcatV2", values=list(values), axis=axis, name=name)


def _looks_like_values(value):
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, (list, tuple)) or getattr(
        getattr(value, "shape", None), "ndims", None
    ) not in (None, 0)


@public("split")
def split(
    value, num_or_size_splits=None, axis=0, num=None, name="split", split_dim=None, num_split=None
):
    """1.x order split(value, n, axis); the 0.x order split(axis, n, value) is told by its types."""
    if isinstance(value, int) and convert.is_tensor(axis):
        value, axis = axis, value
    if split_dim is not None:
        axis = split_dim
    pieces = _either(num_or_size_splits, num_split, "num_or_size_splits", "num_split")
    if isinstance(pieces, numbers.Integral):
        return apply_op("Split", split_dim=axis, num_split=int(pieces), value=value, name=name)
    sizes = convert_to_tensor(pieces)
    if sizes.shape.ndims == 0:
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split: give a Python int"
        )
    num = sizes.shape.as_list()[0] if num is None else num
    return apply_op(
        "SplitV", value=value, size_splits=sizes, split_dim=axis, num_split=num, name=name
    )


@public("stack")
def stack(values, axis=0, name="stack"):
    if axis == 0 and not any(convert.is_tensor(value) for value in values):
        try:
            return convert_to_tensor(list(values), name=name)
        except (TypeError, ValueError):
            pass  # not constants alone: pack them
    return apply_op("Pack", values=list(values), axis=axis, name=name)


@public("pack")
def pack(values, axis=0, name="pack"):
    return stack(values, axis, name)


@public("unstack")
def unstack(value, num=None, axis=0, name="unstack"):
    if num is None:
        value = convert_to_tensor(value)
        rank = value.shape.ndims
        if rank is not None and not -rank <= axis < rank:
            raise ValueError("Argument `axis` = %d not in range [%d, %d)" % (axis, -rank, rank))
        num = value.shape.as_list()[axis] if rank is not None else None
    if num is None:
        raise ValueError("Cannot infer argument `num` from shape %s" % (value.shape,))
    return apply_op("Unpack", value=value, num=num, axis=axis, name=name)


@public("unpack")
def unpack(value, num=None, axis=0, name="unpack"):
    return unstack(value, num, axis, name)


# --- Slices -------------------------------------------------------------------------------------


@public("slice")
def slice_(input_, begin, size, name=None):
    return apply_op("Slice", input=input_, begin=begin, size=size, name=name)


@public("strided_slice")
def strided_slice(
    input_,
    begin,
    end=None,
    strides=None,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
    var=None,
    name=None,
):
    if strides is None:
        strides = ones_like(begin)
    return apply_op(
        "StridedSlice",
        input=input_,
        begin=begin,
        end=end,
        strides=strides,
        name=name,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
    )


def _index_part(index, key):
    """(begin, end, stride, masks) of one item of tensor[...]."""
    bit = 1 << index
    if key is Ellipsis:
        return 0, 0, 1, {"ellipsis_mask": bit}
    if key is newaxis:
        return 0, 0, 1, {"new_axis_mask": bit}
    if not isinstance(key, slice):
        if isinstance(key, (float, str)) or (isinstance(key, Tensor) and not key.dtype.is_integer):
            raise TypeError(
                "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and "
                "scalar tf.int32/tf.int64 tensors are valid indices, got %r" % (key,)
            )
        return key, key + 1, 1, {"shrink_axis_mask": bit}
    masks = {}
    if key.start is None:
        masks["begin_mask"] = bit
    if key.stop is None:
        masks["end_mask"] = bit
    return (
        0 if key.start is None else key.start,
        0 if key.stop is None else key.stop,
        1 if key.step is None else key.step,
        masks,
    )


def _cast(tensor, dtype):
    return tensor if tensor.dtype is dtype else apply_op("Cast", x=tensor, DstT=dtype)


def getitem(tensor, keys):
    """tensor[...]: always a StridedSlice."""
    keys = list(keys) if isinstance(keys, (list, tuple)) else [keys]
    masks = dict.fromkeys(
        ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
    )
    begin, end, strides = [], [], []
    for index, key in enumerate(keys):
        first, last, step, bits = _index_part(index, key)
        begin.append(first)
        end.append(last)
        strides.append(step)
        for mask, bit in bits.items():
            masks[mask] |= bit
    with name_scope(None, "strided_slice", [tensor] + keys) as scope:
        packed = [stack(part, name="stack") for part in (begin, end, strides)]
        if any(part.dtype is dtypes.int64 for part in packed):
            packed = [_cast(part, dtypes.int64) for part in packed]
        return apply_op(
            "StridedSlice",
            input=convert_to_tensor(tensor),
            begin=packed[0],
            end=packed[1],
            strides=packed[2],
            name=scope,
            **masks,
        )


Tensor.__getitem__ = getitem


@public("gather")
def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
    return apply_op(
        "GatherV2",
        params=params,
        indices=indices,
        axis=batch_dims if axis is None else axis,
        batch_dims=batch_dims,
        name=name,
    )


@public("where", "select")
def where(condition, x=None, y=None, name=None):
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as scope:
            condition = convert_to_tensor(condition, dtype=dtypes.bool, name="condition")
            return apply_op("Where", input=condition, name=scope)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return apply_op("Select", condition=condition, t=x, e=y, name=name)


@public("pad")
def pad(tensor, paddings, mode="CONSTANT", name=None, constant_values=0):
    if mode.upper() != "CONSTANT":
        return apply_op("MirrorPad", input=tensor, paddings=paddings, mode=mode.upper(), name=name)
    if not convert.is_tensor(constant_values) and constant_values == 0:
        return apply_op("Pad", input=tensor, paddings=paddings, name=name)
    return apply_op(
        "PadV2", input=tensor, paddings=paddings, constant_values=constant_values, name=name
    )


@public("boolean_mask")
def boolean_mask(tensor, mask, name="boolean_mask", axis=None):
    """The rows where the mask is true."""
    with name_scope(name, values=[tensor, mask]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        return _capstan.build("boolean_mask", tensor, mask, axis or 0, scope)
