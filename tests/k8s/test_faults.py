"""`capstan operator` among failures: of itself, of the API server, of the connection, of nodes.

Whatever happens, an index never has two pods, what has ended well never runs again, and every job ends
as it must. Witnesses are the API server's own watch, and the containers, which lock a file while they run.
"""

import random
import threading
import time

import pytest
from fault_proxy import Fault, FaultProxy
from tf_jobs import conditions, ended, job_of, job_path, names, runs, shell, until, wait_until

pytestmark = pytest.mark.rig

CALM = 5  # seconds after which all must be well again
TYPE, INDEX = "training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index"


def index_of(pod):
    """(the job's uid, type, index) of a replica's pod."""
    labels = pod["metadata"]["labels"]
    return pod["metadata"]["ownerReferences"][0]["uid"], labels[TYPE], labels[INDEX]


class Witness:
    """Sees every pod of a namespace come and go, and notes what must not be."""

    def __init__(self, rig, namespace):
        self.api, self.path = rig.api, f"/api/v1/namespaces/{namespace}/pods"
        self.there, self.finished, self.troubles = {}, {}, []
        self.over = False
        threading.Thread(target=self.look, daemon=True).start()

    def look(self):
        for kind, item in self.api.follow(self.path, labelSelector=TYPE):
            if self.over:
                return
            if kind == "LIST":
                self.there = {uid: index for uid, index in self.there.items() if uid in map(uid_of, item)}
            for pod in item if kind == "LIST" else [item]:
                self.see(kind, pod)

    def see(self, kind, pod):
        uid, index = uid_of(pod), index_of(pod)
        name = pod["metadata"]["name"]
        if kind == "DELETED":
            self.there.pop(uid, None)
            return
        if any(other != uid and of == index for other, of in self.there.items()):
            self.troubles.append(f"two pods at once: {name}")
        if self.finished.get(index, uid) != uid:
            self.troubles.append(f"ended well and made again: {name}")
        self.there[uid] = index
        if pod["status"].get("phase") == "Succeeded" and "deletionTimestamp" not in pod["metadata"]:
            self.finished[index] = uid


def uid_of(pod):
    return pod["metadata"]["uid"]


@pytest.fixture
def witness(rig, namespace):
    one = Witness(rig, namespace)
    yield one
    one.over = True
    assert one.troubles == []


class Work:
    """What containers do here: each holds a lock of its name, so that a second one would be noticed."""

    def __init__(self, folder):
        self.folder, self.trouble, self.stop = folder, folder / "trouble", folder / "stop"

    def script(self, what):
        lock = f'exec 9>{self.folder}/$(hostname).lock; flock -n 9 || echo "two of $(hostname)" >> {self.trouble}'
        return f"{lock}; {what}"

    def once(self, first, then="exit 0"):
        """Another deed from the second run on."""
        marker = f"{self.folder}/$(hostname).again"
        return self.script(f"if test -e {marker}; then {then}; fi; touch {marker}; {first}")

    def no_trouble(self):
        return not self.trouble.exists() or self.trouble.read_text()


@pytest.fixture
def work(tmp_path):
    one = Work(tmp_path)
    yield one
    assert one.no_trouble() is True


def various_jobs(work, count):
    """(job, the condition it must end with), of five kinds in turn."""
    workers = {"Worker": shell(2, work.script("sleep 1"))}
    kinds = [
        (lambda name: job_of(name, workers, successPolicy="AllWorkers"), "Succeeded"),
        (lambda name: job_of(name, {"Worker": shell(1, work.once("sleep 0.5; kill -9 $$"), "ExitCode")}), "Succeeded"),
        (lambda name: job_of(name, chief_and_server(work)), "Succeeded"),
        (lambda name: job_of(name, {"Worker": shell(2, work.script("sleep 0.5; exit 3"))}), "Failed"),
        (lambda name: job_of(name, endless(work), {"activeDeadlineSeconds": 2}), "Failed"),
    ]
    for i in range(count):
        make, end = kinds[i % len(kinds)]
        yield make(f"job-{i}"), end


def chief_and_server(work):
    return {"Chief": shell(1, work.script("sleep 1")), "PS": shell(1, work.script("exec sleep 1000"))}


def endless(work):
    return {"Worker": shell(1, work.script("exec sleep 1000"))}


def wait_ended(rig, namespace, name, seconds=60):
    return rig.wait(job_path(namespace, name), ended, deadline=seconds)


