"""The rig itself: what the tests of the operator take for granted."""

import json
import time

import pytest
from fault_proxy import Fault, FaultProxy
from kube_client import ApiError, KubeClient

pytestmark = pytest.mark.rig

SHELL = ["sh", "-c"]


def pod_of(name, command, container=None, **spec):
    main = {"name": "main", "image": "any", "command": command, **(container or {})}
    return {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [main], **spec}}


def create_pod(rig, namespace, *arguments, **options):
    return rig.api.create(f"/api/v1/namespaces/{namespace}/pods", pod_of(*arguments, **options))


def phase(pod):
    return pod and pod["status"]["phase"]


def state(pod):
    """Of the only container: ("running", {…}) for instance."""
    found = pod and pod["status"].get("containerStatuses")
    return next(iter(found[0]["state"].items())) if found else (None, {})


def finished(pod):
    return phase(pod) in ("Succeeded", "Failed")


def started(pod):
    return phase(pod) == "Running"


def logs(rig, namespace, pod, *options):
    return rig.kubectl("logs", "-n", namespace, pod, *options).stdout


def test_the_api_server_answers_as_its_version(rig_without_nodes):
    version = json.loads(rig_without_nodes.kubectl("version", "-o", "json").stdout)
    assert version["serverVersion"]["gitVersion"] == "v1.34.4"


def test_a_pod_runs_to_its_end_and_its_log_is_read_by_kubectl(rig, namespace):
    create_pod(rig, namespace, "p", [*SHELL, "echo one; echo two >&2; hostname"])
    pod = rig.wait_pod("p", finished, namespace)
    assert phase(pod) == "Succeeded"
    assert state(pod)[1]["reason"] == "Completed"
    assert logs(rig, namespace, "p") == "one\ntwo\np\n"
    assert logs(rig, namespace, "p", "--tail=1") == "p\n"


def test_a_pod_starts_soon_after_it_is_made(rig, namespace):
    times = []
    for index in range(5):
        begin = time.time()
        create_pod(rig, namespace, f"p{index}", ["date", "+%s.%N"])
        rig.wait_pod(f"p{index}", finished, namespace)
        times.append(float(logs(rig, namespace, f"p{index}")) - begin)
    # Alone on two cores 40 ms; here others may be at work.
    assert min(times) < 0.5, times


