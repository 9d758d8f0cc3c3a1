"""`capstan operator` against a real API server, with containers as processes."""

import json
import re
import time
from pathlib import Path

import pytest
from tf_jobs import conditions, ended, events, job_of, job_path, names, pods_in, replica, runs, shell, until, wait_until

pytestmark = pytest.mark.rig

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = ROOT.parent / "shared" / "programs" / "tfjob"
TRAINER = "trainer"  # an image that trains as seed 003 does

needs_program = pytest.mark.skipif(not PROGRAMS.exists(), reason="needs ../shared/programs/tfjob")


@pytest.fixture
def trainer(rig, capstan):
    """The image of main.py under `capstan python`; also has tensorboard."""
    command = [capstan, "python", str(PROGRAMS / "main.py")]
    rig.map_image(TRAINER, command=command, env={"PATH": f"{ROOT}/.venv/bin:/usr/bin:/bin"})
    rig.map_image("*/tf-mnist:gpu", command=command)
    return TRAINER


def answers_on(rig, namespace, pod, port):
    """Whether an HTTP server does."""
    address = rig.wait_pod(pod, lambda one: one and one["status"].get("podIP"), namespace)["status"]["podIP"]

    def asked():
        try:
            with rig.connect(address, port) as link:
                link.sendall(b"GET / HTTP/1.0\r\n\r\n")
                return link.recv(12).endswith(b" 200")
        except OSError:
            return False

    wait_until(asked, 30)
    return True


@needs_program
def test_the_job_of_the_document_is_accepted_and_succeeds(rig, namespace, operator, trainer):
    rig.kubectl("create", "-n", namespace, "-f", str(PROGRAMS / "tfjob.yaml"))
    job = rig.wait(job_path(namespace, "module6-ex1-gpu"), ended, deadline=90)
    assert conditions(job) == [("Created", "True"), ("Running", "False"), ("Succeeded", "True")]
    warnings = [one for one in events(rig, namespace) if one["reason"] == "SetPodTemplateRestartPolicy"]
    assert warnings and warnings[0]["type"] == "Warning"
    assert "spec.tfReplicaSpecs" in warnings[0]["message"] and "restartPolicy" in warnings[0]["message"]


@needs_program
def test_a_cluster_with_tensorboard_trains_to_its_end(rig, namespace, operator, trainer, tmp_path):
    model = {"name": "model", "hostPath": {"path": str(tmp_path)}}
    mount = {"name": "model", "mountPath": "/model"}

    def with_model(count):
        one = replica(count, trainer, env=[{"name": "MODEL_DIR", "value": "/model"}], volumeMounts=[mount])
        one["template"]["spec"]["volumes"] = [model]
        return one

    board = {"logDir": "/model", "image": trainer, "volumes": [model], "volumeMounts": [mount]}
    replicas = {"Master": with_model(1), "Worker": with_model(2), "PS": with_model(1)}
    rig.api.create(job_path(namespace), job_of("train", replicas, tensorboard=board))
    job = rig.wait(job_path(namespace, "train"), ended, deadline=120)
    assert conditions(job) == [("Created", "True"), ("Running", "False"), ("Succeeded", "True")]
    reached = re.search(r"model.ckpt-(\d+)", (tmp_path / "checkpoint").read_text())
    assert int(reached[1]) >= 500
    # A ps of ours ends by itself; any other is removed.
    rig.wait_pod("train-ps-0", lambda pod: not pod or pod["status"]["phase"] == "Succeeded", namespace)
    assert answers_on(rig, namespace, "train-tensorboard", 6006)
    shown = rig.kubectl("get", "tfjob", "-n", namespace).stdout
    assert "STATE" in shown and "AGE" in shown and "Succeeded" in shown, shown


def test_a_job_of_plain_containers_runs_to_its_end(rig, namespace, operator):
    replicas = {"Worker": shell(2, "echo $TF_CONFIG")}
    rig.api.create(job_path(namespace), job_of("plain", replicas))
    job = rig.wait(job_path(namespace, "plain"), ended)
    assert conditions(job)[-1] == ("Succeeded", "True")
    told = json.loads(rig.kubectl("logs", "-n", namespace, "plain-worker-0").stdout)
    assert told["task"] == {"type": "worker", "index": 0}
    assert told["cluster"]["worker"][1] == f"plain-worker-1.{namespace}.svc:2222"


