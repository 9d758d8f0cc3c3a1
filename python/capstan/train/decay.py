"""Learning rates that change with the global step. The formulas are the engine's."""

from capstan import _capstan
from capstan.core import convert
from capstan.core.apply import apply_op
from capstan.core.graph import name_scope
from capstan.core.public import public
from capstan.ops import math_ops


def _start(learning_rate, global_step):
    if global_step is None:
        raise ValueError("global_step is required for a decaying learning rate.")
    rate = convert.convert_to_tensor(learning_rate, name="initial_learning_rate")
    if not rate.dtype.is_floating:
        raise TypeError("a learning rate that decays is a fraction, not a %s" % rate.dtype.name)
    return rate, rate.dtype


def _by_factor(make, default_name):
    def decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
        with name_scope(name, default_name, [learning_rate, global_step]) as scope:
            rate, dtype = _start(learning_rate, global_step)
            steps = math_ops.cast(decay_steps, dtype)
            factor = math_ops.cast(decay_rate, dtype)
            step = math_ops.cast(global_step, dtype)
            return make(rate, step, steps, factor, bool(staircase), scope)

    return decay


exponential_decay = public("train.exponential_decay")(
    _by_factor(_capstan.exponential_decay, "ExponentialDecay")
)
inverse_time_decay = public("train.inverse_time_decay")(
    _by_factor(_capstan.inverse_time_decay, "InverseTimeDecay")
)


@public("train.natural_exp_decay")
def natural_exp_decay(
    learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None
):
    factor = apply_op("Exp", x=apply_op("Neg", x=decay_rate))
    return exponential_decay(learning_rate, global_step, decay_steps, factor, staircase, name)


@public("train.polynomial_decay")
def polynomial_decay(
    learning_rate,
    global_step,
    decay_steps,
    end_learning_rate=0.0001,
    power=1.0,
    cycle=False,
    name=None,
):
    with name_scope(name, "PolynomialDecay", [learning_rate, global_step]) as scope:
        rate, dtype = _start(learning_rate, global_step)
        end, power = math_ops.cast(end_learning_rate, dtype), math_ops.cast(power, dtype)
        step, steps = math_ops.cast(global_step, dtype), math_ops.cast(decay_steps, dtype)
        return _capstan.polynomial_decay(rate, step, steps, end, power, bool(cycle), scope)


@public("train.cosine_decay")
def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name=None):
    with name_scope(name, "CosineDecay", [learning_rate, global_step]) as scope:
        rate, dtype = _start(learning_rate, global_step)
        steps = math_ops.cast(decay_steps, dtype)
        return _capstan.cosine_decay(rate, math_ops.cast(global_step, dtype), steps, alpha, scope)


@public("train.piecewise_constant", "train.piecewise_constant_decay")
def piecewise_constant(x, boundaries, values, name=None):
    """values[i] up to boundaries[i], the last value beyond."""
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    with name_scope(name, "PiecewiseConstant", [x]) as scope:
        x = convert.convert_to_tensor(x)
        limits = [math_ops.cast(b, x.dtype.base_dtype) for b in boundaries]
        rates = [convert.convert_to_tensor(value) for value in values]
        return _capstan.piecewise_constant(x, limits, rates, scope)
