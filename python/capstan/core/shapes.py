"""Shapes as programs of the 1.x era use them: a TensorShape of Dimensions, any of them unknown."""

from capstan.core import protos
from capstan.core.public import public


@public("Dimension")
class Dimension:
    """A size that may be unknown (None). Arithmetic with an unknown size is unknown."""

    __slots__ = ("_value",)

    def __init__(self, value):
        if isinstance(value, Dimension):
            value = value._value
        if value is not None:
            try:
                value = value.__index__()
            except AttributeError:
                raise TypeError(
                    "Dimension value must be integer or None or have an __index__ method, got "
                    "value '%r' with type '%s'" % (value, type(value).__name__)
                ) from None
            if value < 0:
                raise ValueError("Dimension %d must be >= 0" % value)
        self._value = value

    value = property(lambda self: self._value)

    def __repr__(self):
        return "Dimension(%r)" % (self._value,)

    def __str__(self):
        return "?" if self._value is None else str(self._value)

    def __eq__(self, other):
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other._value is None:
            return None
        return self._value == other._value

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal in (None, NotImplemented) else not equal

    def __hash__(self):
        return hash(self._value)

    def __bool__(self):
        return bool(self._value)

    def __int__(self):
        return self._value

    def __index__(self):
        return self._value

    def is_compatible_with(self, other):
        other = as_dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def merge_with(self, other):
        other = as_dimension(other)
        if not self.is_compatible_with(other):
            raise ValueError("Dimensions %s and %s are not compatible" % (self, other))
        return other if self._value is None else self


def _dimension_operator(symbol, function):
    def forward(self, other):
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other._value is None:
            return _comparison_or_unknown(symbol)
        result = function(self._value, other._value)
        return result if isinstance(result, bool) else Dimension(result)

    return forward


def _comparison_or_unknown(symbol):
    return None if symbol in ("lt", "le", "gt", "ge") else Dimension(None)


def _add_dimension_operators():
    import operator

    for name in ("add", "sub", "mul", "floordiv", "mod"):
        function = getattr(operator, name)
        setattr(Dimension, "__%s__" % name, _dimension_operator(name, function))
        reflected = _dimension_operator(name, lambda a, b, f=function: f(b, a))
        setattr(Dimension, "__r%s__" % name, reflected)
    for name in ("lt", "le", "gt", "ge"):
        setattr(Dimension, "__%s__" % name, _dimension_operator(name, getattr(operator, name)))


_add_dimension_operators()


def as_dimension(value):
    return value if isinstance(value, Dimension) else Dimension(value)


@public("dimension_value")
def dimension_value(dimension):
    return dimension.value if isinstance(dimension, Dimension) else dimension


@public("TensorShape")
class TensorShape:
    """`_dims` is a tuple of sizes (None where unknown), or None for an unknown rank."""

    __slots__ = ("_dims",)

    def __init__(self, dims):
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif hasattr(dims, "unknown_rank") and hasattr(dims, "dim"):
            sizes = tuple(None if d.size < 0 else d.size for d in dims.dim)
            self._dims = None if dims.unknown_rank else sizes
        elif hasattr(dims, "__iter__"):
            self._dims = tuple(Dimension(_unless_minus_one(dim))._value for dim in dims)
        else:
            self._dims = (Dimension(dims)._value,)

    @property
    def dims(self):
        return None if self._dims is None else [Dimension(dim) for dim in self._dims]

    @property
    def ndims(self):
        return None if self._dims is None else len(self._dims)

    rank = ndims

    def __repr__(self):
        return "TensorShape(%r)" % (self.dims,)

    def __str__(self):
        if self._dims is None:
            return "<unknown>"
        texts = ["?" if dim is None else str(dim) for dim in self._dims]
        return "(%s,)" % texts[0] if len(texts) == 1 else "(%s)" % ", ".join(texts)

    def __len__(self):
        return len(self._known())

    def __bool__(self):
        return self._dims is not None

    def __iter__(self):
        return (Dimension(dim) for dim in self._known())

    def __getitem__(self, key):
        if self._dims is None:
            return TensorShape(None) if isinstance(key, slice) else Dimension(None)
        found = self._dims[key]
        return TensorShape(found) if isinstance(key, slice) else Dimension(found)

    def __eq__(self, other):
        try:
            return self._dims == as_shape(other)._dims
        except (TypeError, ValueError):
            return NotImplemented

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self):
        return hash(self._dims)

    def __add__(self, other):
        return self.concatenate(other)

    def __reduce__(self):
        return TensorShape, (self._dims,)

    def _known(self):
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return self._dims

    def num_elements(self):
        if not self.is_fully_defined():
            return None
        count = 1
        for dim in self._dims:
            count *= dim
        return count

    def as_list(self):
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def is_fully_defined(self):
        return self._dims is not None and None not in self._dims

    def is_compatible_with(self, other):
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            a is None or b is None or a == b for a, b in zip(self._dims, other._dims)
        )

    def merge_with(self, other):
        other = as_shape(other)
        if not self.is_compatible_with(other):
            raise ValueError("Shapes %s and %s are not compatible" % (self, other))
        if self._dims is None:
            return other
        if other._dims is None:
            return self
        return TensorShape([b if a is None else a for a, b in zip(self._dims, other._dims)])

    def concatenate(self, other):
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + other._dims)

    def with_rank(self, rank):
        try:
            return self.merge_with(TensorShape([None] * rank))
        except ValueError:
            raise ValueError("Shape %s must have rank %d" % (self, rank)) from None

    def with_rank_at_least(self, rank):
        if self.ndims is not None and self.ndims < rank:
            raise ValueError("Shape %s must have rank at least %d" % (self, rank))
        return self

    def with_rank_at_most(self, rank):
        if self.ndims is not None and self.ndims > rank:
            raise ValueError("Shape %s must have rank at most %d" % (self, rank))
        return self

    def assert_has_rank(self, rank):
        if self.ndims not in (None, rank):
            raise ValueError("Shape %s must have rank %d" % (self, rank))

    def assert_is_fully_defined(self):
        if not self.is_fully_defined():
            raise ValueError("Shape %s is not fully defined" % self)

    def assert_is_compatible_with(self, other):
        if not self.is_compatible_with(other):
            raise ValueError("Shapes %s and %s are incompatible" % (self, as_shape(other)))

    def as_proto(self):
        if self._dims is None:
            return protos.TensorShapeProto(unknown_rank=True)
        dims = [protos.TensorShapeProto.Dim(size=-1 if d is None else d) for d in self._dims]
        return protos.TensorShapeProto(dim=dims)


def _unless_minus_one(dim):
    """-1 stands for an unknown size in protocol buffers and in attrs."""
    return None if type(dim) is int and dim == -1 else dim


def as_shape(value):
    return value if isinstance(value, TensorShape) else TensorShape(value)


def unknown_shape(rank=None, **kwargs):
    rank = kwargs.get("ndims", rank)
    return TensorShape(None if rank is None else [None] * rank)


def scalar():
    return TensorShape([])
