"""Trains small models from given weights and shows the loss of every step.

Run with an interpreter that has TensorFlow 2.21: python curves.py > ../golden/curves.json
test_curves.py runs the same functions here. All numbers come from a generator whose stream numpy keeps
for good, by its uniform draws alone, which are the same bits everywhere.
"""

import json
import os
import sys

import numpy as np

STEPS = 300
BATCHES = 20  # drawn once, then taken in turn


def tensorflow():
    """Capstan's module under `capstan python`, else TensorFlow's compat.v1."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    if tf.__version__.startswith("1."):
        return tf
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    return tf


def draw(random, *shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


def _linear(tf):
    """y = 2 x + 10."""
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    weight, bias = tf.Variable(0.5, name="weight"), tf.Variable(-0.5, name="bias")
    return x, y, tf.reduce_mean(tf.square(y - (x * weight + bias)))


def _linear_data(random):
    x = draw(random, 8)
    return x, 2 * x + 10


def _layer(tf, random, x, wide, name, activation):
    deep = int(x.shape[1])
    weights = tf.Variable(draw(random, deep, wide) * np.float32(deep**-0.5), name=name + "/weights")
    bias = tf.Variable(draw(random, wide) * np.float32(0.1), name=name + "/bias")
    return activation(tf.matmul(x, weights) + bias)


def _perceptron(*hidden, activation="relu"):
    def build(tf):
        random = np.random.RandomState(1)
        x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])
        out = x
        for i, wide in enumerate(hidden):
            out = _layer(tf, random, out, wide, "hidden%d" % i, getattr(tf.nn, activation))
        logits = _layer(tf, random, out, 10, "logits", tf.identity)
        return x, y, tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))

    return build


def _digits(batch):
    """Noise, with the rows of a digit's own band brighter."""

    def data(random):
        digits = random.randint(0, 10, batch)
        x = random.uniform(0, 1, (batch, 784)).astype(np.float32)
        x[np.arange(784) // 79 == digits[:, None]] += np.float32(0.25)
        return x, np.eye(10, dtype=np.float32)[digits]

    return data


# name: (model, one batch, optimizer)
CURVES = {
    "linear regression, SGD": (_linear, _linear_data, lambda t: t.GradientDescentOptimizer(0.05)),
    "784-100-10, SGD": (_perceptron(100), _digits(100), lambda t: t.GradientDescentOptimizer(0.1)),
    "784-100-10, Momentum": (_perceptron(100), _digits(100), lambda t: t.MomentumOptimizer(0.01, 0.9)),
    "784-100-10, Nesterov": (
        _perceptron(100),
        _digits(100),
        lambda t: t.MomentumOptimizer(0.01, 0.9, use_nesterov=True),
    ),
    "784-100-10, Adagrad": (_perceptron(100), _digits(100), lambda t: t.AdagradOptimizer(0.02)),
    # Smooth: at relu's corner the last bit, which instruction sets round differently, decides over a
    # unit's whole gradient, and Adam makes a full step of however little it is.
    "784-500-500-10, tanh, Adam": (
        _perceptron(500, 500, activation="tanh"),
        _digits(32),
        lambda t: t.AdamOptimizer(0.0005),
    ),
}


class Training:
    """A model in a new graph. `device`: where its nodes go, for clusters."""

    def __init__(self, tf, name, device=None):
        build, data, optimizer = CURVES[name]
        self._tf, self._graph = tf, tf.Graph()
        random = np.random.RandomState(0)
        self._batches = [data(random) for _ in range(BATCHES)]
        with self._graph.as_default(), tf.device(device):
            self._step = tf.train.get_or_create_global_step()
            self._x, self._y, self._loss = build(tf)
            self._train = optimizer(tf.train).minimize(self._loss, global_step=self._step)
            self._init = tf.global_variables_initializer()
            self._weights = tf.trainable_variables()

    def run(self, target="", config=None, steps=STEPS):
        """(the losses, the weights at the end)"""
        losses = []
        with self._tf.Session(target, graph=self._graph, config=config) as sess:
            sess.run(self._init)
            for i in range(steps):
                x, y = self._batches[i % BATCHES]
                losses.append(sess.run([self._loss, self._train], {self._x: x, self._y: y})[0])
            return losses, sess.run(self._weights)


def main():
    tf = tensorflow()
    # float32 written with nine digits comes back as it was.
    curves = {name: [float("%.9g" % loss) for loss in Training(tf, name).run()[0]] for name in CURVES}
    json.dump(curves, sys.stdout, indent=0)
    print()


if __name__ == "__main__":
    main()
