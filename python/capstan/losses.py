"""tf.losses: losses that are weighted, averaged, and kept in a collection."""

from capstan import array_ops, convert, dtypes, math_ops, nn_ops
from capstan import graph as graphs
from capstan.apply import apply_op
from capstan.graph import GraphKeys, name_scope


class Reduction:
    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_OVER_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_BY_NONZERO_WEIGHTS = SUM_OVER_NONZERO_WEIGHTS

    @classmethod
    def all(cls):
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS)


def _safe_mean(total, count):
    """total / count, and 0 where nothing counts."""
    something = count > 0
    safe = array_ops.where(something, count, array_ops.ones_like(count))
    return array_ops.where(something, total / safe, array_ops.zeros_like(total), name="value")


def compute_weighted_loss(
    losses,
    weights=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    if reduction not in Reduction.all():
        raise ValueError("Invalid ReductionV2 Key %s." % reduction)
    with name_scope(scope, "weighted_loss", [losses, weights]):
        losses = convert.convert_to_tensor(losses)
        weights = math_ops.cast(convert.convert_to_tensor(weights), losses.dtype.base_dtype)
        weighted = losses * weights
        loss = (
            weighted
            if reduction == Reduction.NONE
            else _reduced(weighted, losses, weights, reduction)
        )
        graphs.add_to_collection(loss_collection, loss)
        return loss


def _reduced(weighted, losses, weights, reduction):
    total = math_ops.reduce_sum(weighted)
    if reduction == Reduction.SUM:
        return total
    ones = array_ops.ones_like(losses)
    if reduction == Reduction.MEAN:
        return _safe_mean(total, math_ops.reduce_sum(ones * weights))
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        return _safe_mean(total, math_ops.reduce_sum(ones))
    present = math_ops.cast(math_ops.not_equal(ones * weights, 0), losses.dtype.base_dtype)
    return _safe_mean(total, math_ops.reduce_sum(present))


def _elementwise(default_scope, each):
    def loss(
        labels,
        predictions,
        weights=1.0,
        scope=None,
        loss_collection=GraphKeys.LOSSES,
        reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
    ):
        if labels is None or predictions is None:
            raise ValueError("labels and predictions must not be None.")
        with name_scope(scope, default_scope, [predictions, labels, weights]) as name:
            predictions = math_ops.cast(convert.convert_to_tensor(predictions), dtypes.float32)
            labels = math_ops.cast(convert.convert_to_tensor(labels), dtypes.float32)
            predictions.shape.assert_is_compatible_with(labels.shape)
            return compute_weighted_loss(
                each(labels, predictions), weights, name, loss_collection, reduction
            )

    return loss


mean_squared_error = _elementwise(
    "mean_squared_error", lambda labels, p: apply_op("SquaredDifference", x=p, y=labels)
)
absolute_difference = _elementwise("absolute_difference", lambda labels, p: abs(p - labels))


def log_loss(
    labels,
    predictions,
    weights=1.0,
    epsilon=1e-7,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    def each(labels, p):
        return -labels * apply_op("Log", x=p + epsilon) - (1 - labels) * apply_op(
            "Log", x=1 - p + epsilon
        )

    return _elementwise("log_loss", each)(
        labels, predictions, weights, scope, loss_collection, reduction
    )


def softmax_cross_entropy(
    onehot_labels,
    logits,
    weights=1.0,
    label_smoothing=0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    with name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels, weights]) as name:
        logits = convert.convert_to_tensor(logits)
        labels = math_ops.cast(convert.convert_to_tensor(onehot_labels), logits.dtype)
        if label_smoothing > 0:
            classes = math_ops.cast(array_ops.shape(labels)[-1], logits.dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        labels = array_ops.stop_gradient(labels, name="labels_stop_gradient")
        each = nn_ops.softmax_cross_entropy_with_logits_v2(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(each, weights, name, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels,
    logits,
    weights=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as name:
        labels, logits = convert.convert_to_tensor(labels), convert.convert_to_tensor(logits)
        if labels.shape.ndims is not None and labels.shape.ndims == logits.shape.ndims:
            labels = array_ops.squeeze(labels, [-1])
        each = nn_ops.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(each, weights, name, loss_collection, reduction)


def sigmoid_cross_entropy(
    multi_class_labels,
    logits,
    weights=1.0,
    label_smoothing=0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    with name_scope(
        scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels, weights]
    ) as name:
        logits = convert.convert_to_tensor(logits)
        labels = math_ops.cast(convert.convert_to_tensor(multi_class_labels), logits.dtype)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        each = nn_ops.sigmoid_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(each, weights, name, loss_collection, reduction)


def add_loss(loss, loss_collection=GraphKeys.LOSSES):
    if loss_collection:
        graphs.add_to_collection(loss_collection, loss)


def get_losses(scope=None, loss_collection=GraphKeys.LOSSES):
    return graphs.get_collection(loss_collection, scope)


def get_regularization_losses(scope=None):
    return graphs.get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope=None, name="total_regularization_loss"):
    found = get_regularization_losses(scope)
    return math_ops.add_n(found, name=name) if found else convert.constant(0.0)


def get_total_loss(add_regularization_losses=True, name="total_loss", scope=None):
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope)
    return math_ops.add_n(losses, name=name)
