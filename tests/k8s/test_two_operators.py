"""One job, two operators: the server tells who writes its status."""

import subprocess

import pytest
from test_operator import conditions, events, job_of, job_path, names, replica, wait_until

pytestmark = pytest.mark.rig


@pytest.fixture
def start_operator(rig, namespace, capstan):
    """start_operator("--take-over"): one that ends with the test."""
    started = []

    def start(*options):
        command = [capstan, "operator", "--kubeconfig", str(rig.kubeconfig), "--namespace", namespace]
        started.append(subprocess.Popen([*command, *options]))

    yield start
    for process in started:
        process.terminate()
        process.wait(timeout=10)


def as_another_operator(rig, namespace, name):
    """Writes a condition under the name that Kubeflow's image has."""
    there = rig.api.get(job_path(namespace, name)).get("status", {}).get("conditions", [])
    condition = {"type": "Created", "status": "True", "reason": "TFJobCreated", "message": "by another one"}
    body = {"status": {"conditions": [*there, {**condition, "type": "Restarting"}] if there else [condition]}}
    rig.api.patch(f"{job_path(namespace, name)}/status", body, fieldManager="manager")


def waits():
    return {"Worker": replica(1, "any", command=["sleep", "1000"])}


def test_a_job_that_another_operator_writes_to_is_left_to_it(rig, namespace, start_operator):
    start_operator()
    rig.api.create(job_path(namespace), job_of("shared", waits()))
    rig.wait(job_path(namespace, "shared"), lambda job: ("Running", "True") in conditions(job))
    as_another_operator(rig, namespace, "shared")
    wait_until(lambda: "TFJobOfAnotherOperator" in [one["reason"] for one in events(rig, namespace)])
    rig.kubectl("delete", "pod", "-n", namespace, "shared-worker-0", "--grace-period=0", "--force")
    wait_until(lambda: names(rig, namespace) == [])
    # Meanwhile ours does what is its own.
    rig.api.create(job_path(namespace), job_of("own", waits()))
    rig.wait(job_path(namespace, "own"), lambda job: ("Running", "True") in conditions(job))
    assert names(rig, namespace) == ["own-worker-0"]
    assert conditions(rig.api.get(job_path(namespace, "shared")))[-1] == ("Restarting", "True")


def test_a_job_of_an_operator_that_is_gone_is_taken_over(rig, namespace, start_operator):
    rig.api.create(job_path(namespace), job_of("left", waits()))
    as_another_operator(rig, namespace, "left")
    start_operator("--take-over")
    rig.wait(job_path(namespace, "left"), lambda job: ("Running", "True") in conditions(job))
