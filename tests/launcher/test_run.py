"""`capstan run` seen from outside: roles, ports, logs, causes, exit codes, and nothing left."""

import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest
from processes import GETS_THE_SECRET, TALKS, processes_with, secret_files, wait_until

LISTENS = """
import json, os, socket
config = json.loads(os.environ["TF_CONFIG"])
task = config["task"]
own = config["cluster"][task["type"]][task["index"]]
server = socket.socket(fileno=int(os.environ["CAPSTAN_LISTEN_FD"]))
print("listens", "%s:%d" % server.getsockname() == own)
"""


def events_of(process):
    return [json.loads(line) for line in process.stdout.splitlines()]


def without_time(event):
    return {name: value for name, value in event.items() if name != "time"}


def test_every_event_tells_its_time(run_capstan, program):
    begin = time.time()
    done = run_capstan("run", "--json", "--workers", 1, program("print('step: 1')"))
    times = [event["time"] for event in events_of(done)]
    assert len(times) == 5 and times == sorted(times)
    assert begin - 0.001 <= times[0] and times[-1] <= time.time()


def test_every_task_gets_a_listening_socket_on_its_own_port(run_capstan, program):
    done = run_capstan("run", "--ps", 1, "--workers", 2, "--chief", program(LISTENS))
    assert done.returncode == 0, done.stderr
    for task in ("ps/0", "chief/0", "worker/0", "worker/1"):
        assert f"[{task}] listens True" in done.stdout


def test_roles_come_by_tf_config_flags_and_templates(run_capstan, program):
    body = """
import json, os, sys
print(json.dumps([json.loads(os.environ["TF_CONFIG"]), json.loads(os.environ["CAPSTAN_ROLE_FLAGS"]),
                  sys.argv[1:], os.environ["CAPSTAN_WORKERS_ON_HOST"], os.environ["MINE"]]))
"""
    done = run_capstan(
        "run", "--json", "--ps", 1, "--workers", 1, "--chief=master", "--evaluator",
        "--env", "MINE=a=b", program(body), "--hosts={ps_hosts}", "{job_name}:{task_index}", "{x}",
    )  # fmt: skip
    logs = {e["task"]: json.loads(e["line"]) for e in events_of(done) if e["event"] == "log"}
    config, flags, argv, workers, mine = logs["master/0"]
    assert config["task"] == {"type": "master", "index": 0}
    assert set(config["cluster"]) == {"ps", "worker", "master"}
    assert flags["job_name"] == "master" and flags["task_index"] == "0"
    assert flags["ps_hosts"] == config["cluster"]["ps"][0]
    assert argv == ["--hosts=" + flags["ps_hosts"], "master:0", "{x}"]
    assert (workers, mine) == ("3", "a=b")
    assert logs["evaluator/0"][0]["task"] == {"type": "evaluator", "index": 0}


@pytest.mark.parametrize("way", ["descriptor", "file"])
def test_the_secret_stands_nowhere_but_where_it_is_handed_over(run_capstan, program, tmp_path, way):
    body = GETS_THE_SECRET + """
seen = b"".join(open(f"/proc/{pid}/{file}", "rb").read()
                for pid in ("self", os.getppid()) for file in ("environ", "cmdline"))
print("secret of", len(secret), "bytes, elsewhere:", secret in seen, "CAPSTAN_SECRET" in os.environ)
print("job", os.environ["CAPSTAN_JOB_ID"])
open("secret-" + os.environ["TF_CONFIG"][-20:].strip("}").replace('"', ""), "wb").write(secret)
"""
    args = ["--secret-by", way, "--workers", 2, "--log-dir", "logs", program(body)]
    done = run_capstan("run", *args, env={"CAPSTAN_SECRET": "outer", "CAPSTAN_SECRET_FILE": "/outer"})
    assert done.stdout.count("secret of 64 bytes, elsewhere: False False") == 2, done.stdout
    (job,) = set(re.findall(r"job (\w+)", done.stdout))
    (secret,) = {path.read_text() for path in tmp_path.glob("secret-*")}
    shown = done.stdout + done.stderr + "".join(path.read_text() for path in (tmp_path / "logs").iterdir())
    assert secret not in shown and job not in secret
    assert secret_files(job) == []
    records = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert records and all(secret not in path.read_text() for path in records)


def test_another_way_for_the_secret_is_refused(run_capstan):
    done = run_capstan("run", "--secret-by", "mail", "--workers", 1, "/bin/true")
    assert done.returncode == 2 and "--secret-by mail: expected descriptor or file" in done.stderr


