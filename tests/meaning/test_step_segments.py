"""What a step means: tasks and waiting."""

import numpy as np
import tensorflow as tf


def number(place, value=0.0, name="v", ps=0):
    with tf.device(place.ps(ps)):
        return tf.Variable(value, name=name)


def queue(place, ps=0, **options):
    with tf.device(place.ps(ps)):
        return tf.FIFOQueue(10, [tf.float32], shapes=[[]], **options)


def test_a_path_may_enter_each_task_many_times(place):
    x = tf.placeholder(tf.float32, [])
    out = x
    for _ in range(4):
        for device in (place.ps(), place.worker(), place.ps(1), place.worker(1)):
            with tf.device(device):
                out = out * 2.0 + 1.0
    with place.session() as sess:
        assert sess.run(out, {x: 1.0}) == 2.0**17 - 1
        assert sess.run(out, {x: 0.0}) == 2.0**16 - 1


def test_two_paths_that_cross_each_other_between_tasks_do_not_wait_for_each_other(place):
    x = tf.placeholder(tf.float32, [])
    with tf.device(place.ps()):
        a1 = x + 1.0
    with tf.device(place.ps(1)):
        b1 = x * 3.0
        b2 = a1 * 10.0
    with tf.device(place.ps()):
        a2 = b1 + 2.0
    with place.session() as sess:
        assert sess.run([a2, b2], {x: 2.0}) == [8.0, 30.0]


def test_an_op_that_waits_delays_only_what_depends_on_it(place, start, eventually):
    q, v = queue(place), number(place)
    with tf.device(place.worker()):
        taken = q.dequeue() * 10.0
    free, bound = v.assign_add(1.0), number(place, name="w", ps=1)
    with tf.control_dependencies([taken]):
        after = bound.assign(taken)
    put = q.enqueue(7.0)
    with place.session() as sess:
        sess.run(tf.global_variables_initializer())
        running = start(sess.run, [taken, free.op, after.op])
        eventually(lambda: sess.run(v) == 1.0)
        assert not running.ended and sess.run(bound) == 0.0
        sess.run(put)
        assert running.result()[0] == 70.0 and sess.run(bound) == 70.0


def test_an_enqueue_and_a_dequeue_meet_in_one_run(place):
    q = queue(place)
    with tf.device(place.ps(1)):
        value = tf.Variable(7.0)
    with tf.device(place.worker()):
        put, taken = q.enqueue(value + 1.0), q.dequeue() + 0.0
    with place.session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run([taken, put])[0] == 8.0
        assert sess.run([put, taken])[1] == 8.0


def test_two_queues_are_filled_and_emptied_in_one_run(place):
    first, second = queue(place, 0), queue(place, 1)
    with tf.device(place.worker()):
        through = second.enqueue(first.dequeue() * 2.0)
        out = second.dequeue()
    put = first.enqueue(21.0)
    with place.session() as sess:
        assert sess.run([out, put, through])[0] == 42.0


def test_a_large_tensor_arrives_whole(place):
    x = tf.placeholder(tf.float32, [None])
    with tf.device(place.ps()):
        v = tf.Variable(np.zeros([4 << 20], np.float32), name="v")
        put = v.assign(x)
        twice = v * 2.0
    with tf.device(place.worker(1)):
        thrice = twice + v
    value = np.arange(4 << 20, dtype=np.float32) % 1001
    with place.session() as sess:
        sess.run(put.op, {x: value})
        np.testing.assert_array_equal(sess.run(thrice), value * 3)


def test_calls_of_one_session_end_in_any_order(place, start):
    first, second = queue(place, 0), queue(place, 1)
    x = tf.placeholder(tf.float32, [])
    puts, takes = [q.enqueue(x) for q in (first, second)], [q.dequeue() for q in (first, second)]
    with place.session() as sess:
        waiting = [start(sess.run, take) for take in takes]
        for i in (1, 0):
            sess.run(puts[i], {x: float(i)})
            assert waiting[i].result() == float(i)
        assert not any(sess.run([first.size(), second.size()]))
