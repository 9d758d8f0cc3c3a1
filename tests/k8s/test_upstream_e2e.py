"""What upstream tests on a whole cluster, with pods that run and do as they are told (stub_server.py)."""

import json
import sys
from pathlib import Path

import pytest
from tf_jobs import conditions, ended, events, job_of, job_path, names, pods_in, replica, runs, shell, wait_until

pytestmark = [pytest.mark.rig, pytest.mark.long]

STUB = Path(__file__).resolve().parent / "stub_server.py"


class Stubs:
    """Replicas of an image that listens."""

    def __init__(self, rig, namespace):
        self.rig, self.namespace = rig, namespace
        rig.map_image("stub", command=[sys.executable, str(STUB)])

    def make(self, name, replicas, run_policy=None, **spec):
        self.rig.api.create(job_path(self.namespace), job_of(name, replicas, run_policy, **spec))
        count = sum(one["replicas"] for one in replicas.values())
        wait_until(lambda: sum(self.is_up(pod) for pod in pods_in(self.rig, self.namespace)) == count, 40)

    def is_up(self, pod):
        if pod["status"].get("phase") != "Running":
            return False
        try:
            return self.ask(pod["metadata"]["name"], "/tfconfig") != ""
        except OSError:
            return False

    def ask(self, pod, path):
        found = self.rig.api.get(f"/api/v1/namespaces/{self.namespace}/pods/{pod}")
        with self.rig.connect(found["status"]["podIP"], 2222) as link:
            link.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            return link.makefile().read().partition("\n\n")[2]

    def end(self, pod, code):
        assert self.ask(pod, f"/exit?code={code}") == "bye"

    def wait_ended(self, name):
        return self.rig.wait(job_path(self.namespace, name), ended)


@pytest.fixture
def stubs(rig, namespace, operator):
    return Stubs(rig, namespace)


def test_every_pod_and_service_is_told_of_once(rig, namespace, operator):
    replicas = {"Chief": shell(1, "true"), "PS": shell(2, "exec sleep 1000"), "Worker": shell(4, "true")}
    rig.api.create(job_path(namespace), job_of("simple", replicas))
    job = rig.wait(job_path(namespace, "simple"), ended, deadline=60)
    assert conditions(job)[-1] == ("Succeeded", "True")

    def told(reason):
        return sorted(one["message"].rpartition(" ")[2] for one in events(rig, namespace) if one["reason"] == reason)

    tasks = ["chief-0", "ps-0", "ps-1", "worker-0", "worker-1", "worker-2", "worker-3"]
    wait_until(lambda: told("SuccessfulCreatePod") == [f"simple-{task}" for task in tasks])
    assert told("SuccessfulCreateService") == [f"simple-{task}" for task in tasks]


def test_workers_alone_find_each_other_by_name(rig, namespace, operator, tmp_path):
    ask = (
        "import json,os,socket;"
        "t=json.loads(os.environ['TF_CONFIG']);"
        "[socket.getaddrinfo(a.split(':')[0],1) for a in t['cluster']['worker']]"
    )
    # Who has ended has no address any more: each stays until all have found all.
    found = f"touch {tmp_path}/$(hostname); until test $(ls {tmp_path} | grep -c peers) = 3; do sleep 0.1; done"
    script = f'until {sys.executable} -c "{ask}" 2>/dev/null; do sleep 0.1; done; {found}'
    rig.api.create(job_path(namespace), job_of("peers", {"Worker": shell(3, script)}, successPolicy="AllWorkers"))
    job = rig.wait(job_path(namespace, "peers"), ended, deadline=60)
    assert conditions(job)[-1] == ("Succeeded", "True")


def test_a_chief_that_ends_well_ends_the_job(stubs):
    stubs.make("chief", {"Chief": replica(1, "stub"), "Worker": replica(2, "stub")})
    stubs.end("chief-chief-0", 0)
    assert conditions(stubs.wait_ended("chief"))[-1] == ("Succeeded", "True")


