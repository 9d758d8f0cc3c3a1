"""`--max-steps`: every task ends at the limit, whoever counts the steps and however they are called."""

import re
import sys

import pytest
from by_hand import last_number

CLUSTER = """
import json, os, sys
import tensorflow as tf
config = json.loads(os.environ["TF_CONFIG"])
cluster, task = config["cluster"], config["task"]
server = tf.train.Server(cluster, job_name=task["type"], task_index=task["index"])
if task["type"] == "ps":
    server.join()
is_chief = task["index"] == 0
device = "/job:worker/task:%d" % task["index"]
"""

# As programs with a Supervisor and sync replicas are written; {loop} trains.
SYNC = CLUSTER + """
with tf.device(tf.train.replica_device_setter(worker_device=device, cluster=cluster)):
    step = tf.Variable(0, trainable=False, name="{name}")
    w = tf.get_variable("w", [], initializer=tf.constant_initializer(5.0))
    loss = tf.square(w)
    workers = len(cluster["worker"])
    opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.01), workers, workers)
    train = opt.minimize(loss, global_step=step)
runner, tokens = opt.get_chief_queue_runner(), opt.get_init_tokens_op()
sv = tf.train.Supervisor(is_chief=is_chief, local_init_op=opt.chief_init_op if is_chief else opt.local_step_init_op,
                         ready_for_local_init_op=opt.ready_for_local_init_op, global_step={given})
sess = sv.prepare_or_wait_for_session(server.target)
if is_chief:
    sv.start_queue_runners(sess, [runner])
    sess.run(tokens)
{loop}
print("ended at", sess.run(step), flush=True)
"""

ASKS = """
while not sv.should_stop():
    sess.run([train, loss])
"""
NEVER_ASKS = """
try:
    while True:
        sess.run(train)
except tf.errors.OutOfRangeError:
    pass
"""


@pytest.fixture
def write(tmp_path):
    def program(body, **values):
        for name, value in values.items():
            body = body.replace("{%s}" % name, value)
        path = tmp_path / "program.py"
        path.write_text(body)
        return path

    return program


@pytest.mark.parametrize("loop", [ASKS, ASKS + "sv.stop()\n", NEVER_ASKS], ids=["asks", "stops", "never_asks"])
def test_all_replicas_of_a_supervisor_in_sync_end_at_the_limit(run_job, write, loop):
    path = write(SYNC, name="global_step", given="step", loop=loop)
    text = run_job("--ps", 1, "--workers", 3, "--max-steps", 40, path, timeout=60)
    assert len(re.findall(r"worker +\d +yes +yes", text)) == 3


def test_a_step_of_any_name_counts_for_a_supervisor_in_sync(run_job, write):
    path = write(SYNC, name="my_counter", given="tf.train.Supervisor.USE_DEFAULT", loop=ASKS)
    text = run_job("--json", "--ps", 1, "--workers", 2, "--max-steps", 40, path, timeout=60)
    assert last_number(text, r'"step":(\d+)') >= 40


SUPERVISED = """
sv = tf.train.Supervisor(is_chief=is_chief)
with sv.managed_session(server.target) as sess:
    while not sv.should_stop():
        sess.run(train)
"""
MONITORED = """
with tf.train.MonitoredTrainingSession(server.target, is_chief=is_chief) as sess:
    while not sess.should_stop():
        sess.run(train)
"""
PLAIN = """
with tf.Session(server.target) as sess:
    sess.run(tf.global_variables_initializer())
    while True:
        sess.run(train)
"""
ODD_NAME = CLUSTER + """
with tf.device(tf.train.replica_device_setter(worker_device=device, cluster=cluster)):
    step = tf.Variable(0, trainable=False, name="my_counter")
    w = tf.get_variable("w", [], initializer=tf.constant_initializer(5.0))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(tf.square(w){counts})
{session}
"""


@pytest.mark.parametrize("session", [SUPERVISED, MONITORED, PLAIN], ids=["supervised", "monitored", "plain"])
def test_a_step_of_any_name_is_shown_and_limited(run_job, write, session):
    path = write(ODD_NAME, counts=", global_step=step", session=session)
    text = run_job("--json", "--ps", 1, "--workers", 1, "--max-steps", 25, path, timeout=40)
    assert last_number(text, r'"step":(\d+)') == 25


@pytest.mark.parametrize("session", [SUPERVISED, MONITORED, PLAIN], ids=["supervised", "monitored", "plain"])
def test_a_limit_that_cannot_be_kept_is_said(run_capstan, write, session):
    body = re.sub(r"while .*:", "for _ in range(5):", session)
    path = write(ODD_NAME, counts="", session=body)
    done = run_capstan("run", "--python", sys.executable, "--ps", 1, "--workers", 1, "--max-steps", 25, path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("--max-steps 25 cannot be kept") == 1
