"""Ops that look at a variable while another thread changes it: they see old or new values, or both,
and never go astray by them."""

import threading

import numpy as np
import pytest
import tensorflow as tf


def beside(stop, *ops):
    """Runs the ops in turn, in a thread, until `stop` is set."""

    def run(sess):
        while not stop.is_set():
            for op in ops:
                sess.run(op)

    return run


@pytest.fixture
def changing():
    """changing(variable, a, b, use): `use(sess)` 300 times while the variable is a or b in turn."""

    def check(variable, a, b, use, times=300):
        stop = threading.Event()
        values = [tf.constant(v, variable.dtype.base_dtype, variable.shape) for v in (a, b)]
        writes = [tf.assign(variable, value) for value in values]
        with tf.Session() as sess:
            sess.run(writes[0])
            thread = threading.Thread(target=beside(stop, *writes), args=(sess,))
            thread.start()
            try:
                for _ in range(times):
                    use(sess)
            finally:
                stop.set()
                thread.join()

    return check


def test_where_of_a_variable_that_changes_meanwhile_writes_only_into_its_output(changing):
    flags = tf.Variable(tf.zeros([1 << 18], tf.bool), name="flags")
    places = tf.where(flags)

    def use(sess):
        found = sess.run(places)
        assert (found >= 0).all() and (found < 1 << 18).all()

    changing(flags, False, True, use)


def test_labels_in_a_variable_that_changes_meanwhile_are_refused_or_used(changing):
    labels = tf.Variable(tf.zeros([1 << 17], tf.int64), name="labels")
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.zeros([1 << 17, 2]))

    def use(sess):
        try:
            np.testing.assert_allclose(sess.run(loss), np.log(2), rtol=1e-6)
        except tf.errors.InvalidArgumentError as error:
            assert str(1 << 40) in str(error)

    changing(labels, 0, 1 << 40, use)
