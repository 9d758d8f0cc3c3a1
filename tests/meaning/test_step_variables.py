"""What a step means: variables."""

import numpy as np
import pytest
import tensorflow as tf


def variable(place, value, name="v", ps=0):
    with tf.device(place.ps(ps)):
        return tf.Variable(value, name=name)


def from_afar(place, value):
    """A value that two other tasks have handled: whatever needs it comes late."""
    with tf.device(place.ps(1)):
        far = tf.Variable(float(value), name="far")
    with tf.device(place.worker()):
        return tf.square(far + 0.0)


@pytest.fixture
def initialized(place):
    def make():
        sess = place.session()
        sess.run(tf.global_variables_initializer())
        return sess

    return make


@pytest.mark.parametrize("where", ["ps", "worker"])
def test_a_consumer_after_a_write_sees_the_written_value(place, initialized, where):
    v = variable(place, 1.0)
    with tf.control_dependencies([v.assign_add(5.0)]), tf.device(getattr(place, where)()):
        after = v * 10.0
    with initialized() as sess:
        assert sess.run(after) == 60.0
        assert sess.run(after) == 110.0


def test_a_consumer_after_a_write_through_another_task_sees_the_written_value(place, initialized):
    v = variable(place, 1.0)
    with tf.device(place.worker()):
        seen = v.assign(from_afar(place, 3)) + 1.0
    with tf.control_dependencies([seen]), tf.device(place.ps()):
        after = v * 10.0
    with initialized() as sess:
        assert sess.run([after, seen]) == [90.0, 10.0]


def test_a_chain_of_writes_and_reads_sees_each_value_in_turn(place, initialized):
    v = variable(place, 1.0)
    seen, last = [], None
    for device in (place.worker(), place.ps(), place.worker(1), place.ps(1)):
        with tf.control_dependencies([last] if last is not None else []):
            add = v.assign_add(1.0)
        with tf.control_dependencies([add]), tf.device(device):
            last = v * 10.0
        seen.append(last)
    with initialized() as sess:
        assert sess.run(seen) == [20.0, 30.0, 40.0, 50.0]


@pytest.mark.parametrize("where", ["ps", "worker"])
def test_a_consumer_that_is_not_ordered_with_a_write_sees_the_value_before_it(place, initialized, where):
    v = variable(place, 1.0)
    with tf.device(getattr(place, where)()):
        before = v * 10.0
    add = v.assign_add(5.0)
    with initialized() as sess:
        assert sess.run([add.op, before])[1] == 10.0
        assert sess.run([before, add.op])[0] == 60.0


def test_a_late_consumer_that_is_not_ordered_with_a_write_sees_the_value_before_it(place, initialized):
    v = variable(place, 1.0)
    add = v.assign_add(5.0)
    with tf.device(place.ps()):
        before = v + from_afar(place, 10)
    with initialized() as sess:
        assert sess.run([add.op, before])[1] == 101.0


def test_a_variable_that_is_fetched_shows_the_value_after_the_steps_writes(place, initialized):
    v = variable(place, 1.0)
    add, late = v.assign_add(5.0), v.assign_sub(from_afar(place, 10))
    with initialized() as sess:
        assert sess.run([v, add.op])[0] == 6.0
        assert sess.run([late.op, v])[1] == -94.0


def test_a_training_step_fetched_with_its_variables_shows_the_trained_ones(place, initialized):
    v = variable(place, 3.0)
    with tf.device(place.worker()):
        loss = tf.square(v)
    train = tf.train.GradientDescentOptimizer(0.25).minimize(loss, var_list=[v])
    with initialized() as sess:
        assert sess.run([loss, v, train])[:2] == [9.0, 1.5]


def test_consumers_on_one_side_of_a_write_share_one_value(place, initialized, start):
    v = variable(place, 0.0)
    add = v.assign_add(1.0)
    with tf.device(place.worker()):
        seen = [v + 0.0, v * 1.0, tf.identity(v) - 0.0]
    with initialized() as sess:
        writer = start(lambda: [sess.run(add.op) for _ in range(1000)])
        while not writer.ended:
            values = sess.run(seen)
            assert values[0] == values[1] == values[2]
        writer.result()
        assert sess.run(v) == 1000.0


def test_writes_that_are_not_ordered_run_in_the_order_in_which_they_were_made(place, initialized):
    v = variable(place, 1.0)
    add, double, late = v.assign_add(5.0), v.assign(v * 2.0), v.assign_sub(1.0)
    with initialized() as sess:
        # The doubled value was read before the step's writes.
        assert sess.run([late.op, double.op, add.op, v])[3] == 1.0
        assert sess.run([add.op, double.op, v])[2] == 2.0
        assert sess.run([double.op, late.op, v])[2] == 3.0


def test_a_write_that_waits_for_another_task_still_comes_before_the_next_one_made(place, initialized):
    v = variable(place, 1.0)
    first = v.assign(from_afar(place, 3))
    second = v.assign_add(1.0)
    with initialized() as sess:
        assert sess.run([second.op, first.op, v])[2] == 10.0


@pytest.mark.parametrize("where", ["ps", "worker"])
def test_a_constant_with_control_inputs_orders_its_consumers(place, initialized, where):
    v = variable(place, 1.0)
    with tf.control_dependencies([v.assign_add(5.0)]), tf.device(getattr(place, where)()):
        one = tf.constant(1.0)
    with tf.device(getattr(place, where)()):
        after = v * one
    with initialized() as sess:
        assert sess.run(after) == 6.0


