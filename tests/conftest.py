"""A cluster for tests that run sessions: parameter servers as processes, workers in this one."""

import json
import os
import secrets
import socket
import subprocess

import pytest


def _listening():
    listener = socket.create_server(("127.0.0.1", 0))
    listener.set_inheritable(True)
    return listener


def _address(listener):
    return "127.0.0.1:%d" % listener.getsockname()[1]


class Cluster:
    """Ports are held from the start: each task is handed the socket that listens on its own."""

    def __init__(self, capstan, ps, workers, threads=1):
        sockets = {"ps": [_listening() for _ in range(ps)], "worker": [_listening() for _ in range(workers)]}
        self.spec = {job: [_address(s) for s in listeners] for job, listeners in sockets.items()}
        self._env = {"CAPSTAN_SECRET": secrets.token_hex(32), "CAPSTAN_THREADS": str(threads)}
        self._processes = [self._start_ps(capstan, i, s) for i, s in enumerate(sockets["ps"])]
        self._workers = [self._start_worker(i, s) for i, s in enumerate(sockets["worker"])]

    def _start_ps(self, capstan, index, listener):
        command = [capstan, "server", "--cluster", json.dumps(self.spec), "--job", "ps", "--task", str(index)]
        env = {**os.environ, **self._env, "CAPSTAN_LISTEN_FD": str(listener.fileno())}
        process = subprocess.Popen(command, env=env, pass_fds=[listener.fileno()], stdout=subprocess.DEVNULL)
        listener.close()
        return process

    def _start_worker(self, index, listener):
        import tensorflow as tf

        with pytest.MonkeyPatch.context() as patch:
            for name, value in self._env.items():
                patch.setenv(name, value)
            patch.setenv("CAPSTAN_LISTEN_FD", str(listener.detach()))
            return tf.train.Server(self.spec, job_name="worker", task_index=index)

    def target(self, worker=0):
        return self._workers[worker].target

    def environment(self):
        """What a client that is no task needs."""
        return dict(self._env)

    def kill_ps(self):
        for process in self._processes:
            process.kill()
            process.wait()

    def close(self):
        """The parameter servers end by themselves once every worker has left."""
        from capstan.session import task

        for worker in self._workers:
            if any(process.poll() is None for process in self._processes):
                task.process().leave(worker._engine)
            else:  # nobody is left to take leave of
                task.process()._servers.remove(worker._engine)
        self._workers = []
        for process in self._processes:
            try:
                process.wait(20)
            finally:
                process.kill()


@pytest.fixture(scope="session")
def make_cluster(capstan):
    """make_cluster(ps, workers, threads) starts a cluster, or gives the one that is there."""
    made = {}

    def make(ps, workers, threads=1):
        key = ps, workers, threads
        if key not in made:
            made[key] = Cluster(capstan, *key)
        return made[key]

    yield make
    for cluster in made.values():
        cluster.close()


@pytest.fixture
def own_cluster(capstan):
    """own_cluster(ps, workers, threads): one that a test may break."""
    made = []

    def make(*args):
        made.append(Cluster(capstan, *args))
        return made[-1]

    yield make
    for cluster in made:
        cluster.close()
