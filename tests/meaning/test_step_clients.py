"""What a step means: clients that are no task."""

import os
import signal
import subprocess
import sys

import pytest
import tensorflow as tf

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


@pytest.fixture
def client(place):
    """client(body): a process with a session on the place's first worker, as a notebook would have."""
    started = []

    def start(body, **env):
        env = {**os.environ, **place.client_environment(), **env}
        command = [sys.executable, "-c", CLIENT + body, place.target(), place.ps(), place.worker()]
        pipes = dict(text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        started.append(subprocess.Popen(command, env=env, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=30)


@pytest.fixture
def state(place):
    """(session within the cluster, v, q): what clients see too."""
    with tf.device(place.ps()):
        v = tf.Variable(0.0, name="v")
        q = tf.FIFOQueue(10, [tf.float32], shapes=[[]], shared_name="q")
    with tf.Session(place.target()) as sess:
        sess.run([v.initializer, q.size()])
        yield sess, v, q


def output(process):
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    return out


def wait_until_blocked(process, state, eventually):
    sess, v, _ = state
    eventually(lambda: process.poll() is not None or sess.run(v) == 1.0)
    assert process.poll() is None, process.communicate(timeout=30)


def test_a_client_that_is_no_task_feeds_and_fetches(client, state):
    body = "sess.run(v.initializer); print(sess.run([seen, add]), sess.run(seen, {v: 4.0}), sess.run(v))"
    assert output(client(body)) == "[10.0, 2.0] 40.0 2.0\n"
    # What it left behind belongs to the tasks.
    sess, v, _ = state
    assert sess.run(v) == 2.0


def test_the_graph_of_a_client_may_grow_between_runs(client, state):
    process = client("""
print(sess.run(seen))
with tf.control_dependencies([add]):
    print(sess.run(v.read_value() + seen))
""")
    assert output(process) == "0.0\n1.0\n"


def test_the_error_of_a_clients_step_names_its_node(client, state):
    body = """
try:
    sess.run(tf.Variable(1.0, name="unset") + 1.0)
except tf.errors.FailedPreconditionError as error:
    print(error.op.name, "unset" in error.message)
"""
    assert output(client(body)) == "unset True\n"


def test_the_steps_of_a_client_that_vanishes_are_cancelled(client, state, eventually, put_to_stay):
    sess, _, q = state
    process = client("sess.run([q.dequeue(), add])")
    wait_until_blocked(process, state, eventually)
    process.kill()
    process.wait(30)
    put_to_stay(sess, q, 5.0)
    assert sess.run(q.dequeue()) == 5.0


def test_ctrl_c_cancels_the_step_of_a_client(client, state, eventually):
    sess, _, q = state
    process = client("""
try:
    sess.run([q.dequeue(), add])
except KeyboardInterrupt:
    print(sess.run([q.enqueue(3.0), add])[1], sess.run(q.size()))
""")
    wait_until_blocked(process, state, eventually)
    process.send_signal(signal.SIGINT)
    assert output(process) == "2.0 1\n"


def test_a_client_may_give_its_step_a_deadline(client, state):
    process = client("""
try:
    sess.run(q.dequeue(), options=tf.RunOptions(timeout_in_ms=50))
except tf.errors.DeadlineExceededError:
    sess.run(q.enqueue(3.0))
    print(sess.run(q.size()))
""")
    assert output(process) == "1\n"


def test_a_client_without_the_secret_is_refused(client, tmp_path):
    process = client("sess.run(v)", CAPSTAN_SECRET="", CAPSTAN_SECRET_FILE=str(tmp_path / "secret"))
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "UnauthenticatedError" in err and "CAPSTAN_SECRET_FILE" in err
