"""Clusters: which tasks there are, the server of this process, where new nodes are placed."""

import atexit
import os
import sys
import threading

from capstan import _capstan
from capstan.core import protos
from capstan.core.public import public
from capstan.session import task

# By target. A server serves until the process ends, whether or not anybody holds it.
_servers = {}


def server_for(target):
    """The server of this process that a session's target names, or None."""
    return _servers.get(target)


class _Chief:
    """Who initialises the model, as far as this process knows: the task "chief" or "master" where the
    cluster has one, else worker 0."""

    def __init__(self, server):
        self._server, self._job = server, server._chief_job if server is not None else ""
        self.name = "%s/0" % self._job if self._job else "the chief"

    def has_left(self):
        return bool(self._job) and self._server._has_left(self._job, 0)


def chief_of(target):
    return _Chief(server_for(target))


@public("train.ClusterSpec")
class ClusterSpec:
    """Jobs and the addresses of their tasks, from a dict, a ClusterDef or another ClusterSpec."""

    def __init__(self, cluster):
        if isinstance(cluster, dict):
            self._jobs = {str(job): _tasks(job, tasks) for job, tasks in cluster.items()}
        elif protos.is_message(cluster, "ClusterDef"):
            self._jobs = {job.name: dict(job.tasks) for job in cluster.job}
        elif isinstance(cluster, ClusterSpec):
            self._jobs = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of "
                "network addresses, or a `ClusterDef` protocol buffer, not %r" % (cluster,)
            )

    @property
    def jobs(self):
        return list(self._jobs)

    def as_dict(self):
        """Lists where the tasks are numbered without gaps, else dicts."""
        out = {}
        for job, tasks in self._jobs.items():
            dense = sorted(tasks) == list(range(len(tasks)))
            out[job] = [tasks[i] for i in sorted(tasks)] if dense else dict(tasks)
        return out

    def as_cluster_def(self):
        made = protos.ClusterDef()
        for job in sorted(self._jobs):
            made.job.add(name=job, tasks=self._jobs[job])
        return made

    def _job(self, job_name):
        if job_name not in self._jobs:
            raise ValueError(
                "No such job in cluster: %r; there are %s"
                % (job_name, ", ".join(sorted(self._jobs)) or "none")
            )
        return self._jobs[job_name]

    def num_tasks(self, job_name):
        return len(self._job(job_name))

    def task_indices(self, job_name):
        return sorted(self._job(job_name))

    def task_address(self, job_name, task_index):
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError("No task with index %r in job %r" % (task_index, job_name))
        return tasks[task_index]

    def job_tasks(self, job_name):
        tasks = self._job(job_name)
        return [tasks.get(i) for i in range(max(tasks) + 1)] if tasks else []

    def __bool__(self):
        return bool(self._jobs)

    def __eq__(self, other):
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __ne__(self, other):
        return not self == other

    __hash__ = object.__hash__

    def __repr__(self):
        return "ClusterSpec(%r)" % (self.as_dict(),)

    __str__ = __repr__


def _tasks(job, tasks):
    if isinstance(tasks, (list, tuple)):
        tasks = dict(enumerate(tasks))
    if not isinstance(tasks, dict):
        raise TypeError(
            "The tasks for job %r must be a list or a dictionary from integers to strings, "
            "not %r" % (job, tasks)
        )
    out = {}
    for index, address in tasks.items():
        if not isinstance(address, (str, bytes)):
            raise TypeError("Task address of job %r must be a string, not %r" % (job, address))
        out[int(index)] = address.decode() if isinstance(address, bytes) else address
    return out


def _place(server_or_cluster, job_name, task_index, protocol):
    """(cluster, job, task, protocol) out of what a Server was given."""
    if protos.is_message(server_or_cluster, "ServerDef"):
        given = server_or_cluster
        job_name = given.job_name if job_name is None else job_name
        task_index = given.task_index if task_index is None else task_index
        protocol = (given.protocol or None) if protocol is None else protocol
        server_or_cluster = given.cluster
    cluster = ClusterSpec(server_or_cluster)
    if job_name is None:
        if len(cluster.jobs) != 1:
            raise ValueError(
                "Must specify an explicit `job_name`: the cluster has %s" % cluster.jobs
            )
        job_name = cluster.jobs[0]
    if task_index is None:
        indices = cluster.task_indices(job_name)
        if len(indices) != 1:
            raise ValueError(
                "Must specify an explicit `task_index`: job %r has %s" % (job_name, indices)
            )
        task_index = indices[0]
    return cluster, job_name, task_index, protocol or "grpc"


