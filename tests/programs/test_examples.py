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


def test_a_program_in_cpp_stops_at_the_steps_that_the_job_allows(run_job, mnist_in_cpp):
    text = run_job("--ps", 1, "--workers", 2, "--max-steps", 100, mnist_in_cpp)
    assert last_number(text, r"step: (\d+), loss") <= 101
    assert "test accuracy" in text


# --- Servers that leave by themselves -----------------------------------------------------------

DONE_QUEUES = """
import json, os
import tensorflow as tf

config = json.loads(os.environ["TF_CONFIG"])
spec, job, task = config["cluster"], config["task"]["type"], config["task"]["index"]
server = tf.train.Server(spec, job, task)
queues = []
for i in range(len(spec["ps"])):
    with tf.device("/job:ps/task:%d" % i):
        queues.append(tf.FIFOQueue(len(spec["worker"]), tf.int32, shared_name="done%d" % i))
if job == "ps":
    with tf.Session(server.target) as session:
        for _ in spec["worker"]:
            session.run(queues[task].dequeue())
    print("all workers are done")
else:
    with tf.device(tf.train.replica_device_setter(cluster=spec, worker_device="/job:worker/task:%d" % task)):
        step = tf.Variable(0, name="global_step", trainable=False)
        w = tf.Variable(0.0)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(w - 3), global_step=step)
        done = [queue.enqueue(1) for queue in queues]
    supervisor = tf.train.Supervisor(
        is_chief=task == 0, init_op=tf.global_variables_initializer(), global_step=step)
    with supervisor.managed_session(server.target) as session:
        while session.run([train, step])[1] < 50:
            pass
        for op in done:
            session.run(op)
"""


def test_servers_that_wait_for_done_queues_may_leave_before_the_workers(run_job, tmp_path):
    program = tmp_path / "done_queues.py"
    program.write_text(DONE_QUEUES)
    text = run_job("--ps", 3, "--workers", 1, program)
    assert text.count("all workers are done") == 3


def test_a_path_for_python_that_the_job_is_given_is_added_to_ours(run_job, tmp_path):
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "of_the_user.py").write_text("NAME = 'found it'")
    program = tmp_path / "program.py"
    program.write_text("import of_the_user, tensorflow; print(of_the_user.NAME, tensorflow.__name__)")
    text = run_job("--ps", 0, "--workers", 1, "--env", f"PYTHONPATH={tmp_path / 'libs'}", program)
    assert "found it tensorflow" in text