def test_the_global_step_is_counted_after_every_update(place, initialized):
    with tf.device(place.ps()):
        step = tf.train.get_or_create_global_step()
    v, w = variable(place, 3.0), variable(place, 4.0, "w", ps=1)
    with tf.device(place.worker()):
        loss = tf.square(v) + tf.square(w)
    train = tf.train.GradientDescentOptimizer(0.25).minimize(loss, global_step=step)
    with tf.control_dependencies([train]), tf.device(place.worker()):
        after = [v + 0.0, w + 0.0, step + 0]
    with initialized() as sess:
        assert sess.run(after) == [1.5, 2.0, 1]


def test_a_pure_op_that_only_control_edges_keep_alive_passes_its_order_on(place, initialized):
    v = variable(place, 1.0)
    with tf.control_dependencies([v.assign_add(5.0)]), tf.device(place.worker()):
        nobodys = tf.constant(1.0) + 2.0
    with tf.control_dependencies([nobodys]), tf.device(place.ps(1)):
        still_nobodys = tf.square(nobodys)
    with tf.control_dependencies([still_nobodys]), tf.device(place.ps()):
        after = v * 10.0
    with initialized() as sess:
        assert sess.run(after) == 60.0


def test_a_moving_average_follows_the_updated_value(place, initialized):
    v = variable(place, 10.0)
    with tf.device(place.worker()):
        loss = 4.0 * v
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[v])
    average = tf.train.ExponentialMovingAverage(0.75)
    with tf.control_dependencies([train]), tf.device(place.worker()):
        both = average.apply([v])
    with initialized() as sess:
        sess.run(both)
        # 10 - 0.5 * 4, and a quarter of the way from 10 to that.
        assert sess.run([v, average.average(v)]) == [8.0, 9.5]
        sess.run(both)
        assert sess.run([v, average.average(v)]) == [6.0, 8.625]


def test_locked_updates_of_two_workers_are_all_counted(place, start):
    sessions = []
    for index in range(2):
        with tf.Graph().as_default():
            v = variable(place, np.zeros(10000, np.float32))
            add = tf.assign_add(v, np.ones(10000, np.float32), use_locking=True).op
            sessions.append((tf.Session(place.target(index)), v, add))
            if index == 0:
                sessions[0][0].run(v.initializer)
    adding = [start(lambda s=s, add=add: [s.run(add) for _ in range(200)]) for s, _, add in sessions]
    for thread in adding:
        thread.result()
    sess, v, _ = sessions[0]
    assert set(sess.run(v)) == {400.0}
    for sess, _, _ in sessions:
        sess.close()


def test_a_variable_may_be_assigned_another_shape(place, initialized):
    with tf.device(place.ps()):
        v = tf.Variable(np.zeros([2, 2], np.float32), validate_shape=False)
    x = tf.placeholder(tf.float32)
    put = tf.assign(v, x, validate_shape=False)
    with tf.device(place.worker()):
        total, shape = tf.reduce_sum(v), tf.shape(v)
    with initialized() as sess:
        for value in (np.ones([3]), np.ones([2, 5, 7]), np.ones([1000, 10])):
            sess.run(put.op, {x: value})
            assert sess.run(shape).tolist() == list(value.shape)
            assert sess.run(total) == value.size and sess.run(v).shape == value.shape


@pytest.mark.parametrize("where", ["ps", "worker"])
def test_a_variable_that_took_another_shape_is_read_as_it_is(place, initialized, where):
    v = variable(place, [1.0, 2.0])
    given = tf.placeholder(tf.float32)
    reshape = tf.assign(v, given, validate_shape=False)
    with tf.device(getattr(place, where)()):
        made = [v.read_value(), v * 2.0, tf.square(v) + 1.0, tf.reshape(v, [-1]), v[1:], tf.expand_dims(v, 0)]
        with tf.control_dependencies([reshape]):
            after = v.read_value() * 10.0

    def values(sess):
        return [value.tolist() for value in sess.run(made)]

    with initialized() as sess:
        assert values(sess) == [[1, 2], [2, 4], [2, 5], [1, 2], [2], [[1, 2]]]
        assert sess.run(reshape, {given: [1.0, 2.0, 3.0]}).tolist() == [1, 2, 3]
        assert values(sess) == [[1, 2, 3], [2, 4, 6], [2, 5, 10], [1, 2, 3], [2, 3], [[1, 2, 3]]]
        assert sess.run(v).tolist() == [1, 2, 3]
        assert sess.run(after, {given: [[1.0, 2.0]]}).tolist() == [[10, 20]]
        assert sess.run(after, {given: 7.0}) == 70.0
        assert sess.run(made[1]) == 14.0


def test_an_assignment_that_looks_at_shapes_looks_at_the_present_one(place, initialized):
    v = variable(place, [1.0, 2.0])
    given = tf.placeholder(tf.float32)
    reshape, strict, add = tf.assign(v, given, validate_shape=False), tf.assign(v, given), v.assign_add(given)
    with initialized() as sess:
        sess.run(reshape, {given: [1.0, 2.0, 3.0]})
        for wrong in ([1.0, 2.0], [1.0, 2.0, 3.0, 4.0]):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Assign requires shapes"):
                sess.run(strict, {given: wrong})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Assign requires shapes"):
            sess.run(v.initializer)
        assert sess.run(strict, {given: [4.0, 5.0, 6.0]}).tolist() == [4, 5, 6]
        assert sess.run(add, {given: [1.0, 1.0, 1.0]}).tolist() == [5, 6, 7]
        with pytest.raises(ValueError, match="shape"):
            tf.assign(v, [1.0, 2.0, 3.0])
