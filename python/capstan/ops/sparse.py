"""Tensors of which only some rows, or some elements, are there."""

import collections

from capstan.core import dtypes
from capstan.core.convert import convert_to_tensor
from capstan.core.defaults import session_for
from capstan.core.public import public
from capstan.core.shapes import TensorShape

IndexedSlicesValue = collections.namedtuple(
    "IndexedSlicesValue", ["values", "indices", "dense_shape"]
)
SparseTensorValue = public("SparseTensorValue")(
    collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])
)


@public("IndexedSlices")
class IndexedSlices:
    """values[i] is the row indices[i] of a tensor of shape dense_shape."""

    def __init__(self, values, indices, dense_shape=None):
        self._values, self._indices, self._dense_shape = values, indices, dense_shape

    values = property(lambda self: self._values)
    indices = property(lambda self: self._indices)
    dense_shape = property(lambda self: self._dense_shape)
    name = property(lambda self: self._values.name)
    op = property(lambda self: self._values.op)
    device = property(lambda self: self._values.device)
    dtype = property(lambda self: self._values.dtype)
    graph = property(lambda self: self._values.graph)

    @property
    def shape(self):
        value = None if self._dense_shape is None else self._dense_shape._constant_value()
        return TensorShape(value)

    get_shape = shape.fget

    def _fetch_parts(self):
        parts = [self._values, self._indices]
        if self._dense_shape is None:
            return parts, lambda values: IndexedSlicesValue(values[0], values[1], None)
        return parts + [self._dense_shape], lambda values: IndexedSlicesValue(*values)

    def __repr__(self):
        return "IndexedSlices(indices=%s, values=%s)" % (self._indices, self._values)


@public("SparseTensor")
class SparseTensor:
    """values[i] is the element at indices[i]; all others are absent."""

    def __init__(self, indices, values, dense_shape=None, shape=None):
        dense_shape = shape if dense_shape is None else dense_shape
        self._indices = convert_to_tensor(indices, dtypes.int64, name="indices")
        self._values = convert_to_tensor(values, name="values")
        self._dense_shape = convert_to_tensor(dense_shape, dtypes.int64, name="shape")

    values = property(lambda self: self._values)
    indices = property(lambda self: self._indices)
    dense_shape = property(lambda self: self._dense_shape)
    op = property(lambda self: self._values.op)
    dtype = property(lambda self: self._values.dtype)
    graph = property(lambda self: self._values.graph)

    @property
    def shape(self):
        return TensorShape(self._dense_shape._constant_value())

    def get_shape(self):
        return self.shape

    def _fetch_parts(self):
        return [self._indices, self._values, self._dense_shape], lambda v: SparseTensorValue(*v)

    def _feed_parts(self, value):
        return zip((self._indices, self._values, self._dense_shape), value)

    def eval(self, feed_dict=None, session=None):
        return session_for(session, "evaluate the sparse tensor").run(self, feed_dict)

    def __repr__(self):
        return "SparseTensor(indices=%s, values=%s, dense_shape=%s)" % (
            self._indices,
            self._values,
            self._dense_shape,
        )


@public("convert_to_tensor_or_sparse_tensor")
def convert_to_tensor_or_sparse_tensor(value, dtype=None, name=None):
    if isinstance(value, SparseTensorValue):
        return SparseTensor(*value)
    return value if isinstance(value, SparseTensor) else convert_to_tensor(value, dtype, name)
