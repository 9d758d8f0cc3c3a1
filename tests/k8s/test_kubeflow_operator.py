"""Kubeflow's own operator runs on the rig, so that ours can be compared with it."""

import json

import pytest

pytestmark = pytest.mark.rig

JOBS = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"


def job_of(name, container_name):
    container = {"name": container_name, "image": "any", "command": ["true"]}
    role = {"replicas": 2, "template": {"spec": {"containers": [container]}}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": name}}
    return {**job, "spec": {"tfReplicaSpecs": {"Worker": role}}}


def test_kubeflows_operator_makes_the_pods_of_a_job(kubeflow):
    kubeflow.rig.api.create(JOBS, job_of("j", "tensorflow"))
    pod = kubeflow.rig.wait_pod("j-worker-1", lambda pod: pod is not None)
    values = {item["name"]: item["value"] for item in pod["spec"]["containers"][0]["env"]}
    hosts = [f"j-worker-{index}.default.svc:2222" for index in (0, 1)]
    assert json.loads(values["TF_CONFIG"])["cluster"] == {"worker": hosts}


def test_kubeflows_webhook_says_what_it_thinks_of_a_job(kubeflow):
    assert kubeflow.review(job_of("j", "tensorflow")) == (True, "")
    allowed, message = kubeflow.review(job_of("j", "other"))
    assert not allowed and "tensorflow" in message
