"""What a step means: waits, signals, forks, and whose memory an array is."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import tensorflow as tf


@pytest.fixture
def blocked(place):
    """(session, op that waits for a queue and first counts in v, v, queue)"""
    with tf.device(place.ps()):
        v = tf.Variable(0.0, name="v")
        q = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
    taken = [q.dequeue(), v.assign_add(1.0).op]
    with place.session() as sess:
        sess.run(v.initializer)
        yield sess, taken, v, q


def test_a_wait_ends_by_a_value(blocked, start, eventually):
    sess, taken, v, q = blocked
    running = start(sess.run, taken)
    eventually(lambda: sess.run(v) == 1.0)
    sess.run(q.enqueue(3.0))
    assert running.result()[0] == 3.0


def test_a_wait_ends_when_its_queue_is_closed(blocked, start, eventually):
    sess, taken, v, q = blocked
    running = start(sess.run, taken)
    eventually(lambda: sess.run(v) == 1.0)
    sess.run(q.close())
    with pytest.raises(tf.errors.OutOfRangeError, match="fifo_queue"):
        running.result()


def test_a_wait_ends_at_the_deadline_that_the_program_gave(blocked):
    sess, taken, _, q = blocked
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(taken, options=tf.RunOptions(timeout_in_ms=50))
    sess.run(q.enqueue(3.0))
    assert sess.run(taken)[0] == 3.0


def test_ctrl_c_cancels_the_step_before_it_raises(blocked, start, eventually):
    sess, taken, v, q = blocked

    def interrupt():
        eventually(lambda: sess.run(v) == 1.0)
        os.kill(os.getpid(), signal.SIGINT)

    interrupting = start(interrupt)
    with pytest.raises(KeyboardInterrupt):
        sess.run(taken)
    interrupting.result()
    sess.run(q.enqueue(3.0))
    assert sess.run(taken)[0] == 3.0


def test_a_request_to_stop_cancels_blocked_queue_runners_at_once(place, eventually):
    with tf.device(place.ps()):
        source = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
        v = tf.Variable(0.0, name="v")
    with tf.device(place.ps(1)):
        sink = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
    started = v.assign_add(1.0)
    runner = tf.train.QueueRunner(sink, [tf.group(sink.enqueue(source.dequeue()), started)])
    with place.session() as sess:
        sess.run(v.initializer)
        coord = tf.train.Coordinator()
        threads = runner.create_threads(sess, coord, start=True)
        eventually(lambda: sess.run(v) == 1.0)
        begin = time.monotonic()
        coord.request_stop()
        coord.join(threads)
        assert time.monotonic() - begin < 5


def test_a_wait_ends_with_the_loss_of_the_peer(own_cluster, start, eventually):
    cluster = own_cluster(1, 1)
    with tf.device("/job:ps/task:0"):
        v, q = tf.Variable(0.0, name="v"), tf.FIFOQueue(10, [tf.float32])
    taken = [q.dequeue(), v.assign_add(1.0).op]
    with tf.Session(cluster.target()) as sess:
        sess.run(v.initializer)
        running = start(sess.run, taken)
        eventually(lambda: sess.run(v) == 1.0)
        cluster.kill_ps()
        with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError), match="ps/0"):
            running.result()


def test_other_threads_run_python_while_one_waits(blocked, start):
    sess, taken, _, q = blocked
    put = q.enqueue(1.0)
    ran = threading.Event()
    helper = start(lambda: (ran.wait(20), sess.run(put)))
    start(ran.set)
    assert sess.run(taken)[0] == 1.0
    helper.result()


def test_a_forked_child_gets_an_error_instead_of_a_hang(place):
    with tf.device(place.ps()):
        v = tf.Variable(2.0)
    with place.session() as sess:
        sess.run(v.initializer)
        child = os.fork()
        if child == 0:
            try:
                sess.run(v)
            except RuntimeError as error:
                os._exit(7 if "forked" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert sess.run(v) == 2.0


def test_no_thread_starts_at_import():
    code = "import os, tensorflow as tf; tf.constant(1.0); print(len(os.listdir('/proc/self/task')))"
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # numpy's own
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout == "1\n", done.stderr


def test_fetched_arrays_own_their_memory(place):
    with tf.device(place.ps()):
        v = tf.Variable(np.zeros(1000, np.float32))
        constant = tf.constant(np.ones(1000, np.float32))
    add = v.assign_add(constant)
    with place.session() as sess:
        sess.run(v.initializer)
        kept = [sess.run([v, add, constant]) for _ in range(3)]
        for i, arrays in enumerate(kept):
            assert [set(array) for array in arrays] == [{i + 1.0}, {i + 1.0}, {1.0}]
            for array in arrays:
                array[:] = -1  # ours: writing must not reach the tasks
        assert [set(array) for array in sess.run([v, constant])] == [{3.0}, {1.0}]


def fed_forms():
    whole = np.arange(24, dtype=np.float32).reshape(4, 6)
    odd = np.frombuffer(b"\0" + whole.tobytes(), np.uint8)[1:].view(np.float32).reshape(4, 6)
    return {"strided": (whole[::2, ::-1], whole[::2, ::-1].copy()), "turned": (whole.T, whole.T.copy()),
            "unaligned": (odd, whole), "other type": (whole.astype(np.int16), whole),
            "big-endian": (whole.astype(">f4"), whole),
            "read-only": (np.broadcast_to(whole[0], (3, 6)), whole[[0] * 3])}


@pytest.mark.parametrize("form", fed_forms())
def test_fed_arrays_may_have_any_layout(place, form):
    value, expected = fed_forms()[form]
    x = tf.placeholder(tf.float32, [None, None])
    with tf.device(place.ps()):
        out = x * 2.0
    with place.session() as sess:
        np.testing.assert_array_equal(sess.run(out, {x: value}), expected * 2)


def test_an_array_fed_may_be_changed_after_the_run(place):
    x = tf.placeholder(tf.float32, [100000])
    with tf.device(place.ps()):
        v = tf.Variable(np.zeros(100000, np.float32))
        q = tf.FIFOQueue(4, [tf.float32], shapes=[[100000]])
    put, keep, taken = v.assign(x).op, q.enqueue(x), q.dequeue()
    array = np.ones(100000, np.float32)
    with place.session() as sess:
        sess.run([put, keep], {x: array})
        array[:] = 9.0
        assert set(sess.run(v)) == set(sess.run(taken)) == {1.0}
