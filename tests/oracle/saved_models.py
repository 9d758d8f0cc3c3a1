"""Writes small SavedModels and tells what they answer to ROWS.

python saved_models.py folder      one SavedModel per kind of variables in it

Run with an interpreter that has TensorFlow 2.21 it makes ../golden/saved_models/; the answers stand
in src/train/saved_models_test.cc.
"""

import os
import shutil
import sys

import numpy as np

ROWS = [[0.5, -1.0, 2.0], [0.0, 0.25, -0.75]]


def values(*shape):
    return np.random.RandomState(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


def layer(tf, x, name, shape, resource):
    weights = tf.get_variable(name + "/weights", initializer=values(*shape), use_resource=resource)
    bias = tf.get_variable(name + "/bias", initializer=values(shape[1]), use_resource=resource)
    return tf.nn.xw_plus_b(x, weights, bias)


def write(tf, folder, resource):
    """With an optimizer's slots, which no answer needs."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 3], "x")
        y = tf.placeholder(tf.int64, [None], "y")
        logits = layer(tf, tf.nn.relu(layer(tf, x, "hidden", (3, 4), resource)), "out", (4, 2), resource)
        loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
        tf.train.AdamOptimizer(0.01).minimize(loss, global_step=tf.train.get_or_create_global_step())
        chances, best = tf.nn.softmax(logits, name="chances"), tf.argmax(logits, 1, name="best")
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, folder, {"features": x}, {"chances": chances, "class": best})
        return [answer.tolist() for answer in sess.run([chances, best], {x: ROWS})]


def main():
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    folder = sys.argv[1]
    for kind in ("references", "resources"):
        shutil.rmtree(os.path.join(folder, kind), ignore_errors=True)
        print(kind, write(tf, os.path.join(folder, kind), kind == "resources"))


if __name__ == "__main__":
    main()