def test_a_worker_that_a_signal_ends_comes_back(rig, namespace, operator, tmp_path):
    marker = tmp_path / "was_here"
    script = f"test -e {marker} && exit 0; touch {marker}; kill -9 $$"
    replicas = {"Worker": shell(1, script, "ExitCode")}
    rig.api.create(job_path(namespace), job_of("again", replicas))
    job = rig.wait(job_path(namespace, "again"), ended)
    assert conditions(job)[-1] == ("Succeeded", "True")
    assert job["status"]["replicaStatuses"]["Worker"]["restartCount"] == 1


def test_another_operator_goes_on_without_starting_a_pod_again(rig, namespace, operator, tmp_path):
    stop = tmp_path / "stop"
    rig.api.create(job_path(namespace), job_of("long", {"Worker": shell(3, until(stop))}))
    rig.wait(job_path(namespace, "long"), runs)

    def uids():
        return sorted(pod["metadata"]["uid"] for pod in pods_in(rig, namespace))

    before = uids()
    for _ in range(3):
        operator.replace()
        time.sleep(0.3)
    stop.touch()
    job = rig.wait(job_path(namespace, "long"), ended)
    assert conditions(job)[-1] == ("Succeeded", "True")
    assert set(uids()) <= set(before)


def test_a_job_goes_when_its_time_is_over_and_takes_everything_along(rig, namespace, operator):
    replicas = {"Worker": replica(1, "any", command=["true"])}
    rig.api.create(job_path(namespace), job_of("brief", replicas, {"ttlSecondsAfterFinished": 1}))
    rig.wait(job_path(namespace, "brief"), ended)
    rig.wait(job_path(namespace, "brief"), lambda job: job is None)
    wait_until(lambda: names(rig, namespace, "services") == [] and names(rig, namespace) == [])


def test_a_server_that_never_ends_is_removed_with_its_service(rig, namespace, operator):
    replicas = {"Chief": replica(1, "any", command=["true"]), "PS": replica(1, "any", command=["sleep", "1000"])}
    rig.api.create(job_path(namespace), job_of("serve", replicas))
    rig.wait(job_path(namespace, "serve"), ended)
    wait_until(lambda: names(rig, namespace) == ["serve-chief-0"])
    wait_until(lambda: names(rig, namespace, "services") == ["serve-chief-0"])


def test_a_pod_that_somebody_removes_comes_back(rig, namespace, operator, tmp_path):
    stop = tmp_path / "stop"
    rig.api.create(job_path(namespace), job_of("lost", {"Worker": shell(1, until(stop))}))
    first = rig.wait_pod("lost-worker-0", lambda pod: pod and pod["status"]["phase"] == "Running", namespace)
    rig.kubectl("delete", "pod", "-n", namespace, "lost-worker-0", "--grace-period=1")
    rig.wait_pod("lost-worker-0", lambda pod: pod and pod["metadata"]["uid"] != first["metadata"]["uid"], namespace)
    stop.touch()
    job = rig.wait(job_path(namespace, "lost"), ended)
    assert conditions(job)[-1] == ("Succeeded", "True")


def test_another_leader_takes_over(rig, namespace, new_operator):
    options = ["--namespace", namespace, "--leader-elect", "--lease-namespace", namespace]
    first = new_operator(rig.kubeconfig, *options)
    wait_until(lambda: "leads" in first.log.read_text())
    new_operator(rig.kubeconfig, *options)
    first.kill()
    rig.api.create(job_path(namespace), job_of("next", {"Worker": replica(1, "any", command=["true"])}))
    job = rig.wait(job_path(namespace, "next"), ended, deadline=15)
    assert conditions(job)[-1] == ("Succeeded", "True")


def test_the_rights_of_the_deployment_are_enough(rig, namespace, new_operator):
    rig.kubectl("apply", "-f", str(ROOT / "deploy" / "k8s" / "rbac.yaml"))
    kubeconfig = rig.kubeconfig_of_account("capstan-operator", "capstan")
    one = new_operator(kubeconfig, "--leader-elect", "--lease-namespace", "capstan")
    replicas = {"Chief": replica(1, "any", command=["true"]), "PS": replica(1, "any", command=["sleep", "1000"])}
    policy = {"ttlSecondsAfterFinished": 1}
    rig.map_image("board", env={"PATH": f"{ROOT}/.venv/bin:/usr/bin:/bin"})
    board = {"logDir": "/tmp", "image": "board"}
    rig.api.create(job_path(namespace), job_of("rights", replicas, policy, tensorboard=board))
    wait_until(lambda: names(rig, namespace) == [] and rig.api.get(job_path(namespace))["items"] == [], 40)
    assert "forbidden" not in one.log.read_text().lower()
