"""Arithmetic, comparison, reductions, matrix products: the functions whose nodes or arguments
differ from those of a single row, and the operators of tensors."""

import numpy as np

from capstan import _capstan
from capstan.core import convert, dtypes
from capstan.core.apply import apply_op
from capstan.core.convert import convert_to_tensor
from capstan.core.elements import Tensor
from capstan.core.graph import name_scope
from capstan.core.public import public

# --- Binary -------------------------------------------------------------------------------------


@public("add", "math.add")
def add(x, y, name=None):
    with name_scope(name, "Add", [x]) as scope:
        x, y = _pair(x, y)
        return apply_op(
            "Add" if x.dtype.base_dtype is dtypes.string else "AddV2", x=x, y=y, name=scope
        )


def _pair(x, y):
    """Both as tensors, the one that is not yet in the type of the other; named x and y."""
    if not convert.is_tensor(x) and convert.is_tensor(y):
        y = convert_to_tensor(y)
        return convert_to_tensor(x, dtype_hint=y.dtype, name="x"), y
    x = convert_to_tensor(x, name="x")
    return x, convert_to_tensor(y, dtype_hint=x.dtype, name="y")


@public("subtract", "sub", "math.subtract")
def subtract(x, y, name=None):
    return apply_op("Sub", x=x, y=y, name=name)


@public("multiply", "mul", "math.multiply")
def multiply(x, y, name=None):
    return apply_op("Mul", x=x, y=y, name=name)


@public("negative", "neg", "math.negative")
def negative(x, name=None):
    return apply_op("Neg", x=x, name=name)


_TRUE_DIVISION = {
    dtypes.uint8: dtypes.float32,
    dtypes.int8: dtypes.float32,
    dtypes.uint16: dtypes.float32,
    dtypes.int16: dtypes.float32,
    dtypes.int32: dtypes.float64,
    dtypes.int64: dtypes.float64,
}


def _same_types(x, y, what):
    if x.dtype.base_dtype is not y.dtype.base_dtype:
        raise TypeError(
            "`x` and `y` must have the same dtype for %s, got %r != %r."
            % (what, x.dtype.base_dtype, y.dtype.base_dtype)
        )


def _true_divide(x, y, scope):
    _same_types(x, y, "true division")
    wide = _TRUE_DIVISION.get(x.dtype.base_dtype)
    if wide is not None:
        x, y = cast(x, wide), cast(y, wide)
    return apply_op("RealDiv", x=x, y=y, name=scope)


@public("truediv", "math.truediv")
def truediv(x, y, name=None):
    with name_scope(name, "truediv", [x, y]) as scope:
        x, y = _pair(x, y)
        return _true_divide(x, y, scope)


@public("divide", "math.divide")
def divide(x, y, name=None):
    """Python's `/`: a name becomes a scope around the quotient."""
    if name is None and (convert.is_tensor(x) or convert.is_tensor(y)):
        return truediv(x, y)
    with name_scope(name, "truediv", [x, y]) as scope:
        x, y = _pair(x, y)
        return _true_divide(x, y, scope)


@public("div")
def div(x, y, name=None):
    """Python 2's division: whole numbers are rounded down."""
    with name_scope(name, "div", [x, y]) as scope:
        x, y = _pair(x, y)
        _same_types(x, y, "division")
        whole = not (x.dtype.is_floating or x.dtype.is_complex)
        return apply_op("FloorDiv" if whole else "RealDiv", x=x, y=y, name=scope)


@public("floordiv", "math.floordiv")
def floordiv(x, y, name=None):
    with name_scope(name, "floordiv", [x, y]) as scope:
        x, y = _pair(x, y)
        return apply_op("FloorDiv", x=x, y=y, name=scope)


@public("mod", "floormod", "math.mod", "math.floormod")
def mod(x, y, name=None):
    return apply_op("FloorMod", x=x, y=y, name=name)


@public("pow", "math.pow")
def pow(x, y, name=None):
    with name_scope(name, "Pow", [x]) as scope:
        x, y = _pair(x, y)
        return apply_op("Pow", x=x, y=y, name=scope)


@public("logical_xor", "math.logical_xor")
def logical_xor(x, y, name="LogicalXor"):
    x, y = convert_to_tensor(x, dtypes.bool), convert_to_tensor(y, dtypes.bool)
    return _capstan.build("logical_xor", x, y, name)


@public("equal", "math.equal", differs="of numbers and bools")
def equal(x, y, name=None):
    return apply_op("Equal", x=x, y=y, name=name)


