"""tf.contrib.layers: penalties on weights."""

from capstan.core import convert
from capstan.core.graph import GraphKeys, add_to_collection, get_collection, name_scope
from capstan.core.public import public
from capstan.ops import math_ops, nn_ops


def _scaled(scale, name, penalty):
    if isinstance(scale, int) and not isinstance(scale, bool) and scale != 0:
        raise ValueError("scale cannot be an integer: %s" % scale)
    if scale < 0.0:
        raise ValueError("Setting a scale less than 0 on a regularizer: %g" % scale)
    if scale == 0.0:
        return lambda _: None

    def regularizer(weights):
        with name_scope(name, penalty.__name__, [weights]) as scope:
            factor = convert.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return math_ops.multiply(factor, penalty(weights), name=scope)

    return regularizer


@public("contrib.layers.l1_regularizer")
def l1_regularizer(scale, scope=None):
    def l1_regularizer(weights):
        return math_ops.reduce_sum(math_ops.abs(weights))

    return _scaled(scale, scope, l1_regularizer)


@public("contrib.layers.l2_regularizer")
def l2_regularizer(scale, scope=None):
    def l2_regularizer(weights):
        return nn_ops.l2_loss(weights)

    return _scaled(scale, scope, l2_regularizer)


@public("contrib.layers.sum_regularizer")
def sum_regularizer(regularizer_list, scope=None):
    chosen = [regularizer for regularizer in regularizer_list if regularizer is not None]
    if not chosen:
        return None

    def summed(weights):
        with name_scope(scope, "sum_regularizer") as name:
            parts = [r for r in (regularizer(weights) for regularizer in chosen) if r is not None]
            return math_ops.add_n(parts, name=name) if parts else None

    return summed


@public("contrib.layers.l1_l2_regularizer")
def l1_l2_regularizer(scale_l1=1.0, scale_l2=1.0, scope=None):
    scope = scope or "l1_l2_regularizer"
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope)


@public("contrib.layers.apply_regularization")
def apply_regularization(regularizer, weights_list=None):
    weights = get_collection(GraphKeys.WEIGHTS) if weights_list is None else weights_list
    if not weights:
        raise ValueError("No weights to regularize.")
    with name_scope("get_regularization_penalty"):
        total = math_ops.add_n([regularizer(w) for w in weights])
    add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
    return total
