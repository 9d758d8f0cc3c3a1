"""Tasks as processes: how they end, what parameter servers wait for, what a launcher hears."""

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap

import capstan
import pytest

FRONT = os.path.dirname(list(capstan.__path__)[0])

CLUSTER = """
import sys
import tensorflow as tf
cluster = tf.train.ClusterSpec({"ps": [sys.argv[1]], "worker": sys.argv[2].split(",")})
job, task = sys.argv[3].split(":")
server = tf.train.Server(cluster, job_name=job, task_index=int(task))
if job == "ps":
    print("serving", flush=True)
    server.join()
    print("never printed")
with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:" + task, cluster=cluster)):
    step = tf.train.get_or_create_global_step()
    v = tf.get_variable("v", [], initializer=tf.constant_initializer(5.0))
    loss = tf.square(v, name="loss")
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
"""

TRAINS = (
    CLUSTER
    + """
with tf.train.MonitoredTrainingSession(server.target, is_chief=task == "0",
                                       hooks=[tf.train.StopAtStepHook(last_step=40)]) as sess:
    while not sess.should_stop():
        sess.run([train, loss])
print("trained")
"""
)

SUPERVISED = (
    CLUSTER
    + """
sv = tf.train.Supervisor(is_chief=task == "0", global_step=step)
with sv.managed_session(server.target) as sess:
    while True:
        count, _, value = sess.run([step, train, loss])
"""
)

FAILS = (
    CLUSTER
    + """
raise ValueError("on purpose")
"""
)


