"""A model of 20 features: trained a little and saved, or asked by a loop of sess.run.

    prediction.py save FOLDER           through `import tensorflow`, whoever that is
    prediction.py ask FOLDER ROWS       rows per second, in batches of 1,000, as JSON

The second is the peer of the job script's `predict`: the same checkpoint, the same number of rows,
fed as numpy arrays that lie ready.
"""

import json
import os
import sys
import time

import numpy as np

FEATURES, HIDDEN, BATCH = 20, 32, 1000


def front():
    try:
        import tensorflow.compat.v1 as tf

        tf.disable_v2_behavior()
    except ImportError:
        import tensorflow as tf
    return tf


def draw(*shape):
    return np.random.RandomState(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


def save(folder):
    tf = front()
    x = tf.placeholder(tf.float32, [None, FEATURES], "x")
    hidden = tf.nn.relu(tf.matmul(x, tf.Variable(draw(FEATURES, HIDDEN))) + tf.Variable(draw(HIDDEN)))
    logits = tf.matmul(hidden, tf.Variable(draw(HIDDEN, 1))) + tf.Variable(draw(1))
    tf.nn.sigmoid(logits, name="p")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, os.path.join(folder, "model.ckpt"))


def ask(folder, count):
    tf = front()
    saver = tf.train.import_meta_graph(os.path.join(folder, "model.ckpt.meta"))
    rows = np.random.RandomState(1).uniform(-1, 1, (count, FEATURES)).astype(np.float32)
    with tf.Session() as session:
        saver.restore(session, os.path.join(folder, "model.ckpt"))

        def once():
            start = time.perf_counter()
            for at in range(0, count, BATCH):
                session.run("p:0", {"x:0": rows[at : at + BATCH]})
            return count / (time.perf_counter() - start)

        return max(once() for _ in range(3))


if __name__ == "__main__":
    if sys.argv[1] == "save":
        save(sys.argv[2])
    else:
        print(json.dumps({"rows_per_second": ask(sys.argv[2], int(sys.argv[3]))}))
