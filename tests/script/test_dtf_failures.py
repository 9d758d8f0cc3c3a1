"""Trainings that fail: all tasks gone within seconds, the cause told, no model, no temporary files."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from job_scripts import rows_of

WAITS = """
if job == "worker":
    os.makedirs(context.output_model_dir())
    open(os.path.join(context.output_model_dir(), "weights"), "w").write("w")
print("ready", os.getpid(), flush=True)
time.sleep(600)
"""


def pids_of(folder):
    """Living processes that run a training below the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if str(folder) in os.readlink("/proc/%s/cwd" % pid) and "trainer.py" in Path(
                "/proc/%s/cmdline" % pid
            ).read_text():
                found.append(int(pid))
        except OSError:
            pass
    return found


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def start_and_wait(scripts, body=WAITS, tasks=3, **more):
    job = scripts.start("--output", "json", scripts.job(body, **more))
    wait_until(lambda: len(pids_of(scripts.temp)) == tasks, 40)
    for line in job.stderr:
        tasks -= "] ready" in line
        if tasks == 0:
            return job
    raise AssertionError("it ended before it was ready")


def assert_nothing_left(scripts):
    wait_until(lambda: not pids_of(scripts.temp), 5)
    wait_until(lambda: not scripts.temporary_files() and scripts.models() == [], 5)


def success_of(rows):
    return {"%s/%d" % (row["jobName"], row["taskIndex"]): row["success"] for row in rows}


def test_an_error_of_one_worker_ends_all_and_is_the_message(scripts):
    body = """
if (job, task) == ("worker", 1):
    raise ValueError("row 17 has no label")
time.sleep(600)
"""
    begin = time.monotonic()
    code, out, err = scripts.run("--output", "json", scripts.job(body))
    assert code == 1 and time.monotonic() - begin < 30
    assert success_of(rows_of(out)) == {"worker/0": False, "worker/1": False, "ps/0": False}
    assert "worker/1 failed (exit code 1): ValueError: row 17 has no label" in err
    assert "job.mlsql:" in err.splitlines()[-3]  # the place, the line, the caret
    assert_nothing_left(scripts)


def test_a_worker_that_ends_well_before_another_fails_is_told_apart(scripts):
    body = """
if job == "worker" and task == 1:
    time.sleep(1)
    raise ValueError("late")
if job == "ps":
    time.sleep(600)
"""
    code, out, _ = scripts.run("--output", "json", scripts.job(body))
    assert code == 1
    assert success_of(rows_of(out)) == {"worker/0": True, "worker/1": False, "ps/0": False}


def test_a_killed_parameter_server_ends_all_and_is_named(scripts):
    job = start_and_wait(scripts)
    for pid in pids_of(scripts.temp):
        if os.readlink("/proc/%d/cwd" % pid).endswith("ps-0"):
            os.kill(pid, signal.SIGKILL)
    begin = time.monotonic()
    out, err = job.communicate(timeout=30)
    assert time.monotonic() - begin < 6
    assert job.returncode == 1 and "ps/0 failed (SIGKILL)" in err
    assert success_of(rows_of(out))["ps/0"] is False
    assert_nothing_left(scripts)


def test_a_table_without_rows_is_refused(scripts):
    code, _, err = scripts.run(scripts.job(WAITS, rows=0, workers=1))
    assert code == 1 and "the table data has no rows to train on" in err
    assert_nothing_left(scripts)


def test_a_missing_entry_point_is_refused_with_the_nearest(scripts):
    path = scripts.job(WAITS)
    path.write_text(path.read_text().replace('entryPoint="trainer"', 'entryPoint="triner"'))
    code, _, err = scripts.run(path)
    assert code == 1 and "triner is none of the scripts trainer; did you mean trainer?" in err
    assert_nothing_left(scripts)


def test_a_model_path_that_cannot_be_written_is_refused_before_anything_starts(scripts):
    (scripts.folder / "model").write_text("a file")
    code, _, err = scripts.run(scripts.job("print('started')"))
    assert code == 1 and str(scripts.folder / "model") in err and "started" not in err
    assert not pids_of(scripts.temp) and not scripts.temporary_files()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_training(scripts, number):
    job = start_and_wait(scripts)
    job.send_signal(number)
    begin = time.monotonic()
    out, err = job.communicate(timeout=30)
    assert time.monotonic() - begin < 5
    assert job.returncode == 128 + number
    assert not any(success_of(rows_of(out)).values()) and "job.mlsql:" in err
    assert_nothing_left(scripts)


def test_capstan_stop_ends_it_from_another_terminal(scripts):
    job = start_and_wait(scripts)
    done = scripts.capstan("stop", "trainer")
    assert done.returncode == 0, done.stderr
    _, err = job.communicate(timeout=5)
    assert job.returncode == 128 + signal.SIGTERM and "stopped by capstan stop" in err
    assert_nothing_left(scripts)


def test_nothing_is_left_when_the_program_itself_is_killed(scripts):
    job = start_and_wait(scripts)
    job.kill()
    assert_nothing_left(scripts)


def test_a_timeout_stops_the_training(scripts):
    code, _, err = scripts.run(scripts.job("time.sleep(600)", options='and timeout="1"'))
    assert code == 124 and "timeout" in err.lower()
    assert_nothing_left(scripts)


def test_a_python_env_that_is_not_found_is_told_and_may_be_required(scripts):
    code, _, err = scripts.run(scripts.job("pass", options='and PYTHON_ENV="nowhere"'))
    assert code == 0 and "no Python environment nowhere; looked for bin/python in" in err
    assert str(scripts.folder / "nowhere") in err and "runs the scripts instead" in err
    options = 'and PYTHON_ENV="nowhere" and requirePythonEnv="true"'
    code, _, err = scripts.run(scripts.job("pass", options=options))
    assert code == 1 and "no Python environment nowhere" in err


def make_env(folder, answer):
    (folder / "bin").mkdir(parents=True)
    python = folder / "bin" / "python"
    python.write_text("#!/bin/sh\n%s\n" % answer)
    python.chmod(0o755)


def test_a_python_env_of_another_version_is_refused_by_name(scripts):
    make_env(scripts.folder / "old", "echo cpython-36")
    code, _, err = scripts.run(scripts.job("pass", options='and PYTHON_ENV="old"'))
    assert code == 1 and "old/bin/python is Python 3.6, and this Capstan was made for Python" in err
    assert_nothing_left(scripts)


def test_a_python_env_may_be_a_folder(scripts):
    make_env(scripts.folder / "mine", 'MINE=1 exec %s "$@"' % sys.executable)
    body = "print('mine', os.environ.get('MINE'))"
    options = 'and PYTHON_ENV="%s"' % (scripts.folder / "mine")
    code, _, err = scripts.run(scripts.job(body, options=options))
    assert code == 0 and "mine 1" in err, err
