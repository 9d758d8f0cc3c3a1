"""tf.nn: activations, cross entropies, and small layers made of a few nodes."""

from capstan import array_ops, convert, dtypes, math_ops
from capstan.apply import apply_op
from capstan.array_ops import reshape
from capstan.convert import convert_to_tensor
from capstan.graph import name_scope


def relu_layer(x, weights, biases, name=None):
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        x, weights, biases = _layer_inputs(x, weights, biases)
        product = math_ops.matmul(x, weights)
        return apply_op("Relu", features=bias_add(product, biases), name=scope)


def xw_plus_b(x, weights, biases, name=None):
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        x, weights, biases = _layer_inputs(x, weights, biases)
        return bias_add(math_ops.matmul(x, weights), biases, name=scope)


def _layer_inputs(x, weights, biases):
    return (
        convert_to_tensor(x, name="x"),
        convert_to_tensor(weights, name="weights"),
        convert_to_tensor(biases, name="biases"),
    )


def bias_add(value, bias, data_format=None, name=None):
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype, name="bias")
        return apply_op("BiasAdd", value=value, bias=bias, data_format=data_format, name=scope)


def relu(features, name=None):
    return apply_op("Relu", features=features, name=name)


def leaky_relu(features, alpha=0.2, name=None):
    with name_scope(name, "LeakyRelu", [features, alpha]) as scope:
        features = convert_to_tensor(features, name="features")
        return apply_op("LeakyRelu", features=features, alpha=alpha, name=scope)


def l2_loss(t, name=None):
    return apply_op("L2Loss", t=t, name=name)


def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    axis = math_ops._either(axis, dim, "axis", "dim")
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        total = math_ops.reduce_sum(apply_op("Square", x=x), axis, keepdims=True)
        norm = apply_op("Rsqrt", x=apply_op("Maximum", x=total, y=epsilon))
        return apply_op("Mul", x=x, y=norm, name=scope)


def _over_last_axis(op_type):
    def function(logits, axis=None, name=None, dim=None):
        axis = math_ops._either(axis, dim, "axis", "dim")
        logits = convert_to_tensor(logits)
        rank = logits.shape.ndims
        if axis in (None, -1) or (rank is not None and axis == rank - 1):
            return apply_op(op_type, logits=logits, name=name)
        return _along_axis(op_type, logits, axis, name)

    return function


def _along_axis(op_type, logits, axis, name):
    """The op along another axis: that axis is swapped with the last one, and back."""
    rank = logits.shape.ndims
    if rank is None:
        raise ValueError("%s along axis %d needs a known rank" % (op_type, axis))
    axis %= rank
    order = [i for i in range(rank)]
    order[axis], order[-1] = order[-1], order[axis]
    turned = apply_op(op_type, logits=array_ops.transpose(logits, order))
    return array_ops.transpose(turned, order, name=name or op_type)


softmax = _over_last_axis("Softmax")
log_softmax = _over_last_axis("LogSoftmax")


# --- Cross entropies ----------------------------------------------------------------------------


def _flatten_outer_dims(logits):
    """[d0, ..., dn] as [d0 * ..., dn]."""
    rank = array_ops.rank(logits)
    last = array_ops.slice_(
        array_ops._shape(logits, optimize=False), [math_ops.subtract(rank, 1)], [1]
    )
    return reshape(logits, array_ops.concat([[-1], last], 0))


def _cross_entropy_scope(name, scope_name, logits, labels, stop):
    with name_scope(name, scope_name, [logits, labels]) as scope:
        if stop:
            labels = array_ops.stop_gradient(labels, name="labels_stop_gradient")
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        labels = math_ops.cast(labels, logits.dtype)
        input_rank = array_ops.rank(logits)
        input_shape = array_ops._shape(logits, optimize=False)
        static_shape = logits.shape
        flat_logits = _flatten_outer_dims(logits)
        flat_labels = _flatten_outer_dims(labels)
        cost = apply_op(
            "SoftmaxCrossEntropyWithLogits", features=flat_logits, labels=flat_labels, name=scope
        )[0]
        output_shape = array_ops.slice_(input_shape, [0], [math_ops.subtract(input_rank, 1)])
        cost = reshape(cost, output_shape)
        if static_shape.ndims is not None:
            cost.set_shape(static_shape[:-1])
        return cost


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


