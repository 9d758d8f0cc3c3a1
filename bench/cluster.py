"""Steps per second of clusters on this machine, over TCP and over shared memory, beside TensorFlow.

One process per task on loopback; the figure is that of one worker, the mean of several.

    ./capstan bench cluster [--json] [--quick] [--check] [--only "MLP-A"]
"""

import sys
from typing import NamedTuple

from support import native, options, process, rounds
from support.report import Line

TRANSPORTS = {"tcp": "TCP", "shm": "shared memory"}


class Work(NamedTuple):
    name: str
    model: str
    ps: int
    workers: int
    tcp: float  # target over TCP
    shm: float  # over shared memory
    sync: bool = False


WORK = [
    Work("linear regression 1+1", "lr", 1, 1, 25, 50),
    Work("linear regression 2+2", "lr", 2, 2, 25, 25),
    Work("linear regression 4+1", "lr", 4, 1, 25, 25),
    Work("100 variables 1+1", "vars-100", 1, 1, 50, 50),
    Work("MLP-B 1+1", "mlp-b", 1, 1, 7, 10),
    Work("MLP-A 1+1", "mlp-a", 1, 1, 4, 5),
    Work("MLP-A 1+2 sync", "mlp-a", 1, 2, 4, 5, sync=True),
]


def starter(front, work):
    return lambda: process.start_cluster(front, work.model, work.ps, work.workers, work.sync)


def compare(options, report, work, peer):
    """Both transports and the peer in the same rounds; a line for each transport."""
    starters = {}
    for transport in TRANSPORTS:
        # What `capstan run` tells its tasks, so that kernels share the cores.
        env = {"CAPSTAN_TRANSPORT": transport, "CAPSTAN_WORKERS_ON_HOST": str(work.workers)}
        starters[transport] = starter(process.capstan_front(options.capstan, **env), work)
    if peer:
        starters["peer"] = starter(peer, work)
    samples = rounds.measure_started(starters, options.plan)
    for transport, label in TRANSPORTS.items():
        report.add(line_of(work, transport, label, samples, peer))


def line_of(work, transport, label, samples, peer):
    name = "%s, %s" % (work.name, label)
    line = Line(name, "steps/s", samples.best(transport), target=getattr(work, transport))
    if peer:
        line.peer = samples.best("peer")
        line.median_ratio = samples.median_ratio(transport, "peer")
        line.cpu_ratio = samples.cpu_ratio(transport, "peer")
    return line


def body(given, report):
    peer = options.tensorflow_of(given, report)
    for work in WORK:
        if given.only in work.name:
            compare(given, report, work, peer)
    native.add_lines(given, report, "step_bench")


if __name__ == "__main__":
    arguments = options.parse(__doc__)
    sys.exit(options.run(arguments, body))
