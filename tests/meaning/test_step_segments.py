"""What a step means: tasks, waiting, and clients that are no task."""

import os
import subprocess
import sys

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


CLIENT = """
import sys
import tensorflow as tf
target, ps, worker = sys.argv[1:4]
with tf.device(ps):
    v = tf.Variable(1.0, name="v")
    q = tf.FIFOQueue(10, [tf.float32], shapes=[[]], shared_name="q")
with tf.device(worker):
    seen = v * 10.0
sess = tf.Session(target)
add = v.assign_add(1.0)
"""


def client(place, body):
    """A process with a session on the place's first worker, as a notebook would have."""
    env = {**os.environ, **place.client_environment()}
    args = [place.target(), place.ps(), place.worker()]
    return subprocess.Popen([sys.executable, "-c", CLIENT + body, *args], env=env, text=True, stdout=subprocess.PIPE)


def test_a_client_that_is_no_task_feeds_and_fetches(place):
    body = "sess.run(v.initializer); print(sess.run([seen, add]), sess.run(seen, {v: 4.0}), sess.run(v))"
    process = client(place, body)
    text, _ = process.communicate(timeout=30)
    assert process.returncode == 0 and text == "[10.0, 2.0] 40.0 2.0\n"
    # What it left behind belongs to the tasks.
    v = number(place)
    with tf.Session(place.target()) as sess:
        assert sess.run(v) == 2.0


def test_the_steps_of_a_client_that_vanishes_are_cancelled(place, eventually, put_to_stay):
    v, q = number(place), queue(place, shared_name="q")
    taken = q.dequeue()
    with tf.Session(place.target()) as sess:
        sess.run([v.initializer, q.size()])
        process = client(place, "sess.run([q.dequeue(), add])")
        try:
            eventually(lambda: process.poll() is not None or sess.run(v) == 1.0)
            assert process.poll() is None
        finally:
            process.kill()
            process.communicate(timeout=30)
        put_to_stay(sess, q, 5.0)
        assert sess.run(taken) == 5.0
