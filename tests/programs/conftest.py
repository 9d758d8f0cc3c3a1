"""Fixtures for whole programs."""

import sys

import pytest
from by_hand import ByHand


@pytest.fixture
def by_hand(capstan, tmp_path):
    """Starts tasks one by one; what is left of them after the test is killed."""
    tasks = ByHand(capstan, tmp_path)
    yield tasks
    tasks.kill_all()


@pytest.fixture
def run_job(run_capstan):
    """Runs `capstan run …` to its good end; returns all that was printed."""

    def run(*args, timeout=100):
        done = run_capstan("run", "--python", sys.executable, "--timeout", timeout, *args, timeout=timeout + 20)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout + done.stderr

    return run
