"""The nodes of a rig: process kubelets, the network of their pods, and what may befall them."""

import http.client
import json
import os
import signal
import socket
import ssl
import sys
import tempfile
import time
from pathlib import Path

import namespaces
from child_processes import namespace_of, processes_in
from rig_binaries import Unavailable

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
CAPACITY = {"cpu": "64", "memory": "64Gi", "pods": "1000", "ephemeral-storage": "100Gi"}
ISOLATED = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


def require_namespaces():
    if reason := namespaces.missing():
        raise Unavailable(reason)


class Nodes:
    """Of one rig, in its folder. `rig` launches the programs and knows the API server."""

    def __init__(self, rig, heartbeat):
        self.rig, self.heartbeat = rig, heartbeat
        self.folder = rig.folder / "nodes"
        self.images_file = rig.folder / "images.json"
        self.images = {}
        self.network = None
        self.parts, self.indices = {}, {}
        self.folder.mkdir()
        self.write_images()

    def write_images(self):
        beside = self.images_file.with_suffix(".new")
        beside.write_text(json.dumps(self.images))
        beside.rename(self.images_file)

    def map_image(self, name, **entry):
        """What containers of an image run; README.md has the fields. Later entries win."""
        self.images = {name: entry, **{k: v for k, v in self.images.items() if k != name}}
        self.write_images()

    def start_network(self):
        if self.network is not None:
            return
        require_namespaces()
        self.network = namespaces.new_network()
        flags = ["--kubeconfig", self.rig.kubeconfig, "--network", self.network]
        command = [sys.executable, HERE / "pod_network.py", *flags]
        part = self.rig.launch("network", command, pass_fds=(self.network,))
        part.wait_for("bridge", lambda: "ready" in part.log.read_text())

    def start(self, name, capacity, **flags):
        """Starts a node, or one that was killed again; returns when it can take pods."""
        self.start_network()
        index = self.indices.setdefault(name, len(self.indices))
        folder = self.folder / name
        (folder / "root").mkdir(parents=True, exist_ok=True)
        values = {
            "kubeconfig": self.rig.kubeconfig,
            "node": name,
            "index": index,
            "folder": folder,
            "root": folder / "root",
            "images": self.images_file,
            "capacity": json.dumps({**CAPACITY, **(capacity or {})}),
            "certificate": self.rig.identity.server,
            "key": self.rig.identity.server_key,
            "network": self.network,
            "heartbeat": self.heartbeat,
            **{flag.replace("_", "-"): value for flag, value in flags.items()},
        }
        shared = [f"--share={path}" for path in {str(REPOSITORY), tempfile.gettempdir()}]
        command = [*ISOLATED, sys.executable, "-u", HERE / "kubelet.py", *shared]
        command += [word for flag, value in values.items() for word in (f"--{flag}", value)]
        (self.rig.folder / f"{name}.log").unlink(missing_ok=True)
        part = self.parts[name] = self.rig.launch(name, command, pass_fds=(self.network,))
        part.wait_for("registration", lambda: "ready\n" in part.log.read_text(errors="replace"))

    def children_of(self, name):
        """The kubelet itself: the child of the program that made its namespaces."""
        pid = self.parts[name].pid
        try:
            return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        except OSError:
            return []

    def kubelet_pid(self, name):
        return self.children_of(name)[0]

    def kill(self, name):
        """The machine is gone at once, with all that ran on it; nobody tells the API server."""
        machine = self.processes_of(name)
        self.rig.kill(name)
        del self.parts[name]
        while machine and processes_in(machine, "pid"):
            time.sleep(0.005)

    def processes_of(self, name):
        """Which processes are the node's, as the kernel tells them apart; None of one that is gone."""
        try:
            return namespace_of(self.kubelet_pid(name), "pid")
        except (OSError, IndexError):
            return None

    def freeze(self, name):
        """Nothing is heard of the node any more, but its containers run on."""
        os.kill(self.kubelet_pid(name), signal.SIGSTOP)

    def thaw(self, name):
        os.kill(self.kubelet_pid(name), signal.SIGCONT)

    def post(self, namespace, pod, path):
        """Asks the kubelet of a pod for a fault."""
        node = self.rig.api.get(f"/api/v1/namespaces/{namespace}/pods/{pod}")["spec"]["nodeName"]
        status = self.rig.api.get(f"/api/v1/nodes/{node}")["status"]
        port = status["daemonEndpoints"]["kubeletEndpoint"]["Port"]
        context = ssl.create_default_context(cafile=self.rig.identity.ca)
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)
        connection.request("POST", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {text}")

    def connect(self, address, port, timeout=5):
        """A socket to a pod, as from a program in the cluster."""
        with namespaces.inside(self.network):
            return socket.create_connection((address, port), timeout=timeout)

    def close(self):
        for name in list(self.parts):
            self.kill(name)
        if self.network is not None:
            os.close(self.network)
            self.network = None