@pytest.fixture
def start(tmp_path):
    """Starts a program as a process; whatever is left of it afterwards is killed."""
    started = []

    def run(body, *args, channel=None, **env):
        path = tmp_path / ("program%d.py" % len(started))
        path.write_text(textwrap.dedent(body))
        env = {**os.environ, "PYTHONPATH": FRONT, "HOME": str(tmp_path), "PYTHONUNBUFFERED": "1", **env}
        if channel is not None:
            env["CAPSTAN_TASK_FD"] = str(channel.fileno())
        process = subprocess.Popen(
            [sys.executable, str(path), *args],
            env=env,
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[] if channel is None else [channel.fileno()],
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def free_addresses(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    addresses = ["127.0.0.1:%d" % s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return addresses


def finish(process, seconds=60):
    text, _ = process.communicate(timeout=seconds)
    return process.returncode, text


class Ear:
    """The launcher's end of a task's channel."""

    def __init__(self):
        self._ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def events(self):
        self.theirs.close()
        self._ours.settimeout(60)
        events = []
        while line := self._ours.recv(65536):
            events.append(json.loads(line))
        return events


def test_a_parameter_server_ends_when_all_workers_have_left(start):
    ps, *workers = free_addresses(3)
    roles = ps, ",".join(workers)
    server = start(TRAINS, *roles, "ps:0")
    for process in [start(TRAINS, *roles, "worker:%d" % i) for i in range(2)]:
        code, text = finish(process)
        assert code == 0 and "trained" in text, text
        assert "goodbye" not in text
    assert finish(server, 20) == (0, "serving\n")


def test_a_worker_that_fails_has_not_left(start):
    ps, worker = free_addresses(2)
    server = start(FAILS, ps, worker, "ps:0")
    code, text = finish(start(FAILS, ps, worker, "worker:0"))
    assert code == 1 and "ValueError: on purpose" in text
    with pytest.raises(subprocess.TimeoutExpired):
        server.wait(1)


@pytest.mark.parametrize("end", ["sys.exit(3)", "raise SystemExit('no data')", "import os; os._exit(0)"])
def test_a_worker_that_ends_otherwise_than_with_0_has_not_left(start, end):
    ps, worker = free_addresses(2)
    server = start(TRAINS, ps, worker, "ps:0")
    assert finish(start(CLUSTER + end, ps, worker, "worker:0"))[0] == {"s": 3, "r": 1, "i": 0}[end[0]]
    # A second attempt finds the server where it was; had the first one counted, it would have ended.
    code, text = finish(start(TRAINS, ps, worker, "worker:0"))
    assert code == 0 and "trained" in text, text
    assert finish(server, 20) == (0, "serving\n")


@pytest.mark.parametrize("end", ["sys.exit()", "raise SystemExit(0)", ""])
def test_a_worker_that_ends_with_0_has_left(start, end):
    ps, worker = free_addresses(2)
    server = start(TRAINS, ps, worker, "ps:0")
    assert finish(start(CLUSTER + end, ps, worker, "worker:0"))[0] == 0
    assert finish(server, 20) == (0, "serving\n")


def test_a_parameter_server_can_be_interrupted(start):
    ps, worker = free_addresses(2)
    server = start(TRAINS, ps, worker, "ps:0")
    assert server.stdout.readline() == "serving\n"
    server.send_signal(signal.SIGINT)
    code, text = finish(server, 20)
    assert code != 0 and "KeyboardInterrupt" in text


def test_a_task_tells_its_launcher_port_step_loss_and_end(start):
    ps, worker = free_addresses(2)
    start(TRAINS, ps, worker, "ps:0")
    ear = Ear()
    process = start(TRAINS, ps, worker, "worker:0", channel=ear.theirs)
    events = ear.events()
    assert finish(process)[0] == 0
    assert events[0]["event"] == "port" and events[0]["port"] == int(worker.split(":")[1])
    assert events[-1]["event"] == "end"
    steps = [event for event in events if event["event"] == "step"]
    assert steps[0]["last_step"] == 40 and steps[0]["loss"] == 25.0
    assert steps[-1]["step"] == 40


def test_a_task_tells_its_launcher_why_it_failed(start):
    ps, worker = free_addresses(2)
    ear = Ear()
    process = start(FAILS, ps, worker, "worker:0", channel=ear.theirs)
    events = ear.events()
    assert finish(process)[0] == 1
    assert [event["event"] for event in events] == ["port", "error"]
    assert (events[1]["code"], events[1]["message"]) == ("ValueError", "on purpose")


def test_a_loop_without_end_stops_at_the_launcher_s_limit(start):
    ps, worker = free_addresses(2)
    server = start(SUPERVISED, ps, worker, "ps:0")
    ear = Ear()
    process = start(SUPERVISED, ps, worker, "worker:0", channel=ear.theirs, CAPSTAN_MAX_STEPS="25")
    events = ear.events()
    code, text = finish(process)
    assert code == 0, text
    assert finish(server, 20)[0] == 0
    steps = [event for event in events if event["event"] == "step"]
    assert steps and steps[-1]["last_step"] == 25 and events[-1]["event"] == "end"


# A session without supervisor or monitor; it initialises and evaluates in runs of their own.
PLAIN = (
    CLUSTER
    + """
train = tf.group(train)
with tf.Session(server.target) as sess:
    sess.run(tf.global_variables_initializer())
    while True:
        sess.run({"train": train, "loss": loss})
"""
)


def test_a_plain_session_tells_its_launcher_of_its_steps(start):
    ps, worker = free_addresses(2)
    server = start(PLAIN, ps, worker, "ps:0")
    ear = Ear()
    process = start(PLAIN, ps, worker, "worker:0", channel=ear.theirs, CAPSTAN_MAX_STEPS="2000")
    events = ear.events()
    code, text = finish(process)
    assert code == 0 and "training ends at global step 2000: the limit was reached" in text, text
    steps = [event for event in events if event["event"] == "step"]
    assert steps[0]["step"] == 1 and steps[0]["loss"] == 25.0 and steps[0]["last_step"] == 2000
    assert [event["event"] for event in events].count("error") == 0 and events[-1]["event"] == "end"
    assert finish(server, 20)[0] == 0


def test_a_plain_session_may_go_on_after_the_limit_without_training(start):
    ps, worker = free_addresses(2)
    start(PLAIN, ps, worker, "ps:0")
    body = PLAIN.replace("    while True:\n        sess.run({", """    try:
        while True: sess.run({""") + """
    except tf.errors.OutOfRangeError:
        print("stands at", sess.run(step))
"""
    code, text = finish(start(body, ps, worker, "worker:0", CAPSTAN_MAX_STEPS="30"))
    assert (code, text) == (0, "stands at 30\n")


def test_a_process_that_fails_after_its_training_has_not_ended_well(start):
    ps, worker = free_addresses(2)
    start(TRAINS, ps, worker, "ps:0")
    ear = Ear()
    process = start(TRAINS + "sys.exit(4)", ps, worker, "worker:0", channel=ear.theirs)
    events = ear.events()
    assert finish(process)[0] == 4
    assert events[-1]["event"] == "step"


def test_a_failure_is_one_whatever_hook_the_program_set(start):
    ps, worker = free_addresses(2)
    ear = Ear()
    body = CLUSTER + """
sys.excepthook = lambda *unused: print("hidden")
raise ValueError("on purpose")
"""
    process = start(body, ps, worker, "worker:0", channel=ear.theirs)
    events = ear.events()
    assert finish(process) == (1, "hidden\n")
    assert [event["event"] for event in events] == ["port"]
