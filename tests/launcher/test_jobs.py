"""Jobs seen from another terminal: records, and `capstan jobs | status | logs | stop | rm`."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest
from processes import OWN_MOUNTS, TALKS, processes_with, shared_memory, wait_until

WAITS = "import time\nprint('ready', flush=True)\ntime.sleep(60)\n"
STEPS = TALKS + """
import time
for i in range(1, 100):
    tell(event="step", step=i, loss=1 / i, last_step=1000)
    time.sleep(0.01)
print("has told", flush=True)
time.sleep(60)
"""


def record_of(shelf, job=None):
    (path,) = shelf.glob(f"{job or '*'}/record.json")
    return json.loads(path.read_text())


def listed(run_capstan):
    return [json.loads(line) for line in run_capstan("jobs", "--json").stdout.splitlines()]


def test_a_job_that_ended_is_remembered(run_capstan, program, shelf):
    run_capstan("run", "--ps", 1, "--workers", 2, "--name", "first", program(""), "--rate", "1")
    (job,) = listed(run_capstan)
    assert (job["name"], job["state"], job["tasks"], job["exit_code"]) == ("first", "succeeded", 3, 0)
    record = record_of(shelf)
    assert record["command"][1:] == ["--rate", "1"]
    assert [task["state"] for task in record["state"]["tasks"]] == ["succeeded"] * 3
    text = run_capstan("status", "first").stdout
    assert "succeeded after" in text and re.search(r"^worker/1 +127\.0\.0\.1:\d+ +ok ", text, re.M)


def test_a_job_is_named_after_its_program(run_capstan, program):
    run_capstan("run", "--workers", 1, program("", name="train.sh"))
    assert [job["name"] for job in listed(run_capstan)] == ["train"]


def test_a_failure_is_remembered_with_its_cause(run_capstan, program, shelf):
    body = TALKS + "import sys\ntell(event='error', code='Internal', message='no data')\nprint('bye')\nsys.exit(3)"
    run_capstan("run", "--workers", 1, program(body))
    record = record_of(shelf)
    assert (record["exit_code"], record["cause"], record["last_lines"]) == (3, "worker/0", ["bye"])
    assert "no data" in run_capstan("status", "program").stdout
    assert run_capstan("logs", "program").stdout == "[worker/0] bye\n"


def test_a_job_that_runs_can_be_looked_at_and_stopped(start, run_capstan, program, shelf):
    path = program(STEPS)
    job = start("run", "--workers", 2, path)
    for _ in range(2):
        assert "has told" in job.stdout.readline()
    wait_until(lambda: [t["step"] for t in record_of(shelf)["state"]["tasks"]] == [99, 99], "the steps are recorded")
    status = run_capstan("status", "prog").stdout
    assert "running for" in status and "step 99/1000" in status
    assert re.search(r"worker/0 .* 99/1000 +0\.0101\d* +[\d.]+ +\d+\.\d MB", status)
    # Points of the curve that follow each other closely are left out, the last one too.
    assert "*" in status and re.search(r"step 9\d$", status.splitlines()[-1])
    assert "has told" in run_capstan("logs", "program", "worker/1").stdout
    assert run_capstan("rm", "program").returncode == 1  # it runs
    stopped = run_capstan("stop", "program")
    assert "stopped by capstan stop" in stopped.stdout
    job.communicate(timeout=20)
    assert job.returncode == 143
    assert processes_with(str(path)) == []


def test_logs_are_followed_to_the_end(detach, start, program, tmp_path):
    body = "import os, time\nprint('one', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('two')"
    job = detach("--workers", 1, program(body))
    follower = start("logs", "-f", job)
    assert follower.stdout.readline() == "[worker/0] one\n"
    (tmp_path / "go").touch()
    rest, _ = follower.communicate(timeout=20)
    assert "[worker/0] two\n" in rest and follower.returncode == 0


def test_logs_that_were_asked_for_are_found_from_any_folder(run_capstan, program, tmp_path):
    run_capstan("run", "--workers", 1, "--log-dir", "logs", program("print('hello')"))
    assert run_capstan("logs", "program", cwd="/").stdout == "[worker/0] hello\n"
    run_capstan("rm", "program")
    assert (tmp_path / "logs" / "worker-0.log").exists()  # not ours to remove


def test_a_record_goes_with_its_logs(run_capstan, program, shelf, tmp_path):
    run_capstan("run", "--workers", 1, program("import sys; sys.exit(1)"))
    assert run_capstan("rm", "program").returncode == 0
    assert list(shelf.iterdir()) == []
    assert list((tmp_path / "state" / "capstan" / "runs").iterdir()) == []


def test_a_launcher_that_was_killed_leaves_a_lost_job(start, run_capstan, program):
    path = program(WAITS)
    job = start("run", "--workers", 1, path)
    job.stdout.readline()
    job.kill()
    job.wait()
    wait_until(lambda: not processes_with(str(path)), "the tasks end")
    assert [j["state"] for j in listed(run_capstan)] == ["lost"]
    assert "was killed" in run_capstan("stop", "program").stdout
    assert [j["state"] for j in listed(run_capstan)] == ["failed"]


@pytest.mark.parametrize("command", ["status", "logs", "stop", "rm"])
def test_a_job_that_is_not_known_is_named(run_capstan, program, command):
    run_capstan("run", "--workers", 1, "--name", "mnist", program(""))
    done = run_capstan(command, "mnits")
    assert done.returncode == 2
    assert "no job mnits; did you mean mnist?; capstan jobs lists them" in done.stderr


def test_a_beginning_that_fits_several_jobs_lists_them(run_capstan, program):
    for name in ("train-a", "train-b"):
        run_capstan("run", "--workers", 1, "--name", name, program(""))
    done = run_capstan("status", "train")
    assert done.returncode == 2
    assert "train may be" in done.stderr and "train-a" in done.stderr and "train-b" in done.stderr
    assert run_capstan("status", "train-b").returncode == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "damaged"), ('{"version": 1}', "damaged"), ("", "damaged"), ('{"version": 7}', "version 7")],
)
def test_a_record_that_cannot_be_read_is_said_and_can_be_removed(run_capstan, program, shelf, text, said):
    run_capstan("run", "--workers", 1, "--name", "other", program(""))
    run_capstan("run", "--workers", 1, "--name", "bad", program(""))
    (job,) = [job for job in listed(run_capstan) if job["name"] == "bad"]
    (shelf / job["id"] / "record.json").write_text(text)
    assert said in run_capstan("jobs").stdout
    done = run_capstan("status", job["id"])
    assert done.returncode == 1 and said in done.stderr and f"capstan rm {job['id']}" in done.stderr
    assert run_capstan("rm", job["id"]).returncode == 0
    assert [job["name"] for job in listed(run_capstan)] == ["other"]


def test_a_state_folder_that_cannot_be_written_does_not_hold_a_job_up(run_capstan, program):
    env = {"CAPSTAN_STATE_DIR": "/dev/null/state"}
    done = run_capstan("run", "--workers", 1, program("print('trained')"), env=env)
    assert done.returncode == 0 and "[worker/0] trained" in done.stdout
    assert "[capstan] this job has no record: " in done.stdout and "/dev/null/state" in done.stdout
    refused = run_capstan("run", "--detach", "--workers", 1, program(""), env=env)
    assert refused.returncode != 0 and "/dev/null/state" in refused.stderr


def test_a_disk_that_is_full_while_a_job_runs_costs_its_record_only(capstan, program, tmp_path):
    body = TALKS + """
