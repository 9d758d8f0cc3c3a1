"""Job scripts run by the program, in a folder of their own, and what they print."""

import json
import os
import subprocess
import sys

# Where the tasks of a job write who they are, for tests that look for what is left of them.
PRELUDE = """
import json, os, sys, time
from pyjava.api.mlsql import PythonProjectContext
context = PythonProjectContext()
role = json.loads(context.conf["roleSpec"])
cluster = json.loads(context.conf["clusterSpec"])
job, task = role["jobName"], role["taskIndex"]
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

    def job(self, body, rows=4, workers=2, options="", then="", prelude=PRELUDE):
        path = self.folder / "job.mlsql"
        values = dict(body=prelude + body, rows=rows, workers=workers, options=options, then=then)
        path.write_text(JOB % values)
        return path

    def start(self, *args, stdin=subprocess.DEVNULL):
        command = [self._capstan, "sql", "--python", sys.executable, "--root", self.folder, *args]
        process = subprocess.Popen(
            list(map(str, command)),
            cwd=self.folder,
            env=self._env,
            stdin=stdin,
            stdout=subprocess.PIPE,
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
        """What is left in the folder for temporary files, empty folders aside."""
        return [p for p in self.temp.rglob("*") if not p.is_dir()] + list(self.temp.glob("*/*"))

    def kill_all(self):
        for process in self._started:
            process.kill()
            process.communicate()


def rows_of(text):
    """What `--output json` printed."""
    return [json.loads(line) for line in text.splitlines()]
