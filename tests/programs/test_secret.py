"""A cluster whose tasks prove a secret that came by file."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from by_hand import free_addresses

TRAINS = """
import json
import os
import tensorflow as tf

assert "CAPSTAN_SECRET_FD" not in os.environ and os.path.exists(os.environ["CAPSTAN_SECRET_FILE"])
config = json.loads(os.environ["TF_CONFIG"])
server = tf.train.Server(config["cluster"], config["task"]["type"], config["task"]["index"])
if config["task"]["type"] == "ps":
    server.join()
with tf.device("/job:ps/task:0"):
    total = tf.Variable(40)
with tf.Session(server.target) as session:
    session.run(total.initializer)
    print("the answer is", session.run(total.assign_add(2)))
"""


def test_tasks_that_get_their_secret_by_file_train(run_job, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "train.py").write_text(TRAINS)
    home = f"HOME={tmp_path / 'home'}"
    said = run_job("--secret-by", "file", "--env", home, "--ps", 1, "--workers", 1, "train.py")
    assert "the answer is 42" in said
    assert list((tmp_path / "home").iterdir()) == []  # the user's own secret was not asked for


SERVES = """
import os, sys
import tensorflow as tf

tf.train.Server({"worker": [sys.argv[1]]}, "worker", 0)
print("serves", flush=True)
os._exit(0)
"""

NOBODY = 65534


@pytest.fixture
def everybodys_folder():
    """As those of pods are; what pytest has is root's alone."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands files to others")
@pytest.mark.parametrize(("mode", "taken"), [(0o440, True), (0o444, False), (0o460, False)])
def test_a_secret_that_root_hands_to_a_group_is_for_that_group(capstan, everybodys_folder, mode, taken):
    folder = everybodys_folder
    secret, program = folder / "secret", folder / "serves.py"
    secret.write_text("s3cret")
    program.write_text(SERVES)
    os.chown(secret, 0, NOBODY)
    secret.chmod(mode)
    done = subprocess.run(
        [capstan, "python", "--python", sys.executable, program, free_addresses(1)[0]],
        env={**os.environ, "CAPSTAN_SECRET_FILE": str(secret), "HOME": "/nonexistent"},
        cwd="/", user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert ("serves" in done.stdout) == taken, done.stderr
    assert taken or "can be read by others" in done.stderr
