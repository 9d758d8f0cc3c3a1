"""What the job script does with data and models, beside those who do only that.

    ./capstan bench sql [--json] [--quick] [--check] [--only shards]
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from support import native, options, process
from support.report import Line

PREDICTION = Path(__file__).resolve().parent / "support" / "prediction.py"


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


def body(given, report):
    native.add_lines(given, report, "sql_bench")
    Bench(given, report).prediction()


if __name__ == "__main__":
    arguments = options.parse(__doc__)
    sys.exit(options.run(arguments, body))
