"""A kubelet for tests: a node whose containers are processes of this machine.

Rig.start_node() starts it as the first process of a process namespace with mounts of its own, so that
whatever it started ends with it. README.md says what of a pod's spec it heeds.
"""

import argparse
import http.client
import itertools
import json
import sys
import threading
import time
from pathlib import Path

import node_root
from child_processes import Children
from kube_client import ApiError, KubeClient
from log_server import Server
from pod_status import now_text
from pod_worker import PodWorker

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
HEALTHY = {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}


class Addresses:
    """10.244.(16 * index).2 and onwards: 4,000 pods until one repeats."""

    def __init__(self, index):
        self.index = index
        self.numbers = itertools.count(2)

    def take(self):
        number = next(self.numbers)
        host = self.index * 4096 + (number - 2) % 4090 + 2
        return number, f"10.244.{host // 256}.{host % 256}"


class Node:
    def __init__(self, options):
        self.name, self.index, self.folder = options.node, options.index, Path(options.folder)
        self.images, self.network = options.images, options.network
        self.back_off, self.back_off_limit = options.back_off, options.back_off_limit
        self.heartbeat = options.heartbeat
        self.capacity = json.loads(options.capacity)
        self.api = KubeClient.from_kubeconfig(options.kubeconfig)
        self.addresses = Addresses(options.index)
        self.children = Children()
        self.lock = threading.Lock()
        self.workers = {}
        self.server = Server(self, options.certificate, options.key)

    @property
    def path(self):
        return f"/api/v1/nodes/{self.name}"

    def register(self):
        labels = {"kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux"}
        self.api.ensure("/api/v1/nodes", {"metadata": {"name": self.name, "labels": labels}})
        self.report()
        # Admission puts a taint on every new node, for others to remove; here it may go at once.
        self.api.patch(self.path, {"spec": {"taints": None}})
        self.api.ensure(LEASES, {"metadata": {"name": self.name}, "spec": self.lease()})

    def report(self):
        now = now_text()
        conditions = [
            {"type": kind, "status": status, "lastHeartbeatTime": now, "lastTransitionTime": now, "reason": "Rig"}
            for kind, status in HEALTHY.items()
        ]
        status = {
            "capacity": self.capacity,
            "allocatable": self.capacity,
            "conditions": conditions,
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.server.port}},
            "nodeInfo": {"kubeletVersion": "v1.34.4", "operatingSystem": "linux"},
        }
        self.api.patch(f"{self.path}/status", {"status": status})

    def lease(self):
        renewed = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{time.time_ns() // 1000 % 10**6:06}Z"
        return {"holderIdentity": self.name, "leaseDurationSeconds": 40, "renewTime": renewed}

    def renew(self):
        while True:
            time.sleep(self.heartbeat)
            try:
                self.api.patch(f"{LEASES}/{self.name}", {"spec": self.lease()})
                ready = [c for c in self.api.get(self.path)["status"]["conditions"] if c["type"] == "Ready"]
                if ready[0]["status"] != "True":
                    self.report()
            except (ApiError, OSError, http.client.HTTPException) as error:
                print(f"no heartbeat: {error}", file=sys.stderr, flush=True)

    def see(self, pod):
        """A pod of this node is there, or has changed."""
        uid = pod["metadata"]["uid"]
        with self.lock:
            worker = self.workers.get(uid)
            if worker is None:
                worker = self.workers[uid] = PodWorker(self, pod)
                worker.start()
            else:
                worker.tell("pod", pod)

    def lose(self, uid):
        with self.lock:
            worker = self.workers.get(uid)
        if worker:
            worker.tell("gone")

    def forget(self, worker):
        with self.lock:
            self.workers.pop(worker.pod["metadata"]["uid"], None)

    def worker_named(self, namespace, name):
        with self.lock:
            found = [w for w in self.workers.values() if w.pod["metadata"]["name"] == name]
        return next((w for w in found if w.pod["metadata"]["namespace"] == namespace), None)

    def watch(self):
        for kind, item in self.api.follow("/api/v1/pods", fieldSelector=f"spec.nodeName={self.name}"):
            if kind == "LIST":
                self.compare(item)
            elif kind == "DELETED":
                self.lose(item["metadata"]["uid"])
            else:
                self.see(item)

    def compare(self, pods):
        with self.lock:
            lost = set(self.workers) - {pod["metadata"]["uid"] for pod in pods}
        for uid in lost:
            self.lose(uid)
        for pod in pods:
            self.see(pod)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("kubeconfig", "node", "folder", "root", "images", "capacity", "certificate", "key"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--index", type=int, required=True, help="which addresses its pods get")
    parser.add_argument("--network", type=int, required=True, help="descriptor of the network with the bridge")
    parser.add_argument("--share", action="append", default=[], help="a folder that is the machine's own")
    parser.add_argument("--back-off", type=float, default=0.1, help="seconds before the second restart")
    parser.add_argument("--back-off-limit", type=float, default=2)
    parser.add_argument("--heartbeat", type=float, default=10)
    return parser.parse_args()


def main():
    options = parse_arguments()
    node_root.enter(options.root, options.share)
    node = Node(options)
    node.server.serve_in_background()
    node.register()
    threading.Thread(target=node.renew, daemon=True).start()
    print("ready", flush=True)
    node.watch()


if __name__ == "__main__":
    main()
