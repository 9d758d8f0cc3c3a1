"""Kubeflow's own operator on a rig: the oracle of the tests and the peer of the benchmark.

    with Rig(crds=kubeflow_operator.crds()) as rig, KubeflowOperator(rig) as operator: …

Its webhook is registered with no rules: what it would refuse is stored; review() asks it. It listens on
all interfaces for that, which it gives no way to change.
"""

import shutil

import rig_binaries
from kube_client import KubeClient
from rig import free_ports
from rig_nodes import require_namespaces
from rig_processes import Part

NAMESPACE = "kubeflow"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/training-operator-webhook-cert"
# It looks for its certificate below /tmp, whatever TMPDIR says: its own folder lies over that.
IN_OWN_TMP = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /tmp && exec "$@"']
UNLIMITED = ["--kube-api-qps=2000", "--kube-api-burst=4000", "--controller-threads=8"]


def crds():
    """TFJob's only: all that it watches when told so."""
    return [rig_binaries.require(rig_binaries.kubeflow_path()).parent / "crds" / "kubeflow.org_tfjobs.yaml"]


def is_running(log):
    return any("Starting workers" in line and "tfjob" in line for line in log.splitlines())


class KubeflowOperator:
    """flags: more of its own, as UNLIMITED. Root only. Of several on one rig each has a name and a namespace."""

    def __init__(self, rig, flags=(), name="kubeflow"):
        self.rig, self.flags, self.name = rig, list(flags), name
        self.program = rig_binaries.require(rig_binaries.kubeflow_path())
        self.folder = rig.folder / name
        self.part = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        require_namespaces()
        self.prepare_cluster()
        self.prepare_folder()
        ports = free_ports(3)
        self.webhook = f"https://localhost:{ports[2]}"
        flags = ["--kubeconfig=/tmp/kubeconfig", "--enable-scheme=tfjob", *self.flags]
        flags += [f"--metrics-bind-address=127.0.0.1:{ports[0]}", f"--health-probe-bind-address=127.0.0.1:{ports[1]}"]
        command = [*IN_OWN_TMP, self.folder, self.program, *flags, f"--webhook-server-port={ports[2]}"]
        log = self.rig.folder / f"{self.name}.log"
        log.unlink(missing_ok=True)
        self.part = Part(self.name, command, log)
        self.part.wait_for("running controller", lambda: is_running(log.read_text(errors="replace")), 120)

    def stop(self):
        if self.part:
            self.part.kill()
            self.part = None

    def prepare_cluster(self):
        api = self.rig.api
        api.ensure("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        api.ensure(SECRET.rpartition("/")[0], {"metadata": {"name": SECRET.rpartition("/")[2]}})
        service = {"metadata": {"name": "training-operator"}, "spec": {"ports": [{"port": 443}]}}
        api.ensure(f"/api/v1/namespaces/{NAMESPACE}/services", service)
        webhook = {"metadata": {"name": "validator.training-operator.kubeflow.org"}, "webhooks": []}
        api.ensure("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", webhook)

    def prepare_folder(self):
        """In a cluster the secret is mounted into its pod. Nobody calls the webhook: any certificate will do."""
        folder = self.folder / "k8s-webhook-server" / "serving-certs"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.rig.identity.server, folder / "tls.crt")
        shutil.copyfile(self.rig.identity.server_key, folder / "tls.key")
        shutil.copyfile(self.rig.kubeconfig, self.folder / "kubeconfig")

    def review(self, job):
        """What its webhook says of a TFJob: (allowed, message)."""
        kind = {"group": "kubeflow.org", "version": "v1"}
        request = {"uid": "1", "operation": "CREATE", "object": job, "kind": {**kind, "kind": "TFJob"}}
        request["resource"] = {**kind, "resource": "tfjobs"}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        webhook = KubeClient(self.webhook, self.rig.identity.ca.read_text())
        answer = webhook.create("/validate-kubeflow-org-v1-tfjob", review)["response"]
        return answer["allowed"], answer.get("status", {}).get("message", "")

    def memory(self):
        """Resident MiB."""
        return self.part.memory()

    def cpu_seconds(self):
        return self.part.cpu_seconds()
