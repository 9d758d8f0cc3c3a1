"""What the job script does with data and models, beside those who do only that.

    ./capstan bench sql [--json] [--quick] [--check] [--only shards]
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support import native, options, process
from support.report import Line

PREDICTION = Path(__file__).resolve().parent / "support" / "prediction.py"
# The script of the document that the language comes from; it lies beside the repository.
SEED = Path(__file__).resolve().parents[2] / "shared" / "programs" / "dtf" / "job.mlsql"


def told(command, env=None):
    """The JSON object that a program prints last."""
    done = subprocess.run(
        [str(part) for part in command], env=env, capture_output=True, text=True, timeout=600
    )
    if done.returncode:
        raise process.Failed("%s ended with code %d:\n%s" % (command[0], done.returncode, done.stderr))
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else None


class Bench:
    """One method per group of lines."""

    def __init__(self, given, report):
        self.given, self.report = given, report
        self.ours = process.capstan_front(given.capstan)

    def prediction(self):
        """A table of separate columns in, the same with the answers out; a loop of sess.run beside it."""
        name = "batch prediction, 20 features"
        program = options.benchmark_program(self.given, "predict_bench")
        if self.given.only not in name:
            return
        if not program:
            self.report.note("predict_bench is not built: its line is skipped")
            return
        peer = options.tensorflow_of(self.given, self.report)
        rows = 20_000 if self.given.quick else 1_000_000
        with tempfile.TemporaryDirectory(prefix="capstan-bench-") as folder:
            told([*self.ours.command, PREDICTION, "save", folder], self.ours.env)
            line = Line(name, "rows/s", 0, target=300_000, rule="at_least", peer_name="sess.run")
            ours = told([program, "--model", folder, "--rows", rows])
            line.ours = ours["rows_per_second"]
            if peer:
                asked = told([*peer.command, PREDICTION, "ask", folder, rows], peer.env)
                line.peer = asked["rows_per_second"]
        self.report.add(line)

    def first_step(self):
        """A parameter server, a worker, its data and its model: from Enter to what it prints of step 1."""
        name = "Enter to the first training step"
        if self.given.only not in name:
            return
        if not SEED.exists():
            self.report.note("%s is not here: its line is skipped" % SEED.name)
            return
        rounds = 1 if self.given.quick else 5
        seconds = sorted(seconds_to(self.given.capstan, SEED, b"Train step ") for _ in range(rounds))
        line = Line(name, "s", seconds[rounds // 2], target=3, rule="at_most", peer_name="")
        self.report.add(line)


def seconds_to(capstan, script, text):
    """How long a script takes until it logs a text; it is stopped then."""
    with tempfile.TemporaryDirectory(prefix="capstan-bench-") as root, tempfile.TemporaryFile() as log:
        env = {**os.environ, "XDG_STATE_HOME": root}
        command = [capstan, "sql", "--python", sys.executable, "--root", root, script]
        started = time.perf_counter()
        job = subprocess.Popen(
            list(map(str, command)), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        taken = None
        for line in job.stderr:
            log.write(line)
            if taken is None and text in line:
                taken = time.perf_counter() - started
                job.send_signal(signal.SIGINT)
        job.wait()
        if taken is None:
            log.seek(0)
            raise process.Failed("%s never began to train:\n%s" % (script, log.read()[-2000:].decode()))
        return taken


def body(given, report):
    native.add_lines(given, report, "sql_bench")
    bench = Bench(given, report)
    bench.prediction()
    bench.first_step()


if __name__ == "__main__":
    arguments = options.parse(__doc__)
    sys.exit(options.run(arguments, body))
