"""`capstan run --detach`: a job that nobody waits for, and whose controller may be killed."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest
from processes import GETS_THE_SECRET, OWN_MOUNTS, TALKS, processes_with, secret_files, shared_memory, wait_until

TRAINS = TALKS + """
import time
for step in range(1, 100_000):
    tell(event="step", step=step, loss=1 / step)
    time.sleep(0.005)
"""


@pytest.fixture
def record(shelf):
    """Reads a job's record, which must be whole at any moment."""
    return lambda job: json.loads((shelf / job / "record.json").read_text())


def tasks_of(record):
    return record["state"]["tasks"]


def step_of(record):
    return max(task["step"] for task in tasks_of(record))


def test_the_id_is_printed_and_the_job_ends_by_itself(detach, run_capstan, program, record):
    job = detach("--ps", 1, "--workers", 2, "--name", "mine", program("print('hello')"))
    assert re.fullmatch("[0-9a-f]{12}", job)
    wait_until(lambda: record(job)["state"]["ended"], "the job ends")
    assert (record(job)["exit_code"], record(job)["name"]) == (0, "mine")
    assert "[worker/1] hello" in run_capstan("logs", job).stdout


def test_the_id_comes_as_json_where_that_is_asked_for(detach, program, record):
    event = json.loads(detach("--json", "--workers", 1, program("")))
    assert event["event"] == "detached"
    wait_until(lambda: record(event["id"])["state"]["ended"], "the job ends")


def test_a_program_that_is_not_there_is_said_at_once(run_capstan, shelf):
    done = run_capstan("run", "--detach", "--workers", 1, "./absent")
    assert done.returncode == 2 and "./absent: no such program" in done.stderr
    assert list(shelf.iterdir()) == []


def test_a_job_that_never_began_is_told_with_its_reason_and_leaves_nothing(run_capstan, program, shelf):
    done = run_capstan("run", "--detach", "--workers", 1, "--log-dir", "/proc", program(TRAINS))
    assert done.returncode == 1 and "cannot write the log /proc/worker-0.log" in done.stderr
    assert list(shelf.iterdir()) == []


def test_a_log_folder_belongs_to_one_job_at_a_time(detach, run_capstan, program, shelf):
    job = detach("--workers", 1, "--log-dir", "logs", program(TRAINS))
    for how in (["--detach"], []):
        done = run_capstan("run", *how, "--workers", 1, "--log-dir", "logs", program(TRAINS))
        assert done.returncode == 1 and "another job writes its logs there" in done.stderr
    assert [path.name for path in shelf.iterdir()] == [job]


def in_the_shell(capstan, command, tmp_path, **env):
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), **env}
    return subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=30
    )


def open_files(pid):
    folder = f"/proc/{pid}/fd"
    found = {}
    for fd in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # closed since
            found[int(fd)] = os.readlink(f"{folder}/{fd}")
    return found


def test_descriptors_of_the_caller_are_not_held(capstan, run_capstan, program, record, tmp_path):
    (tmp_path / "mine").touch()
    done = in_the_shell(capstan, f"{capstan} run --detach --workers 1 {program(TRAINS)} 7<mine <&-", tmp_path)
    job = done.stdout.strip()
    wait_until(lambda: tasks_of(record(job))[0]["pid"], "the task runs")
    for pid in (record(job)["holder"], record(job)["controller"], tasks_of(record(job))[0]["pid"]):
        assert str(tmp_path / "mine") not in open_files(pid).values()
    assert not any("errors.log" in name for name in open_files(tasks_of(record(job))[0]["pid"]).values())
    assert "running" in run_capstan("jobs").stdout
    assert run_capstan("stop", job).returncode == 0


