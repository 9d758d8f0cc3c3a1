"""The programs of examples/, in one process, as a job, and as tasks started by hand."""

import json
import sys
from pathlib import Path

import pytest
from by_hand import free_addresses, last_number

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FASHION = Path("/usr/share/datasets/fashion-mnist")  # Debian's, which is taken before drawn digits


def test_mnist_trains_on_a_cluster(run_job):
    text = run_job("--ps", 2, "--workers", 2, EXAMPLES / "mnist.py", "--last_step=1500")
    bar = 0.80 if FASHION.is_dir() else 0.93
    assert last_number(text, r"test accuracy: ([0-9.]+)") > bar


@pytest.fixture
def mnist_in_cpp(capstan):
    program = Path(capstan).parents[2] / "examples" / "mnist"
    if not program.exists():
        pytest.skip("the examples in C++ are not in this build")
    return program


def test_mnist_in_cpp_trains_on_a_cluster(run_job, mnist_in_cpp):
    text = run_job("--ps", 2, "--workers", 2, mnist_in_cpp)
    bar = 0.80 if FASHION.is_dir() else 0.93
    assert last_number(text, r"test accuracy: ([0-9.]+)") > bar


def test_mnist_trains_in_one_process(run_capstan):
    done = run_capstan("python", "--python", sys.executable, EXAMPLES / "mnist.py", "--last_step=1000", timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    assert last_number(done.stdout, r"test accuracy: ([0-9.]+)") > 0.78


# --- Roles from flags ---------------------------------------------------------------------------


def assert_line_found(text):
    assert abs(last_number(text, r"w: ([0-9.]+)") - 2) < 0.1
    assert abs(last_number(text, r"b: ([0-9.]+)") - 10) < 0.2


def test_linear_regression_finds_its_weights_under_a_supervisor(run_job, tmp_path):
    logs = tmp_path / "logs"
    assert_line_found(run_job("--ps", 1, "--workers", 2, EXAMPLES / "linear_regression.py", f"--logdir={logs}"))
    assert (logs / "checkpoint").exists()


def test_linear_regression_runs_by_hand(by_hand):
    ps, *workers = free_addresses(3)
    roles = [EXAMPLES / "linear_regression.py", f"--ps_hosts={ps}", f"--worker_hosts={','.join(workers)}"]
    server = by_hand.python(*roles, "--job_name=ps", "--task_index=0")
    tasks = [by_hand.python(*roles, "--job_name=worker", f"--task_index={i}") for i in range(2)]
    for task in tasks:
        assert task.finish() == 0, task.text
        assert_line_found(task.text)
    assert server.finish(20) == 0, server.text


# --- Hosts written into the program -------------------------------------------------------------


def test_hosts_written_into_a_program_may_be_tasks_of_a_job(run_job):
    text = run_job("--ps", 1, "--workers", 2, "--resolve", "pc-01:2222=ps/0", "--resolve", "pc-02:2222=worker/0",
                   "--resolve", "pc-03:2222=worker/1", EXAMPLES / "written_hosts.py")
    assert last_number(text, r"accuracy: ([0-9.]+)") > 0.9


def test_hosts_written_into_a_program_are_resolved_by_hand(by_hand):
    addresses = free_addresses(3, hosts=("127.0.0.1", "127.0.0.2", "127.0.0.3"))
    rules = [word for i, address in enumerate(addresses) for word in ("--resolve", f"pc-0{i + 1}:2222={address}")]
    start = [*rules, EXAMPLES / "written_hosts.py"]
    server = by_hand.python(*start, "--job_name=ps", "--task_index=0")
    workers = [by_hand.python(*start, "--job_name=worker", f"--task_index={i}") for i in range(2)]
    for task in workers:
        assert task.finish() == 0, task.text
    assert last_number(workers[0].text, r"accuracy: ([0-9.]+)") > 0.9
    assert server.finish(20) == 0, server.text


# --- Roles from TF_CONFIG -----------------------------------------------------------------------


def test_a_program_that_knows_only_tf_config_trains_with_a_master(run_job, tmp_path):
    text = run_job("--env", f"MODEL_DIR={tmp_path / 'model'}", "--chief=master", "--ps", 1, "--workers", 1,
                   EXAMPLES / "tf_config.py")
    assert last_number(text, r"with loss ([0-9.]+)") < 0.01
    assert (tmp_path / "model" / "checkpoint").exists()


def test_a_program_that_knows_only_tf_config_runs_by_hand(by_hand, tmp_path):
    ps, master, worker = free_addresses(3)
    cluster = {"ps": [ps], "master": [master], "worker": [worker]}

    def start(job):
        config = {"cluster": cluster, "task": {"type": job, "index": 0}}
        env = {"TF_CONFIG": json.dumps(config), "MODEL_DIR": str(tmp_path / "model")}
        return by_hand.python(EXAMPLES / "tf_config.py", env=env)

    tasks = [start(job) for job in ("worker", "master", "ps")]
    for task in tasks:
        assert task.finish() == 0, task.text
    assert last_number(tasks[1].text, r"with loss ([0-9.]+)") < 0.01


# --- Synchronous training -----------------------------------------------------------------------


def test_workers_train_in_step_with_sync_replicas(run_job):
    text = run_job("--ps", 1, "--workers", 2, EXAMPLES / "sync_replicas.py")
    assert last_number(text, r"worker 0: .*loss ([0-9.]+)") < 0.01
    assert last_number(text, r"worker 1: .*loss ([0-9.]+)") < 0.01


def test_one_worker_by_hand_serves_two_sync_replicas(by_hand):
    ps, worker = free_addresses(2)
    roles = [EXAMPLES / "sync_replicas.py", f"--ps_hosts={ps}", f"--worker_hosts={worker}", "--replicas=2"]
    server = by_hand.python(*roles, "--job_name=ps", "--task_index=0")
    task = by_hand.python(*roles, "--job_name=worker", "--task_index=0")
    assert task.finish() == 0, task.text
    assert last_number(task.text, r"worker 0: (\d+) gradients") >= 2 * 300 - 1
    assert last_number(task.text, r"worker 0: .*loss ([0-9.]+)") < 0.01
    assert server.finish(20) == 0, server.text