def test_without_a_chief_the_first_worker_ends_the_job_while_others_run(stubs):
    stubs.make("first", {"Worker": replica(3, "stub")})
    stubs.end("first-worker-0", 0)
    assert conditions(stubs.wait_ended("first"))[-1] == ("Succeeded", "True")


def test_pods_are_cleaned_as_the_policy_says(rig, namespace, operator):
    replicas = {"Chief": shell(1, "sleep 5"), "Worker": shell(1, "true"), "PS": shell(1, "exec sleep 1000")}
    left = {"All": set(), "Running": {"chief-0", "worker-0"}, "None": {"chief-0", "worker-0", "ps-0"}}
    for policy in left:
        rig.api.create(job_path(namespace), job_of(policy.lower(), replicas, {"cleanPodPolicy": policy}))
    for policy, tasks in left.items():
        rig.wait(job_path(namespace, policy.lower()), ended, deadline=60)
        wanted = {f"{policy.lower()}-{task}" for task in tasks}
        wait_until(lambda p=policy, w=wanted: {n for n in names(rig, namespace) if n.startswith(p.lower())} == w, 40)
    servers = rig.api.get(f"/api/v1/namespaces/{namespace}/pods/none-ps-0")
    assert servers["status"]["phase"] == "Running"


RESTARTS = [
    ("Always", 0, True),
    ("Always", 1, True),
    ("OnFailure", 1, True),
    ("OnFailure", 0, False),
    ("Never", 1, False),
    ("ExitCode", 1, False),
    ("ExitCode", 130, True),
]


@pytest.mark.parametrize(("policy", "code", "again"), RESTARTS)
def test_a_server_that_ends_is_started_again_as_its_policy_says(stubs, policy, code, again):
    stubs.make("ends", {"Chief": replica(1, "stub"), "PS": replica(1, "stub", policy)})
    before = began(stubs, "ends-ps-0")
    stubs.end("ends-ps-0", code)
    if again:
        wait_until(lambda: began(stubs, "ends-ps-0") not in (before, None), 30)
        stubs.rig.wait(job_path(stubs.namespace, "ends"), runs)
    elif code:
        assert conditions(stubs.wait_ended("ends"))[-1] == ("Failed", "True")
    else:
        path = job_path(stubs.namespace, "ends")
        stubs.rig.wait(path, lambda job: job["status"]["replicaStatuses"]["PS"].get("succeeded") == 1)
        assert began(stubs, "ends-ps-0") in (before, None)


def began(stubs, pod):
    """Which run of the container this is, while it runs."""
    found = stubs.rig.api.find(f"/api/v1/namespaces/{stubs.namespace}/pods/{pod}") or {"status": {}}
    statuses = found["status"].get("containerStatuses") or [{"state": {}}]
    if "running" not in statuses[0]["state"]:
        return None
    return found["metadata"]["uid"], statuses[0]["restartCount"]


def test_every_replica_sees_its_role_and_the_cluster(stubs):
    """What an Estimator's RunConfig takes from TF_CONFIG."""
    replicas = {"Chief": replica(1, "stub"), "PS": replica(1, "stub"), "Worker": replica(2, "stub")}
    stubs.make("roles", {**replicas, "Evaluator": replica(1, "stub")})

    def hosts(task, count):
        return [f"roles-{task}-{i}.{stubs.namespace}.svc:2222" for i in range(count)]

    cluster = {"chief": hosts("chief", 1), "evaluator": hosts("evaluator", 1)}
    cluster |= {"ps": hosts("ps", 1), "worker": hosts("worker", 2)}
    for task, index in (("chief", 0), ("ps", 0), ("worker", 0), ("worker", 1), ("evaluator", 0)):
        told = json.loads(stubs.ask(f"roles-{task}-{index}", "/tfconfig"))
        assert told == {"cluster": cluster, "task": {"type": task, "index": index}, "environment": "cloud"}
