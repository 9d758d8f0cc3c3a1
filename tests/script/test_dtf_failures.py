"""Trainings that fail: all tasks gone within seconds, the cause told, no model, no temporary files."""

import os
import signal
import sys
import time

import pytest
from job_scripts import WAITS, read_until, rows_of, start_and_wait, wait_until

SECONDS = 5  # from a failure until nothing is left

FAILED, STOPPED, ENDED = (True, False), (False, False), (True, True)
NONE_RAN = {"worker/0": STOPPED, "worker/1": STOPPED, "ps/0": STOPPED}


def left_by(scripts):
    return scripts.processes(), scripts.temporary_files(), scripts.models()


def assert_nothing_left(scripts, since=None):
    """No process, no temporary file, no model, whole or not."""
    used = time.monotonic() - since if since else 0
    wait_until(lambda: left_by(scripts) == ({}, [], []), SECONDS - used)


def table_of(out):
    """{task: (done, success)}"""
    return {"%s/%d" % (r["jobName"], r["taskIndex"]): (r["done"], r["success"]) for r in rows_of(out)}


def assert_failed(scripts, job, since, table, words, code=1):
    """All that holds of every failure."""
    out, err = job.communicate(timeout=30)
    assert time.monotonic() - since < SECONDS
    assert job.returncode == code, err
    assert table_of(out) == table
    assert words in err and "job.mlsql:" in err.splitlines()[-3]  # the place, the line, the caret
    assert_nothing_left(scripts, since)


def test_an_error_of_one_worker_ends_all_and_is_the_message(scripts):
    body = """
if job == "worker":
    os.makedirs(context.output_model_dir())
    open(os.path.join(context.output_model_dir(), "weights"), "w").write("w")
print("ready", flush=True)
if (job, task) == ("worker", 1):
    sys.stdin.close()
    while not os.path.exists(%r):
        time.sleep(0.01)
    raise ValueError("row 17 has no label")
time.sleep(600)
""" % str(scripts.folder / "now")
    job = start_and_wait(scripts, body)
    (scripts.folder / "now").touch()
    table = {"worker/0": STOPPED, "worker/1": FAILED, "ps/0": STOPPED}
    words = "worker/1 failed (exit code 1): ValueError: row 17 has no label"
    assert_failed(scripts, job, time.monotonic(), table, words)


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
    assert table_of(out) == {"worker/0": ENDED, "worker/1": FAILED, "ps/0": STOPPED}


def test_a_killed_parameter_server_ends_all_and_is_named(scripts):
    job = start_and_wait(scripts)
    os.kill(scripts.tasks()["ps-0"], signal.SIGKILL)
    table = {"worker/0": STOPPED, "worker/1": STOPPED, "ps/0": FAILED}
    assert_failed(scripts, job, time.monotonic(), table, "ps/0 failed (SIGKILL)")


def test_a_table_without_rows_is_refused(scripts):
    job = scripts.start("--output", "json", scripts.job(WAITS, rows=0))
    assert_failed(scripts, job, time.monotonic(), NONE_RAN, "the table data has no rows to train on")


def test_a_missing_entry_point_is_refused_with_the_nearest(scripts):
    path = scripts.job(WAITS)
    path.write_text(path.read_text().replace('entryPoint="trainer"', 'entryPoint="triner"'))
    job = scripts.start("--output", "json", path)
    words = "triner is none of the scripts trainer; did you mean trainer?"
    assert_failed(scripts, job, time.monotonic(), NONE_RAN, words)


def test_a_model_path_that_cannot_be_written_is_refused_before_anything_starts(scripts):
    (scripts.folder / "a").write_text("a file")
    path = scripts.job("print('started')")
    path.write_text(path.read_text().replace("/model", "/a/model"))
    job = scripts.start("--output", "json", path)
    words = "cannot make the folder %s" % (scripts.folder / "a")
    assert_failed(scripts, job, time.monotonic(), NONE_RAN, words)
    assert (scripts.folder / "a").read_text() == "a file"


def test_a_model_that_cannot_be_published_fails_the_statement_after_a_good_run(scripts):
    body = """
if job == "worker":
    os.makedirs(context.output_model_dir())
    os.symlink("/etc/hostname", os.path.join(context.output_model_dir(), "latest"))
"""
    code, out, err = scripts.run("--output", "json", scripts.job(body))
    assert code == 1 and "the model was not published: its latest is a link to /etc/hostname" in err
    assert table_of(out) == {"worker/0": ENDED, "worker/1": ENDED, "ps/0": ENDED}
    assert_nothing_left(scripts)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_training(scripts, number):
    job = start_and_wait(scripts)
    job.send_signal(number)
    words = "the training did not come to its end: stopped on request"
    assert_failed(scripts, job, time.monotonic(), NONE_RAN, words, 128 + number)


