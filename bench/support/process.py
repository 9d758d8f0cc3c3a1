"""Starts the processes under measurement and talks to them; see worker.py for the talk."""

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORKER = Path(__file__).resolve().parent / "worker.py"
START_SECONDS = 180  # a peer on a busy machine takes long to import
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore"}


class Failed(RuntimeError):
    """A process that ended or did not answer; the text holds what it printed last."""


class Front:
    """One side of a comparison: how its processes are started."""

    def __init__(self, name, kind, command, env=None):
        self.name, self.kind = name, kind
        self.command = command
        inherited = dict(os.environ)
        if kind != "capstan":
            inherited.pop("PYTHONPATH", None)  # nothing of ours may shadow the real one
        self.env = {**inherited, **QUIET, **(env or {})}

    def with_env(self, name, **env):
        return Front(name, self.kind, self.command, env)


def capstan_front(capstan, **env):
    return Front("ours", "capstan", [str(capstan), "python", "--python", sys.executable], env)


def tensorflow_front(python):
    return Front("TensorFlow", "tensorflow", [str(python)])


def torch_front(python):
    return Front("PyTorch", "torch", [str(python)], {"OMP_NUM_THREADS": "1"})


def can_import(python, module):
    """Whether an interpreter has a package, without importing it."""
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec(%r) is None)" % module
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    try:
        return subprocess.run([str(python), "-c", code], env=env, timeout=60).returncode == 0
    except OSError:
        return False


class Process:
    """A child with a line of JSON each way."""

    def __init__(self, command, env, what):
        self.what = what
        self._log = tempfile.TemporaryFile()
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            [str(part) for part in command],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=0,
        )
        self.pid = self._process.pid
        self._pending = b""

    def send(self, **command):
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
        except BrokenPipeError:
            raise Failed(self._failure("ended", wait=5)) from None

    def receive(self, seconds):
        return json.loads(self.receive_line(seconds))

    def receive_line(self, seconds):
        deadline = time.monotonic() + seconds
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise Failed(self._failure("did not answer within %g s" % seconds))
            part = os.read(self._process.stdout.fileno(), 65536)
            if not part:
                raise Failed(self._failure("ended", wait=5))
            self._pending += part
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def wait_ready(self):
        self.receive(START_SECONDS)
        return self

    def cpu_seconds(self):
        """Of all its threads so far."""
        with open("/proc/%d/stat" % self.pid) as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._log.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def _failure(self, how, wait=0):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(wait)
        self._log.seek(0)
        tail = self._log.read().decode(errors="replace").splitlines()[-20:]
        code = self._process.poll()
        ended = "" if code is None else " with code %d" % code
        return "\n  ".join(["%s %s%s; it printed last:" % (self.what, how, ended), *tail])


def start(front, model, extra=()):
    """A process that will build one model; `extra` are further arguments of worker.py."""
    arguments = [WORKER, "--front", front.kind, "--model", model, *extra]
    what = " ".join([front.name, model, *map(str, extra)])
    return Process([*front.command, *arguments], front.env, what)


class Group:
    """The tasks of one side of a comparison: slices run on all its workers at the same time."""

    def __init__(self):
        self.servers, self.workers = [], []
        self._steps, self._cpu_seconds = 0, 0.0

    def slice(self, seconds):
        """Steps per second of one worker, the mean over all."""
        before = self._cpu_clock()
        for worker in self.workers:
            worker.send(seconds=seconds)
        answers = [worker.receive(START_SECONDS) for worker in self.workers]
        self._cpu_seconds += self._cpu_clock() - before
        self._steps += sum(a["steps"] for a in answers)
        return sum(a["steps"] / a["seconds"] for a in answers) / len(answers)

    def steps_per_cpu_second(self):
        """Of all slices and all tasks together: hardly depends on what else the machine does."""
        return self._steps / self._cpu_seconds if self._cpu_seconds else 0.0

    def _cpu_clock(self):
        return sum(process.cpu_seconds() for process in self.workers + self.servers)

    def warm_up(self, steps, seconds):
        """At least so many steps on each worker, unless that takes very long."""
        done, deadline = 0, time.monotonic() + 30
        while done < steps and time.monotonic() < deadline:
            done += self.slice(seconds) * seconds
        self._steps, self._cpu_seconds = 0, 0.0

    def close(self):
        for process in self.workers + self.servers:
            process.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def start_local(front, model, threads=0):
    group = Group()
    group.workers.append(start(front, model, ["--threads", threads] if threads else []))
    return group


def start_cluster(front, model, ps, workers, sync=False):
    """One process per task on loopback. The chief goes first: TensorFlow's other workers look for
    an initialised model only every 30 s."""
    shared = ["--cluster", json.dumps(cluster_of(ps, workers)), "--sync", workers if sync else 0]
    group = Group()
    try:
        for i in range(ps):
            task = ["--job", "ps", "--task", i]
            group.servers.append(start(front, model, shared + task))
        for i in range(workers):
            group.workers.append(start(front, model, [*shared, "--task", i]))
            if i == 0:  # the servers first: if one failed, that is the cause
                for process in [*group.servers, group.workers[0]]:
                    process.wait_ready()
        for process in group.workers[1:]:
            process.wait_ready()
    except BaseException:
        group.close()
        raise
    return group


def cluster_of(ps, workers):
    """A cluster on free ports of loopback. They are let go before the tasks bind them, because
    TensorFlow cannot take over a socket."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(ps + workers)]
    addresses = ["127.0.0.1:%d" % s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return {"ps": addresses[:ps], "worker": addresses[ps:]}
