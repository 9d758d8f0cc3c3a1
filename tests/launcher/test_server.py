"""`capstan server` and what it says to bad input."""

import json
import os
import socket
import subprocess
import time

import pytest


def spec(*ports):
    return json.dumps({"ps": [f"127.0.0.1:{port}" for port in ports], "worker": ["127.0.0.1:1"]})


@pytest.fixture
def held_port():
    """A port that somebody else listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_a_task_that_is_not_in_the_spec_is_named(run_capstan):
    done = run_capstan("server", "--cluster", spec(2222), "--job", "ps", "--task", 3)
    assert done.returncode == 2
    assert "task 3 of job 'ps' is not in the cluster spec" in done.stderr


def test_a_job_that_is_not_in_the_spec_is_named(run_capstan):
    done = run_capstan("server", "--cluster", spec(2222), "--job", "chef", "--task", 0)
    assert done.returncode == 2
    assert "'chef'" in done.stderr and "ps/0, worker/0" in done.stderr


@pytest.mark.parametrize("text", ['{"ps": [', "[]", '{"ps": 3}', '{"ps": ["nonsense"]}'])
def test_a_malformed_cluster_spec_is_refused(run_capstan, text):
    done = run_capstan("server", "--cluster", text, "--job", "ps", "--task", 0, timeout=20)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("capstan server: ")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_secret_file_of_another_user_is_refused(run_capstan, free_port, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("0" * 64)
    secret.chmod(0o600)
    os.chown(secret, 12345, 12345)
    env = {"CAPSTAN_SECRET_FILE": str(secret)}
    done = run_capstan("server", "--cluster", spec(free_port), "--job", "ps", "--task", 0, env=env, timeout=20)
    assert done.returncode != 0
    assert f"the secret file {secret} belongs to user 12345" in done.stderr


def test_a_secret_file_that_others_can_read_is_refused(run_capstan, free_port, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("0" * 64)
    secret.chmod(0o640)
    env = {"CAPSTAN_SECRET_FILE": str(secret)}
    done = run_capstan("server", "--cluster", spec(free_port), "--job", "ps", "--task", 0, env=env, timeout=20)
    assert done.returncode != 0 and "chmod 600" in done.stderr


def test_a_port_in_use_is_named(run_capstan, held_port):
    done = run_capstan("server", "--cluster", spec(held_port), "--job", "ps", "--task", 0)
    assert done.returncode != 0
    assert str(held_port) in done.stderr and "in use" in done.stderr


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_an_idle_server_uses_no_cpu(capstan, free_port, tmp_path):
    command = [capstan, "server", "--cluster", spec(free_port), "--job", "ps", "--task", "0"]
    env = {**os.environ, "HOME": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env, text=True) as server:
        try:
            assert "serves at" in server.stdout.readline()
            before = cpu_seconds(server.pid)
            time.sleep(1)  # the span that is measured
            assert cpu_seconds(server.pid) - before <= 0.02
        finally:
            server.terminate()
