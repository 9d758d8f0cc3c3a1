"""Learning rates that change with the global step."""

import math

from capstan import array_ops, convert, math_ops
from capstan.apply import apply_op
from capstan.graph import name_scope


def _start(learning_rate, global_step):
    if global_step is None:
        raise ValueError("global_step is required for a decaying learning rate.")
    rate = convert.convert_to_tensor(learning_rate, name="initial_learning_rate")
    return rate, rate.dtype


def exponential_decay(
    learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None
):
    with name_scope(name, "ExponentialDecay", [learning_rate, global_step]) as scope:
        rate, dtype = _start(learning_rate, global_step)
        steps = math_ops.cast(decay_steps, dtype)
        factor = math_ops.cast(decay_rate, dtype)
        p = math_ops.cast(global_step, dtype) / steps
        if staircase:
            p = apply_op("Floor", x=p)
        return math_ops.multiply(rate, math_ops.pow(factor, p), name=scope)


def natural_exp_decay(
    learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None
):
    return exponential_decay(
        learning_rate,
        global_step,
        decay_steps,
        math.exp(-decay_rate),
        staircase,
        name or "NaturalExpDecay",
    )


def inverse_time_decay(
    learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None
):
    with name_scope(name, "InverseTimeDecay", [learning_rate, global_step]) as scope:
        rate, dtype = _start(learning_rate, global_step)
        p = math_ops.cast(global_step, dtype) / math_ops.cast(decay_steps, dtype)
        if staircase:
            p = apply_op("Floor", x=p)
        one = math_ops.cast(convert.constant(1), dtype)
        return math_ops.divide(rate, one + math_ops.cast(decay_rate, dtype) * p, name=scope)


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
        end = math_ops.cast(end_learning_rate, dtype)
        steps, step = math_ops.cast(decay_steps, dtype), math_ops.cast(global_step, dtype)
        if cycle:
            rounds = apply_op("Maximum", x=1.0, y=apply_op("Ceil", x=step / steps))
            steps = steps * rounds
        else:
            step = apply_op("Minimum", x=step, y=steps)
        left = 1 - step / steps
        return math_ops.add(
            (rate - end) * math_ops.pow(left, math_ops.cast(power, dtype)), end, name=scope
        )


def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name=None):
    with name_scope(name, "CosineDecay", [learning_rate, global_step]):
        rate, dtype = _start(learning_rate, global_step)
        steps = math_ops.cast(decay_steps, dtype)
        step = apply_op("Minimum", x=math_ops.cast(global_step, dtype), y=steps)
        cosine = 0.5 * (1.0 + apply_op("Cos", x=convert.constant(math.pi, dtype) * (step / steps)))
        return math_ops.multiply(rate, (1 - alpha) * cosine + alpha)


def piecewise_constant(x, boundaries, values, name=None):
    """values[i] up to boundaries[i], the last value beyond."""
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    with name_scope(name, "PiecewiseConstant", [x]) as scope:
        x = convert.convert_to_tensor(x)
        rates = [convert.convert_to_tensor(value) for value in values]
        chosen = rates[-1]
        for boundary, rate in zip(reversed(boundaries), reversed(rates[:-1])):
            limit = convert.convert_to_tensor(boundary, x.dtype.base_dtype)
            chosen = array_ops.where(x <= limit, rate, chosen)
        return array_ops.identity(chosen, name=scope)
