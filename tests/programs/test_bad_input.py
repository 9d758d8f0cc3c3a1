"""What a program is told when its cluster, its peers or its files are not as they should be."""

import json
import re
import socket
import time

import pytest
from by_hand import free_addresses
from stranger import Stranger, frame

# One task of ps/0 and worker/0; the worker reads or writes a variable of the server.
CLUSTER = """
import sys
import tensorflow as tf

ps, worker, job, task, what = sys.argv[1:]
server = tf.train.Server({"ps": [ps], "worker": [worker]}, job_name=job, task_index=int(task))
if job == "ps":
    print("serving", flush=True)
    server.join()
with tf.device("/job:ps/task:0"):
    v = tf.Variable(7.0, name="v")
with tf.Session(server.target) as session:
    if what == "write":
        session.run(v.initializer)
    print("v is", session.run(v))
"""


@pytest.fixture
def start(by_hand, tmp_path):
    """Starts ps/0 or worker/0 of one cluster."""
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    addresses = free_addresses(2)

    def run(job, task=0, what="write", **options):
        return by_hand.python(script, *addresses, job, task, what, **options)

    run.ps, run.worker = addresses
    return run


def fails(task):
    assert task.finish() == 1, task.text
    return task.text


# --- The program's own mistakes -----------------------------------------------------------------


def test_clashing_shapes_are_named_with_the_line_of_the_program(by_hand, tmp_path):
    script = tmp_path / "shapes.py"
    script.write_text("""
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 3], name="x")
w = tf.get_variable("w", [4, 1])
y = tf.matmul(x, w, name="product")
print("built")
""")
    text = fails(by_hand.python(script))
    last = text.rstrip().splitlines()[-1]
    assert "'product'" in last and "[?,3] and [4,1]" in last and "shapes.py:5" in last
    assert "built" not in text


def test_an_uninitialised_variable_is_named_with_its_task_and_line(start):
    start("ps")
    text = fails(start("worker", what="read"))
    assert re.search(r"FailedPreconditionError: .*uninitialized value v\b.*/job:ps/task:0.*cluster.py:\d+", text)


# --- The cluster --------------------------------------------------------------------------------


def test_a_job_that_is_not_in_the_spec_is_named(start):
    assert "task 0 of job 'chef' is not in the cluster spec, which has ps/0, worker/0" in fails(start("chef"))


def test_a_task_that_is_not_in_the_spec_is_named(start):
    assert "task 3 of job 'worker' is not in the cluster spec, which has ps/0, worker/0" in fails(start("worker", 3))


def test_a_device_that_is_not_in_the_spec_is_named(by_hand, tmp_path):
    script = tmp_path / "device.py"
    script.write_text("""
import tensorflow as tf
server = tf.train.Server({"worker": ["127.0.0.1:0"]}, job_name="worker", task_index=0)
with tf.device("/job:ps/task:1"):
    v = tf.Variable(1.0, name="v")
tf.Session(server.target).run(v.initializer)
""")
    text = fails(by_hand.python(script))
    assert re.search(r"InvalidArgumentError: node 'v\S*' wants device '/job:ps/task:1'.*\(/job:worker/task:0\)", text)


def test_a_port_in_use_is_named(start):
    host, port = start.ps.split(":")
    with socket.create_server((host, int(port))):
        text = fails(start("ps"))
    assert f"AlreadyExistsError: port {port} is in use" in text


def test_whoever_waits_for_a_parameter_server_says_so_after_5_seconds(start):
    begin = time.monotonic()
    worker = start("worker")
    said = worker.wait_for_text(r"waiting for /job:ps/task:0\b.* (\S+) after 5 s: (.*)", 30)
    assert 5 <= time.monotonic() - begin < 15
    assert said[1] == start.ps and "Connection refused" in said[2]
    # It did not give up: the server that comes late is found.
    server = start("ps")
    assert worker.finish() == 0 and "v is 7.0" in worker.text, worker.text
    assert server.finish(20) == 0, server.text


# --- TF_CONFIG ----------------------------------------------------------------------------------

GOOD_CLUSTER = '"cluster": {"ps": ["127.0.0.1:1"]}'


@pytest.mark.parametrize(("config", "said"), [
    ('{"cluster": {"ps": [', "TF_CONFIG is no JSON: byte 21 of"),
    ("[1, 2]", "TF_CONFIG is [1, 2], not a JSON object such as"),
    ('{"cluster": 3}', "TF_CONFIG: the cluster spec is not a JSON object such as"),
    ('{"cluster": {"ps": 3}}', "TF_CONFIG: job 'ps' of the cluster spec is 3"),
    ('{"cluster": {"ps": [3]}}', "TF_CONFIG: job 'ps' of the cluster spec holds 3"),
    ('{%s, "task": "ps"}' % GOOD_CLUSTER, 'TF_CONFIG: the task "ps" is not of the form {"type": '),
    ('{%s, "task": {"index": 0}}' % GOOD_CLUSTER, 'TF_CONFIG: the task {"index":0} is not of the form'),
    ('{%s, "task": {"type": "ps", "index": -1}}' % GOOD_CLUSTER, "is not of the form"),
])  # fmt: skip
def test_a_malformed_tf_config_is_refused_before_the_program_starts(run_capstan, config, said):
    done = run_capstan("python", "-c", "print('started')", env={"TF_CONFIG": config})
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize("config", ["", "{}", '{"environment": "x"}', '{"cluster": {}, "task": {"type": "worker"}}'])
def test_a_tf_config_with_little_in_it_is_fine(run_capstan, config):
    done = run_capstan("python", "-c", "print('started')", env={"TF_CONFIG": config})
    assert (done.returncode, done.stdout) == (0, "started\n")


