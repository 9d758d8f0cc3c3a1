"""Start-up times and memory of the tasks of a small job, beside TensorFlow's.

    ./capstan bench memory [--json] [--quick] [--check] [--only import]
"""

import contextlib
import json
import subprocess
import sys
import time

from support import memory, options, process
from support.report import Line

# The import and the names that make it load the engine, in a fresh interpreter.
IMPORT = """
import time
start = time.perf_counter()
import tensorflow.compat.v1 as tf
tf.Session, tf.train.Server
seconds = time.perf_counter() - start
line = next(line for line in open("/proc/self/status") if line.startswith("VmRSS:"))
print(seconds, int(line.split()[1]) * 1024 / 1e6)
"""
LARGE = 100  # MB of the large variable
# What the two workers' connections may hold besides (MB), as configured by default: the queue of
# each peer over TCP, the arena's bound over shared memory.
BUFFERS = {"tcp": 2 * 67.1, "shm": 268.4}


def best(repeat, measure, *arguments):
    """Field by field the least of several runs: the others are the machine's doing."""
    return [min(values) for values in zip(*(measure(*arguments) for _ in range(repeat)))]


def import_cost(front):
    command = [*front.command, "-c", IMPORT]
    done = subprocess.run(command, env=front.env, capture_output=True, text=True, timeout=180)
    if done.returncode:
        raise process.Failed("import tensorflow, %s:\n%s" % (front.name, done.stderr))
    return [float(part) for part in done.stdout.split()]


def first_step(front):
    """From the start of the process to the answer of its first step."""
    with process.start(front, "lr") as alone:
        alone.send(steps=1)
        return [answer_time(alone) - alone.started]


def answer_time(worker):
    worker.wait_ready()
    worker.receive(process.START_SECONDS)
    return time.perf_counter()


def joining(front):
    """ps, chief and a second worker started at once: seconds to the chief's first step, and from
    there to the second worker's."""
    shared = ["--cluster", json.dumps(process.cluster_of(1, 2))]
    with contextlib.ExitStack() as stack:
        ps = stack.enter_context(process.start(front, "lr", [*shared, "--job", "ps"]))
        chief, second = [
            stack.enter_context(process.start(front, "lr", [*shared, "--task", i])) for i in (0, 1)
        ]
        chief.send(steps=1)
        second.send(steps=1)
        ps.wait_ready()
        chief_done = answer_time(chief)
        return [chief_done - chief.started, max(0.0, answer_time(second) - chief_done)]


def trained_sizes(front):
    """MB of the ps and of the worker of a linear regression, after some steps."""
    with process.start_cluster(front, "lr", 1, 1) as group:
        group.slice(0.5)
        return [memory.resident(group.servers[0].pid), memory.resident(group.workers[0].pid)]


def native_server_size(capstan):
    """MB of `capstan server` as the ps of the same job."""
    front = process.capstan_front(capstan)
    cluster = json.dumps(process.cluster_of(1, 1))
    command = [capstan, "server", "--cluster", cluster, "--job", "ps", "--task", "0"]
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(process.Process(command, front.env, "capstan server"))
        server.receive_line(process.START_SECONDS)
        worker = stack.enter_context(process.start(front, "lr", ["--cluster", cluster]))
        worker.send(seconds=0.5)
        answer_time(worker)
        return [memory.resident(server.pid)]


def large_variable_size(front, megabytes):
    """MB that a ps owns for one large variable with two workers pushing, above what it owns in a
    linear regression."""
    with process.start_cluster(front, "lr", 1, 1) as group:
        group.slice(0.5)
        empty = memory.owned(group.servers[0].pid)
    with process.start_cluster(front, "large-%d" % megabytes, 1, 2) as group:
        with memory.Peak(group.servers[0].pid) as peak:
            group.warm_up(steps=5, seconds=2)
        return [peak.value - empty]


class Bench:
    """One method per group of lines; the peer's value is left out without a peer."""

    def __init__(self, given, report):
        self.given, self.report = given, report
        self.ours = process.capstan_front(given.capstan)
        self.peer = options.tensorflow_of(given, report)
        self.repeat = 1 if given.quick else 5

    def both(self, measure, *arguments):
        """Ours several times; the peer's figures are far away and its start is slow: twice."""
        ours = best(self.repeat, measure, self.ours, *arguments)
        peer = best(2, measure, self.peer, *arguments) if self.peer else [None] * len(ours)
        return ours, peer

    def add(self, name, unit, ours, peer, target):
        if self.given.only in name:
            self.report.add(Line(name, unit, ours, peer, target=target, rule="at_most"))

    def wanted(self, *names):
        return any(self.given.only in name for name in names)

    def imports(self):
        names = "import tensorflow, time", "import tensorflow, memory"
        if self.wanted(*names):
            (seconds, size), (peer_seconds, peer_size) = self.both(import_cost)
            self.add(names[0], "s", seconds, peer_seconds, 0.25)
            self.add(names[1], "MB", size, peer_size, 80)

    def starts(self):
        names = "start to first step", "start to first step, 1+2", "second worker after the chief"
        if self.wanted(names[0]):
            ours, peer = self.both(first_step)
            self.add(names[0], "s", ours[0], peer[0], 0.7)
        if self.wanted(*names[1:]):
            ours, peer = self.both(joining)
            self.add(names[1], "s", ours[0], peer[0], 0.7)
            self.add(names[2], "s", ours[1], peer[1], 1)

    def sizes(self):
        names = "linear regression, Python ps", "linear regression, Python worker"
        native = "linear regression, capstan server"
        if self.wanted(*names, native):
            (ps, worker), (peer_ps, peer_worker) = self.both(trained_sizes)
            server = best(self.repeat, native_server_size, self.given.capstan)[0]
            self.add(names[0], "MB", ps, peer_ps, 70)
            self.add(native, "MB", server, peer_ps, 25)
            self.add(names[1], "MB", worker, peer_worker, 100)

    def large(self):
        megabytes = 10 if self.given.quick else LARGE
        names = {t: "%d MB variable on its ps, %s" % (megabytes, t) for t in BUFFERS}
        if not self.wanted(*names.values()):
            return
        peer = large_variable_size(self.peer, megabytes)[0] if self.peer else None
        for transport, name in names.items():
            front = process.capstan_front(self.given.capstan, CAPSTAN_TRANSPORT=transport)
            ours = large_variable_size(front, megabytes)[0]
            self.add(name, "MB", ours, peer, 1.15 * megabytes + BUFFERS[transport])


def body(given, report):
    bench = Bench(given, report)
    bench.imports()
    bench.starts()
    bench.sizes()
    bench.large()


if __name__ == "__main__":
    arguments = options.parse(__doc__)
    sys.exit(options.run(arguments, body))