import time
for step in range(1, 30):
    if step == 5:
        try: open("state/fill", "wb").write(b"x" * 1_000_000)
        except OSError as error: print(error, flush=True)
    tell(event="step", step=step, loss=0.5)
    time.sleep(0.05)
print("trained")
"""
    (tmp_path / "state").mkdir()
    mounted = "mount -t tmpfs -o size=256k tmpfs state"
    if subprocess.run([*OWN_MOUNTS.split(), "sh", "-c", mounted], cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("no file system of our own can be mounted")
    command = f"{mounted} && {capstan} run --workers 1 {program(body)} && cat state/jobs/*/record.json"
    done = subprocess.run(
        [*OWN_MOUNTS.split(), "sh", "-c", command], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "CAPSTAN_STATE_DIR": str(tmp_path / "state")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "[worker/0] trained" in done.stdout
    assert done.stdout.count("the record of this job cannot be written, and the job goes on without") == 1
    record = json.loads(done.stdout[done.stdout.index("\n{\n") :])
    assert record["state"]["ended"] == 0  # as it was before, and whole


def test_what_programs_print_is_shown_and_not_obeyed(run_capstan, detach, program, shelf):
    body = r"""
import os, sys
os.write(1, b'\x1b]0;title\x07 \xff\xfe\n' + b'x' * 10_000_000 + b'\n')
sys.exit(3)
"""
    job = detach("--workers", 1, "--name", "\x1b[2Jname", program(body))
    wait_until(lambda: record_of(shelf, job)["state"]["ended"], "the job ends")
    shown = run_capstan("logs", job).stdout
    assert r"[worker/0] \x1b]0;title\x07 \xff\xfe" in shown
    assert shown.count("x") > 10_000_000
    for text in (shown, run_capstan("jobs").stdout, run_capstan("status", job).stdout):
        assert "\x1b" not in text and "\x07" not in text
    assert r"\x1b[2Jname" in run_capstan("jobs").stdout
    assert (shelf / job / "record.json").stat().st_size < 100_000


def test_twenty_jobs_in_a_row_leave_only_their_records(run_capstan, program, shelf, tmp_path):
    path = program("")
    before = shared_memory()
    for _ in range(20):
        assert run_capstan("run", "--ps", 1, "--workers", 1, path).returncode == 0
    assert processes_with(str(path)) == []
    assert shared_memory() <= before
    assert len(listed(run_capstan)) == 20
    assert {file.name for file in shelf.glob("*/*")} == {"lock", "record.json"}
    assert list((tmp_path / "state" / "capstan" / "runs").iterdir()) == []


def test_ten_jobs_at_once_do_not_see_each_other(start, program, tmp_path):
    body = """