@pytest.mark.parametrize(("kills", "jobs"), [(3, 5), pytest.param(50, 20, marks=pytest.mark.long)])
def test_operators_killed_at_random_moments_lose_nothing(rig, namespace, operator, witness, work, kills, jobs):
    chance = random.Random(kills)
    expected = {}
    plan = list(various_jobs(work, jobs))
    for i in range(kills):
        for job, end in plan[i * jobs // kills : (i + 1) * jobs // kills]:
            rig.api.create(job_path(namespace), job)
            expected[job["metadata"]["name"]] = end
        time.sleep(chance.uniform(0, 0.6))
        operator.replace()
    for name, end in expected.items():
        job = wait_ended(rig, namespace, name)
        assert conditions(job)[-1] == (end, "True"), job
    again = rig.api.get(job_path(namespace, "job-1"))["status"]["replicaStatuses"]["Worker"]
    assert again["restartCount"] == 1
    left = {"job-3-worker-0", "job-3-worker-1"}  # those that failed are kept
    wait_until(lambda: not any("-ps-" in name for name in set(names(rig, namespace)) - left))


WRITES = "POST|PATCH|PUT|DELETE"
STORMS = {
    "409": [Fault(method=verb, status=409, chance=0.5) for verb in WRITES.split("|")],
    "409 though it was done": [Fault(method=verb, status=409, after=True, chance=0.5) for verb in WRITES.split("|")],
    "410": [Fault(method="GET", status=410, chance=0.7), Fault(watch=True, cut_after=0.1)],
    "429": [Fault(status=429, retry_after=1, chance=0.7)],
    "500": [Fault(status=500, chance=0.7)],
    "500 though it was done": [Fault(method=verb, status=500, after=True, chance=0.5) for verb in WRITES.split("|")],
    "broken connections": [Fault(drop=True, chance=0.5)],
    "broken watches": [Fault(watch=True, cut_after=0.15)],
    "late watches": [Fault(watch=True, delay=0.4)],
    "late answers": [Fault(watch=False, delay=0.3)],
}


@pytest.mark.parametrize("storm", STORMS)
def test_all_is_well_again_seconds_after_a_storm(rig, namespace, new_operator, witness, work, storm):
    jobs = [f"job-{i}" for i in range(3)]
    replicas = {"PS": shell(1, work.script("exec sleep 1000")), "Worker": shell(2, work.script(until(work.stop)))}
    pods = sorted(f"{job}-{task}" for job in jobs for task in ("ps-0", "worker-0", "worker-1"))
    with FaultProxy(rig) as proxy:
        proxy.add(*STORMS[storm])
        new_operator(proxy.kubeconfig, "--namespace", namespace)
        for job in jobs:
            rig.api.create(job_path(namespace), job_of(job, replicas, successPolicy="AllWorkers"))
        wait_until(lambda: names(rig, namespace) or sum(fault.hits for fault in STORMS[storm]) >= 10, 15)
        for pod in names(rig, namespace)[:1]:
            rig.kubectl("delete", "pod", "-n", namespace, pod, "--grace-period=1", "--wait=false")
        time.sleep(2)
        proxy.calm()
        proxy.cut_watches()  # those that are late stay so
        wait_until(lambda: is_whole(rig, namespace, pods, jobs), CALM)
        work.stop.touch()
        for job in jobs:
            assert conditions(wait_ended(rig, namespace, job))[-1] == ("Succeeded", "True")


def is_whole(rig, namespace, pods, jobs):
    """Every pod and service is there, none is on its way out, and every job says so."""
    found = rig.api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    stay = sorted(pod["metadata"]["name"] for pod in found if "deletionTimestamp" not in pod["metadata"])
    told = [conditions(rig.api.get(job_path(namespace, job)))[:1] for job in jobs]
    return stay == pods == names(rig, namespace, "services") and all(one == [("Created", "True")] for one in told)


def test_a_deadline_passes_though_nobody_watched(rig, namespace, operator, work):
    rig.api.create(job_path(namespace), job_of("late", endless(work), {"activeDeadlineSeconds": 2}))
    begun = rig.wait(job_path(namespace, "late"), runs)
    operator.kill()
    due = time.time() + 2
    assert not ended(begun)
    wait_until(lambda: time.time() > due)
    operator.start()
    job = wait_ended(rig, namespace, "late", CALM)
    assert conditions(job)[-1] == ("Failed", "True")
    assert "deadline" in job["status"]["conditions"][-1]["message"]
    wait_until(lambda: names(rig, namespace) == [], 40)


def test_a_job_goes_in_time_though_its_operator_was_replaced(rig, namespace, operator, work):
    policy = {"ttlSecondsAfterFinished": 2}
    rig.api.create(job_path(namespace), job_of("brief", {"Worker": shell(1, work.script("exit 0"))}, policy))
    wait_ended(rig, namespace, "brief")
    operator.replace()
    rig.wait(job_path(namespace, "brief"), lambda job: job is None, deadline=2 + CALM)
    wait_until(lambda: names(rig, namespace) == [])


def test_jobs_go_on_after_the_api_server_was_away(new_rig, new_operator, work):
    rig = new_rig()
    rig.start_node()
    rig.map_image("any")
    witness = Witness(rig, "default")
    new_operator(rig.kubeconfig)
    workers = {"Worker": shell(2, work.script(until(work.stop)))}
    rig.api.create(job_path("default"), job_of("before", workers, successPolicy="AllWorkers"))
    rig.wait(job_path("default", "before"), runs)
    rig.restart_api_server(away=1)
    rig.api.create(job_path("default"), job_of("after", workers, successPolicy="AllWorkers"))
    begun = time.monotonic()
    rig.wait(job_path("default", "after"), runs, deadline=30)
    print(f"a new job ran {time.monotonic() - begun:.1f} s after the server was back")
    work.stop.touch()
    for name in ("before", "after"):
        assert conditions(wait_ended(rig, "default", name))[-1] == ("Succeeded", "True")
    witness.over = True
    assert witness.troubles == []


def test_a_worker_of_a_node_that_is_gone_runs_elsewhere(new_rig, new_operator, work):
    rig = new_rig(node_grace=4, eviction=0)
    for node in ("node-0", "node-1"):
        rig.start_node(node)
    rig.map_image("any")
    new_operator(rig.kubeconfig)
    worker = shell(1, until(work.stop))
    worker["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    rig.api.create(job_path("default"), job_of("moves", {"Worker": worker}))
    first = rig.wait_pod("moves-worker-0", lambda pod: pod and pod["status"]["phase"] == "Running")
    rig.kill_node(first["spec"]["nodeName"])

    def runs_elsewhere(pod):
        return pod and uid_of(pod) != uid_of(first) and pod["status"]["phase"] == "Running"

    rig.wait_pod("moves-worker-0", runs_elsewhere, deadline=90)
    work.stop.touch()
    assert conditions(wait_ended(rig, "default", "moves"))[-1] == ("Succeeded", "True")
