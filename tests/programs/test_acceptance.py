"""Programs of other people, unchanged: started by hand as their authors do, and as jobs.

They lie in ../shared/programs beside the repository; without that folder these tests are skipped.
"""

import json
import math
import re
import signal
import struct
import sys
from pathlib import Path

import pytest
from by_hand import free_addresses, last_number

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
import live  # noqa: E402

PROGRAMS = Path(__file__).resolve().parents[3] / "shared" / "programs"

pytestmark = pytest.mark.skipif(not PROGRAMS.is_dir(), reason="the acceptance programs are not here")


def last_saved_step(folder):
    return last_number((folder / "checkpoint").read_text(), r'^model_checkpoint_path: ".*-(\d+)"')


# --- flags/distribute.py: linear regression that goes on until somebody stops it ----------------

DISTRIBUTE = PROGRAMS / "flags" / "distribute.py"
# Its own rate, at which it gets there after 300,000 steps; and one for those in a hurry.
SLOW, QUICK = ([], 300_000), (["--learning_rate=0.001"], 6_000)


def weights_past(last):
    def accept(line):
        found = re.search(r"step: (\d+), weight: ([0-9.-]+), biase: ([0-9.-]+)", line)
        return found and int(found[1]) > last and (float(found[2]), float(found[3]))

    return accept


def assert_learned(weight, bias):
    assert abs(weight - 2) < 0.1 and abs(bias - 10) < 0.2


def check_distribute_by_hand(by_hand, arguments, last):
    ps, worker = free_addresses(2)
    roles = [DISTRIBUTE, f"--ps_hosts={ps}", f"--worker_hosts={worker}", *arguments]
    server = by_hand.python(*roles, "--job_name=ps", "--task_index=0")
    worker = by_hand.python(*roles, "--job_name=worker", "--task_index=0")
    assert_learned(*worker.wait_for(weights_past(last), 150))
    worker.signal(signal.SIGINT)
    assert worker.finish(20) == -signal.SIGINT
    assert server.process.poll() is None  # nobody has left in good order
    server.signal(signal.SIGINT)
    assert server.finish(20) == -signal.SIGINT


def check_distribute_as_a_job(by_hand, arguments, last):
    job = by_hand.run("--ps", 1, "--workers", 2, DISTRIBUTE, *arguments)
    assert_learned(*job.wait_for(weights_past(last), 150))
    job.signal(signal.SIGINT)
    assert job.finish(20) == 128 + signal.SIGINT


def test_distribute_by_hand_is_interrupted_after_300000_steps(by_hand):
    check_distribute_by_hand(by_hand, *SLOW)


def test_distribute_runs_as_a_job_until_it_is_interrupted(by_hand):
    check_distribute_as_a_job(by_hand, *QUICK)


@pytest.mark.long
def test_distribute_as_a_job_is_interrupted_after_300000_steps(by_hand):
    check_distribute_as_a_job(by_hand, *SLOW)


# --- flags/example.py: MNIST with four hosts written into the file ------------------------------

EXAMPLE = PROGRAMS / "flags" / "example.py"
HOSTS = ["pc-01:2222", "pc-02:2222", "pc-03:2222", "pc-04:2222"]
TASKS = ["ps/0", "worker/0", "worker/1", "worker/2"]
EVENTS = Path("/tmp/mnist/1")  # as the program has it


@pytest.fixture
def no_events_left():
    """The program writes to a fixed place; what it wrote there goes again."""
    before = set(EVENTS.glob("*"))
    yield
    for file in set(EVENTS.glob("*")) - before:
        file.unlink(missing_ok=True)


def resolve_to(places):
    return [word for host, place in zip(HOSTS, places) for word in ("--resolve", f"{host}={place}")]


