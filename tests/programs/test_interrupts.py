"""Ctrl-C in the middle of a step: everything ends promptly, and nothing is left."""

import os
import signal
import socket
import time

import pytest
from by_hand import free_addresses

# A step that waits for a value that never comes, in the task that is asked for.
WAITS = """
import sys
import tensorflow as tf

job, queue_device = sys.argv[1], sys.argv[2]
server = None
if job:
    cluster = {"ps": [sys.argv[3]], "worker": [sys.argv[4]]}
    server = tf.train.Server(cluster, job_name=job, task_index=0)
    if job == "ps":
        print("serving")
        server.join()
with tf.device(queue_device):
    queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]], shared_name="q")
    put, taken = queue.enqueue(1.0), queue.dequeue()
with tf.Session(server.target if server else "") as session:
    session.run(put)
    session.run(taken)
    print("in the middle", flush=True)
    session.run(taken)
"""

TRAINS = """
import tensorflow as tf
v = tf.Variable(5.0)
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(v))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(train)
    print("in the middle", flush=True)
    while True:
        session.run(train)
"""

# One step, of minutes.
COMPUTES = """
import tensorflow as tf
x = y = tf.random_uniform([1000, 1000])
for _ in range(1000):
    y = tf.matmul(y, x) / 1000.0
with tf.Session() as session:
    print("in the middle", flush=True)
    session.run(tf.reduce_sum(y))
"""

SECONDS = 10  # far less than any deadline of ours that a step could run into


@pytest.fixture
def script(tmp_path):
    def write(text):
        path = tmp_path / "interrupted.py"
        path.write_text(text)
        return path

    return write


def interrupt(task):
    task.wait_for_text("in the middle")
    task.signal(signal.SIGINT)
    code = task.finish(SECONDS)
    assert "KeyboardInterrupt" in task.text
    return code


def processes_of(path):
    """Ids of living processes with this file on their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if str(path).encode() in file.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def assert_free(address):
    host, port = address.rsplit(":", 1)
    socket.create_server((host, int(port))).close()


@pytest.mark.parametrize("text", [TRAINS, WAITS, COMPUTES], ids=["training", "waiting", "computing"])
def test_ctrl_c_ends_a_single_process(by_hand, script, text):
    assert interrupt(by_hand.python(script(text), "", "")) == -signal.SIGINT


@pytest.mark.parametrize("device", ["/job:ps/task:0", "/job:worker/task:0"])
def test_ctrl_c_ends_a_worker_and_then_its_parameter_server(by_hand, script, device):
    ps, worker = free_addresses(2)
    path = script(WAITS)
    server = by_hand.python(path, "ps", device, ps, worker)
    assert interrupt(by_hand.python(path, "worker", device, ps, worker)) == -signal.SIGINT
    assert_free(worker)
    # Interrupted is not left in good order: the server stays for whoever comes next.
    assert server.process.poll() is None
    assert interrupt(by_hand.python(path, "worker", device, ps, worker)) == -signal.SIGINT
    server.signal(signal.SIGINT)
    assert server.finish(SECONDS) == -signal.SIGINT
    assert_free(ps)


def test_ctrl_c_ends_a_server_without_python(by_hand):
    server = by_hand.server("--cluster", '{"ps": ["127.0.0.1:0"]}', "--job", "ps", "--task", 0)
    server.wait_for_text("serves at")
    server.signal(signal.SIGINT)
    assert server.finish(SECONDS) == -signal.SIGINT


@pytest.mark.parametrize("device", ["/job:ps/task:0", "/job:worker/task:0"])
def test_ctrl_c_ends_a_job_with_all_its_processes(by_hand, script, device):
    path = script(WAITS)
    job = by_hand.run("--ps", 1, "--workers", 1, path, "{job_name}", device, "{ps_hosts}", "{worker_hosts}")
    job.wait_for_text("in the middle")
    assert len(processes_of(path)) >= 3
    job.signal(signal.SIGINT)
    assert job.finish(SECONDS) == 128 + signal.SIGINT
    assert "stopped by Ctrl-C" in job.text
    deadline = time.monotonic() + 5  # the launcher's keeper ends just after it
    while processes_of(path):
        assert time.monotonic() < deadline, "something is left of the job"
        time.sleep(0.01)
