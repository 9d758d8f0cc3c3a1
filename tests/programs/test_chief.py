"""Waiting for a chief that cannot come ends, with the reason."""

import json
import sys

import pytest
from by_hand import free_addresses

# {chief} says who of the workers is the chief; a worker named "ends" does so at once.
WAITS = """
import json, os, sys
import tensorflow as tf
config = json.loads(os.environ["TF_CONFIG"])
cluster, task = config["cluster"], config["task"]
server = tf.train.Server(cluster, job_name=task["type"], task_index=task["index"])
if task["type"] == "ps":
    server.join()
if sys.argv[1] == "%s/%d" % (task["type"], task["index"]):
    sys.exit(0)
with tf.device(tf.train.replica_device_setter(cluster=cluster)):
    v = tf.get_variable("v", [], initializer=tf.constant_initializer(5.0))
    step = tf.train.get_or_create_global_step()
{session}
"""
SESSIONS = {
    "supervisor": 'tf.train.Supervisor(is_chief=task["type"] == "chief").prepare_or_wait_for_session(server.target)',
    "monitored": 'tf.train.MonitoredTrainingSession(server.target, is_chief=task["type"] == "chief")',
}


@pytest.fixture(params=SESSIONS, ids=list(SESSIONS))
def program(request, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(WAITS.replace("{session}", SESSIONS[request.param]))
    return path


def run(run_capstan, *args):
    return run_capstan("run", "--python", sys.executable, "--timeout", 40, "--ps", 1, *args)


def test_a_job_without_a_chief_ends_with_advice(run_capstan, program):
    done = run(run_capstan, "--workers", 2, program, "nobody")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "worker/0, worker/1 wait for a chief to initialise the model, and none is the chief" in done.stderr
    assert "needs --chief" in done.stderr


def test_a_job_whose_chief_has_ended_says_so(run_capstan, program):
    done = run(run_capstan, "--workers", 1, "--chief", program, "chief/0")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "chief/0 ended already" in done.stderr or "chief/0 has ended" in done.stderr


def test_by_hand_a_chief_that_has_left_is_not_waited_for(by_hand, program):
    ps, worker, chief = free_addresses(3)
    cluster = {"ps": [ps], "worker": [worker], "chief": [chief]}

    def start(job):
        config = {"cluster": cluster, "task": {"type": job, "index": 0}}
        return by_hand.python(program, "chief/0", env={"TF_CONFIG": json.dumps(config)})

    tasks = {job: start(job) for job in ("ps", "worker")}
    tasks["worker"].wait_for_text("waiting for the chief.*does one run")
    assert start("chief").finish() == 0
    assert tasks["worker"].finish(30) == 1
    assert "chief/0 has ended, the chief, and nobody else initialises the model" in tasks["worker"].text
