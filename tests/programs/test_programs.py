"""Whole programs as clusters of processes: ours, and those of ../shared where that folder is."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
SHARED = ROOT.parent / "shared" / "programs"

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the acceptance programs are not here")


def last_number(text, pattern):
    found = re.findall(pattern, text)
    assert found, f"nothing matches {pattern} in:\n{text[-3000:]}"
    return float(found[-1])


def free_addresses(count, host="127.0.0.1"):
    """Ports that were free a moment ago: programs started by hand choose theirs beforehand too."""
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind((host, 0))
    addresses = [f"{host}:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    return addresses


class ByHand:
    """One process per task, as the authors of such programs start them."""

    def __init__(self, capstan, folder):
        self.capstan, self.folder, self.processes = capstan, folder, []

    def start(self, *args, env=None):
        home = {"HOME": str(self.folder)}
        process = subprocess.Popen(
            [self.capstan, "python", "--python", sys.executable, *map(str, args)],
            cwd=self.folder, env={**os.environ, **home, **(env or {})},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        self.processes.append(process)
        return process

    def stop_all(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(10)


@pytest.fixture
def by_hand(capstan, tmp_path):
    tasks = ByHand(capstan, tmp_path)
    yield tasks
    tasks.stop_all()


def run_job(run_capstan, *args, **options):
    done = run_capstan("run", "--python", sys.executable, "--timeout", "100", *args, timeout=120, **options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def test_mnist_trains_on_a_cluster(run_capstan):
    text = run_job(run_capstan, "--ps", "2", "--workers", "2", EXAMPLES / "mnist.py", "--last_step=1500")
    bar = 0.80 if "ashion" in text else 0.93
    assert last_number(text, r"test accuracy: ([0-9.]+)") > bar


def test_mnist_trains_in_one_process(run_capstan):
    done = run_capstan("python", "--python", sys.executable, EXAMPLES / "mnist.py", "--last_step=1000", timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    assert last_number(done.stdout, r"test accuracy: ([0-9.]+)") > 0.78


def test_linear_regression_finds_its_weights_under_a_supervisor(run_capstan, tmp_path):
    text = run_job(run_capstan, "--ps", "1", "--workers", "2", EXAMPLES / "linear_regression.py",
                   f"--logdir={tmp_path / 'logs'}")
    assert abs(last_number(text, r"w: ([0-9.]+)") - 2) < 0.1
    assert abs(last_number(text, r"b: ([0-9.]+)") - 10) < 0.2
    assert (tmp_path / "logs" / "checkpoint").exists()


def test_a_program_that_knows_only_tf_config_trains_with_a_master(run_capstan, tmp_path):
    text = run_job(run_capstan, "--env", f"MODEL_DIR={tmp_path / 'model'}", "--chief=master", "--ps", "1",
                   "--workers", "1", EXAMPLES / "tf_config.py")
    assert last_number(text, r"with loss ([0-9.]+)") < 0.01
    assert (tmp_path / "model" / "checkpoint").exists()


@needs_shared
def test_distribute_runs_by_hand_until_it_is_interrupted(by_hand):
    ps, worker = free_addresses(2)
    roles = [f"--ps_hosts={ps}", f"--worker_hosts={worker}", "--learning_rate=0.001"]
    script = SHARED / "flags" / "distribute.py"
    by_hand.start(script, *roles, "--job_name=ps", "--task_index=0")
    worker = by_hand.start(script, *roles, "--job_name=worker", "--task_index=0")
    for line in worker.stdout:
        step = re.match(r"step: (\d+), weight: ([0-9.-]+), biase: ([0-9.-]+)", line)
        if step and int(step[1]) >= 8000:
            break
    assert abs(float(step[2]) - 2) < 0.3 and abs(float(step[3]) - 10) < 0.5
    worker.send_signal(signal.SIGINT)
    assert worker.wait(20) != 0


@needs_shared
def test_tfjob_main_runs_with_a_master_through_capstan_run(run_capstan, tmp_path):
    text = run_job(run_capstan, "--chief=master", "--ps", "1", "--workers", "1", SHARED / "tfjob" / "main.py")
    assert last_number(text, r"step \d+ loss ([0-9.]+)") < 0.01
    assert (tmp_path / "model" / "checkpoint").exists()
