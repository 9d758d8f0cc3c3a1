"""Element types, with TensorFlow's numbers and names. `float32_ref` and its kin are variables."""

import numpy as np

from capstan.core.public import public, public_module, public_values

public_module("python.framework.dtypes")
public_values(
    float16="float16 dtypes.float16",
    float32="float32 dtypes.float32",
    float64="float64 dtypes.float64",
    double="double",
    half="half",
    int8="int8 dtypes.int8",
    int16="int16 dtypes.int16",
    int32="int32 dtypes.int32",
    int64="int64 dtypes.int64",
    uint8="uint8 dtypes.uint8",
    uint16="uint16",
    uint32="uint32",
    uint64="uint64",
    bool="bool dtypes.bool",
    string="string dtypes.string",
    complex64="complex64",
    resource="resource",
    float32_ref="float32_ref",
    float64_ref="float64_ref",
    int32_ref="int32_ref",
    int64_ref="int64_ref",
    string_ref="string_ref",
    bool_ref="bool_ref",
)


@public("DType", "dtypes.DType")
class DType:
    """One instance per type; `as_dtype` finds it."""

    __slots__ = ("as_datatype_enum", "name", "_numpy")

    def __init__(self, number, name, numpy_type):
        self.as_datatype_enum = number
        self.name = name
        self._numpy = numpy_type

    @property
    def _is_ref_dtype(self):
        return self.as_datatype_enum > 100

    @property
    def base_dtype(self):
        return _BY_NUMBER[self.as_datatype_enum - 100] if self._is_ref_dtype else self

    @property
    def real_dtype(self):
        return float32 if self.base_dtype is complex64 else self.base_dtype

    @property
    def _as_ref(self):
        return self if self._is_ref_dtype else _BY_NUMBER[self.as_datatype_enum + 100]

    @property
    def as_numpy_dtype(self):
        return self._numpy

    @property
    def is_floating(self):
        return self.base_dtype in (float16, float32, float64)

    @property
    def is_complex(self):
        return self.base_dtype is complex64

    @property
    def is_integer(self):
        return np.issubdtype(self._numpy, np.integer)

    @property
    def is_unsigned(self):
        return np.issubdtype(self._numpy, np.unsignedinteger)

    @property
    def is_bool(self):
        return self.base_dtype is bool

    @property
    def is_numpy_compatible(self):
        return self.base_dtype is not resource

    @property
    def min(self):
        return self._limits().min

    @property
    def max(self):
        return self._limits().max

    @property
    def limits(self):
        return self.min, self.max

    @property
    def size(self):
        return 1 if self.base_dtype in (string, resource) else np.dtype(self._numpy).itemsize

    def _limits(self):
        if self.is_floating:
            return np.finfo(self._numpy)
        if self.is_integer:
            return np.iinfo(self._numpy)
        raise TypeError("%s has no limits" % self.name)

    def is_compatible_with(self, other):
        other = as_dtype(other)
        return self is other or self is other.base_dtype

    def __eq__(self, other):
        if other is None:
            return False
        try:
            return self.as_datatype_enum == as_dtype(other).as_datatype_enum
        except TypeError:
            return False

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return self.as_datatype_enum

    def __int__(self):
        return self.as_datatype_enum

    def __repr__(self):
        return "tf." + self.name

    def __str__(self):
        return "<dtype: %r>" % self.name

    def __reduce__(self):
        return as_dtype, (self.name,)


_TYPES = [
    (1, "float32", np.float32),
    (2, "float64", np.float64),
    (3, "int32", np.int32),
    (4, "uint8", np.uint8),
    (5, "int16", np.int16),
    (6, "int8", np.int8),
    (7, "string", np.object_),
    (8, "complex64", np.complex64),
    (9, "int64", np.int64),
    (10, "bool", np.bool_),
    (17, "uint16", np.uint16),
    (19, "float16", np.float16),
    (20, "resource", np.object_),
    (22, "uint32", np.uint32),
    (23, "uint64", np.uint64),
]
_BY_NUMBER = {}
for _number, _name, _numpy in _TYPES:
    _BY_NUMBER[_number] = DType(_number, _name, _numpy)
    _BY_NUMBER[_number + 100] = DType(_number + 100, _name + "_ref", _numpy)

float32, float64, int32, uint8, int16, int8 = (_BY_NUMBER[n] for n in range(1, 7))
string, complex64, int64, bool = (_BY_NUMBER[n] for n in range(7, 11))
uint16, float16, resource, uint32, uint64 = (_BY_NUMBER[n] for n in (17, 19, 20, 22, 23))
float32_ref, float64_ref, int32_ref = float32._as_ref, float64._as_ref, int32._as_ref
int64_ref, bool_ref, string_ref = int64._as_ref, bool._as_ref, string._as_ref
half, double = float16, float64

_BY_NAME = {dtype.name: dtype for dtype in _BY_NUMBER.values()}
_BY_NAME.update(half=half, float=_BY_NAME["float32"], double=double)
_BY_NUMPY = {
    np.dtype(dtype._numpy): dtype
    for number, dtype in _BY_NUMBER.items()
    if number < 100 and dtype.name not in ("resource", "string")
}
_BY_PYTHON = {
    float: _BY_NAME["float32"],
    int: _BY_NAME["int32"],
    str: _BY_NAME["string"],
    bytes: _BY_NAME["string"],
    object: _BY_NAME["string"],
    type(True): _BY_NAME["bool"],
}


@public("as_dtype", "dtypes.as_dtype")
def as_dtype(type_value):
    """The DType of a DType, a name, a number, a numpy type or a Python type."""
    if isinstance(type_value, DType):
        return type_value
    found = None
    if isinstance(type_value, str):
        found = _BY_NAME.get(type_value)
    elif type(type_value) is int:
        found = _BY_NUMBER.get(type_value)
    elif isinstance(type_value, type) and type_value in _BY_PYTHON:
        found = _BY_PYTHON[type_value]
    if found is None:
        found = _from_numpy(type_value)
    if found is None:
        raise TypeError("Cannot convert value %r to a TensorFlow DType." % (type_value,))
    return found


def _from_numpy(value):
    try:
        dtype = np.dtype(value)
    except TypeError:
        return None
    if dtype.kind in "SUO":
        return _BY_NAME["string"]
    return _BY_NUMPY.get(dtype.newbyteorder("="))


def from_number(number):
    return _BY_NUMBER[number]
