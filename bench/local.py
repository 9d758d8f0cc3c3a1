"""Steps per second of one process through Python, beside TensorFlow and PyTorch in the same run.

    ./capstan bench local [--json] [--quick] [--check] [--only mlp]
"""

import sys

from support import native, options, process, rounds
from support.report import Line

# name, model, target beside TensorFlow, target beside PyTorch (one thread each)
WORK = [
    ("linear regression", "lr", 8, None),
    ("100 variables", "vars-100", 8, None),
    ("MLP-B 784-100-10", "mlp-b", 2.5, 1.6),
    ("MLP-A 784-500-500-10", "mlp-a", 1.8, 1.5),
]


def compare(report, plan, name, starters, target, peer_name):
    """One line: 'ours' beside 'peer', if that is among the starters."""
    samples = rounds.measure_started(starters, plan)
    line = Line(name, "steps/s", samples.best("ours"), target=target, peer_name=peer_name)
    if "peer" in starters:
        line.peer = samples.best("peer")
        line.median_ratio = samples.median_ratio("ours", "peer")
        line.cpu_ratio = samples.cpu_ratio("ours", "peer")
    report.add(line)


def beside_tensorflow(options, report, ours, peer):
    for name, model, target, _ in WORK:
        if options.only not in name:
            continue
        starters = {"ours": lambda m=model: process.start_local(ours, m)}
        if peer:
            starters["peer"] = lambda m=model: process.start_local(peer, m)
        compare(report, options.plan, name, starters, target, "TensorFlow")


def beside_torch(options, report, ours, peer):
    for name, model, _, target in WORK:
        name += ", one thread"
        if not target or options.only not in name:
            continue
        starters = {
            "ours": lambda m=model: process.start_local(ours, m, threads=1),
            "peer": lambda m=model: process.start_local(peer, m),
        }
        compare(report, options.plan, name, starters, target, "PyTorch")


def body(given, report):
    ours = process.capstan_front(given.capstan)
    beside_tensorflow(given, report, ours, options.tensorflow_of(given, report))
    torch = options.torch_of(given, report)
    if torch:
        beside_torch(given, report, ours, torch)
    native.add_lines(given, report, "session_bench")


if __name__ == "__main__":
    arguments = options.parse(__doc__)
    sys.exit(options.run(arguments, body))
