"""Trains a small model, saves it with its optimizer's slots, and trains on; or goes on from such a checkpoint.

python resumed.py save Adam folder/model      the losses before and after the checkpoint
python resumed.py restore Adam folder/model   the losses after it

Run with an interpreter that has TensorFlow 2.21, `save` makes ../golden/resumed/. test_resumed.py does
both here and, with --oracle, hands checkpoints from one to the other.
"""

import json
import sys

import curves
import numpy as np

STEPS = 20
OPTIMIZERS = {
    "Adam": lambda t: t.AdamOptimizer(0.01),
    "Momentum": lambda t: t.MomentumOptimizer(0.05, 0.9),
    "Adagrad": lambda t: t.AdagradOptimizer(0.1),
}


class Model:
    """6-8-3. Restored weights must not matter at the start: those of `restore` begin as zeros."""

    def __init__(self, tf, optimizer, zeros):
        random = np.random.RandomState(2)
        self._data = [(curves.draw(random, 16, 6), curves.draw(random, 16, 3)) for _ in range(5)]
        self._x, self._y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.float32, [None, 3])
        self.step = tf.train.get_or_create_global_step()
        out = self._x
        for name, shape in (("hidden", (6, 8)), ("out", (8, 3))):
            start = curves.draw(random, *shape) * np.float32(0 if zeros else 0.5)
            weights = tf.Variable(start, name=name + "/weights")
            out = tf.tanh(tf.matmul(out, weights) + tf.Variable(np.zeros(shape[1], np.float32), name=name + "/bias"))
        self._loss = tf.reduce_mean(tf.square(out - self._y))
        self._train = OPTIMIZERS[optimizer](tf.train).minimize(self._loss, global_step=self.step)

    def train(self, sess):
        losses = []
        for _ in range(STEPS):
            x, y = self._data[int(sess.run(self.step)) % len(self._data)]
            loss, _ = sess.run([self._loss, self._train], {self._x: x, self._y: y})
            losses.append(float("%.9g" % loss))
        return losses


def save(tf, optimizer, prefix):
    """(losses up to the checkpoint, losses after it)"""
    with tf.Graph().as_default(), tf.Session() as sess:
        model, saver = Model(tf, optimizer, zeros=False), tf.train.Saver()
        sess.run(tf.global_variables_initializer())
        before = model.train(sess)
        saver.save(sess, prefix, global_step=model.step, write_meta_graph=False)
        return before, model.train(sess)


def restore(tf, optimizer, prefix):
    """The losses after the checkpoint."""
    with tf.Graph().as_default(), tf.Session() as sess:
        model, saver = Model(tf, optimizer, zeros=True), tf.train.Saver()
        saver.restore(sess, "%s-%d" % (prefix, STEPS))
        return model.train(sess)


def main(mode, optimizer, prefix):
    print(json.dumps({"save": save, "restore": restore}[mode](curves.tensorflow(), optimizer, prefix)))


if __name__ == "__main__":
    main(*sys.argv[1:])
