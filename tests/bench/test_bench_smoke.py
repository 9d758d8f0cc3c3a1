"""The benchmarks run: short rounds of ours alone, with no TensorFlow."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parent.parent.parent / "bench"


@pytest.fixture
def run_bench(capstan):
    """Runs a quick benchmark; returns its lines by name."""

    def run(name, *arguments):
        command = [sys.executable, BENCH / f"{name}.py", "--capstan", capstan, "--quick", "--json"]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=150)
        assert done.returncode == 0, done.stderr
        return {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}

    return run


def test_local_tells_a_rate_for_every_model(run_bench):
    lines = run_bench("local")
    for name in ("linear regression", "100 variables", "MLP-B 784-100-10", "MLP-A 784-500-500-10"):
        assert lines[name]["ours"] > 0
        assert lines[name]["peer"] is None and lines[name]["met"] is None


def test_cluster_tells_a_rate_for_each_transport(run_bench):
    lines = run_bench("cluster", "--only", "linear regression 1+1")
    assert set(lines) == {"linear regression 1+1, TCP", "linear regression 1+1, shared memory"}
    assert all(line["ours"] > 0 for line in lines.values())


def test_cluster_runs_synchronous_replicas(run_bench):
    lines = run_bench("cluster", "--only", "sync")
    assert len(lines) == 2 and all(line["ours"] > 0 for line in lines.values())


def test_memory_tells_what_an_import_costs(run_bench):
    lines = run_bench("memory", "--only", "import tensorflow")
    assert lines["import tensorflow, memory"]["unit"] == "MB"
    assert lines["import tensorflow, time"]["ours"] > 0


def test_a_process_that_fails_is_named_with_what_it_printed():
    command = [sys.executable, BENCH / "local.py", "--capstan", "/bin/false", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "ours lr ended with code 1" in done.stderr