def test_a_disk_that_is_full_at_the_start_does_not_hold_up_whoever_detaches(capstan, program, tmp_path):
    (tmp_path / "state").mkdir()
    mounted = "mount -t tmpfs -o size=256k tmpfs state"
    if subprocess.run([*OWN_MOUNTS.split(), "sh", "-c", mounted], cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("no file system of our own can be mounted")
    # Room for one record, and not for another one beside it.
    fill = "dd if=/dev/zero of=state/fill bs=4k count=63 status=none"
    body = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"
    path = program(body)
    command = f"{mounted} && {fill} && {capstan} run --detach --workers 1 {path} && touch go"
    inside = f"{OWN_MOUNTS} sh -c '{command}'"
    done = in_the_shell(capstan, inside, tmp_path, CAPSTAN_STATE_DIR=str(tmp_path / "state"))
    assert done.returncode == 0 and re.fullmatch("[0-9a-f]{12}\n", done.stdout), done.stderr
    wait_until(lambda: processes_with(str(path)) == [], "the job ends")


def test_nothing_of_the_terminal_is_held(detach, program, record):
    job = detach("--workers", 1, program(TRAINS))
    assert os.getsid(record(job)["holder"]) == record(job)["holder"]
    for name in ("holder", "controller"):
        for fd in (1, 2):
            assert not os.readlink(f"/proc/{record(job)[name]}/fd/{fd}").startswith(("/dev/pts", "pipe:"))


def kill_controller(job, record):
    pid = record(job)["controller"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: record(job)["controller"] != pid, "another controller looks after the job")


@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=[pytest.mark.long, pytest.mark.timeout(600)])])
def test_training_goes_on_when_controllers_are_killed(detach, run_capstan, program, record, kills, tmp_path):
    path = program(TRAINS)
    before = shared_memory()
    job = detach("--ps", 1, "--workers", 2, path)
    wait_until(lambda: all(task["pid"] for task in tasks_of(record(job))), "all tasks run")
    pids = [task["pid"] for task in tasks_of(record(job))]
    chance = random.Random(7)
    for _ in range(kills):
        until = step_of(record(job)) + chance.randrange(1, 60)
        wait_until(lambda until=until: step_of(record(job)) > until, "training goes on")
        kill_controller(job, record)
    assert [task["pid"] for task in tasks_of(record(job))] == pids
    assert [task["attempt"] for task in tasks_of(record(job))] == [1, 1, 1]
    assert sorted(processes_with(str(path))) == sorted([*pids, *helpers(job, record, path)])
    ports = [task["port"] for task in tasks_of(record(job))]
    assert run_capstan("stop", job).returncode == 0
    assert processes_with(str(path)) == []
    assert_all_free(ports)
    assert shared_memory() <= before
    assert record(job)["exit_code"] == 143
    left = {str(file.relative_to(tmp_path / "state")) for file in (tmp_path / "state").rglob("*") if file.is_file()}
    logs = {"capstan.log", "ps-0.log", "worker-0.log", "worker-1.log"}
    own = {"errors.log", "lock", "record.json", "stop", *(f"logs/{name}" for name in logs)}
    assert left == {f"capstan/jobs/{job}/{name}" for name in own}


def children_of(pid):
    found = []
    for child in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            if parent_of(child) == pid:
                found.append(child)
        except OSError:
            pass
    return found


def controllers_of(holder):
    """Those that live: ours, and in the holder's own session, as its keeper is not."""

    def is_one(pid):
        try:
            return is_ours(pid) and os.getsid(pid) == holder and state_of(pid) != "Z"
        except OSError:
            return False

    return [pid for pid in children_of(holder) if is_one(pid)]


COMES_BACK = """
import json, os, signal
task = json.loads(os.environ["TF_CONFIG"])["task"]
if task == {"type": "worker", "index": 1}:
    open("tries", "a").write("x")
    if os.path.getsize("tries") < 3: os.kill(os.getpid(), signal.SIGKILL)
"""


