"""`capstan run --restart`: what comes back, what does not, and what is said of it."""

import json
import os
import re
import signal
import sys
from pathlib import Path

from processes import TALKS, wait_until

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# Each task dies once, as its argument says, and then ends well.
ONCE = """
import json, os, signal, sys
task = json.loads(os.environ["TF_CONFIG"])["task"]
mark = "seen-%s-%d" % (task["type"], task["index"])
if sys.argv[1] == "%s/%d" % (task["type"], task["index"]) and not os.path.exists(mark):
    open(mark, "w").close()
    os.kill(os.getpid(), int(sys.argv[2]))
print("attempt of", mark)
"""


def test_a_task_that_a_signal_ended_comes_back(run_capstan, program):
    done = run_capstan("run", "--restart", 1, "--ps", 1, "--workers", 2, program(ONCE), "worker/1", 9)
    assert done.returncode == 0, done.stderr
    assert "[capstan] worker/1 failed (SIGKILL); attempt 2 in 1 s" in done.stdout
    assert "attempts" in done.stdout and re.search(r" worker +1 +yes +yes .* ok +2 +SIGKILL$", done.stdout, re.M)
    assert re.search(r" worker +0 +yes +yes .* ok +1 +-$", done.stdout, re.M)


def test_it_comes_back_at_the_same_port(run_capstan, program):
    body = """
import json, os, signal, socket
server = socket.socket(fileno=int(os.environ["CAPSTAN_LISTEN_FD"]))
print("listens at", server.getsockname()[1], flush=True)
if not os.path.exists("mark"):
    open("mark", "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = run_capstan("run", "--restart", 1, "--workers", 1, program(body))
    first, second = re.findall(r"listens at (\d+)", done.stdout)
    assert first == second


def test_what_an_attempt_left_behind_does_not_hold_the_next_one_up(run_capstan, program):
    body = """
import os, signal, subprocess
listener = int(os.environ["CAPSTAN_LISTEN_FD"])
if not os.path.exists("mark"):
    open("mark", "w").close()
    subprocess.Popen(["sleep", "63.5"], start_new_session=True, pass_fds=[listener])
    os.kill(os.getpid(), signal.SIGKILL)
print("again", flush=True)
"""
    done = run_capstan("run", "--restart", 1, "--workers", 1, program(body))
    assert done.returncode == 0 and "[worker/0] again" in done.stdout, done.stderr


def test_without_restarts_nothing_comes_back(run_capstan, program):
    done = run_capstan("run", "--workers", 1, program(ONCE), "worker/0", 9)
    assert done.returncode == 137


def test_the_same_error_at_once_is_not_tried_for_ever(run_capstan, program, tmp_path):
    body = TALKS + """
import sys
open("tries", "a").write("x")
tell(event="error", code="InvalidArgument", message="no such column")
sys.exit(3)
"""
    done = run_capstan("run", "--restart", 50, "--workers", 1, program(body))
    assert done.returncode == 3 and "no such column" in done.stderr
    assert (tmp_path / "tries").read_text() == "xx"


def test_a_lost_peer_is_a_reason_to_come_back(run_capstan, program):
    body = TALKS + """
import os, sys, time
if not os.path.exists("mark"):
    open("mark", "w").close()
    tell(event="error", time=time.monotonic(), code="Unavailable", message="ps/0 is gone")
    sys.exit(1)
"""
    done = run_capstan("run", "--json", "--restart", 1, "--workers", 1, program(body))
    assert done.returncode == 0
    (again,) = [e for e in map(json.loads, done.stdout.splitlines()) if e["event"] == "restart"]
    assert again.pop("time") > 0
    assert again == {
        "event": "restart", "task": "worker/0", "attempt": 2, "why": "exit code 1: ps/0 is gone", "delay": 1,
    }  # fmt: skip


def test_the_budget_is_kept_and_said(run_capstan, program):
    body = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    done = run_capstan("run", "--restart", 2, "--workers", 1, program(body))
    assert done.returncode == 137
    assert "worker/0 failed first, ended by SIGKILL, in attempt 3 (--restart 2)" in done.stderr
    assert re.search(r"cause: SIGKILL +3 +SIGKILL; SIGKILL$", done.stdout, re.M)


def test_a_program_that_vanishes_before_it_comes_back_is_told_and_remembered(run_capstan, program):
    body = "import os, signal; os.remove(__file__); os.kill(os.getpid(), signal.SIGKILL)"
    done = run_capstan("run", "--restart", 3, "--workers", 1, program(body))
    assert done.returncode == 127
    assert re.search(r" worker +0 +yes +no .* cause: exit code 127 +2 +SIGKILL$", done.stdout, re.M)
    assert "program: no such program" in done.stderr
    assert "failed after" in run_capstan("status", "program").stdout


def test_a_budget_below_nothing_is_refused(run_capstan):
    done = run_capstan("run", "--restart", -1, "--workers", 1, "/bin/true")
    assert done.returncode == 2 and "--restart -1" in done.stderr


def test_training_goes_on_over_the_loss_of_a_worker_a_server_and_the_chief(detach, run_capstan, shelf, tmp_path):
    job = detach(
        "--python", sys.executable, "--restart", 3, "--ps", 1, "--workers", 2, EXAMPLES / "mnist.py",
        "--last_step=6000", "--train_dir=train", "--save_steps=200",
    )  # fmt: skip

    def tasks():
        record = json.loads((shelf / job / "record.json").read_text())
        assert not record["state"]["ended"], run_capstan("status", job).stdout + run_capstan("logs", job).stdout
        return {f"{task['job']}/{task['task']}": task for task in record["state"]["tasks"]}

    step = 0
    for victim in ("worker/1", "ps/0", "worker/0"):
        until = step + 500
        wait_until(lambda until=until: max(t["step"] for t in tasks().values()) > until, "training goes on", 60)
        step = max(t["step"] for t in tasks().values())
        os.kill(tasks()[victim]["pid"], signal.SIGKILL)
        wait_until(lambda victim=victim: tasks()[victim]["attempt"] == 2, f"{victim} comes back", 20)
    record = shelf / job / "record.json"
    wait_until(lambda: json.loads(record.read_text())["state"]["ended"], "the job ends", 120)
    assert json.loads(record.read_text())["exit_code"] == 0, run_capstan("logs", job).stdout
    accuracy = float(re.findall(r"test accuracy: ([\d.]+)", run_capstan("logs", job, "worker/0").stdout)[-1])
    assert accuracy > 0.8
    text = run_capstan("status", job).stdout
    for victim in ("worker/1", "ps/0", "worker/0"):
        assert re.search(rf"^{victim} .* 2 .*after SIGKILL$", text, re.M), text