def test_a_role_of_tf_config_that_its_cluster_lacks_is_named(by_hand, tmp_path):
    script = tmp_path / "role.py"
    script.write_text("""
import json, os
import tensorflow as tf
config = json.loads(os.environ["TF_CONFIG"])
tf.train.Server(config["cluster"], job_name=config["task"]["type"], task_index=config["task"]["index"])
""")
    config = {"cluster": {"ps": ["127.0.0.1:1"]}, "task": {"type": "worker", "index": 2}}
    text = fails(by_hand.python(script, env={"TF_CONFIG": json.dumps(config)}))
    assert "task 2 of job 'worker' is not in the cluster spec, which has ps/0" in text


# --- Peers --------------------------------------------------------------------------------------


def test_a_peer_without_the_secret_is_refused_and_told_what_to_do(start):
    server = start("ps", env={"CAPSTAN_SECRET": "ours"})
    text = fails(start("worker", env={"CAPSTAN_SECRET": "theirs"}))
    assert "UnauthenticatedError: ps/0 at" in text and "CAPSTAN_SECRET_FILE" in text
    server.wait_for_text("refused a connection: worker/0 at .* could not prove that it belongs to this job")
    # Nothing else has changed: whoever has the secret is served.
    worker = start("worker", env={"CAPSTAN_SECRET": "ours"})
    assert worker.finish() == 0 and "v is 7.0" in worker.text, worker.text
    assert server.finish(20) == 0, server.text


def test_two_jobs_of_one_user_started_by_hand_do_not_meet(start, by_hand, tmp_path):
    start("ps").wait_for_text("serving")
    script = tmp_path / "other.py"
    script.write_text(CLUSTER.replace('{"ps": [ps], "worker": [worker]}', '{"ps": [ps], "worker": [worker, ps]}'))
    assert "UnauthenticatedError" in fails(by_hand.python(script, start.ps, start.worker, "worker", 0, "write"))


def peak_megabytes(task):
    with open(f"/proc/{task.process.pid}/status") as file:
        return int(re.search(r"VmHWM:\s+(\d+) kB", file.read())[1]) / 1024


@pytest.mark.parametrize("announced", [
    frame(payload=2**62), frame(payload=2**62, tensors=1, descriptors=16),
    frame(descriptors=2**32 - 1, tensors=2**32 - 1), frame(magic=b"HTTP"),
], ids=["payload", "tensor", "descriptors", "magic"])  # fmt: skip
def test_a_frame_that_announces_too_much_ends_its_connection_and_nothing_else(start, announced):
    server = start("ps", env={"CAPSTAN_SECRET": "ours"})
    server.wait_for_text("serving")
    before = peak_megabytes(server)
    with Stranger(start.ps) as stranger:
        assert stranger.shake_hands(b"ours")
        stranger.send(announced)
        stranger.rest()
    assert peak_megabytes(server) - before < 16
    worker = start("worker", env={"CAPSTAN_SECRET": "ours"})
    assert worker.finish() == 0 and "v is 7.0" in worker.text, worker.text
    assert server.finish(20) == 0, server.text


@pytest.mark.parametrize("noise", [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\xff\xff\xff\x7f\x01", b"\x00\x00\x00\x00", frame(payload=2**62),
], ids=["http", "length", "nothing", "frame"])  # fmt: skip
def test_noise_instead_of_a_handshake_ends_its_connection_and_nothing_else(start, noise):
    server = start("ps")
    server.wait_for_text("serving")
    with Stranger(start.ps) as stranger:
        stranger.send(noise)
        stranger.rest()
    with Stranger(start.ps) as stranger:
        assert not stranger.shake_hands(b"a guess")
    assert start("worker").finish() == 0
    assert server.finish(20) == 0, server.text


# --- Files --------------------------------------------------------------------------------------

SAVES = """
import sys
import tensorflow as tf

v = tf.Variable(tf.ones([100, 10]), name="v")
w = tf.Variable([1.0], name="w")
saver = tf.train.Saver()
with tf.Session() as session:
    if sys.argv[1] == "save":
        session.run(tf.global_variables_initializer())
        saver.save(session, "model/m")
    else:
        saver.restore(session, "model/m")
"""


def test_a_truncated_checkpoint_is_named_and_says_what_to_do(by_hand, tmp_path):
    script = tmp_path / "saves.py"
    script.write_text(SAVES)
    assert by_hand.python(script, "save").finish() == 0
    for name in ("m.index", "m.data-00000-of-00001"):
        file = tmp_path / "model" / name
        whole = file.read_bytes()
        file.write_bytes(whole[:-1])
        text = fails(by_hand.python(script, "restore"))
        assert re.search(r"DataLossError: model/%s.*not copied whole; use another" % re.escape(name), text)
        file.write_bytes(whole)
    assert by_hand.python(script, "restore").finish() == 0
