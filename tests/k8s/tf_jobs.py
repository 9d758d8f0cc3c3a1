"""TFJobs for the tests here: made, looked at, and the operator that runs them."""

import subprocess
import time

ENDS = (("Succeeded", "True"), ("Failed", "True"))


class Operator:
    """The process, as an administrator would start it."""

    def __init__(self, program, kubeconfig, log, *options):
        self.log = log
        self.command = [program, "operator", "--kubeconfig", str(kubeconfig), *options]
        self.start()

    def start(self):
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(self.command, stderr=out)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def replace(self):
        """Another one comes after it, which knows only what the API server has."""
        self.kill()
        self.start()

    def end(self):
        self.process.terminate()
        return self.process.wait(timeout=10)


def job_path(namespace, name=""):
    return f"/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs/{name}".rstrip("/")


def replica(count, image, restart=None, **container):
    main = {"name": "tensorflow", "image": image, **container}
    spec = {"replicas": count, "template": {"spec": {"containers": [main]}}}
    return {**spec, "restartPolicy": restart} if restart else spec


def shell(count, script, restart=None):
    """Replicas that run a script, on a node with the image `any`."""
    return replica(count, "any", restart, command=["sh", "-c", script])


def until(path):
    """A script that ends well once a file is there."""
    return f"while ! test -e {path}; do sleep 0.05; done"


def job_of(name, replicas, run_policy=None, **spec):
    job = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": name}}
    job["spec"] = {"tfReplicaSpecs": replicas, **spec}
    if run_policy:
        job["spec"]["runPolicy"] = run_policy
    return job


def conditions(job):
    return [(one["type"], one["status"]) for one in (job or {}).get("status", {}).get("conditions", [])]


def ended(job):
    return any(one in conditions(job) for one in ENDS)


def runs(job):
    return ("Running", "True") in conditions(job)


def pods_in(rig, namespace):
    return rig.api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]


def events(rig, namespace):
    return rig.api.get(f"/api/v1/namespaces/{namespace}/events")["items"]


def names(rig, namespace, plural="pods"):
    return sorted(one["metadata"]["name"] for one in rig.api.get(f"/api/v1/namespaces/{namespace}/{plural}")["items"])


def wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.05)
