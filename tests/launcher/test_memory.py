"""`capstan run --memory`: who has more than its limit is ended, and that is said."""

import json
import re

import pytest
from processes import TALKS, processes_with, wait_until

# Each worker holds so many MB as its argument says, and then ends; a ps holds little.
HOLDS = """
import json, os, sys, time
held = []
if json.loads(os.environ["TF_CONFIG"])["task"]["type"] == "worker":
    for _ in range(int(sys.argv[1])): held.append(bytearray(b"x" * 1_000_000))
    if len(held) > 100: time.sleep(60)
print("holds", len(held))
"""


def test_a_task_over_its_limit_is_ended_and_said_to_be_the_cause(run_capstan, program, shelf):
    path = program(HOLDS)
    done = run_capstan("run", "--ps", 1, "--workers", 1, "--memory", "64M", path, 200)
    assert done.returncode == 137
    assert "worker/0 failed first, over its memory limit of 64 MiB" in done.stderr
    said = r"over its memory limit of 64 MiB \(had \d+(\.\d)? MiB\); raise it with --memory worker=…"
    assert re.search(said, done.stderr)
    assert "cause: over its memory limit of 64 MiB" in done.stdout
    assert processes_with(str(path)) == []
    status = run_capstan("status", "program").stdout
    assert re.search(rf"^error +{said}", status, re.M)
    assert re.search(r"^worker/0 .* over its memory limit", status, re.M)
    (record,) = [json.loads(file.read_text()) for file in shelf.glob("*/record.json")]
    worker = record["state"]["tasks"][1]
    assert record["cause"] == "worker/0" and worker["memory_limit"] == 64 << 20 and re.search(said, worker["error"])


def test_limits_are_kept_per_role(run_capstan, program):
    args = ["--ps", 1, "--workers", 1, "--memory", "worker=1G", "--memory", "ps=64M", program(HOLDS)]
    done = run_capstan("run", *args, 90)
    assert done.returncode == 0 and "holds 90" in done.stdout, done.stderr


def test_where_no_control_group_keeps_the_limit_that_is_said_once(run_capstan, program):
    said = "--memory is kept by looking once a second instead"
    done = run_capstan("run", "--ps", 1, "--workers", 2, "--memory", "1G", program(HOLDS), 1)
    if said not in done.stdout:
        pytest.skip("a control group keeps it here")
    assert done.stdout.count(said) == 1
    assert said not in run_capstan("run", "--workers", 1, program(HOLDS), 1).stdout


def test_who_is_over_the_limit_again_at_once_is_not_tried_for_ever(run_capstan, program):
    done = run_capstan("run", "--restart", 9, "--workers", 1, "--memory", "64M", program(HOLDS), 200)
    assert done.returncode == 137
    assert "worker/0 failed (over its memory limit of 64 MiB); attempt 2 in 1 s" in done.stdout
    assert "over its memory limit of 64 MiB, in attempt 2 (--restart 9)" in done.stderr


def test_a_task_that_got_further_comes_back_as_often_as_the_job_allows(run_capstan, program):
    body = TALKS + """
import os, time
open("tries", "a").write("x")
tries = len(open("tries").read())
tell(event="step", step=tries)
if tries < 3:
    held = b"x" * 200_000_000
    time.sleep(60)
"""
    done = run_capstan("run", "--restart", 2, "--workers", 1, "--memory", "64M", program(body))
    assert done.returncode == 0, done.stderr
    assert re.search(r"ok +3 +over its memory limit of 64 MiB; over its memory limit of 64 MiB$", done.stdout, re.M)


def test_a_detached_job_keeps_its_limit(detach, program, shelf):
    job = detach("--workers", 1, "--memory", "worker=64M", program(HOLDS), 200)
    record = shelf / job / "record.json"
    wait_until(lambda: json.loads(record.read_text())["state"]["ended"], "the job ends")
    assert "over its memory limit" in json.loads(record.read_text())["reason"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["2X"], "--memory 2X: expected an amount"),
        (["worker=0"], "--memory worker=0: expected an amount"),
        (["wroker=2G"], "this job has no wroker, only worker; did you mean worker?"),
        (["ps=2G"], "--memory ps=…: this job has no ps, only worker"),
        (["2G", "3G"], "--memory is given twice for every task"),
        (["worker=2G,worker=3G"], "--memory is given twice for worker"),
    ],
)
@pytest.mark.parametrize("how", [[], ["--detach"]])
def test_a_limit_that_makes_no_sense_is_refused(run_capstan, shelf, given, said, how):
    options = [word for text in given for word in ("--memory", text)]
    done = run_capstan("run", *how, "--workers", 1, *options, "/bin/true")
    assert done.returncode == 2 and said in done.stderr
    assert not shelf.exists() or list(shelf.iterdir()) == []
