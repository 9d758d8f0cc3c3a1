"""Programs for the launcher to start, and the launcher in the background."""

import os
import subprocess

import pytest


@pytest.fixture
def program(tmp_path):
    """Writes an executable Python program that needs nothing of ours."""

    def write(body, name="program"):
        path = tmp_path / name
        path.write_text("#!/usr/bin/env python3\n" + body)
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def start(capstan, tmp_path):
    """Starts the program in the background; kills what is left of it after the test."""
    started = []

    def run(*args):
        env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
        command = [capstan, *map(str, args)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, cwd=tmp_path, env=env, stdout=pipe, stderr=pipe, text=True
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def shelf(tmp_path):
    """Where the records of this test's jobs lie."""
    return tmp_path / "state" / "capstan" / "jobs"


@pytest.fixture
def detach(run_capstan, shelf):
    """Starts a job in the background and returns its id; what is left after the test is stopped."""
    started = []

    def run(*args):
        done = run_capstan("run", "--detach", *args)
        assert done.returncode == 0, done.stderr
        started.append(done.stdout.strip())
        return started[-1]

    yield run
    for job in started:
        if (shelf / job).exists():
            run_capstan("stop", job)