import glob, json, os, time
config, mine = json.loads(os.environ["TF_CONFIG"]), os.environ["MINE"]
open("here-%s-%s" % (mine, config["task"]["type"]), "w").close()
while len(glob.glob("here-*")) < 20: time.sleep(0.01)  # all at once, not one after another
print(json.dumps([os.environ["CAPSTAN_JOB_ID"], config["cluster"], mine]))
"""
    path = program(body)

    def run(i):
        return start("run", "--json", "--ps", 1, "--workers", 1, "--env", f"MINE={i}", "--log-dir", f"logs-{i}", path)

    jobs = [run(i) for i in range(10)]
    ids, ports = [], []
    for number, job in enumerate(jobs):
        out, _ = job.communicate(timeout=60)
        assert job.returncode == 0
        printed = [e["line"] for e in map(json.loads, out.splitlines()) if e["event"] == "log"]
        lines = [json.loads(line) for line in printed]
        assert [mine for _, _, mine in lines] == [str(number)] * 2
        ids += {job_id for job_id, _, _ in lines}
        ports += lines[0][1]["ps"] + lines[0][1]["worker"]
        kept = [file.read_text() for file in (tmp_path / f"logs-{number}").iterdir()]
        assert sorted(kept) == sorted(line + "\n" for line in printed)
    assert len(set(ids)) == 10 and len(set(ports)) == 20


def test_quiet_shows_failures_and_the_table(run_capstan, program):
    body = "import sys; print('chatter'); sys.exit(int(sys.argv[1]))"
    done = run_capstan("run", "--quiet", "--workers", 1, program(body), "0")
    assert "chatter" not in done.stdout and "worker" in done.stdout
    done = run_capstan("run", "--quiet", "--workers", 1, program(body), "3")
    assert "worker/0 failed with exit code 3" in done.stdout and "chatter" in done.stderr


def test_a_name_that_holds_escape_sequences_is_shown_in_messages_and_not_obeyed(run_capstan, program):
    for end in ("a", "b"):
        run_capstan("run", "--workers", 1, "--name", "\x1b[2Jtrain" + end, program(""))
    said = run_capstan("status", "\x1b[2Jtrain").stderr + run_capstan("status", "\x1b[2Jtrainc").stderr
    assert "may be" in said and "did you mean" in said
    assert "\x1b" not in said and r"\x1b[2Jtrain" in said


def test_logs_that_are_gone_are_said_to_be(run_capstan, program, tmp_path):
    run_capstan("run", "--workers", 1, "--log-dir", "logs", program("print('hello')"))
    shutil.rmtree(tmp_path / "logs")
    done = run_capstan("logs", "program")
    assert done.returncode == 2 and f"are gone: {tmp_path}/logs is not there" in done.stderr


def test_a_job_that_ran_into_its_deadline_has_failed(run_capstan, program):
    assert run_capstan("run", "--workers", 1, "--timeout", 0.1, program(WAITS)).returncode == 124
    assert [job["state"] for job in listed(run_capstan)] == ["failed"]


IGNORES = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while not os.path.exists("go"): time.sleep(0.01)
"""


def test_all_jobs_are_asked_before_any_is_waited_for_and_waiting_is_said(detach, start, run_capstan, program, shelf):
    jobs = [detach("--workers", 1, program(IGNORES)) for _ in range(2)]
    for job in jobs:
        wait_until(lambda job=job: "ready" in run_capstan("logs", job).stdout, "it does not listen")
        os.kill(record_of(shelf, job)["controller"], signal.SIGSTOP)
    stopping = start("stop", *jobs)
    wait_until(lambda: all((shelf / job / "stop").exists() for job in jobs), "both are asked")
    assert f"{jobs[0]} has been asked to stop; waiting" in stopping.stderr.readline()
    for job in jobs:
        os.kill(record_of(shelf, job)["controller"], signal.SIGCONT)
    out, _ = stopping.communicate(timeout=30)
    assert out.count("stopped by capstan stop") == 2


def test_stopping_a_job_that_has_ended_says_so(run_capstan, program):
    run_capstan("run", "--workers", 1, program(""))
    done = run_capstan("stop", "program")
    assert done.returncode == 0 and "succeeded" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_job_that_was_stopped_by_a_signal_is_remembered_so(start, run_capstan, program, number):
    job = start("run", "--workers", 1, program(WAITS))
    job.stdout.readline()
    job.send_signal(number)
    job.communicate(timeout=20)
    (line,) = listed(run_capstan)
    assert (line["state"], line["exit_code"]) == ("stopped", 128 + number)
