"""tensorflow.examples.tutorials.mnist.mnist: a two-layer classifier as four functions."""

import math

from capstan.core import dtypes, graph
from capstan.core.public import public_module
from capstan.files.summary import scalar
from capstan.ops import array_ops, composites, math_ops, nn_ops
from capstan.ops.variables import Variable
from capstan.train.optimizers import GradientDescentOptimizer

public_module("examples.tutorials.mnist.mnist")

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def _layer(x, inputs, outputs):
    draw = composites.function_called("truncated_normal")
    start = draw([inputs, outputs], stddev=1.0 / math.sqrt(float(inputs)))
    weights = Variable(start, name="weights")
    biases = Variable(array_ops.zeros([outputs]), name="biases")
    return math_ops.matmul(x, weights) + biases


def inference(images, hidden1_units, hidden2_units):
    with graph.name_scope("hidden1"):
        hidden1 = nn_ops.relu(_layer(images, IMAGE_PIXELS, hidden1_units))
    with graph.name_scope("hidden2"):
        hidden2 = nn_ops.relu(_layer(hidden1, hidden1_units, hidden2_units))
    with graph.name_scope("softmax_linear"):
        return _layer(hidden2, hidden2_units, NUM_CLASSES)


def loss(logits, labels):
    labels = math_ops.to_int64(labels)
    each = nn_ops.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=logits, name="xentropy"
    )
    return math_ops.reduce_mean(each, name="xentropy_mean")


def training(loss, learning_rate):
    scalar("loss", loss)
    global_step = Variable(0, name="global_step", trainable=False)
    return GradientDescentOptimizer(learning_rate).minimize(loss, global_step=global_step)


def evaluation(logits, labels):
    correct = nn_ops.in_top_k(logits, labels, 1)
    return math_ops.reduce_sum(math_ops.cast(correct, dtypes.int32))
