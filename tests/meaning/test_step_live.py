"""Ops that look at a variable while another thread changes it: they see old or new values, or both,
and never go astray by them."""

import threading

import numpy as np
import pytest
import tensorflow as tf

COUNT = 1 << 17


@pytest.fixture
def while_it_changes(place):
    """Calls `use(sess)` many times while the variable is all of one value and all of another, in turn."""

    def check(variable, values, use, times=200):
        filled = [tf.fill(variable.shape.as_list(), tf.constant(v, variable.dtype.base_dtype)) for v in values]
        writes = [variable.assign(value) for value in filled]
        stop = threading.Event()

        def change(sess):
            while not stop.is_set():
                for write in writes:
                    sess.run(write.op)

        with place.session() as sess:
            sess.run(tf.global_variables_initializer())
            thread = threading.Thread(target=change, args=(sess,))
            thread.start()
            try:
                for _ in range(times):
                    use(sess)
            finally:
                stop.set()
                thread.join()

    return check


def test_where_of_a_variable_that_changes_meanwhile_writes_only_into_its_output(place, while_it_changes):
    with tf.device(place.worker()):
        flags = tf.Variable(tf.zeros([COUNT], tf.bool))
        places = tf.where(flags)

    def use(sess):
        found = sess.run(places)
        assert (found >= 0).all() and (found < COUNT).all()

    while_it_changes(flags, [False, True], use)


def test_labels_in_a_variable_that_changes_meanwhile_are_refused_or_used(place, while_it_changes):
    with tf.device(place.worker()):
        labels = tf.Variable(tf.zeros([COUNT], tf.int64))
        none = tf.cast(tf.reduce_sum(labels), tf.float32) * 0.0
    with tf.device(place.ps()):
        logits = tf.Variable(tf.zeros([1, 2])) + none
    with tf.device(place.worker()):
        # Where there is a ps, this is another part of the step than the one that read the labels.
        rows = tf.tile(logits, [COUNT, 1])
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=rows)

    def use(sess):
        try:
            np.testing.assert_allclose(sess.run(loss), np.log(2), rtol=1e-6)
        except tf.errors.InvalidArgumentError as error:
            assert str(1 << 40) in str(error)

    while_it_changes(labels, [0, 1 << 40], use)