def test_control_characters_of_a_task_s_lines_do_not_reach_the_terminal(run_capstan, program):
    body = r"import sys; sys.stdout.write('\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2Kx\n'); sys.exit(3)"
    done = run_capstan("run", "--workers", 1, program(body))
    line = "\x1b[31mred\x1b[0m \\x1b]0;title\\x07 x\n"
    assert "[worker/0] " + line in done.stdout  # colours stay
    assert "  " + line in done.stderr


def test_control_characters_of_an_error_do_not_reach_the_terminal(run_capstan, program):
    body = TALKS + r"""
import sys
tell(event="error", code="Internal", message="a peer said \x1b[2J\x1b]0;title\x07")
sys.exit(3)
"""
    done = run_capstan("run", "--workers", 1, program(body))
    assert "a peer said \\x1b[2J\\x1b]0;title\\x07" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_a_host_may_be_resolved_to_a_task(run_capstan, program):
    body = "import os; print(os.environ['CAPSTAN_RESOLVE'], os.environ['TF_CONFIG'])"
    done = run_capstan("run", "--workers", 1, "--resolve", "pc-01:2222=worker/0", program(body))
    rule, config = re.search(r"\] (\S+) (.*)", done.stdout).groups()
    assert rule == "pc-01:2222=" + json.loads(config)["cluster"]["worker"][0]


def test_secrets_differ_between_jobs_and_agree_within_one(run_capstan, program):
    body = program("import os; print(os.pread(int(os.environ['CAPSTAN_SECRET_FD']), 99, 0).decode())")
    secrets = set()
    for _ in range(2):
        done = run_capstan("run", "--workers", 2, body)
        printed = set(re.findall(r"\] ([0-9a-f]{64})$", done.stdout, re.M))
        assert len(printed) == 1
        secrets |= printed
    assert len(secrets) == 2


def test_the_table_shows_every_task(run_capstan, program):
    done = run_capstan("run", "--ps", 1, "--workers", 1, "--evaluator", program(""))
    table = done.stdout[done.stdout.index("host") :].splitlines()
    assert re.split(r"  +", table[0]) == [
        "host", "port", "job", "task", "done", "success", "seconds", "peak memory", "end",
    ]  # fmt: skip
    assert re.match(r"127\.0\.0\.1 +\d+ +ps +0 +yes +yes +\d+\.\d +\d+\.\d MB +ok$", table[1])
    assert re.match(r"127\.0\.0\.1 +\d+ +worker +0 +yes +yes ", table[2])
    assert re.match(r"- +- +evaluator +0 +yes +yes ", table[3])


def test_the_first_failure_decides_the_exit_code_and_is_shown(run_capstan, program):
    body = """
import os, sys, time
if sys.argv[1] == "worker1":
    for i in range(60): print("line", i)
    sys.exit(7)
time.sleep(60)
"""
    done = run_capstan("run", "--ps", 1, "--workers", 2, program(body), "{job_name}{task_index}")
    assert done.returncode == 7
    assert "worker/1 failed first, with exit code 7" in done.stderr
    shown = re.findall(r"^  line (\d+)$", done.stderr, re.M)
    assert shown == [str(i) for i in range(10, 60)]


def test_the_table_tells_the_cause_from_its_consequences(run_capstan, program):
    body = TALKS + """
import os, signal, sys, time
if sys.argv[1] == "worker0":
    while not os.path.exists("ready"):
        time.sleep(0.01)
    tell(event="error", time=time.monotonic(), code="Unavailable", message="worker 1 is gone")
    open("told", "w").close()
    os._exit(5)
if sys.argv[1] == "worker1":
    open("ready", "w").close()
    while not os.path.exists("told"):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGSEGV)
time.sleep(60)
"""
    done = run_capstan("run", "--ps", 1, "--workers", 2, program(body), "{job_name}{task_index}")
    assert done.returncode == 128 + signal.SIGSEGV
    assert "worker/1 failed first, ended by SIGSEGV" in done.stderr
    assert "worker/1 failed: SIGSEGV" in done.stdout
    assert re.search(r" worker +1 +yes +no .* cause: SIGSEGV$", done.stdout, re.M)
    assert re.search(r" worker +0 +yes +no .* consequence: exit code 5$", done.stdout, re.M)
    assert re.search(r" ps +0 +yes +no .* stopped$", done.stdout, re.M)
    assert "\x1b" not in done.stdout


def test_a_task_that_told_its_error_earlier_is_the_cause(run_capstan, program, tmp_path):
    body = TALKS + """
import os, sys, time
if sys.argv[1] == "0":
    tell(event="error", time=time.monotonic(), code="Internal", message="the real one")
    open("told", "w").close()
    time.sleep(0.15)
    sys.exit(3)
if sys.argv[1] == "1":
    while not os.path.exists("told"):
        time.sleep(0.01)
    sys.exit(4)
time.sleep(60)
"""
    done = run_capstan("run", "--workers", 3, program(body), "{task_index}")
    assert done.returncode == 3
    assert "worker/0 failed first" in done.stderr and "the real one" in done.stderr