# In a writing, a start or a restart as well as between them.
@pytest.mark.parametrize("kills", [6, pytest.param(50, marks=[pytest.mark.long, pytest.mark.timeout(600)])])
def test_controllers_may_be_killed_at_any_moment(start, run_capstan, program, record, shelf, tmp_path, kills):
    path = program(COMES_BACK + TRAINS)
    starting = start("run", "--detach", "--restart", 9, "--ps", 1, "--workers", 2, path)

    def holders():
        return [pid for pid in processes_with(str(path)) if is_ours(pid) and leads_a_session(pid) and children_of(pid)]

    wait_until(holders, "somebody holds the job")
    (holder,) = holders()
    chance = random.Random(7)
    for i in range(kills):
        wait_until(lambda: controllers_of(holder), "a controller decides", 30)
        moment = time.monotonic() + (0 if i == 0 else chance.uniform(0, 0.3 if kills < 10 else 1.5))
        while time.monotonic() < moment:
            pass
        for pid in controllers_of(holder):
            os.kill(pid, signal.SIGKILL)
    job = starting.communicate(timeout=60)[0].strip()

    def all_run():
        seen = tasks_of(record(job))
        return [t["attempt"] for t in seen] == [1, 1, 3] and all(t["state"] == "running" and t["pid"] for t in seen)

    wait_until(all_run, "worker/1 comes back twice", 60)
    done = step_of(record(job))
    wait_until(lambda: step_of(record(job)) > done, "training goes on")
    wait_until(lambda: (tmp_path / "tries").read_text() == "xxx", "the third attempt has begun its work")

    def pids():  # an interpreter that begins may have helpers for a moment
        return {pid for pid in processes_with(str(path)) if not is_ours(pid)}

    wait_until(lambda: pids() == {task["pid"] for task in tasks_of(record(job))}, "each task is there once")
    assert (tmp_path / "tries").read_text() == "xxx" and record(job)["state"]["restarts"] == 2
    assert "stopped by capstan stop" in run_capstan("stop", job).stdout
    assert processes_with(str(path)) == []


def helpers(job, record, path):
    """The processes of ours, which have the program in their command line too."""
    group = {record(job)["holder"], record(job)["controller"]}
    return group | {pid for pid in processes_with(str(path)) if parent_of(pid) in group and is_ours(pid)}


def stat_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()


def state_of(pid):
    return stat_of(pid)[0]


def parent_of(pid):
    return int(stat_of(pid)[1])


def is_ours(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe").endswith("capstan")
    except OSError:  # it has ended
        return False


def leads_a_session(pid):
    try:
        return os.getsid(pid) == pid
    except OSError:
        return False


def assert_all_free(ports):
    for port in ports:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))


def test_a_failure_while_no_controller_looks_is_seen_by_the_next(detach, program, record, tmp_path):
    body = "import os, sys, time\nwhile not os.path.exists('go'): time.sleep(0.001)\nsys.exit(4)"
    job = detach("--workers", 1, program(body))
    os.kill(record(job)["controller"], signal.SIGSTOP)
    (tmp_path / "go").touch()
    os.kill(record(job)["controller"], signal.SIGKILL)
    wait_until(lambda: record(job)["state"]["ended"], "the job ends")
    assert (record(job)["exit_code"], record(job)["cause"]) == (4, "worker/0")


def test_logs_that_were_removed_do_not_hold_a_new_controller_up(detach, program, record, tmp_path):
    body = "import os, sys, time\nwhile not os.path.exists('go'): time.sleep(0.001)\nsys.exit(4)"
    job = detach("--workers", 1, "--log-dir", "logs", program(body))
    shutil.rmtree(tmp_path / "logs")
    kill_controller(job, record)
    (tmp_path / "go").touch()
    wait_until(lambda: record(job)["state"]["ended"], "the job ends")
    assert record(job)["exit_code"] == 4


def test_a_signal_that_no_controller_heard_stops_the_job(detach, program, record):
    job = detach("--workers", 1, program(TRAINS))
    holder, controller = record(job)["holder"], record(job)["controller"]
    os.kill(holder, signal.SIGSTOP)
    os.kill(controller, signal.SIGKILL)
    wait_until(lambda: state_of(controller) == "Z", "the controller is dead")
    os.kill(holder, signal.SIGTERM)
    os.kill(holder, signal.SIGCONT)
    wait_until(lambda: record(job)["state"]["ended"], "the job ends")
    assert record(job)["exit_code"] == 143


def test_a_stop_that_was_asked_for_survives_a_controller(detach, run_capstan, program, record, shelf):
    body = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(60)
