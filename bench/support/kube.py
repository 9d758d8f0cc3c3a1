"""A rig for the operator's benchmark: namespaces in which jobs are made, and who sees to them."""

import contextlib
import itertools
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "k8s"))

import kubeflow_operator  # noqa: E402
from kube_client import ApiError  # noqa: E402
from rig import Rig  # noqa: E402
from rig_binaries import Unavailable  # noqa: E402
from rig_processes import Part  # noqa: E402

PATIENCE = 300  # seconds
BROKEN = (Unavailable, ApiError, RuntimeError, TimeoutError)
MADE_BY_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "ownerReferences")


def slug(side):
    """The namespace of a side."""
    return "bench-" + side.lower().replace(" ", "-")


class Cluster:
    """An API server with its controllers; nothing is scheduled. `creator`: the program kube_bench."""

    def __init__(self, creator):
        self.creator = creator
        self.rig = Rig(crds=[ROOT / "deploy" / "k8s" / "crd.yaml"], schedule=False)

    def __enter__(self):
        self.rig.start()
        return self

    def __exit__(self, *_):
        self.rig.stop()

    def create_all(self, bodies):
        """When it began, on the monotonic clock."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.writelines(json.dumps(body) + "\n" for body in bodies)
            file.flush()
            command = [self.creator, self.rig.kubeconfig, file.name]
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            raise RuntimeError(f"kube_bench failed: {done.stderr}")
        return json.loads(done.stdout)["begin"]


@contextlib.contextmanager
def our_operator(cluster, program, namespace):
    log = cluster.rig.folder / f"operator-{namespace}.log"
    command = [program, "operator", "--kubeconfig", cluster.rig.kubeconfig, "--namespace", namespace]
    part = Part("operator", command, log)
    part.wait_for("sign of life", lambda: "watching" in log.read_text(errors="replace"))
    try:
        yield part
    finally:
        part.kill()


def kubeflow_operators(cluster, report, kinds):
    """name to operator, for those of `kinds` (name to: are its limits raised) that can be had."""
    try:
        return {name: kubeflow_of(cluster, slug(name), raised) for name, raised in kinds.items()}
    except Unavailable as reason:
        report.note(f"no Kubeflow beside ours: {reason}")
        return {}


def kubeflow_of(cluster, name, raised):
    flags = [f"--namespace={name}", *(kubeflow_operator.UNLIMITED if raised else [])]
    return kubeflow_operator.KubeflowOperator(cluster.rig, flags, name)


class Count(threading.Thread):
    """Counts what of a kind comes into a namespace."""

    def __init__(self, api, path, wanted):
        super().__init__(daemon=True)
        self.api, self.path, self.wanted = api, path, wanted
        self.version = api.get(path, limit=1)["metadata"]["resourceVersion"]
        self.reached = None
        self.start()

    def run(self):
        left = self.wanted
        for event in self.api.watch(self.path, self.version):
            left -= event["type"] == "ADDED"
            if left == 0:
                self.reached = time.monotonic()
                return

    def wait(self):
        self.join(PATIENCE)
        if self.reached is None:
            raise TimeoutError(f"{self.path}: not {self.wanted} within {PATIENCE} s")
        return self.reached


class Namespace:
    def __init__(self, cluster, name):
        self.cluster, self.name, self.api = cluster, name, cluster.rig.api
        self.rounds, self.turns = itertools.count(), itertools.count(1)
        self.path = f"/api/v1/namespaces/{name}"
        self.jobs = f"/apis/kubeflow.org/v1/namespaces/{name}/tfjobs"
        self.api.ensure("/api/v1/namespaces", {"metadata": {"name": name}})

    def job(self, name, replicas, restart="Never"):
        container = {"name": "tensorflow", "image": "any", "command": ["true"]}
        worker = {"replicas": replicas, "restartPolicy": restart, "template": {"spec": {"containers": [container]}}}
        head = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": name, "namespace": self.name}}
        return {**head, "spec": {"tfReplicaSpecs": {"Worker": worker}}}

    def time_jobs(self, count, replicas, restart="Never"):
        """Seconds from the first job until all of their pods and services are there."""
        number = next(self.rounds)
        bodies = [self.job(f"job-{number}-{i}", replicas, restart) for i in range(count)]
        return self.time_creation(bodies, count * replicas)

    def time_plain(self, bodies):
        """The same for a client that makes the very objects, jobs first. Nobody watches here."""
        bodies = [{**body, "metadata": {**body["metadata"], "namespace": self.name}} for body in bodies]
        return self.time_creation(bodies, sum(body["kind"] == "Pod" for body in bodies))

    def time_creation(self, bodies, pods):
        counts = [Count(self.api, f"{self.path}/{plural}", pods) for plural in ("pods", "services")]
        begin = self.cluster.create_all(bodies)
        return max(count.wait() for count in counts) - begin

    def objects(self):
        """All that an operator made, as it could be made again."""
        found = []
        kinds = {"TFJob": self.jobs, "Secret": f"{self.path}/secrets", "Service": f"{self.path}/services"}
        for kind, path in {**kinds, "Pod": f"{self.path}/pods"}.items():
            for item in self.api.get(path)["items"]:
                meta = {key: value for key, value in item["metadata"].items() if key not in MADE_BY_THE_SERVER}
                body = {key: item[key] for key in ("spec", "data", "type") if key in item}
                version = "kubeflow.org/v1" if kind == "TFJob" else "v1"
                found.append({**body, "apiVersion": version, "kind": kind, "metadata": meta})
        return found

    def empty(self):
        """Jobs first, or their operator would make again what is removed."""
        self.api.delete(self.jobs)
        deadline = time.monotonic() + PATIENCE
        for path in (self.jobs, f"{self.path}/pods", f"{self.path}/services", f"{self.path}/secrets"):
            if path != self.jobs and self.api.get(path, limit=1)["items"]:
                self.api.delete(path, gracePeriodSeconds=0)
            while self.api.get(path, limit=1)["items"]:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{path} is not empty after {PATIENCE} s")
                time.sleep(0.05)

    def make_finished(self, count):
        """Jobs that ended long ago, before anybody watches."""
        self.cluster.create_all([self.job(f"finished-{i}", 4) for i in range(count)])
        now = "2026-01-01T00:00:00Z"
        condition = {"type": "Succeeded", "status": "True", "reason": "TFJobSucceeded", "message": "it succeeded"}
        condition |= {"lastUpdateTime": now, "lastTransitionTime": now}
        status = {"conditions": [condition], "startTime": now, "completionTime": now}
        for i in range(count):
            self.api.patch(f"{self.jobs}/finished-{i}/status", {"status": status})

    def change_delays(self, samples):
        """Seconds from the answer to a pod's change until its job tells of it, one at a time."""
        live = [pod["metadata"] for pod in self.api.get(f"{self.path}/pods")["items"]]
        version = self.api.get(self.jobs, limit=1)["metadata"]["resourceVersion"]
        events = self.api.watch(self.jobs, version)
        for meta in itertools.islice(itertools.cycle(live), samples):
            turn = next(self.turns)
            self.api.patch(f"{self.path}/pods/{meta['name']}/status", {"status": running(turn)})
            changed = time.perf_counter()
            job = meta["ownerReferences"][0]["name"]
            next(event for event in events if restarts(event, job) == turn)
            yield time.perf_counter() - changed


def running(restarts):
    container = {"name": "tensorflow", "image": "any", "imageID": "", "ready": True, "restartCount": restarts}
    return {"phase": "Running", "containerStatuses": [{**container, "state": {"running": {}}}]}


def restarts(event, job):
    if event["object"]["metadata"].get("name") != job:
        return None
    workers = event["object"].get("status", {}).get("replicaStatuses", {}).get("Worker", {})
    return workers.get("restartCount")
