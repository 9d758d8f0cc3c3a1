"""Options that every benchmark takes, and how each ends."""

import argparse
import sys
from pathlib import Path

from support import process
from support.report import Report
from support.rounds import Plan

ROOT = Path(__file__).resolve().parent.parent.parent


def parse(description, add_options=None):
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--capstan", type=Path, help="the program (default: the release build's)")
    parser.add_argument("--peer-python", type=Path, help="a Python that has TensorFlow or PyTorch")
    parser.add_argument("--no-peer", action="store_true", help="measure ours alone")
    parser.add_argument("--json", action="store_true", help="a JSON object per line")
    parser.add_argument("--quick", action="store_true", help="one short round: does it run at all")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--only", default="", help="only lines whose names hold this text")
    parser.add_argument("--rounds", type=int, help="interleaved rounds (default 7)")
    parser.add_argument("--seconds", type=float, help="of one slice of a round (default 0.5)")
    if add_options:
        add_options(parser)
    options = parser.parse_args()
    options.capstan = options.capstan or ROOT / "build" / "release" / "src" / "main" / "capstan"
    if options.no_peer:
        options.peer_python = None
    options.plan = _plan(options)
    return options


def _plan(options):
    plan = Plan.quick() if options.quick else Plan()
    plan.rounds = options.rounds or plan.rounds
    plan.seconds = options.seconds or plan.seconds
    return plan


def tensorflow_of(options, report):
    """The peer, or None with a line that says so."""
    if not options.peer_python:
        return None
    if process.can_import(options.peer_python, "tensorflow"):
        return process.tensorflow_front(options.peer_python)
    report.note("no tensorflow in %s: ours alone" % options.peer_python)
    return None


def torch_of(options, report):
    if not options.peer_python:
        return None
    if process.can_import(options.peer_python, "torch"):
        return process.torch_front(options.peer_python)
    report.note("no torch in %s: lines beside PyTorch are skipped" % options.peer_python)
    return None


def benchmark_program(options, name):
    """A C++ benchmark of the same build, or None where it was not built."""
    path = options.capstan.resolve().parent.parent.parent / "bench" / name
    return path if path.exists() else None


def run(options, body):
    """Calls body(options, report) and returns the exit code."""
    report = Report(options.json)
    try:
        body(options, report)
    except process.Failed as failure:
        print("bench: %s" % failure, file=sys.stderr)
        return 2
    missed = report.missed()
    if missed:
        report.note("%d of %d lines missed their targets" % (len(missed), len(report.lines)))
    return 1 if missed and options.check else 0