def start_example(by_hand, env=None):
    addresses = free_addresses(4, hosts=("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"))

    def start(task):
        job, index = task.split("/")
        return by_hand.python(*resolve_to(addresses), EXAMPLE, f"--job_name={job}", f"--task_index={index}", env=env)

    return [start(task) for task in TASKS]


def test_example_trains_by_hand_on_four_resolved_hosts(by_hand, no_events_left):
    server, *workers = start_example(by_hand, env={"CAPSTAN_MAX_STEPS": "2400"})
    for worker in workers:
        assert worker.finish(100) == 0, worker.text
        assert "training ends at global step" in worker.text
    # Whoever starts late joins a model that the others have trained already.
    printed = re.findall(r"Step: (\d+),.*Cost: ([0-9.]+)", "".join(worker.text for worker in workers))
    costs = [cost for _, cost in sorted((int(step), float(cost)) for step, cost in printed)]
    assert costs[-1] < 0.6 * costs[0]
    assert server.finish(20) == 0, server.text


def test_example_trains_as_a_job_whose_tasks_are_its_hosts(run_job, no_events_left):
    text = run_job("--ps", 1, "--workers", 3, "--max-steps", 1200, *resolve_to(TASKS), EXAMPLE)
    assert text.count("Variables initialized ...") == 3
    assert last_number(text, r"Step: (\d+)") > 600


@pytest.mark.long
@pytest.mark.timeout(400)
def test_example_trains_all_its_epochs(run_job, no_events_left):
    text = run_job("--ps", 1, "--workers", 3, *resolve_to(TASKS), EXAMPLE, timeout=300)
    assert text.count("done\n") == 3
    assert last_number(text, r"Step: (\d+)") == 3 * 20 * 550 + 1
    assert last_number(text, r"Test-Accuracy: ([0-9.]+)") > 0.6


# --- tfjob/main.py: the role from TF_CONFIG, a master as chief ----------------------------------

MAIN = PROGRAMS / "tfjob" / "main.py"


def test_tfjob_main_runs_by_hand_with_tf_config(by_hand, tmp_path):
    ps, master, worker = free_addresses(3)
    cluster = {"ps": [ps], "master": [master], "worker": [worker]}

    def start(job):
        config = {"cluster": cluster, "task": {"type": job, "index": 0}}
        return by_hand.python(MAIN, env={"TF_CONFIG": json.dumps(config), "MODEL_DIR": str(tmp_path / "m")})

    tasks = [start(job) for job in ("ps", "master", "worker")]
    for task in tasks:
        assert task.finish() == 0, task.text
    assert last_number(tasks[1].text + tasks[2].text, r"step \d+ loss ([0-9.]+)") < 0.01
    assert last_saved_step(tmp_path / "m") >= 500


def test_tfjob_main_runs_as_a_job_with_a_master(run_job, tmp_path):
    text = run_job("--chief=master", "--ps", 1, "--workers", 1, MAIN)
    assert last_number(text, r"step \d+ loss ([0-9.]+)") < 0.01
    assert last_saved_step(tmp_path / "model") >= 500


# --- dtf/demo/tf/py_train.mlsql: sync replicas 2 with one worker, parameters on standard input --


def python_body(script, name):
    """The text of `set name='''…''';`."""
    return re.search(rf"set {name}='''(.*?)''';", script.read_text(), re.S)[1]


def parameters(**given):
    """As MLSQL's engine writes them; see python/pyjava."""
    texts = [text.encode() for pair in given.items() for text in pair]
    return struct.pack("!i", len(given)) + b"".join(struct.pack("!i", len(text)) + text for text in texts)