def test_the_loss_of_a_peer_is_a_consequence_not_a_cause(run_capstan, program):
    body = TALKS + """
import os, signal, sys, time
if sys.argv[1] == "worker":
    tell(event="error", time=time.monotonic(), code="Unavailable", message="ps is gone")
    sys.exit(5)
time.sleep(0.1)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = run_capstan("run", "--ps", 1, "--workers", 1, program(body), "{job_name}")
    assert done.returncode == 128 + signal.SIGKILL
    assert "ps/0 failed first" in done.stderr


def test_logs_are_kept_where_asked_and_after_a_failure_only(run_capstan, program, tmp_path):
    good, bad = program("print('hello')"), program("import sys; print('bye'); sys.exit(1)", "bad")
    run_capstan("run", "--ps", 1, "--workers", 1, "--log-dir", "logs", good)
    assert (tmp_path / "logs" / "worker-0.log").read_text() == "hello\n"
    runs = tmp_path / "state" / "capstan" / "runs"
    run_capstan("run", "--workers", 1, good)
    assert list(runs.iterdir()) == []
    done = run_capstan("run", "--workers", 1, bad)
    (kept,) = runs.iterdir()
    assert (kept / "worker-0.log").read_text() == "bye\n"
    assert f"logs: {kept}" in done.stderr


def test_steps_are_told_over_the_channel_before_they_are_read_from_text(run_capstan, program):
    body = TALKS + """
tell(event="step", step=10, loss=0.5, last_step=100)
print("step: 99, loss: 7", flush=True)
"""
    done = run_capstan("run", "--json", "--workers", 1, program(body))
    steps = [e for e in events_of(done) if e["event"] == "step"]
    assert [without_time(step) for step in steps] == [
        {"event": "step", "task": "worker/0", "step": 10, "loss": 0.5, "last_step": 100}
    ]


def test_printed_steps_count_where_there_is_no_channel(run_capstan, program):
    done = run_capstan("run", "--json", "--workers", 1, program("print('step: 12, loss: 0.25')"))
    (step,) = (e for e in events_of(done) if e["event"] == "step")
    assert (step["step"], step["loss"]) == (12, 0.25)


def test_a_loss_that_is_no_number_is_still_json(run_capstan, program):
    done = run_capstan("run", "--json", "--workers", 1, program("print('step: 3, loss: nan')"))
    (step,) = (e for e in events_of(done) if e["event"] == "step")
    assert (step["step"], step["loss"]) == (3, None)


def test_max_steps_reaches_the_tasks(run_capstan, program):
    body = program("import os; print('limit', os.environ['CAPSTAN_MAX_STEPS'])")
    done = run_capstan("run", "--workers", 1, "--max-steps", 50, body)
    assert "limit 50" in done.stdout


def test_a_timeout_stops_the_job_with_124(run_capstan, program):
    body = program("import time; time.sleep(60)")
    done = run_capstan("run", "--ps", 1, "--workers", 1, "--timeout", 0.5, body)
    assert done.returncode == 124
    assert "not done after 0.5 s" in done.stderr


def test_a_server_that_outstays_its_workers_is_ended_and_counts_as_good(run_capstan, program):
    body = "import sys, time\nif sys.argv[1] == 'ps': time.sleep(60)"
    begin = time.monotonic()
    done = run_capstan("run", "--ps", 1, "--workers", 1, program(body), "{job_name}")
    assert done.returncode == 0
    assert re.search(r" ps +0 +yes +yes ", done.stdout)
    assert 9 < time.monotonic() - begin < 20


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_workers_first_then_servers(start, program, tmp_path, number):
    body = """
