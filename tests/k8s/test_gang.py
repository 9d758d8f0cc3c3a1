"""Jobs whose pods are placed together, or not at all: PodGroups, and a scheduler of the test's own that heeds them."""

from pathlib import Path

import pytest
from rigs import CRDS
from tf_jobs import conditions, ended, events, job_of, job_path, names, pods_in, shell, wait_until

pytestmark = pytest.mark.rig

GROUPS = Path(__file__).resolve().parent / "pod_group_crd.yaml"
PLUGINS, VOLCANO = "scheduling.x-k8s.io/v1alpha1", "scheduling.volcano.sh/v1beta1"


@pytest.fixture
def gang_rig(new_rig):
    rig = new_rig(crds=[*CRDS, GROUPS])
    rig.start_node()
    rig.map_image("any")
    return rig


def group_path(api, name):
    return f"/apis/{api}/namespaces/default/podgroups/{name}"


def bind_whole_groups(rig):
    """As a gang scheduler does: all pods of a group are placed, once so many are there as it asks for."""
    for group in rig.api.get(f"/apis/{PLUGINS}/namespaces/default/podgroups")["items"]:
        name = group["metadata"]["name"]
        pods = [pod for pod in pods_in(rig, "default") if group_of(pod) == name]
        waiting = [pod for pod in pods if "nodeName" not in pod["spec"]]
        if len(pods) >= group["spec"]["minMember"]:
            for pod in waiting:
                bind(rig, pod["metadata"]["name"])


def group_of(pod):
    return pod["metadata"]["labels"].get("scheduling.x-k8s.io/pod-group")


def bind(rig, pod):
    target = {"apiVersion": "v1", "kind": "Node", "name": "node-0"}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
    rig.api.create(f"/api/v1/namespaces/default/pods/{pod}/binding", body)


def test_a_group_that_asks_for_too_much_waits_until_it_asks_for_less(gang_rig, new_operator):
    rig = gang_rig
    new_operator(rig.kubeconfig, "--gang-scheduler-name", "gang")
    policy = {"schedulingPolicy": {"minAvailable": 10}}
    rig.api.create(job_path("default"), job_of("gang", {"Worker": shell(2, "true")}, policy))
    wait_until(lambda: names(rig, "default") == ["gang-worker-0", "gang-worker-1"])
    assert rig.api.get(group_path(PLUGINS, "gang"))["spec"]["minMember"] == 10
    bind_whole_groups(rig)
    assert all(pod["spec"]["schedulerName"] == "gang" for pod in pods_in(rig, "default"))
    assert not any("nodeName" in pod["spec"] for pod in pods_in(rig, "default"))
    rig.api.patch(job_path("default", "gang"), {"spec": {"runPolicy": {"schedulingPolicy": {"minAvailable": 1}}}})
    rig.wait(group_path(PLUGINS, "gang"), lambda group: group["spec"]["minMember"] == 1)
    bind_whole_groups(rig)
    job = rig.wait(job_path("default", "gang"), ended)
    assert conditions(job)[-1] == ("Succeeded", "True")
    rig.wait(group_path(PLUGINS, "gang"), lambda group: group is None)


def test_volcanos_pods_come_when_their_group_has_room(gang_rig, new_operator):
    rig = gang_rig
    new_operator(rig.kubeconfig, "--gang-scheduler-name", "volcano")
    rig.api.create(job_path("default"), job_of("room", {"PS": shell(1, "exec sleep 1000"), "Worker": shell(2, "true")}))
    group = rig.wait(group_path(VOLCANO, "room"), lambda group: group is not None)
    assert group["spec"] == {"minMember": 3, "minResources": {}, "queue": "default"}
    why = {"type": "Unschedulable", "status": "True", "message": "3 of 3 pods have no room"}
    status = {"status": {"phase": "Pending", "conditions": [why]}}
    rig.api.patch(group_path(VOLCANO, "room") + "/status", status)
    wait_until(lambda: any("no room" in event["message"] for event in events(rig, "default")))
    assert names(rig, "default") == []
    rig.api.patch(group_path(VOLCANO, "room") + "/status", {"status": {"phase": "Inqueue", "conditions": []}})
    wait_until(lambda: names(rig, "default") == ["room-ps-0", "room-worker-0", "room-worker-1"])
    for pod in pods_in(rig, "default"):
        assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "room"
        bind(rig, pod["metadata"]["name"])
    job = rig.wait(job_path("default", "room"), ended)
    assert conditions(job)[-1] == ("Succeeded", "True")
