"""tf.losses: losses that are weighted, averaged, and kept in a collection. The formulas are the
engine's."""

from capstan import _capstan, convert, dtypes, math_ops
from capstan import graph as graphs
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


_REDUCTIONS = {  # the engine's numbers
    Reduction.NONE: 0,
    Reduction.SUM: 1,
    Reduction.MEAN: 2,
    Reduction.SUM_OVER_BATCH_SIZE: 3,
    Reduction.SUM_BY_NONZERO_WEIGHTS: 4,
}


def _loss(default_scope, make, first, second, dtype=None, extra=()):
    """A loss of labels and predictions, both cast to `dtype` where one is given. `extra` holds the
    (name, default) of the arguments between the weights and the scope."""
    parameters = [first, second, "weights"] + [name for name, _ in extra]
    parameters += ["scope", "loss_collection", "reduction"]
    defaults = dict(extra, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES)
    defaults["reduction"] = Reduction.SUM_BY_NONZERO_WEIGHTS

    def loss(*args, **kwargs):
        given = _arguments(default_scope, parameters, defaults, args, kwargs)
        labels, other, weights = (given[name] for name in parameters[:3])
        if labels is None or other is None:
            raise ValueError("%s and %s must not be None." % (first, second))
        with name_scope(given["scope"], default_scope, [other, labels, weights]) as scope:
            other, labels = (_converted(value, dtype) for value in (other, labels))
            made = make(
                labels,
                other,
                convert.number_or_tensor(weights),
                *(given[name] for name, _ in extra),
                _reduction(given["reduction"]),
                scope,
            )
            add_loss(made, given["loss_collection"])
            return made

    loss.__name__ = default_scope
    return loss


def _arguments(what, parameters, defaults, args, kwargs):
    unknown = [name for name in kwargs if name not in parameters]
    if unknown or len(args) > len(parameters):
        raise TypeError("%s takes the arguments %s" % (what, ", ".join(parameters)))
    by_position = dict(zip(parameters, args))
    twice = [name for name in kwargs if name in by_position]
    if twice:
        raise TypeError("%s got multiple values for argument '%s'" % (what, twice[0]))
    given = {**defaults, **by_position, **kwargs}
    missing = [name for name in parameters if name not in given]
    if missing:
        raise TypeError("%s needs the argument '%s'" % (what, missing[0]))
    return given


def _reduction(name):
    if name not in _REDUCTIONS:
        raise ValueError("Invalid Reduction Key %s." % name)
    return _REDUCTIONS[name]


def _converted(value, dtype):
    return convert.convert_to_tensor(value) if dtype is None else math_ops.cast(value, dtype)


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


_SMOOTHING = (("label_smoothing", 0),)

mean_squared_error = _loss(
    "mean_squared_error", _capstan.mean_squared_error, "labels", "predictions", dtypes.float32
)
absolute_difference = _loss(
    "absolute_difference", _capstan.absolute_difference, "labels", "predictions", dtypes.float32
)
log_loss = _loss(
    "log_loss", _capstan.log_loss, "labels", "predictions", dtypes.float32, (("epsilon", 1e-7),)
)
softmax_cross_entropy = _loss(
    "softmax_cross_entropy_loss",
    _capstan.softmax_cross_entropy_loss,
    "onehot_labels",
    "logits",
    extra=_SMOOTHING,
)
sparse_softmax_cross_entropy = _loss(
    "sparse_softmax_cross_entropy_loss",
    _capstan.sparse_softmax_cross_entropy_loss,
    "labels",
    "logits",
)
sigmoid_cross_entropy = _loss(
    "sigmoid_cross_entropy_loss",
    _capstan.sigmoid_cross_entropy_loss,
    "multi_class_labels",
    "logits",
    extra=_SMOOTHING,
)


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