"""
    path = program(body)
    job = detach("--workers", 1, path)
    wait_until(lambda: "ready" in run_capstan("logs", job).stdout, "the task listens")
    (shelf / job / "stop").touch()
    wait_until(lambda: record(job)["state"].get("stop"), "the stop is seen")
    kill_controller(job, record)
    wait_until(lambda: record(job)["state"]["ended"], "the job ends")
    assert record(job)["reason"] == "stopped by capstan stop"
    wait_until(lambda: processes_with(str(path)) == [], "nothing is left")


def test_a_signal_to_the_holder_stops_the_job_in_order(detach, program, record):
    path = program(TRAINS)
    job = detach("--ps", 1, "--workers", 1, path)
    os.kill(record(job)["holder"], signal.SIGTERM)
    wait_until(lambda: record(job)["state"]["ended"], "the job ends")
    assert (record(job)["exit_code"], record(job)["reason"]) == (143, "stopped by SIGTERM")
    wait_until(lambda: processes_with(str(path)) == [], "nothing is left")


def test_nothing_outlives_the_holder(detach, run_capstan, program, record):
    path = program(TRAINS)
    job = detach("--ps", 1, "--workers", 1, path)
    os.kill(record(job)["holder"], signal.SIGKILL)
    wait_until(lambda: processes_with(str(path)) == [], "nothing is left")
    assert record(job)["reason"] == "whoever held the tasks of this job was killed"
    assert "failed after" in run_capstan("status", job).stdout


def test_holder_and_controller_killed_at_once_leave_a_job_that_can_be_stopped(detach, run_capstan, program, record):
    path = program(TRAINS)
    job = detach("--ps", 1, "--workers", 1, path)
    os.kill(record(job)["controller"], signal.SIGSTOP)
    os.kill(record(job)["holder"], signal.SIGKILL)
    os.kill(record(job)["controller"], signal.SIGKILL)
    wait_until(lambda: processes_with(str(path)) == [], "nothing is left")
    assert "lost" in run_capstan("status", job).stdout
    assert "was killed" in run_capstan("stop", job).stdout


@pytest.mark.parametrize("way", ["descriptor", "file"])
def test_the_secret_stands_nowhere(detach, run_capstan, program, record, shelf, tmp_path, way):
    body = GETS_THE_SECRET + """
import time
with open("secret.part", "wb") as file: file.write(secret)
os.rename("secret.part", "secret")
time.sleep(60)
"""
    path = program(body)
    job = detach("--workers", 1, "--secret-by", way, path)
    wait_until((tmp_path / "secret").exists, "the task has the secret")
    secret = (tmp_path / "secret").read_bytes()
    assert len(secret) == 64
    pids = processes_with(str(path))
    assert len(pids) == 4  # holder, its keeper, controller, task
    for pid in pids:
        for name in ("environ", "cmdline"):
            with open(f"/proc/{pid}/{name}", "rb") as file:
                assert secret not in file.read()
    assert secret_files(job) == ([0o600] if way == "file" else [])
    run_capstan("stop", job)
    assert secret_files(job) == []
    for file in shelf.rglob("*"):
        assert file.is_dir() or secret not in file.read_bytes()


def test_a_secret_file_does_not_outlive_a_holder_that_is_killed(detach, program, record):
    path = program(TRAINS)
    job = detach("--workers", 1, "--secret-by", "file", path)
    assert secret_files(job) == [0o600]
    os.kill(record(job)["holder"], signal.SIGKILL)
    wait_until(lambda: processes_with(str(path)) == [] and secret_files(job) == [], "nothing is left")


def test_several_jobs_in_the_background(detach, run_capstan, program, record):
    jobs = [detach("--workers", 1, program(TRAINS)) for _ in range(3)]
    for job in jobs:
        wait_until(lambda job=job: step_of(record(job)) > 0, "it trains")
    assert run_capstan("stop", *jobs[:2]).returncode == 0
    states = {line["id"]: line["state"] for line in map(json.loads, run_capstan("jobs", "--json").stdout.splitlines())}
    assert [states[job] for job in jobs] == ["stopped", "stopped", "running"]