import os, signal, sys, time
def end(*_):
    with open("order", "a") as file: file.write(sys.argv[1] + "\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
time.sleep(60)
"""
    path = program(body)
    job = start("run", "--ps", 1, "--workers", 2, path, "{job_name}")
    for _ in range(3):
        assert "ready" in job.stdout.readline()
    job.send_signal(number)
    out, err = job.communicate(timeout=20)
    assert job.returncode == 128 + number
    assert (tmp_path / "order").read_text().split() == ["worker", "worker", "ps"]
    assert processes_with(str(path)) == []


def test_a_second_signal_kills_what_does_not_listen(start, program):
    body = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(60)
"""
    job = start("run", "--ps", 1, "--workers", 1, program(body))
    for _ in range(2):
        job.stdout.readline()
    begin = time.monotonic()
    job.send_signal(signal.SIGINT)
    assert "stopping" in job.stdout.readline()
    job.send_signal(signal.SIGINT)
    job.communicate(timeout=20)
    assert job.returncode == 128 + signal.SIGINT
    assert time.monotonic() - begin < 4


def test_what_tasks_started_does_not_outlive_the_job(run_capstan, program, tmp_path):
    body = """
import subprocess, sys
here = sys.argv[1]
subprocess.Popen(["sleep", "61.5"])
subprocess.Popen(["sleep", "61.5"], start_new_session=True)
"""
    done = run_capstan("run", "--workers", 1, program(body), tmp_path)
    assert done.returncode == 0
    assert processes_with("sleep\0" + "61.5") == []


def test_daemons_of_a_task_that_end_leave_no_zombies(start, program):
    body = """
import os, time
reading, writing = os.pipe()
for _ in range(20):
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
        os._exit(0)
    os.wait()
os.close(writing)
os.read(reading, 1)  # until the last of them has ended
print("ready", flush=True)
time.sleep(60)
"""
    job = start("run", "--workers", 1, program(body))
    assert "ready" in job.stdout.readline()
    wait_until(lambda: zombies_of(job.pid) == [], "all have been waited for", 5)


def zombies_of(parent):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                state, of = file.read().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if state == "Z" and int(of) == parent:
            found.append(pid)
    return found


def test_nothing_outlives_a_launcher_that_is_killed(start, program):
    body = """
import subprocess, time
subprocess.Popen(["sleep", "62.5"])
print("ready", flush=True)
time.sleep(60)
"""
    path = program(body)
    job = start("run", "--ps", 1, "--workers", 1, path)
    for _ in range(2):
        job.stdout.readline()
    job.kill()
    job.wait()
    wait_until(lambda: not processes_with(str(path)), "the tasks end")
    wait_until(lambda: not processes_with("sleep\0" + "62.5"), "their children end")


def test_the_port_is_free_as_soon_as_the_task_has_ended(run_capstan, program):
    done = run_capstan("run", "--json", "--ps", 1, "--workers", 1, program(""))
    for task in events_of(done)[-1]["tasks"]:
        with socket.socket() as probe:
            probe.bind((task["host"], task["port"]))


def test_a_reader_that_leaves_ends_the_job(capstan, program, tmp_path):
    body = "import time\nwhile True: print('x' * 100, flush=True); time.sleep(0.001)"
    path = program(body)
    command = f"{capstan} run --workers 1 {path} | head -n 3"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, timeout=30)
    assert done.stdout.count(b"\n") == 3
    wait_until(lambda: not processes_with(str(path)), "the job ends")


CHATTERS = """
for i in range(4000): print("x" * 100)
open("much", "w").close()
while True: print("x" * 100)
"""


@pytest.mark.parametrize("how", [[], ["--json"]])
def test_a_reader_that_does_not_read_holds_no_deadline_up(start, program, how):
    path = program(CHATTERS)
    job = start("run", *how, "--timeout", 1, "--workers", 1, path)
    assert job.wait(20) == 124
    assert processes_with(str(path)) == []


@pytest.mark.parametrize("how", [[], ["--json"]])
def test_a_reader_that_does_not_read_holds_no_signal_up(start, program, tmp_path, how):
    job = start("run", *how, "--workers", 1, program(CHATTERS))
    wait_until((tmp_path / "much").exists, "more is printed than a pipe holds")
    job.send_signal(signal.SIGINT)
    assert job.wait(20) == 130


def test_a_reader_that_comes_late_gets_everything(start, program, tmp_path):
    body = "for i in range(40000): print('line', i, 'x' * 80)\nopen('done', 'w').close()"
    job = start("run", "--workers", 1, program(body))
    out = job.stdout.readline() + job.stdout.read()  # communicate() would lose what is buffered
    assert job.wait(60) == 0
    assert [int(n) for n in re.findall(r"line (\d+)", out)] == list(range(40000))


def test_output_that_is_not_text_does_no_harm(run_capstan, program):
    body = "import os; os.write(1, b'\\xff\\xfe\\x00\\n' + b'a' * 200000)"
    done = run_capstan("run", "--json", "--workers", 1, program(body))
    assert done.returncode == 0
    assert sum(len(e["line"]) for e in events_of(done) if e["event"] == "log") > 200000


def test_a_large_job_ends_well(run_capstan):
    done = run_capstan("run", "--ps", 4, "--workers", 60, "/bin/echo", "hi")
    assert done.returncode == 0
    assert done.stdout.count("] hi\n") == 64
