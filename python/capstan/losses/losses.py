"""tf.losses: losses that are weighted, averaged, and kept in a collection. The formulas are the
engine's."""

from capstan import _capstan
from capstan.core import convert, dtypes
from capstan.core import graph as graphs
from capstan.core.graph import GraphKeys, name_scope
from capstan.core.public import public
from capstan.ops import math_ops


@public("losses.Reduction")
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


_REDUCTIONS = {  # the engine's numbers
    Reduction.NONE: 0,
    Reduction.SUM: 1,
    Reduction.MEAN: 2,
    Reduction.SUM_OVER_BATCH_SIZE: 3,
    Reduction.SUM_BY_NONZERO_WEIGHTS: 4,
}


def _reduction(name):
    if name not in _REDUCTIONS:
        raise ValueError("Invalid Reduction Key %s." % name)
    return _REDUCTIONS[name]


def _converted(value, dtype):
    return convert.convert_to_tensor(value) if dtype is None else math_ops.cast(value, dtype)


@public("losses.compute_weighted_loss")
def compute_weighted_loss(
    losses,
    weights=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    number = _reduction(reduction)
    with name_scope(scope, "weighted_loss", [losses, weights]) as name:
        losses = convert.convert_to_tensor(losses)
        loss = _capstan.weighted_loss(losses, convert.number_or_tensor(weights), number, name)
        add_loss(loss, loss_collection)
        return loss


def _loss(default_scope, make, how, scope, loss_collection, reduction):
    """A loss of labels and predictions. `how`: labels, predictions, weights, further arguments of
    `make`, and the type that labels and predictions are cast to, or None."""
    labels, other, weights, more, dtype = how
    if labels is None or other is None:
        raise ValueError("labels and predictions must not be None.")
    with name_scope(scope, default_scope, [other, labels, weights]) as name:
        other, labels = (_converted(value, dtype) for value in (other, labels))
        weights = convert.number_or_tensor(weights)
        made = make(labels, other, weights, *more, _reduction(reduction), name)
        add_loss(made, loss_collection)
        return made


@public("losses.mean_squared_error")
def mean_squared_error(
    labels,
    predictions,
    weights=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    how = labels, predictions, weights, [], dtypes.float32
    return _loss(
        "mean_squared_error", _capstan.mean_squared_error, how, scope, loss_collection, reduction
    )


@public("losses.absolute_difference")
def absolute_difference(
    labels,
    predictions,
    weights=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    how = labels, predictions, weights, [], dtypes.float32
    return _loss(
        "absolute_difference", _capstan.absolute_difference, how, scope, loss_collection, reduction
    )


@public("losses.log_loss")
def log_loss(
    labels,
    predictions,
    weights=1.0,
    epsilon=1e-7,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    how = labels, predictions, weights, [epsilon], dtypes.float32
    return _loss("log_loss", _capstan.log_loss, how, scope, loss_collection, reduction)


@public("losses.softmax_cross_entropy")
def softmax_cross_entropy(
    onehot_labels,
    logits,
    weights=1.0,
    label_smoothing=0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    how = onehot_labels, logits, weights, [label_smoothing], None
    return _loss(
        "softmax_cross_entropy_loss",
        _capstan.softmax_cross_entropy_loss,
        how,
        scope,
        loss_collection,
        reduction,
    )


@public("losses.sparse_softmax_cross_entropy")
def sparse_softmax_cross_entropy(
    labels,
    logits,
    weights=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    how = labels, logits, weights, [], None
    return _loss(
        "sparse_softmax_cross_entropy_loss",
        _capstan.sparse_softmax_cross_entropy_loss,
        how,
        scope,
        loss_collection,
        reduction,
    )


@public("losses.sigmoid_cross_entropy")
def sigmoid_cross_entropy(
    multi_class_labels,
    logits,
    weights=1.0,
    label_smoothing=0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    how = multi_class_labels, logits, weights, [label_smoothing], None
    return _loss(
        "sigmoid_cross_entropy_loss",
        _capstan.sigmoid_cross_entropy_loss,
        how,
        scope,
        loss_collection,
        reduction,
    )


@public("losses.add_loss")
def add_loss(loss, loss_collection=GraphKeys.LOSSES):
    if loss_collection:
        graphs.add_to_collection(loss_collection, loss)


@public("losses.get_losses")
def get_losses(scope=None, loss_collection=GraphKeys.LOSSES):
    return graphs.get_collection(loss_collection, scope)


@public("losses.get_regularization_losses")
def get_regularization_losses(scope=None):
    return graphs.get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@public("losses.get_regularization_loss")
def get_regularization_loss(scope=None, name="total_regularization_loss"):
    found = get_regularization_losses(scope)
    return math_ops.add_n(found, name=name) if found else convert.constant(0.0)


@public("losses.get_total_loss")
def get_total_loss(add_regularization_losses=True, name="total_loss", scope=None):
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope)
    return math_ops.add_n(losses, name=name)