class Engine:
    """Does what MLSQL's engine does for a DTF job: one process per role."""

    def __init__(self, by_hand, folder):
        self._by_hand, self._folder = by_hand, folder
        self._script, self._data = folder / "py_train.py", folder / "data.json"
        self._script.write_text(python_body(PROGRAMS / "dtf" / "demo" / "tf" / "py_train.mlsql", "py_train"))
        self._data.write_text('{"a": 1}\n')
        ps, worker = free_addresses(2)
        self._cluster = json.dumps({"ps": [ps], "worker": [worker]})

    def start(self, job, env=None):
        given = {"roleSpec": json.dumps({"jobName": job, "taskIndex": 0}), "clusterSpec": self._cluster}
        if job == "worker":
            given.update(tempDataLocalPath=str(self._data), tempModelLocalPath=str(self._folder / "model"))
        return self._by_hand.python(self._script, stdin=parameters(**given), env=env)


def check_py_train(by_hand, folder, last_step, env=None):
    engine = Engine(by_hand, folder)
    server, worker = engine.start("ps"), engine.start("worker", env)
    assert worker.finish(150) == 0, worker.text[-3000:]
    assert '{"a": 1}' in worker.text
    steps = [int(step) for step in re.findall(r"Train step (\d+),", worker.text)]
    losses = [float(loss) for loss in re.findall(r"Train step \d+, loss: ([0-9.]+)", worker.text)]
    # Two gradients make one step, and the only worker gives both.
    assert len(steps) >= 2 * last_step - 2
    assert steps == sorted(steps) and steps[-1] >= last_step - 1
    assert sum(losses[-20:]) < 0.6 * sum(losses[:20])
    assert last_saved_step(folder / "model") >= last_step
    assert server.finish(20) == 0, server.text


def test_the_training_script_of_a_dtf_job_runs(by_hand, tmp_path):
    check_py_train(by_hand, tmp_path, 150, env={"CAPSTAN_MAX_STEPS": "150"})


@pytest.mark.long
def test_the_training_script_of_a_dtf_job_runs_to_its_own_end(by_hand, tmp_path):
    check_py_train(by_hand, tmp_path, 2000)


# --- dtf/job.mlsql: the same by its own job script ----------------------------------------------


@pytest.mark.oracle
def test_tensorflow_reads_what_the_job_script_publishes(run_capstan, oracle_python, tmp_path):
    job = PROGRAMS / "dtf" / "job.mlsql"
    done = run_capstan("sql", "--root", tmp_path, job, timeout=100, env={"CAPSTAN_MAX_STEPS": "40"})
    assert done.returncode == 0, done.stderr[-3000:]
    told = live.told(oracle_python, "read_checkpoint.py", tmp_path / "tmp/tf/model/_model_0/model/0")
    assert told["step"] == told["restored_step"] == 40
    shapes = {name: shape for name, (shape, _) in told["variables"].items()}
    assert shapes["dense/kernel"] == [784, 500] and shapes["dense_2/bias"] == [10]
    assert all(math.isfinite(total) for _, total in told["variables"].values())
    assert shapes["dense/kernel/Adam"] == [784, 500]


def test_the_job_script_trains_to_its_own_end_and_publishes_one_model_after_the_other(run_capstan, tmp_path):
    job = PROGRAMS / "dtf" / "job.mlsql"
    # The second time it is made to end sooner.
    for version, last in enumerate((2000, 40)):
        limit = {"CAPSTAN_MAX_STEPS": str(last)} if last < 2000 else {}
        done = run_capstan("sql", "--root", tmp_path, "--output", "json", job, timeout=200, env=limit)
        assert done.returncode == 0, done.stderr[-3000:]
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert [row["jobName"] for row in rows] == ["worker", "ps"]
        assert all(row["done"] and row["success"] for row in rows)
        assert re.search(r"\[groupId\] \[\S+\] \[worker/0\] Train step %d, loss: " % (last - 1), done.stderr)
        model = tmp_path / "tmp" / "tf" / "model" / ("_model_%d" % version)
        assert last_saved_step(model / "model" / "0") == last
        assert json.loads((model / "meta" / "model.json").read_text())["metrics"]["step"] == last
    assert sorted(p.name for p in model.parent.iterdir()) == ["_model_0", "_model_1"]
