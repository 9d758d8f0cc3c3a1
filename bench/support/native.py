"""Lines of the C++ benchmarks, which print JSON of their own."""

import json
import subprocess

from support import options as common
from support.process import Failed
from support.report import Line


def add_lines(options, report, name):
    """Runs a C++ benchmark of the same build and adds what it measured."""
    program = common.benchmark_program(options, name)
    if not program:
        report.note("%s is not built: its lines are skipped" % name)
        return
    seconds = options.plan.rounds * options.plan.seconds
    command = [str(program), "--json", "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise Failed("%s ended with code %d:\n%s" % (name, done.returncode, done.stderr))
    for text in done.stdout.splitlines():
        line = Line(**_known(json.loads(text)))
        if options.only in line.name:
            report.add(line)


def _known(fields):
    names = ("name", "unit", "ours", "peer", "median_ratio", "target", "rule", "peer_name")
    return {name: fields[name] for name in names if name in fields}
