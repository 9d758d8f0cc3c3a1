"""A real Kubernetes control plane on loopback, for tests: etcd, kube-apiserver, controllers, scheduler.

    python tools/k8s/rig.py build     builds the programs (once per machine)
    python tools/k8s/rig.py up        prints the path of a kubeconfig and stays until Ctrl-C

In Python: `with Rig(crds=[…]) as rig:`, then rig.kubeconfig, rig.api, rig.kubectl(…). See README.md.
"""

import argparse
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import rig_binaries
from kube_client import ApiError, KubeClient
from rig_identity import Identity
from rig_nodes import Nodes
from rig_processes import Part, last_lines

CONTROLLERS = (
    "garbage-collector-controller,namespace-controller,serviceaccount-controller,job-controller,"
    "endpoints-controller,endpointslice-controller,ttl-after-finished-controller,disruption-controller,"
    "node-lifecycle-controller,taint-eviction-controller,pod-garbage-collector-controller"
)
SYNCED = '"Caches are synced" controller="garbage collector"'
AUDIT_POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"]}
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
STARTS = 3


def free_ports(count):
    """Held all at once, so that they differ."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [probe.getsockname()[1] for probe in probes]


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


def is_established(crd):
    conditions = crd.get("status", {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


class Rig:
    """crds: YAML files, made before the controllers start (the garbage collector would notice a later
    one only after half a minute). node_grace: seconds without a sign after which a node is not ready;
    eviction: seconds that its pods may stay then. audit: keep a record of all requests (audit_log())."""

    def __init__(self, crds=(), node_grace=40, eviction=300, audit=False, schedule=True):
        self.crds, self.node_grace, self.eviction = list(crds), node_grace, eviction
        self.audit, self.schedule = audit, schedule
        self.program = rig_binaries.server()
        self.parts = {}
        self.folder = self.identity = self.nodes = self.api = self.kubeconfig = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        self.folder = Path(tempfile.mkdtemp(prefix="capstan-rig-"))
        try:
            self.identity = Identity(self.folder)
            self.identity.make()
            self.nodes = Nodes(self, heartbeat=min(10, self.node_grace / 4))
            self.start_store_and_server()
            self.make_crds()
            self.start_controllers()
        except BaseException:
            self.stop()
            raise

    def stop(self):
        if self.nodes:
            self.nodes.close()
        for part in reversed(list(self.parts.values())):
            part.kill()
        self.parts.clear()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None

    def launch(self, name, command, **options):
        part = Part(name, command, self.folder / f"{name}.log", cwd=self.folder, **options)
        self.parts[name] = part
        return part

    def start_store_and_server(self):
        """Free ports may be taken by others between finding and using them: then with new ones."""
        for attempt in range(STARTS):
            try:
                self.start_etcd()
                (self.port,) = free_ports(1)
                self.start_api_server()
                return
            except RuntimeError as error:
                if "address already in use" not in str(error) or attempt == STARTS - 1:
                    raise
                self.kill("apiserver", "etcd")
                shutil.rmtree(self.folder / "etcd", ignore_errors=True)

    def kill(self, *names):
        for name in names:
            if name in self.parts:
                self.parts.pop(name).kill()

    def start_etcd(self):
        self.etcd, peer = (f"http://127.0.0.1:{port}" for port in free_ports(2))
        flags = [f"--data-dir={self.folder / 'etcd'}", "--unsafe-no-fsync", "--log-level=warn"]
        flags += [f"--listen-client-urls={self.etcd}", f"--advertise-client-urls={self.etcd}"]
        flags += [f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"]
        etcd = self.launch("etcd", [self.program, "etcd", *flags, f"--initial-cluster=default={peer}"])
        etcd.wait_for("answer", lambda: answers(f"{self.etcd}/health"))

    def api_server_flags(self):
        identity = self.identity
        flags = {
            "etcd-servers": self.etcd,
            "bind-address": "127.0.0.1",
            "secure-port": self.port,
            "tls-cert-file": identity.server,
            "tls-private-key-file": identity.server_key,
            "client-ca-file": identity.ca,
            "token-auth-file": identity.tokens,
            "authorization-mode": "RBAC",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": identity.accounts,
            "service-account-signing-key-file": identity.accounts,
            "service-cluster-ip-range": "10.0.0.0/16",
            "endpoint-reconciler-type": "none",
            "disable-admission-plugins": "ServiceAccount",
            "default-not-ready-toleration-seconds": self.eviction,
            "default-unreachable-toleration-seconds": self.eviction,
        }
        return {**flags, **self.audit_flags()}

    def audit_flags(self):
        if not self.audit:
            return {}
        policy = self.folder / "audit.json"
        policy.write_text(json.dumps({**AUDIT_POLICY, "rules": [{"level": "Metadata"}]}))
        return {"audit-policy-file": policy, "audit-log-path": self.folder / "audit.log"}

    def start_api_server(self):
        flags = [f"--{name}={value}" for name, value in self.api_server_flags().items()]
        server = self.launch("apiserver", [self.program, "apiserver", *flags])
        token = {"token": self.identity.admin_token}
        self.url = f"https://127.0.0.1:{self.port}"
        self.kubeconfig = self.identity.kubeconfig(self.folder / "kubeconfig", self.url, token)
        self.api = KubeClient.from_kubeconfig(self.kubeconfig)
        server.wait_for("readiness", self.is_ready)

    def is_ready(self):
        try:
            return self.api.get("/readyz") == "ok" and self.api.find("/api/v1/namespaces/default") is not None
        except (ApiError, OSError, http.client.HTTPException):
            return False

    def restart_api_server(self, away=0.0):
        """Kills it, and starts it again on the same port after `away` seconds."""
        self.kill("apiserver")
        time.sleep(away)
        self.start_api_server()

    def make_crds(self):
        if not self.crds:
            return
        files = [part for path in self.crds for part in ("-f", str(path))]
        self.kubectl("apply", "--server-side", *files)
        self.wait(CRDS, lambda found: all(map(is_established, found["items"])))

    def start_controllers(self):
        """Also again, for instance after a CRD was made later."""
        self.kill("controllers", "scheduler")
        (self.folder / "controllers.log").unlink(missing_ok=True)
        common = [f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--secure-port=0"]
        # The defaults (20 and 50 requests a second) would be the slowest part of many tests.
        common += ["--kube-api-qps=1000", "--kube-api-burst=2000"]
        flags = [f"--service-account-private-key-file={self.identity.accounts}", f"--controllers={CONTROLLERS}"]
        flags += [f"--node-monitor-grace-period={self.node_grace}s"]
        flags += [f"--node-monitor-period={min(5, self.node_grace / 4)}s", "--concurrent-gc-syncs=5"]
        flags += ["--node-eviction-rate=100", "--secondary-node-eviction-rate=100"]
        controllers = self.launch("controllers", [self.program, "controllers", *common, *flags])
        if self.schedule:
            self.launch("scheduler", [self.program, "scheduler", *common])
        controllers.wait_for("synced garbage collector", lambda: SYNCED in controllers.log.read_text(errors="replace"))

    def kubectl(self, *arguments, input=None, check=True, kubeconfig=None, timeout=60):
        """The finished process; raises with its words if it fails, unless check=False."""
        command = [str(self.program), "kubectl", f"--kubeconfig={kubeconfig or self.kubeconfig}"]
        command += [f"--cache-dir={self.folder / 'kubectl'}", *map(str, arguments)]
        done = subprocess.run(command, input=input, capture_output=True, text=True, timeout=timeout)
        if check and done.returncode:
            raise RuntimeError(f"kubectl {' '.join(map(str, arguments))}: {done.stderr}")
        return done

    def service_account(self, name, rules, namespace="default", cluster_wide=True):
        """The kubeconfig of a new service account that may do what the RBAC rules say, no more."""
        scope = "" if cluster_wide else f"/namespaces/{namespace}"
        kind = "ClusterRole" if cluster_wide else "Role"
        rbac = f"/apis/rbac.authorization.k8s.io/v1{scope}"
        subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        self.api.ensure(accounts, {"metadata": {"name": name}})
        self.api.create(f"{rbac}/{kind.lower()}s", {"metadata": {"name": name}, "rules": rules})
        binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
        self.api.create(f"{rbac}/{kind.lower()}bindings", binding)
        return self.kubeconfig_of_account(name, namespace)

    def kubeconfig_of_account(self, name, namespace="default"):
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        token = self.api.create(path, {"spec": {"expirationSeconds": 86400}})["status"]["token"]
        return self.identity.kubeconfig(self.folder / f"kubeconfig-{namespace}-{name}", self.url, {"token": token})

    def kubeconfig_of_certificate(self, user, groups=()):
        """For a user who proves itself by a client certificate."""
        certificate, key = self.identity.client_certificate(user, groups)
        user_fields = {"client-certificate": str(certificate), "client-key": str(key)}
        return self.identity.kubeconfig(self.folder / f"kubeconfig-{user}", self.url, user_fields)

    def start_node(self, name="node-0", capacity=None, **flags):
        """A node that runs pods as processes (root only), announced with `capacity` beside a default:
        {"nvidia.com/gpu": "1"}. flags: back_off, back_off_limit (seconds). Also one that was killed."""
        self.nodes.start(name, capacity, **flags)

    def kill_node(self, name="node-0"):
        self.nodes.kill(name)

    def freeze_node(self, name="node-0"):
        self.nodes.freeze(name)

    def thaw_node(self, name="node-0"):
        self.nodes.thaw(name)

    def map_image(self, name, **entry):
        self.nodes.map_image(name, **entry)

    def evict(self, pod, namespace="default"):
        """Its node ends it for want of memory: Failed, reason Evicted."""
        self.nodes.post(namespace, pod, f"/rig/evict/{namespace}/{pod}")

    def kill_for_memory(self, pod, container, namespace="default"):
        """Its container ends with 137 and reason OOMKilled."""
        self.nodes.post(namespace, pod, f"/rig/oom/{namespace}/{pod}/{container}")

    def connect(self, address, port):
        """A socket to a pod's address, which this machine's own network does not reach."""
        return self.nodes.connect(address, port)

    def wait(self, path, condition, deadline=30):
        """The object at `path` once condition(object) is true; the object is None while there is none."""
        end = time.monotonic() + deadline
        while not condition(found := self.api.find(path)):
            if time.monotonic() > end:
                raise TimeoutError(f"{path} after {deadline} s: {json.dumps(found, indent=1)[-3000:]}")
            time.sleep(0.02)
        return found

    def wait_pod(self, name, condition, namespace="default", deadline=30):
        return self.wait(f"/api/v1/namespaces/{namespace}/pods/{name}", condition, deadline)

    def audit_log(self):
        """Requests as the API server recorded them, with audit=True."""
        with open(self.folder / "audit.log") as file:
            return [json.loads(line) for line in file]

    def log(self, name):
        return last_lines(self.folder / f"{name}.log", 1000)


def stay_up(options):
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with Rig(crds=options.crd) as rig:
        for index in range(options.nodes):
            rig.start_node(f"node-{index}", dict(item.split("=", 1) for item in options.capacity))
        if options.nodes and options.images:
            for name, entry in json.loads(Path(options.images).read_text()).items():
                rig.map_image(name, **entry)
        print(rig.kubeconfig, flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            pass


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="build the programs")
    build.add_argument("--kubeflow", action="store_true", help="also Kubeflow's operator")
    commands.add_parser("kubectl", help="run kubectl; all that follows is its own")
    up = commands.add_parser("up", help="start a rig")
    up.add_argument("--crd", action="append", default=[], help="a YAML file with CRDs")
    up.add_argument("--nodes", type=int, default=0, help="how many nodes that run pods (root only)")
    up.add_argument("--capacity", action="append", default=[], help="of each node, as nvidia.com/gpu=1")
    up.add_argument("--images", help="a JSON file: image name to what it runs")
    return parser.parse_args(sys.argv[1:2] if sys.argv[1:2] == ["kubectl"] else None)


def main():
    options = parse_arguments()
    try:
        program = rig_binaries.ensure_server()
        if options.command == "kubectl":
            os.execv(program, ["kubectl", "kubectl", *sys.argv[2:]])
        if options.command == "build" and options.kubeflow:
            rig_binaries.ensure_kubeflow()
        if options.command == "up":
            stay_up(options)
    except rig_binaries.Unavailable as error:
        sys.exit(f"rig: {error}")


if __name__ == "__main__":
    main()