@public("train.Server")
class Server:
    """A task of a cluster, in this process."""

    def __init__(
        self,
        server_or_cluster_def,
        job_name=None,
        task_index=None,
        protocol=None,
        config=None,
        start=True,
    ):
        place = _place(server_or_cluster_def, job_name, task_index, protocol)
        self._cluster, self._job, self._index, self._protocol = place
        self._config = config
        self._engine = None
        if start:
            self.start()

    def start(self):
        if self._engine is not None:
            return
        jobs = self._cluster._jobs
        self._engine = _capstan.ServerBase(jobs, self._job, self._index, self._protocol)
        _servers[self._engine.target] = self._engine
        trains = self._job not in ("ps", "evaluator")
        task.process().join(self._engine, trains and sum(map(len, jobs.values())) > 1)

    @property
    def server_def(self):
        made = protos.ServerDef(
            cluster=self._cluster.as_cluster_def(),
            job_name=self._job,
            task_index=self._index,
            protocol=self._protocol,
        )
        if self._config is not None:
            made.default_session_config.CopyFrom(self._config)
        return made

    @property
    def target(self):
        self.start()
        return self._engine.target

    def join(self):
        """Only serves from here on; when the training of the cluster is over, ends the process:
        programs run on after this call, and a task that only serves must not."""
        self.start()
        if self._job != "ps" or not _is_main_thread():
            _wait_for_other_threads()
        trained = task.process().serve(self._engine)
        # Ctrl-C reaches a thread that waits for another, not one that waits within the engine.
        waiting = threading.Thread(target=self._engine._join, args=(trained,), daemon=True)
        waiting.start()
        waiting.join()
        atexit._run_exitfuncs()
        task.process().channel.end()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    @staticmethod
    def create_local_server(config=None, start=True):
        return Server({"localhost": ["localhost:0"]}, protocol="grpc", config=config, start=start)


def _is_main_thread():
    return threading.current_thread() is threading.main_thread()


def _wait_for_other_threads():
    """A worker whose other threads still work does not only serve. The main thread, where it is
    another one, ends the process itself."""
    me, main = threading.current_thread(), threading.main_thread()
    for thread in [main] if me is not main else threading.enumerate():
        if thread is not me and not thread.daemon:
            thread.join()


@public("DeviceSpec")
class DeviceSpec:
    """The parts of a device string."""

    def __init__(self, job=None, replica=None, task=None, device_type=None, device_index=None):
        self.job, self.replica, self.task = job, replica, task
        self.device_type = device_type
        self.device_index = device_index

    @classmethod
    def from_string(cls, spec):
        made = cls()
        for part in _capstan.canonical_device(spec).split("/"):
            key, _, value = part.partition(":")
            if key == "job":
                made.job = value
            elif key in ("replica", "task"):
                setattr(made, key, int(value))
            elif key == "device":
                made.device_type, _, index = value.partition(":")
                made.device_index = int(index) if index not in ("", "*") else None
        return made

    def to_string(self):
        parts = [
            "%s:%s" % (key, getattr(self, key))
            for key in ("job", "replica", "task")
            if getattr(self, key) is not None
        ]
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            parts.append("device:%s:%s" % (self.device_type, index))
        return "".join("/" + part for part in parts)

    def merge_from(self, dev):
        for key in ("job", "replica", "task", "device_type", "device_index"):
            if getattr(dev, key) is not None:
                setattr(self, key, getattr(dev, key))

    def __eq__(self, other):
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self):
        return hash(self.to_string())


@public("train.replica_device_setter")
def replica_device_setter(
    ps_tasks=0,
    ps_device="/job:ps",
    worker_device="/job:worker",
    merge_devices=True,
    cluster=None,
    ps_ops=None,
    ps_strategy=None,
):
    """A device function for between-graph replication; None when there are no parameter servers."""
    if cluster is not None:
        jobs = ClusterSpec(cluster).as_dict()
        ps_job = DeviceSpec.from_string(ps_device).job
        if ps_job not in jobs:
            return None
        ps_tasks = len(jobs[ps_job])
    if ps_tasks == 0:
        return None
    if ps_strategy is not None and not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    return _capstan.replica_device_setter(
        ps_tasks, ps_device, worker_device or "", merge_devices, list(ps_ops or ()), ps_strategy
    )


@public("contrib.training.GreedyLoadBalancingStrategy")
class GreedyLoadBalancingStrategy:
    """Each variable goes to the task with the least load so far; load_fn weighs an operation."""

    def __init__(self, num_tasks, load_fn):
        self._loads = [0.0] * num_tasks
        self._load_fn = load_fn

    def __call__(self, op):
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


@public("contrib.training.byte_size_load_fn")
def byte_size_load_fn(op):
    shape = op.get_attr("shape")
    shape.assert_is_fully_defined()
    return shape.num_elements() * op.outputs[0].dtype.size
