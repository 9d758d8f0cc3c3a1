"""Tasks that only serve (server.join()), and who drives them: a task of the job or a client that is
none, by hand and under `capstan run`. docs/guide/who-ends-when.md says what these tests hold."""

import json
import re
import signal

import pytest
from by_hand import free_addresses

# In-graph replication: one process builds the parts of all workers and drives them. The arguments
# name the task that does; all others only serve. Who drives has a server of its own, or is a client.
IN_GRAPH = """
import json, os, sys
import tensorflow as tf

config = json.loads(os.environ["TF_CONFIG"])
cluster, task = config["cluster"], config["task"]
me, driver, how = "%s/%d" % (task["type"], task["index"]), sys.argv[1], sys.argv[2]
if me != driver:
    server = tf.train.Server(cluster, job_name=task["type"], task_index=task["index"])
    print("serving", flush=True)
    server.join()
    print("never printed")
if how == "client":
    target = "grpc://" + cluster["worker"][0]
else:
    server = tf.train.Server(cluster, job_name=task["type"], task_index=task["index"])
    target = server.target
with tf.device("/job:ps/task:0"):
    v = tf.Variable(0.0, name="v")
parts = []
for i in range(len(cluster["worker"])):
    with tf.device("/job:worker/task:%d" % i):
        parts.append(tf.constant(float(i + 1)) * tf.constant(2.0))
step = v.assign_add(tf.add_n(parts))
with tf.Session(target) as sess:
    sess.run(v.initializer)
    for _ in range(10):
        sess.run(step)
    print("v =", sess.run(v), flush=True)
"""

CLIENT = """
import sys
import tensorflow as tf
with tf.device("/job:ps/task:0"):
    v = tf.Variable(0.0, name="v")
with tf.device("/job:worker/task:1"):
    part = tf.constant(4.0) * tf.constant(2.0)
step = v.assign_add(part)
with tf.Session(sys.argv[1]) as sess:
    if sys.argv[2] == "first":
        sess.run(v.initializer)
    print("v =", sess.run(step), flush=True)
"""

# Between-graph: each worker trains, and serves afterwards instead of ending.
TRAINS_THEN_SERVES = """
import json, os
import tensorflow as tf
config = json.loads(os.environ["TF_CONFIG"])
cluster, task = config["cluster"], config["task"]
server = tf.train.Server(cluster, job_name=task["type"], task_index=task["index"])
if task["type"] == "ps":
    server.join()
with tf.device(tf.train.replica_device_setter(cluster=cluster)):
    v = tf.get_variable("v", [], initializer=tf.constant_initializer(5.0))
    step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(v), global_step=step)
with tf.train.MonitoredTrainingSession(server.target, is_chief=task["index"] == 0,
                                       hooks=[tf.train.StopAtStepHook(last_step=20)]) as sess:
    while not sess.should_stop():
        sess.run(train)
print("trained", flush=True)
server.join()
"""


@pytest.fixture
def write(tmp_path):
    def program(body, name):
        path = tmp_path / name
        path.write_text(body)
        return path

    return program


class Hands:
    """A cluster of one ps and two workers, each task started by hand."""

    def __init__(self, by_hand, path):
        self._by_hand, self._path = by_hand, path
        ps, *workers = free_addresses(3)
        self.cluster = {"ps": [ps], "worker": workers}

    def start(self, job, index, *args):
        config = {"cluster": self.cluster, "task": {"type": job, "index": index}}
        return self._by_hand.python(self._path, *args, env={"TF_CONFIG": json.dumps(config)})

    def target(self, worker=0):
        return "grpc://" + self.cluster["worker"][worker]


@pytest.fixture
def hands(by_hand, write):
    return Hands(by_hand, write(IN_GRAPH, "in_graph.py"))


def test_standing_servers_outlive_their_clients_and_serve_the_next(by_hand, hands, write):
    tasks = [hands.start(job, i, "nobody", "") for job, i in (("ps", 0), ("worker", 0), ("worker", 1))]
    for task in tasks:
        task.wait_for_text("serving")
    client = write(CLIENT, "client.py")
    for which, value in (("first", "v = 8.0"), ("second", "v = 16.0")):
        done = by_hand.python(client, hands.target(), which)
        assert done.finish() == 0 and value in done.text, done.text
    assert [task.process.poll() for task in tasks] == [None, None, None]
    for task in tasks:
        task.signal(signal.SIGINT)
        assert task.finish(20) != 0 and "KeyboardInterrupt" in task.text


def test_tasks_that_only_serve_end_after_the_worker_that_drove_them(hands):
    serving = [hands.start(job, i, "worker/0", "task") for job, i in (("ps", 0), ("worker", 1))]
    for task in serving:
        task.wait_for_text("serving")
    driver = hands.start("worker", 0, "worker/0", "task")
    assert driver.finish() == 0 and "v = 60.0" in driver.text, driver.text
    for task in serving:
        assert task.finish(20) == 0, task.text
        assert "never printed" not in task.text


def test_the_order_in_which_they_come_does_not_matter(hands):
    driver = hands.start("worker", 0, "worker/0", "task")  # waits for the others
    late = hands.start("worker", 1, "worker/0", "task")
    late.wait_for_text("serving")
    last = hands.start("ps", 0, "worker/0", "task")
    assert driver.finish() == 0 and "v = 60.0" in driver.text, driver.text
    assert [late.finish(20), last.finish(20)] == [0, 0]


def test_workers_that_train_and_then_serve_end_when_all_have_trained(by_hand, write):
    hands = Hands(by_hand, write(TRAINS_THEN_SERVES, "trains.py"))
    tasks = [hands.start(job, i) for job, i in (("ps", 0), ("worker", 0), ("worker", 1))]
    for task in tasks:
        assert task.finish() == 0, task.text


@pytest.mark.parametrize(
    "driver, how, more", [("worker/0", "task", ()), ("chief/0", "client", ("--chief",))]
)
def test_a_job_ends_when_its_driver_has(run_job, write, driver, how, more):
    path = write(IN_GRAPH, "in_graph.py")
    text = run_job("--ps", 2, "--workers", 2, *more, path, driver, how, timeout=40)
    assert "v = 60.0" in text and "never printed" not in text
    assert len(re.findall(r" yes +yes +\d", text)) == 4 + len(more)


def test_a_job_whose_workers_train_and_then_serve_ends(run_job, write):
    text = run_job("--ps", 1, "--workers", 2, write(TRAINS_THEN_SERVES, "trains.py"), timeout=40)
    assert text.count("] trained") == 2


def test_a_job_in_which_all_only_serve_stands_until_it_is_stopped(by_hand, write):
    job = by_hand.run("--ps", 1, "--workers", 2, write(IN_GRAPH, "in_graph.py"), "nobody", "")
    target = job.wait_for_text(r"every worker only serves, for clients at (grpc://[^,]*), grpc://\S*; .*Ctrl-C")[1]
    client = write(CLIENT, "client.py")
    for which, value in (("first", "v = 8.0"), ("second", "v = 16.0")):
        done = by_hand.python(client, target, which)
        assert done.finish() == 0 and value in done.text, done.text
    assert job.process.poll() is None
    job.signal(signal.SIGINT)
    assert job.finish(20) == 130