def test_capstan_stop_ends_it_from_another_terminal(scripts):
    job = start_and_wait(scripts)
    begin = time.monotonic()
    done = scripts.capstan("stop", "trainer")
    assert done.returncode == 0, done.stderr
    words = "the training did not come to its end: stopped by capstan stop"
    assert_failed(scripts, job, begin, NONE_RAN, words, 128 + signal.SIGTERM)


def test_nothing_is_left_when_the_program_itself_is_killed(scripts):
    """Nobody is left to print a table: the record of the job says what became of it."""
    job = start_and_wait(scripts)
    job.kill()
    assert_nothing_left(scripts, time.monotonic())
    assert "state    lost" in scripts.capstan("status", "trainer").stdout


def test_nothing_is_left_of_what_a_task_started_when_the_program_is_killed(scripts):
    body = """
import subprocess
subprocess.Popen(["sleep", "600"], start_new_session=True)
print("ready", flush=True)
time.sleep(600)
"""
    job = start_and_wait(scripts, body)
    assert sum("sleep" in command for command in scripts.processes().values()) == 3
    job.kill()
    assert_nothing_left(scripts, time.monotonic())


def is_writing(scripts, ending):
    try:
        return any(p.stat().st_size for p in scripts.temp.rglob("*" + ending))
    except FileNotFoundError:  # files come and go
        return False


def test_nothing_is_left_when_the_program_is_killed_while_it_writes_data(scripts):
    job = scripts.start(scripts.job(WAITS, rows=10_000_000))
    wait_until(lambda: is_writing(scripts, ".json"), 60)
    assert not scripts.tasks()
    job.kill()
    assert_nothing_left(scripts, time.monotonic())


def test_nothing_is_left_when_the_program_is_killed_while_it_publishes(scripts):
    """The model is there as a whole, or not at all."""
    body = """
if job == "worker" and task == 0:
    os.makedirs(context.output_model_dir())
    for i in range(3000):
        open(os.path.join(context.output_model_dir(), str(i)), "w").close()
    print("ready", flush=True)
"""
    job = start_and_wait(scripts, body, tasks=1)
    wait_until(lambda: not scripts.tasks(), 60)
    job.kill()
    job.wait()
    published = [name for name in scripts.models() if name == "_model_0"]
    wait_until(lambda: left_by(scripts) == ({}, [], published), SECONDS)


@pytest.mark.parametrize(
    "script",
    [
        "select count(*) as n from range(1000000000) a, range(1000000000) b as x;",
        'set x=`sleep 600` where type="shell";',
    ],
)
def test_nothing_is_left_when_a_script_is_killed_that_trains_nothing(scripts, script):
    job = scripts.start("--allow-shell", "-e", "!println 'begun';" + script)
    read_until(job, "begun")
    wait_until(scripts.temporary_files, 10)
    wait_until(lambda: len(scripts.processes()) > 1, 10)  # at least whoever removes the folders
    job.kill()
    assert_nothing_left(scripts, time.monotonic())


def test_nothing_is_left_when_a_script_is_killed_that_saves(scripts):
    job = scripts.start("-e", "select i from range(10000000) r(i) as x; save x as csv.`/x`;")
    wait_until(lambda: is_writing(scripts, ".csv"), 60)
    job.kill()
    assert_nothing_left(scripts, time.monotonic())
    assert not (scripts.folder / "x").exists()


def test_a_timeout_stops_the_training(scripts):
    job = scripts.start("--output", "json", scripts.job(WAITS, options='and timeout="1"'))
    _, err = job.communicate(timeout=60)
    assert job.returncode == 124
    assert "the training did not come to its end: not done after 1 s, its timeout" in err
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
    path = scripts.job("print('started')", options='and PYTHON_ENV="old"')
    code, out, err = scripts.run("--output", "json", path)
    assert code == 1 and "old/bin/python is Python 3.6, and this Capstan was made for Python" in err
    assert "started" not in err and table_of(out) == NONE_RAN
    assert_nothing_left(scripts)


def test_a_python_env_may_be_a_folder(scripts):
    make_env(scripts.folder / "mine", 'MINE=1 exec %s "$@"' % sys.executable)
    body = "print('mine', os.environ.get('MINE'))"
    options = 'and PYTHON_ENV="%s"' % (scripts.folder / "mine")
    code, _, err = scripts.run(scripts.job(body, options=options))
    assert code == 0 and "mine 1" in err, err