@public("not_equal", "math.not_equal", differs="of numbers and bools")
def not_equal(x, y, name=None):
    return apply_op("NotEqual", x=x, y=y, name=name)


# --- Unary and casts ----------------------------------------------------------------------------


@public("abs", "math.abs")
def abs(x, name=None):
    with name_scope(name, "Abs", [x]) as scope:
        return apply_op("Abs", x=convert_to_tensor(x, name="x"), name=scope)


@public("sigmoid", "nn.sigmoid", "math.sigmoid")
def sigmoid(x, name=None):
    with name_scope(name, "Sigmoid", [x]) as scope:
        return apply_op("Sigmoid", x=convert_to_tensor(x, name="x"), name=scope)


@public("round", "math.round")
def round(x, name=None):
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else apply_op("Round", x=x, name=name)


@public("cast", differs="half and complex numbers are only moved, not computed with")
def cast(x, dtype, name=None):
    target = dtypes.as_dtype(dtype).base_dtype
    if isinstance(x, Tensor) and x.dtype is target:
        return x
    with name_scope(name, "Cast", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype is target:
            return x
        return apply_op("Cast", x=x, DstT=target, name=scope)


def _caster(target, default_name):
    def to(x, name=default_name):
        return cast(x, target, name=name)

    to.__name__ = default_name
    return to


to_float = public("to_float")(_caster(dtypes.float32, "ToFloat"))
to_double = public("to_double")(_caster(dtypes.float64, "ToDouble"))
to_int32 = public("to_int32")(_caster(dtypes.int32, "ToInt32"))
to_int64 = public("to_int64")(_caster(dtypes.int64, "ToInt64"))


@public("add_n", "math.add_n")
def add_n(inputs, name=None):
    inputs = (
        inputs if isinstance(inputs, (list, tuple)) or convert.is_tensor(inputs) else list(inputs)
    )
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError(
            "inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape"
        )
    inputs = convert.convert_n_to_tensor(inputs)
    if len(inputs) == 1:
        return apply_op("Identity", input=inputs[0], name=name) if name else inputs[0]
    return apply_op("AddN", inputs=inputs, name=name)


@public("accumulate_n", "math.accumulate_n")
def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    return add_n(inputs, name=name)


# --- Reductions ---------------------------------------------------------------------------------


def _axis_list(axis):
    """None, or the axes as a list."""
    if axis is None or isinstance(axis, (list, tuple)):
        return axis if axis is None else [int(one) for one in axis]
    return [int(one) for one in np.ravel(convert.constant_of(axis))]


def _either(new, old, new_name, old_name):
    if old is None:
        return new
    if new is not None:
        raise ValueError("Cannot specify both '%s' and '%s'." % (old_name, new_name))
    return old


def _reduction(op_type):
    def reduce(
        input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None
    ):
        axis = _either(axis, reduction_indices, "axis", "reduction_indices")
        keep = _either(keepdims, keep_dims, "keepdims", "keep_dims")
        if isinstance(keep, str):  # 1.x: (input_tensor, axis, keep_dims, name)
            name, keep = keep, None
        if axis is None:
            x = convert_to_tensor(input_tensor, name="input")
            return _capstan.build("reduce", op_type, x, None, bool(keep), name or op_type)
        return apply_op(
            op_type, input=input_tensor, reduction_indices=axis, keep_dims=bool(keep), name=name
        )

    reduce.__name__ = "reduce_" + op_type.lower()
    return reduce


reduce_sum = public("reduce_sum", "math.reduce_sum")(_reduction("Sum"))
reduce_mean = public("reduce_mean", "math.reduce_mean")(_reduction("Mean"))
reduce_max = public("reduce_max", "math.reduce_max")(_reduction("Max"))
reduce_min = public("reduce_min", "math.reduce_min")(_reduction("Min"))
reduce_prod = public("reduce_prod", "math.reduce_prod")(_reduction("Prod"))
reduce_all = public("reduce_all", "math.reduce_all")(_reduction("All"))
reduce_any = public("reduce_any", "math.reduce_any")(_reduction("Any"))


@public("argmax", "math.argmax")
def argmax(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    axis = _either(axis, dimension, "axis", "dimension")
    return apply_op(
        "ArgMax",
        input=input,
        dimension=0 if axis is None else axis,
        output_type=output_type,
        name=name,
    )


@public("argmin", "math.argmin")
def argmin(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    axis = _either(axis, dimension, "axis", "dimension")
    return apply_op(
        "ArgMin",
        input=input,
        dimension=0 if axis is None else axis,
        output_type=output_type,
        name=name,
    )


@public("arg_max")
def arg_max(input, dimension, output_type=dtypes.int64, name=None):
    return argmax(input, dimension, name, output_type=output_type)


@public("arg_min")
def arg_min(input, dimension, output_type=dtypes.int64, name=None):
    return argmin(input, dimension, name, output_type=output_type)


@public("range")
def range(start, limit=None, delta=1, dtype=None, name="range"):
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        start, limit, delta = (
            convert_to_tensor(value, dtype=None if convert.is_tensor(value) else dtype, name=label)
            for value, label in ((start, "start"), (limit, "limit"), (delta, "delta"))
        )
        widest = max((start, limit, delta), key=lambda t: _RANGE_ORDER.index(t.dtype.base_dtype))
        start, limit, delta = (cast(t, widest.dtype.base_dtype) for t in (start, limit, delta))
        return apply_op("Range", start=start, limit=limit, delta=delta, name=scope)


_RANGE_ORDER = [dtypes.int32, dtypes.int64, dtypes.float16, dtypes.float32, dtypes.float64]


# --- Matrix products ----------------------------------------------------------------------------


@public("matmul", "linalg.matmul")
def matmul(
    a,
    b,
    transpose_a=False,
    transpose_b=False,
    adjoint_a=False,
    adjoint_b=False,
    a_is_sparse=False,
    b_is_sparse=False,
    name=None,
):
    with name_scope(name, "MatMul", [a, b]) as scope:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, dtype_hint=a.dtype.base_dtype, name="b")
        turn_a, turn_b = bool(transpose_a or adjoint_a), bool(transpose_b or adjoint_b)
        ranks = a.shape.ndims, b.shape.ndims
        if (ranks[0] is None or ranks[0] > 2) and (ranks[1] is None or ranks[1] > 2):
            return apply_op("BatchMatMulV2", x=a, y=b, adj_x=turn_a, adj_y=turn_b, name=scope)
        return apply_op("MatMul", a=a, b=b, transpose_a=turn_a, transpose_b=turn_b, name=scope)


@public("batch_matmul")
def batch_matmul(x, y, adj_x=False, adj_y=False, name=None):
    return matmul(x, y, adjoint_a=adj_x, adjoint_b=adj_y, name=name)


# --- Operators ----------------------------------------------------------------------------------


def _binary_operator(symbol, name, function):
    def forward(x, y):
        with name_scope(None, name, [x, y]) as scope:
            x = convert_to_tensor(x)
            y = convert_to_tensor(y, dtype_hint=x.dtype.base_dtype, name="y")
            return function(x, y, scope)

    def reflected(y, x):
        with name_scope(None, name, [x, y]) as scope:
            y = convert_to_tensor(y)
            x = convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x")
            return function(x, y, scope)

    return {"__%s__" % symbol: forward, "__r%s__" % symbol: reflected}


def _op2(op_type):
    return lambda x, y, scope: apply_op(op_type, x=x, y=y, name=scope)


def _matmul_operator(x, y, scope):
    return matmul(x, y, name=scope)


def _xor_operator(x, y, scope):
    return logical_xor(x, y, name=scope)


def operators():
    """The special methods that tensors and variables share."""
    table = {}
    for symbol, name, function in (
        ("add", "add", _op2("AddV2")),
        ("sub", "sub", _op2("Sub")),
        ("mul", "mul", _op2("Mul")),
        ("truediv", "truediv", _true_divide),
        ("floordiv", "floordiv", _op2("FloorDiv")),
        ("div", "div", lambda x, y, scope: div(x, y, name=scope)),
        ("mod", "mod", _op2("FloorMod")),
        ("pow", "pow", _op2("Pow")),
        ("matmul", "matmul", _matmul_operator),
        ("and", "and", _op2("LogicalAnd")),
        ("or", "or", _op2("LogicalOr")),
        ("xor", "xor", _xor_operator),
    ):
        table.update(_binary_operator(symbol, name, function))
    for symbol, op_type in (
        ("lt", "Less"),
        ("le", "LessEqual"),
        ("gt", "Greater"),
        ("ge", "GreaterEqual"),
    ):
        table["__%s__" % symbol] = lambda x, y, op_type=op_type: apply_op(op_type, x=x, y=y)
    table["__neg__"] = lambda x: apply_op("Neg", x=x)
    table["__abs__"] = lambda x: abs(x)
    table["__invert__"] = lambda x: apply_op("LogicalNot", x=x)
    return table


def attach_operators(kind):
    for name, function in operators().items():
        setattr(kind, name, function)


attach_operators(Tensor)
