"""Runs that wait: Ctrl-C, close, timeouts, and what a queue keeps."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import tensorflow as tf


def test_ctrl_c_ends_a_waiting_run():
    queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
    taken = queue.dequeue()
    with tf.Session() as sess:
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            sess.run(taken)
        assert time.monotonic() - started < 5
        timer.join()
        sess.run(queue.enqueue(2.0))
        assert sess.run(taken) == 2.0


def test_closing_a_session_ends_its_waiting_runs():
    taken = tf.FIFOQueue(1, [tf.float32]).dequeue()
    sess = tf.Session()
    seen = []

    def wait():
        try:
            sess.run(taken)
        except tf.errors.CancelledError as error:
            seen.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.2)
    sess.close()
    thread.join(5)
    assert not thread.is_alive() and len(seen) == 1


def test_a_run_may_have_a_deadline():
    taken = tf.FIFOQueue(1, [tf.float32]).dequeue()
    with tf.Session() as sess:
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(taken, options=tf.RunOptions(timeout_in_ms=100))


def test_other_threads_run_python_while_one_waits():
    taken = tf.FIFOQueue(1, [tf.float32], shapes=[[]], name="q")
    put, get = taken.enqueue(5.0), taken.dequeue()
    with tf.Session() as sess:
        got = []
        thread = threading.Thread(target=lambda: got.append(sess.run(get)))
        thread.start()
        sess.run(put)
        thread.join(5)
        assert got == [5.0]


def test_a_queue_keeps_the_values_of_the_moment():
    x = tf.placeholder(tf.float32, [2])
    queue = tf.FIFOQueue(4, [tf.float32], shapes=[[2]])
    put, get = queue.enqueue(x), queue.dequeue()
    with tf.Session() as sess:
        array = np.array([1.0, 2.0], np.float32)
        sess.run(put, {x: array})
        array[:] = 9.0
        assert sess.run(get).tolist() == [1.0, 2.0]


def test_a_closed_queue_is_out_of_range():
    queue = tf.FIFOQueue(4, [tf.float32])
    with tf.Session() as sess:
        sess.run(queue.close())
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(queue.dequeue())


def test_a_child_process_gets_an_error_instead_of_a_hang():
    x = tf.placeholder(tf.float32, [None])
    total = tf.reduce_sum(x * x)
    with tf.Session() as sess:
        sess.run(total, {x: np.ones(100000)})
        child = os.fork()
        if child == 0:
            try:
                sess.run(total, {x: np.ones(100000)})
            except RuntimeError as error:
                os._exit(7 if "forked" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert sess.run(total, {x: np.ones(4)}) == 4.0


JOIN = """
import os, signal, threading
import tensorflow as tf
server = tf.train.Server.create_local_server()
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    server.join()
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_a_joined_server():
    done = subprocess.run(
        [sys.executable, "-c", JOIN], capture_output=True, text=True, timeout=30
    )
    assert "interrupted" in done.stdout, done.stderr


def test_a_server_that_nobody_holds_lives_on():
    with tf.Session(tf.train.Server.create_local_server().target) as session:
        assert session.run(tf.constant(3.0) + 1.0) == 4.0


# Forks beside a thread that waits, and in a handler of signals that is called during a wait.
FORKS = """
import os, signal, sys, threading
import tensorflow as tf

server = tf.train.Server.create_local_server()
taken = tf.FIFOQueue(1, [tf.float32]).dequeue()
session = tf.Session(server.target)
session.run(tf.constant(1.0))
threading.Thread(target=session.run, args=[taken], daemon=True).start()

def fork(*unused):
    child = os.fork()
    if child == 0:
        sys.exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

fork()
signal.signal(signal.SIGALRM, fork)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    session.run(taken, options=tf.RunOptions(timeout_in_ms=1000))
except tf.errors.DeadlineExceededError:
    sys.exit(3)
"""


def test_a_child_process_ends_with_its_own_code_beside_threads_of_its_parent_that_wait():
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.returncode) == (["5", "5"], 3), done.stderr
