"""A training is a job like others: seen, killed and told apart by its group."""

import json
import re
import signal
from pathlib import Path

import pytest
from job_scripts import WAITS, read_until, rows_of, wait_until

SAYS_GROUP = "print('my group', context.conf['groupId'], flush=True)\n" + WAITS
PREFIX = re.compile(r"\[owner\] \[(\S+)\] \[groupId\] \[(\w+)\] \[(\w+/\d)\] my group (\w+)")


def start_with_group(scripts):
    """The job, once it runs, and its group as each of its lines and tasks has it."""
    job = scripts.start("--output", "json", scripts.job(SAYS_GROUP))
    said = [PREFIX.match(line).groups() for line in read_until(job, "] my group", 3)]
    assert sorted(task for _, _, task, _ in said) == ["ps/0", "worker/0", "worker/1"]
    (group,) = {group for line in said for group in (line[1], line[3])}
    return job, group


def show_jobs(scripts, which="jobs"):
    code, out, err = scripts.run("--output", "json", "-e", '!show "%s";' % which)
    assert code == 0, err
    return rows_of(out)


def test_the_group_of_a_line_is_that_of_show_jobs_and_of_capstan_jobs(scripts):
    job, group = start_with_group(scripts)
    (row,) = show_jobs(scripts)
    assert list(row) == [
        "owner", "jobType", "jobName", "jobContent", "groupId", "state", "step", "startTime"
    ]  # fmt: skip
    assert (row["groupId"], row["jobName"], row["jobType"]) == (group, "trainer", "train")
    assert row["state"] == "running"
    assert show_jobs(scripts, "jobs/" + group) == show_jobs(scripts, "jobs/v2/" + group) == [row]
    assert group in scripts.capstan("jobs").stdout
    assert scripts.capstan("status", group).returncode == 0
    job.kill()


@pytest.mark.parametrize("how", [["stop", "{}"], ["sql", "-e", "!kill {};"], ["sql", "-e", "!kill trainer;"]])
def test_a_group_is_what_kill_and_capstan_stop_take(scripts, how):
    job, group = start_with_group(scripts)
    done = scripts.capstan(*(word.format(group) for word in how))
    assert done.returncode == 0, done.stderr
    out, err = job.communicate(timeout=5)
    assert job.returncode == 128 + signal.SIGTERM and "stopped by capstan stop" in err
    assert [row["success"] for row in rows_of(out)] == [False] * 3
    wait_until(lambda: not scripts.processes() and not scripts.temporary_files(), 5)
    assert scripts.models() == []
    (row,) = show_jobs(scripts)
    assert (row["groupId"], row["state"]) == (group, "stopped")


def test_a_job_that_is_not_there_is_not_killed(scripts):
    code, _, err = scripts.run("-e", "!kill nobody;")
    assert code == 1 and "-e:1:" in err and "nobody" in err


SAYS_WHERE = """
here = {"ports": [int(a.split(":")[1]) for l in cluster.values() for a in l], "cwd": os.getcwd(),
        "files": os.listdir("."), "group": context.conf["groupId"]}
if job == "worker":
    os.makedirs(context.output_model_dir())
    open(os.path.join(context.output_model_dir(), "weights"), "w").write("w")
    here["model"] = context.output_model_dir()
    here["rows"] = len(open(context.input_data_dir()).readlines())
print("ready", json.dumps(here), flush=True)
while not os.path.exists(%r):
    time.sleep(0.01)
"""


def test_two_trainings_at_once_do_not_see_each_others_tables_ports_or_files(scripts):
    go = scripts.folder / "go"
    body = SAYS_WHERE % str(go)
    jobs = {rows: scripts.start(scripts.job(body, rows=rows, name="%d.mlsql" % rows, workers=1)) for rows in (4, 6)}
    seen = {}
    for rows, job in jobs.items():
        lines = [json.loads(line.split("] ready ")[1]) for line in read_until(job, "] ready", 2)]
        assert [line["rows"] for line in lines if "rows" in line] == [rows]
        assert all(line["files"] == ["trainer.py"] for line in lines)
        places = [line["cwd"] for line in lines] + [line["model"] for line in lines if "model" in line]
        tops = {Path(place).relative_to(scripts.folder).parts[:3] for place in places}
        seen[rows] = set(lines[0]["ports"]), set(places), {line["group"] for line in lines}, tops
    assert all(not one & other for one, other in zip(seen[4], seen[6]))
    go.touch()
    for job in jobs.values():
        _, err = job.communicate(timeout=60)
        assert job.returncode == 0, err
    assert scripts.models() == ["_model_0", "_model_1"]


def socket_holders(port):
    """Who listens there: pids, or [0] if nobody that can be seen holds the socket."""
    inodes = {
        words[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        for words in [line.split()]
        if words[3] == "0A" and int(words[1].split(":")[1], 16) == port
    }
    names = {"socket:[%s]" % inode for inode in inodes}
    pids = set()
    for fd in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if str(fd.readlink()) in names:
                pids.add(int(fd.parts[2]))
        except OSError:
            pass
    return pids or ([0] if inodes else [])


SAVE = """
if job == "worker":
    os.makedirs(context.output_model_dir())
    open(os.path.join(context.output_model_dir(), "weights"), "w").write("w")
"""


def run_in_a_row(scripts, count):
    started, ports = set(), set()
    for _ in range(count):
        job = scripts.start("--output", "json", scripts.job(SAVE, workers=1))
        out, err = job.communicate(timeout=60)
        assert job.returncode == 0, err
        started.add(job.pid)
        ports |= {row["port"] for row in rows_of(out)}
    assert scripts.models() == sorted("_model_%d" % i for i in range(count))
    assert scripts.processes() == {} and scripts.temporary_files() == []
    left = {p.name for p in scripts.folder.iterdir()}
    assert left == {"job.mlsql", "model", "state", "tmp"}
    # Another test may have one of the ports by now.
    assert all(0 not in socket_holders(port) for port in ports)
    assert list((scripts.folder / "model").rglob(".*")) == []


def test_five_trainings_in_a_row_leave_no_file_process_or_port(scripts):
    run_in_a_row(scripts, 5)


@pytest.mark.long
def test_twenty_trainings_in_a_row_leave_no_file_process_or_port(scripts):
    run_in_a_row(scripts, 20)
