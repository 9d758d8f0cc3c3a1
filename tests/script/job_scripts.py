"""Job scripts run by the program, in a folder of their own, and what they print."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

# Where the tasks of a job write who they are, for tests that look for what is left of them.
PRELUDE = """
import json, os, sys, time
from pyjava.api.mlsql import PythonProjectContext
context = PythonProjectContext()
role = json.loads(context.conf["roleSpec"])
cluster = json.loads(context.conf["clusterSpec"])
job, task = role["jobName"], role["taskIndex"]
"""

# Never ends by itself.
WAITS = """
if job == "worker":
    os.makedirs(context.output_model_dir())
    open(os.path.join(context.output_model_dir(), "weights"), "w").write("w")
print("ready", os.getpid(), flush=True)
time.sleep(600)
"""

JOB = """
set trainer='''%(body)s''';
load script.`trainer` as trainer;
select i as x from range(%(rows)d) r(i) as data;
run data as TableRepartition.`` where partitionNum="%(workers)d" as data;
train data as DTF.`/model` where scripts="trainer" and entryPoint="trainer" %(options)s as result;
%(then)s
"""


class Scripts:
    """Writes scripts below a folder, which is also their root, and runs them."""

    def __init__(self, capstan, folder):
        self.folder = folder
        self.temp = folder / "tmp"
        self.temp.mkdir()
        self._capstan = capstan
        self._started = []
        self._env = {
            **os.environ,
            "XDG_STATE_HOME": str(folder / "state"),
            "TMPDIR": str(self.temp),
        }

    def job(self, body, rows=4, workers=2, options="", then="", prelude=PRELUDE, name="job.mlsql"):
        path = self.folder / name
        values = dict(body=prelude + body, rows=rows, workers=workers, options=options, then=then)
        path.write_text(JOB % values)
        return path

    def start(self, *args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE):
        command = [self._capstan, "sql", "--python", sys.executable, "--root", self.folder, *args]
        process = subprocess.Popen(
            list(map(str, command)),
            cwd=self.folder,
            env=self._env,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def run(self, *args, timeout=60):
        """(exit code, output, errors)"""
        process = self.start(*args)
        out, err = process.communicate(timeout=timeout)
        return process.returncode, out, err

    def capstan(self, *args):
        command = [self._capstan, *map(str, args)]
        return subprocess.run(command, env=self._env, capture_output=True, text=True, timeout=60)

    def models(self):
        folder = self.folder / "model"
        return sorted(p.name for p in folder.iterdir()) if folder.exists() else []

    def temporary_files(self):
        """What is left in the folder for temporary files, but for the user's own if empty, and of saves."""
        own = self.temp / ("capstan-%d" % os.getuid())
        others = [p for p in self.temp.iterdir() if p != own]
        return others + list(self.temp.glob("*/*")) + list(self.folder.glob(".capstan-save-*"))

    def processes(self):
        """All that live and were started by these scripts, at whatever remove: {pid: command}."""
        mark = ("XDG_STATE_HOME=%s" % self._env["XDG_STATE_HOME"]).encode()
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if mark in Path("/proc", pid, "environ").read_bytes().split(b"\0"):
                    found[int(pid)] = Path("/proc", pid, "cmdline").read_text().replace("\0", " ")
            except OSError:
                pass
        return found

    def tasks(self):
        """The folder of each task that runs the trainer: {"worker-0": pid}."""
        found = {}
        for pid, command in self.processes().items():
            with contextlib.suppress(OSError):  # it has just ended
                if "trainer.py" in command:
                    found[Path(os.readlink("/proc/%d/cwd" % pid)).name] = pid
        return found

    def kill_all(self):
        for process in self._started:
            process.kill()
            process.communicate()


def rows_of(text):
    """What `--output json` printed."""
    return [json.loads(line) for line in text.splitlines()]


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def read_until(job, word, times=1):
    """The lines of standard error that hold the word, as soon as there are so many."""
    found = []
    for line in job.stderr:
        found += [line] if word in line else []
        if len(found) == times:
            return found
    raise AssertionError("it ended before it said " + word)


def start_and_wait(scripts, body=WAITS, tasks=3, **more):
    """A job whose tasks have said that they are ready."""
    job = scripts.start("--output", "json", scripts.job(body, **more))
    read_until(job, "] ready", tasks)
    return job