def softmax_cross_entropy_with_logits(
    *positional, labels=None, logits=None, dim=-1, name=None, axis=None
):
    labels, logits = _ordered(labels, logits, positional, "softmax_cross_entropy_with_logits")
    return _cross_entropy_scope(name, "softmax_cross_entropy_with_logits_sg", logits, labels, True)


def softmax_cross_entropy_with_logits_v2(
    *positional, labels=None, logits=None, dim=-1, name=None, axis=None
):
    labels, logits = _ordered(labels, logits, positional, "softmax_cross_entropy_with_logits_v2")
    return _cross_entropy_scope(name, "softmax_cross_entropy_with_logits", logits, labels, False)


def sparse_softmax_cross_entropy_with_logits(*positional, labels=None, logits=None, name=None):
    what = "sparse_softmax_cross_entropy_with_logits"
    labels, logits = _ordered(labels, logits, positional, what)
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        labels_shape = array_ops._shape(labels, optimize=not labels.shape.is_fully_defined())
        rank = logits.shape.ndims
        if rank == 0:
            raise ValueError("Logits cannot be scalars - received shape %s." % logits.shape)
        op = "SparseSoftmaxCrossEntropyWithLogits"
        if rank == 2:
            return apply_op(op, features=logits, labels=labels, name=op)[0]
        classes = array_ops._shape(logits, optimize=False)[array_ops.rank(logits) - 1]
        flat = apply_op(
            op, features=reshape(logits, [-1, classes]), labels=reshape(labels, [-1]), name=op
        )[0]
        cost = reshape(flat, labels_shape)
        cost.set_shape(labels.shape)
        return cost


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
        # max(x, 0) - x * z + log(1 + exp(-|x|)): never a large exponential.
        zeros = array_ops.zeros_like(logits, dtype=logits.dtype)
        positive = logits >= zeros
        rectified = array_ops.where(positive, logits, zeros)
        minus_abs = array_ops.where(positive, -logits, logits)
        linear_part = rectified - logits * labels
        log_part = apply_op("Log1p", x=apply_op("Exp", x=minus_abs))
        return math_ops.add(linear_part, log_part, name=scope)


def weighted_cross_entropy_with_logits(
    labels=None, logits=None, pos_weight=None, name=None, targets=None
):
    labels = math_ops._either(labels, targets, "labels", "targets")
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        weight = 1 + (pos_weight - 1) * labels
        small = apply_op("Log1p", x=apply_op("Exp", x=-abs(logits)))
        return math_ops.add((1 - labels) * logits, weight * (small + relu(-logits)), name=scope)


def in_top_k(predictions, targets, k, name=None):
    with name_scope(name, "in_top_k"):
        return apply_op("InTopKV2", predictions=predictions, targets=targets, k=k)


def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """Each element is kept with probability keep_prob, and then scaled by 1 / keep_prob."""
    from capstan.random_ops import random_uniform

    if rate is None:
        rate = 1 - keep_prob if keep_prob is not None else None
    if rate is None:
        raise ValueError("You must provide a rate to dropout.")
    with name_scope(name, "dropout", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if not convert.is_tensor(rate):
            if rate == 0:
                return x
            rate = convert_to_tensor(rate, dtype=x.dtype, name="rate")
            scale = convert_to_tensor(1 / (1 - float(rate._constant_value())), dtype=x.dtype)
            scaled = x * scale
        else:
            one = convert_to_tensor(1, dtype=x.dtype)
            scaled = apply_op("RealDiv", x=x, y=one - rate)
        dims = array_ops.shape(x) if noise_shape is None else noise_shape
        keep = random_uniform(dims, seed=seed, dtype=x.dtype) >= rate
        zero = convert_to_tensor(0.0, dtype=x.dtype)
        kept = apply_op("SelectV2", condition=keep, t=scaled, e=zero, name=scope)
        kept.set_shape(x.shape)
        return kept


def zero_fraction(value, name=None):
    with name_scope(name, "zero_fraction"):
        value = convert_to_tensor(value, name="value")
        nonzero = math_ops.reduce_sum(math_ops.cast(math_ops.not_equal(value, 0), dtypes.float32))
        total = math_ops.cast(array_ops.size(value), dtypes.float32)
        return apply_op("Sub", x=1.0, y=nonzero / total, name="fraction")