@pytest.mark.parametrize("command,code", [("exit 3", 3), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_the_exit_code_arrives_in_the_status(rig, namespace, command, code):
    create_pod(rig, namespace, "p", [*SHELL, command])
    pod = rig.wait_pod("p", finished, namespace)
    assert (phase(pod), state(pod)[1]["exitCode"], state(pod)[1]["reason"]) == ("Failed", code, "Error")


def test_a_command_that_is_not_there_fails_to_start(rig, namespace):
    create_pod(rig, namespace, "p", ["/no/such/program"])
    pod = rig.wait_pod("p", finished, namespace)
    assert (state(pod)[1]["exitCode"], state(pod)[1]["reason"]) == (128, "StartError")


def test_restarts_on_failure_are_counted(rig, namespace, tmp_path):
    count = f"echo x >>{tmp_path}/runs; echo run $(wc -l <{tmp_path}/runs); test $(wc -l <{tmp_path}/runs) = 4"
    create_pod(rig, namespace, "p", [*SHELL, count], restartPolicy="OnFailure")
    pod = rig.wait_pod("p", finished, namespace)
    assert phase(pod) == "Succeeded"
    status = pod["status"]["containerStatuses"][0]
    assert (status["restartCount"], status["lastState"]["terminated"]["exitCode"]) == (3, 1)
    assert logs(rig, namespace, "p") == "run 4\n"
    assert logs(rig, namespace, "p", "--previous") == "run 3\n"


def test_deletion_ends_the_process_after_a_word_of_warning(rig, namespace, tmp_path):
    trap = f"trap 'echo told >{tmp_path}/told; exit 0' TERM; echo up; sleep 100 & wait"
    create_pod(rig, namespace, "p", [*SHELL, trap])
    rig.wait_pod("p", lambda pod: started(pod) and logs(rig, namespace, "p"), namespace)
    rig.kubectl("delete", "pod", "-n", namespace, "p", "--wait=false")
    rig.wait_pod("p", lambda pod: pod is None, namespace, deadline=10)
    assert (tmp_path / "told").read_text() == "told\n"


def test_a_process_that_does_not_listen_is_killed_after_the_grace_period(rig, namespace, tmp_path):
    # The child has left its parent's session: it must go all the same.
    stubborn = f"trap '' TERM; setsid sh -c 'while :; do date >{tmp_path}/alive; sleep 0.01; done' & wait"
    create_pod(rig, namespace, "p", [*SHELL, stubborn], terminationGracePeriodSeconds=1)
    rig.wait_pod("p", lambda pod: (tmp_path / "alive").exists(), namespace)
    rig.kubectl("delete", "pod", "-n", namespace, "p", "--wait=false")
    rig.wait_pod("p", lambda pod: pod is None, namespace, deadline=10)
    (tmp_path / "alive").unlink()
    create_pod(rig, namespace, "later", ["true"])
    rig.wait_pod("later", finished, namespace)
    assert not (tmp_path / "alive").exists()


def test_what_an_owner_owned_is_collected(rig, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    owner = rig.api.create(path, {"metadata": {"name": "owner"}})["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    rig.api.create(path, {"metadata": {"name": "owned", "ownerReferences": [reference]}})
    rig.api.delete(f"{path}/owner")
    rig.wait(f"{path}/owned", lambda found: found is None, deadline=10)


SERVE = """
import socket, sys, time
server = socket.create_server(("", 2222))
while True:
    try:
        peer = socket.create_connection((sys.argv[1], 2222), timeout=5)
        break
    except OSError as error:
        time.sleep(0.05)
print("reached", sys.argv[1], peer.getpeername()[0], flush=True)
server.accept()[0].close()
"""


def create_service(rig, namespace, name, **spec):
    spec = {"clusterIP": "None", "selector": {"app": name}, "ports": [{"port": 2222}], **spec}
    rig.api.create(f"/api/v1/namespaces/{namespace}/services", {"metadata": {"name": name}, "spec": spec})


def test_two_pods_on_one_port_find_each_other_by_the_names_of_their_services(rig, namespace):
    for name, peer in (("a", f"b.{namespace}.svc"), ("b", "a")):
        create_service(rig, namespace, name)
        pod = pod_of(name, ["python3", "-c", SERVE, peer])
        pod["metadata"]["labels"] = {"app": name}
        rig.api.create(f"/api/v1/namespaces/{namespace}/pods", pod)
    a, b = (rig.wait_pod(name, finished, namespace) for name in "ab")
    assert (phase(a), phase(b)) == ("Succeeded", "Succeeded")
    assert logs(rig, namespace, "a") == f"reached b.{namespace}.svc {b['status']['podIP']}\n"


def test_a_name_that_nobody_has_is_refused_at_once(rig, namespace):
    ask = "import socket, sys\ntry: socket.gethostbyname('no.such.svc')\nexcept OSError as e: print(e.errno)"
    create_pod(rig, namespace, "p", ["python3", "-c", ask])
    rig.wait_pod("p", finished, namespace)
    assert logs(rig, namespace, "p") == "-2\n"  # EAI_NONAME


def test_a_test_reaches_a_pod_by_its_address(rig, namespace):
    create_pod(rig, namespace, "p", ["python3", "-m", "http.server", "8000"])
    pod = rig.wait_pod("p", started, namespace)

    def connected(_):
        try:
            rig.connect(pod["status"]["podIP"], 8000).close()
        except ConnectionRefusedError:
            return False
        return True

    rig.wait_pod("p", connected, namespace)


def test_secrets_and_fields_reach_a_container(rig, namespace):
    secret = {"metadata": {"name": "s"}, "stringData": {"key": "word"}}
    rig.api.create(f"/api/v1/namespaces/{namespace}/secrets", secret)
    container = {
        "env": [
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "BOTH", "value": "$(POD) $$(POD) $(NONE)"},
        ],
        "volumeMounts": [{"name": "v", "mountPath": "/deep/secret"}, {"name": "e", "mountPath": "/scratch"}],
    }
    volumes = [{"name": "v", "secret": {"secretName": "s"}}, {"name": "e", "emptyDir": {}}]
    script = "cat /deep/secret/key; echo; echo $BOTH; echo $IP; echo x >/scratch/x; ls /scratch"
    create_pod(rig, namespace, "p", [*SHELL, script], container=container, volumes=volumes)
    pod = rig.wait_pod("p", finished, namespace)
    assert logs(rig, namespace, "p") == f"word\np $(POD) $(NONE)\n{pod['status']['podIP']}\nx\n"


def test_a_pod_waits_for_a_secret_that_comes_later(rig, namespace):
    volumes = [{"name": "v", "secret": {"secretName": "late"}}]
    create_pod(rig, namespace, "p", ["true"], volumes=volumes)
    rig.wait_pod("p", lambda pod: "not found" in state(pod)[1].get("message", ""), namespace)
    rig.api.create(f"/api/v1/namespaces/{namespace}/secrets", {"metadata": {"name": "late"}})
    assert phase(rig.wait_pod("p", finished, namespace)) == "Succeeded"


def test_an_unknown_image_cannot_be_pulled(rig, namespace):
    create_pod(rig, namespace, "p", ["true"], container={"image": "nobody/knows:1"})
    rig.wait_pod("p", lambda pod: state(pod)[1].get("reason") in ("ErrImagePull", "ImagePullBackOff"), namespace)


def test_an_image_brings_its_command_folder_and_environment(rig, namespace, tmp_path):
    (tmp_path / "main.py").write_text("import os, sys; print(os.getcwd(), os.environ['MODE'], *sys.argv[1:])")
    image = {"command": ["python3", "main.py"], "args": ["x"], "workdir": "/app", "env": {"MODE": "fast"}}
    rig.map_image("own:1", mounts={"/app": str(tmp_path)}, **image)
    create_pod(rig, namespace, "p", None, container={"image": "own:1"})
    rig.wait_pod("p", finished, namespace)
    assert logs(rig, namespace, "p") == "/app fast x\n"


def test_a_gpu_is_given_to_one_pod_at_a_time(rig, namespace):
    gpu = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    create_pod(rig, namespace, "first", ["sleep", "100"], container=gpu)
    rig.wait_pod("first", started, namespace)
    create_pod(rig, namespace, "second", ["true"], container=gpu)
    second = rig.wait_pod("second", lambda pod: pod["status"].get("conditions"), namespace)
    assert second["status"]["conditions"][0]["reason"] == "Unschedulable"
    rig.api.delete(f"/api/v1/namespaces/{namespace}/pods/first")
    assert phase(rig.wait_pod("second", finished, namespace)) == "Succeeded"


def test_a_log_can_be_followed(rig, namespace, tmp_path):
    create_pod(rig, namespace, "p", [*SHELL, f"echo a; until test -e {tmp_path}/go; do sleep 0.01; done; echo b"])
    rig.wait_pod("p", started, namespace)
    follower = KubeClient.from_kubeconfig(rig.kubeconfig).connect()
    follower.request("GET", f"/api/v1/namespaces/{namespace}/pods/p/log?follow=true", headers=rig.api.headers())
    answer = follower.getresponse()
    assert answer.readline() == b"a\n"
    (tmp_path / "go").touch()
    assert answer.read() == b"b\n"
    follower.close()


def test_an_evicted_pod_has_failed_and_says_so(rig, namespace):
    create_pod(rig, namespace, "p", ["sleep", "100"])
    rig.wait_pod("p", started, namespace)
    rig.evict("p", namespace)
    pod = rig.wait_pod("p", lambda pod: finished(pod) and "terminated" in state(pod), namespace)
    assert (phase(pod), pod["status"]["reason"], state(pod)[1]["exitCode"]) == ("Failed", "Evicted", 137)


def test_a_container_killed_for_memory_says_so(rig, namespace):
    create_pod(rig, namespace, "p", ["sleep", "100"])
    rig.wait_pod("p", started, namespace)
    rig.kill_for_memory("p", "main", namespace)
    pod = rig.wait_pod("p", finished, namespace)
    assert (state(pod)[1]["reason"], state(pod)[1]["exitCode"]) == ("OOMKilled", 137)


def test_containers_that_prepare_run_first_and_in_turn(rig, namespace, tmp_path):
    def container(name, script):
        return {"name": name, "image": "any", "command": [*SHELL, script]}

    inits = [container(name, f"echo {name} >>{tmp_path}/order") for name in ("one", "two")]
    create_pod(rig, namespace, "p", [*SHELL, f"cat {tmp_path}/order"], initContainers=inits)
    rig.wait_pod("p", finished, namespace)
    assert logs(rig, namespace, "p", "-c", "main") == "one\ntwo\n"


def test_an_account_may_do_what_its_rules_say_and_no_more(rig_without_nodes, namespace):
    rig = rig_without_nodes
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    api = KubeClient.from_kubeconfig(rig.service_account(f"reader-{namespace}", rules))
    assert api.get(f"/api/v1/namespaces/{namespace}/pods")["items"] == []
    with pytest.raises(ApiError, match="403 Forbidden"):
        api.get(f"/api/v1/namespaces/{namespace}/secrets")


def test_a_user_may_prove_itself_by_a_certificate(rig_without_nodes):
    kubeconfig = rig_without_nodes.kubeconfig_of_certificate("ann", ["system:masters"])
    done = rig_without_nodes.kubectl("auth", "whoami", "-o", "json", kubeconfig=kubeconfig)
    assert json.loads(done.stdout)["status"]["userInfo"]["username"] == "ann"


def test_the_proxy_answers_with_faults_as_often_as_told(rig_without_nodes, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    with FaultProxy(rig_without_nodes) as proxy:
        api = KubeClient.from_kubeconfig(proxy.kubeconfig)
        proxy.add(Fault(method="POST", path="/configmaps$", status=409, times=2))
        for _ in range(2):
            with pytest.raises(ApiError, match="409 Conflict"):
                api.create(path, {"metadata": {"name": "c"}})
        api.create(path, {"metadata": {"name": "c"}})
        proxy.add(Fault(method="DELETE", path="/configmaps/c$", status=500, after=True))
        with pytest.raises(ApiError, match="500 InternalError"):
            api.delete(f"{path}/c")
        assert api.find(f"{path}/c") is None


def test_the_proxy_cuts_watches(rig_without_nodes, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    with FaultProxy(rig_without_nodes) as proxy:
        api = KubeClient.from_kubeconfig(proxy.kubeconfig)
        version = api.get(path)["metadata"]["resourceVersion"]
        fault = proxy.add(Fault(watch=True, cut_after=1))
        events = api.watch(path, version, timeout=300)
        api.create(path, {"metadata": {"name": "c"}})
        names = [event["object"]["metadata"]["name"] for event in events]  # ends with the watch
        assert "c" in names and fault.hits == 1


def test_pods_outlive_a_restart_of_the_api_server(new_rig, tmp_path):
    rig = new_rig()
    rig.map_image("any")
    rig.start_node()
    create_pod(rig, "default", "p", [*SHELL, f"until test -e {tmp_path}/go; do sleep 0.01; done; exit 5"])
    rig.wait_pod("p", started)
    rig.kill("apiserver")
    (tmp_path / "go").touch()
    rig.start_api_server()
    assert state(rig.wait_pod("p", finished))[1]["exitCode"] == 5


def test_a_node_that_is_gone_is_noticed_and_its_pods_are_told_to_go(new_rig, tmp_path):
    rig = new_rig(node_grace=3, eviction=0)
    rig.map_image("any")
    rig.start_node("lost")
    rig.start_node("other")  # where all nodes are lost Kubernetes blames itself and evicts nobody
    endless = [*SHELL, f"while :; do date >{tmp_path}/alive; sleep 0.01; done"]
    create_pod(rig, "default", "p", endless, nodeSelector={"kubernetes.io/hostname": "lost"})
    rig.wait_pod("p", lambda pod: started(pod) and (tmp_path / "alive").exists())
    rig.kill_node("lost")
    (tmp_path / "alive").unlink()
    rig.wait_pod("p", lambda pod: pod["metadata"].get("deletionTimestamp"), deadline=20)
    assert not (tmp_path / "alive").exists()
    rig.start_node("lost")
    rig.wait_pod("p", lambda pod: pod is None)
