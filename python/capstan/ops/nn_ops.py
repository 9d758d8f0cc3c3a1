"""tf.nn: activations, cross entropies, and small layers. Composites are the engine's; here their
arguments become tensors, under TensorFlow's names."""

from capstan import _capstan
from capstan.core import convert
from capstan.core.apply import apply_op
from capstan.core.convert import convert_to_tensor
from capstan.core.graph import name_scope
from capstan.core.public import public
from capstan.ops import math_ops
from capstan.ops.array_ops import stop_gradient, transpose


@public("nn.bias_add")
def bias_add(value, bias, data_format=None, name=None):
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype, name="bias")
        return apply_op("BiasAdd", value=value, bias=bias, data_format=data_format, name=scope)


@public("nn.relu")
def relu(features, name=None):
    return apply_op("Relu", features=features, name=name)


@public("nn.leaky_relu")
def leaky_relu(features, alpha=0.2, name=None):
    with name_scope(name, "LeakyRelu", [features, alpha]) as scope:
        features = convert_to_tensor(features, name="features")
        return apply_op("LeakyRelu", features=features, alpha=alpha, name=scope)


@public("nn.l2_loss")
def l2_loss(t, name=None):
    return apply_op("L2Loss", t=t, name=name)


def _over_last_axis(op_type):
    def function(logits, axis=None, name=None, dim=None):
        axis = math_ops._either(axis, dim, "axis", "dim")
        logits = convert_to_tensor(logits)
        rank = logits.shape.ndims
        if axis in (None, -1) or (rank is not None and axis == rank - 1):
            return apply_op(op_type, logits=logits, name=name)
        return _capstan.build("softmax_along", op_type, logits, axis, name or "transpose")

    return function


softmax = public("nn.softmax")(_over_last_axis("Softmax"))
log_softmax = public("nn.log_softmax")(_over_last_axis("LogSoftmax"))


# --- Cross entropies ----------------------------------------------------------------------------


def _cross_entropy_scope(name, scope_name, logits, labels, stop, axis):
    with name_scope(name, scope_name, [logits, labels]) as scope:
        if stop:
            labels = stop_gradient(labels, name="labels_stop_gradient")
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        labels = math_ops.cast(labels, logits.dtype)
        rank = logits.shape.ndims
        if axis not in (None, -1) and (rank is None or axis != rank - 1):
            logits, labels = _axis_last(logits, axis), _axis_last(labels, axis)
        return _capstan.build("softmax_cross_entropy", logits, labels, scope)


def _axis_last(x, axis):
    rank = x.shape.ndims
    if rank is None or not -rank <= axis < rank:
        raise ValueError(
            "a cross entropy along axis %d needs a known rank above it: %r" % (axis, x)
        )
    order = [i for i in range(rank) if i != axis % rank]
    return transpose(x, order + [axis % rank])


def _ordered(labels, logits, positional, what):
    """0.x programs give (logits, labels) by position; 1.x refuses positions."""
    if len(positional) > 2 or (positional and (labels is not None and logits is not None)):
        raise ValueError("%s takes logits and labels" % what)
    given = list(positional)
    if given and logits is None:
        logits = given.pop(0)
    if given and labels is None:
        labels = given.pop(0)
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided for %s" % what)
    return labels, logits


@public("nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(
    *positional, labels=None, logits=None, dim=-1, name=None, axis=None
):
    labels, logits = _ordered(labels, logits, positional, "softmax_cross_entropy_with_logits")
    axis = dim if axis is None else axis
    scope = "softmax_cross_entropy_with_logits_sg"
    return _cross_entropy_scope(name, scope, logits, labels, True, axis)


@public("nn.softmax_cross_entropy_with_logits_v2")
def softmax_cross_entropy_with_logits_v2(labels, logits, axis=None, name=None, dim=None):
    axis = math_ops._either(axis, dim, "axis", "dim")
    scope = "softmax_cross_entropy_with_logits"
    return _cross_entropy_scope(name, scope, logits, labels, False, axis)


@public("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(*positional, labels=None, logits=None, name=None):
    what = "sparse_softmax_cross_entropy_with_logits"
    labels, logits = _ordered(labels, logits, positional, what)
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]) as scope:
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        return _capstan.build("sparse_softmax_cross_entropy", logits, labels, scope)


@public("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(
    *positional, labels=None, logits=None, name=None, targets=None
):
    labels = math_ops._either(labels, targets, "labels", "targets")
    what = "sigmoid_cross_entropy_with_logits"
    labels, logits = _ordered(labels, logits, positional, what)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        labels.shape.merge_with(logits.shape)
        return _capstan.build("sigmoid_cross_entropy", logits, labels, scope)


@public("nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits(
    labels=None, logits=None, pos_weight=None, name=None, targets=None
):
    labels = math_ops._either(labels, targets, "labels", "targets")
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        weight = convert.number_or_tensor(pos_weight, logits.dtype)
        return _capstan.build("weighted_cross_entropy", logits, labels, weight, scope)


@public("nn.in_top_k", "math.in_top_k")
def in_top_k(predictions, targets, k, name=None):
    with name_scope(name, "in_top_k"):
        return apply_op("InTopKV2", predictions=predictions, targets=targets, k=k)


@public("nn.dropout")
def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """Each element is kept with probability keep_prob, and then scaled by 1 / keep_prob."""
    if rate is None:
        rate = 1 - keep_prob if keep_prob is not None else None
    elif keep_prob is not None:
        raise ValueError("Cannot specify both 'rate' and 'keep_prob'.")
    if rate is None:
        raise ValueError("You must provide a rate to dropout.")
    with name_scope(name, "dropout", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        rate = convert.number_or_tensor(rate, x.dtype, name="rate")
        noise = convert.static_or_tensor_shape(_noise_shape(noise_shape, x))
        return _capstan.build("dropout", x, rate, noise, seed, scope)


def _noise_shape(given, x):
    """None in a noise shape stands for the size that x has there."""
    if not isinstance(given, (list, tuple)) or None not in given or x.shape.ndims != len(given):
        return given
    return [own if size is None else size for size, own in zip(given, x.shape.as_list())]
