"""Our definition of TFJobs and the rights of the operator on a real API server."""

import json
from pathlib import Path

import pytest
from kube_client import ApiError

pytestmark = pytest.mark.rig

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT.parent / "shared" / "programs" / "tfjob" / "tfjob.yaml"


def job(version="v1", spec=None, **replicas):
    template = {"spec": {"containers": [{"name": "tensorflow", "image": "any"}]}}
    specs = {kind: {"replicas": count, "template": template} for kind, count in replicas.items()}
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": "TFJob",
        "metadata": {"name": "test"},
        "spec": {**(spec or {}), "tfReplicaSpecs": specs},
    }


def path(namespace, version="v1"):
    return f"/apis/kubeflow.org/{version}/namespaces/{namespace}/tfjobs"


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_every_version_is_taken_and_shown_in_the_stored_one(rig_without_nodes, namespace, version):
    rig_without_nodes.api.create(path(namespace, version), job(version, MASTER=1))
    stored = rig_without_nodes.api.get(path(namespace) + "/test")
    assert stored["apiVersion"] == "kubeflow.org/v1"
    assert list(stored["spec"]["tfReplicaSpecs"]) == ["MASTER"]  # as it was written


@pytest.mark.skipif(not PROGRAM.exists(), reason="the acceptance programs are not here")
def test_the_seeds_file_is_taken_as_it_is(rig_without_nodes, namespace):
    rig_without_nodes.kubectl("create", "-n", namespace, "-f", str(PROGRAM))
    stored = rig_without_nodes.api.get(path(namespace) + "/module6-ex1-gpu")
    assert stored["spec"]["tfReplicaSpecs"]["MASTER"]["template"]["spec"]["restartPolicy"] == "OnFailure"


def test_the_example_is_taken_with_nothing_pruned(rig_without_nodes, namespace):
    done = rig_without_nodes.kubectl(
        "create", "-n", namespace, "--validate=strict", "-f", str(ROOT / "examples/k8s/tfjob.yaml")
    )
    assert "created" in done.stdout


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (job(Worker=-1), "spec.tfReplicaSpecs.Worker.replicas"),
        (job(Worker=1, spec={"runPolicy": {"cleanPodPolicy": "Some"}}), "spec.runPolicy.cleanPodPolicy"),
        (job(Worker=1, spec={"runPolicy": {"managedBy": "me"}}), "spec.runPolicy.managedBy"),
        ({**job(Worker=1), "metadata": {"name": "00test"}}, "metadata.name"),
        ({**job(), "spec": {}}, "spec.tfReplicaSpecs"),
    ],
    ids=["negative", "word", "manager", "name", "none"],
)
def test_what_is_wrong_is_refused_with_its_path(rig_without_nodes, namespace, wrong, said):
    with pytest.raises(ApiError, match=said):
        rig_without_nodes.api.create(path(namespace), wrong)


def test_who_manages_a_job_cannot_be_changed(rig_without_nodes, namespace):
    ours, other = "kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"
    rig_without_nodes.api.create(path(namespace), job(Worker=1, spec={"runPolicy": {"managedBy": ours}}))
    with pytest.raises(ApiError, match="cannot be changed"):
        rig_without_nodes.api.patch(path(namespace) + "/test", {"spec": {"runPolicy": {"managedBy": other}}})


def test_state_and_age_are_shown(rig_without_nodes, namespace):
    rig_without_nodes.api.create(path(namespace), job(Worker=1))
    one = {"type": "Running", "status": "True", "reason": "TFJobRunning", "message": "m"}
    rig_without_nodes.api.patch(path(namespace) + "/test/status", {"status": {"conditions": [one]}})
    lines = rig_without_nodes.kubectl("get", "tfjob", "-n", namespace).stdout.splitlines()
    assert lines[0].split() == ["NAME", "STATE", "AGE"] and lines[1].split()[:2] == ["test", "Running"]


def test_workers_are_scaled_through_the_subresource(rig_without_nodes, namespace):
    rig_without_nodes.api.create(path(namespace), job(Worker=1))
    rig_without_nodes.kubectl("scale", "tfjob", "test", "-n", namespace, "--replicas=3")
    assert rig_without_nodes.api.get(path(namespace) + "/test")["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 3


def test_kubectl_explains_the_fields(rig_without_nodes):
    text = rig_without_nodes.kubectl("explain", "tfjob.spec.runPolicy.restartScope").stdout
    assert "Replica (it alone, the" in " ".join(text.split())
    assert "cleanPodPolicy" in rig_without_nodes.kubectl("explain", "tfjob.spec.runPolicy").stdout


def test_the_files_of_the_operator_are_taken(rig_without_nodes):
    for name in ("rbac.yaml", "operator.yaml", "crd.yaml"):
        done = rig_without_nodes.kubectl("apply", "--validate=strict", "-f", str(ROOT / "deploy/k8s" / name))
        assert done.returncode == 0
    role = json.loads(rig_without_nodes.kubectl("get", "clusterrole", "capstan-operator", "-o", "json").stdout)
    assert role["rules"]
    rig_without_nodes.kubectl("delete", "-f", str(ROOT / "deploy/k8s/operator.yaml"))
