"""tf.losses: the collection of losses. The losses themselves are rows of src/build/losses.cc."""

from capstan.core import convert
from capstan.core import graph as graphs
from capstan.core.graph import GraphKeys
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
