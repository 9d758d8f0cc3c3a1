"""examples/mnist.cc: the program in C++, alone and as every task of a cluster."""

import re
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def mnist(capstan):
    return Path(capstan).parents[2] / "examples" / "mnist"


def accuracy_in(text):
    found = re.findall(r"test accuracy: ([0-9.]+)", text)
    assert found, text[-3000:]
    return float(found[-1])


def bar(text):
    return 0.80 if "Fashion" in text else 0.93


def test_it_trains_on_a_cluster(run_capstan, mnist):
    done = run_capstan("run", "--ps", "2", "--workers", "2", "--timeout", "100", mnist, timeout=120)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert accuracy_in(done.stdout) > bar(done.stdout)


def test_it_trains_alone(mnist, tmp_path):
    done = subprocess.run([str(mnist)], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-3000:]
    assert accuracy_in(done.stdout) > bar(done.stdout)
