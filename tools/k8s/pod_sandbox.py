"""Where the containers of one pod run: a network with its address, files of its own, its volumes."""

import os
import shutil
import subprocess

import namespaces
import pod_network
from container_spec import Objects, command_of, environment_of, image_of
from pod_volumes import make_mount_point, make_volumes, mounts_of


class Sandbox:
    """make() may raise NotYet and be called again."""

    def __init__(self, node, pod):
        self.node, self.pod = node, pod
        self.number, self.address = node.addresses.take()
        self.folder = node.folder / "pods" / pod["metadata"]["uid"]
        self.objects = Objects(node.api, pod["metadata"]["namespace"])
        self.network = None
        self.volumes = {}

    def make(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.volumes = make_volumes(self.pod, self.folder / "volumes", self.objects)
        if self.network is None:
            self.write_files()
            self.make_network()

    def write_files(self):
        meta = self.pod["metadata"]
        host = f"127.0.0.1 localhost\n::1 localhost\n{self.address} {self.host_name()}\n"
        (self.folder / "hosts").write_text(host)
        (self.folder / "resolv.conf").write_text(pod_network.resolver_file(meta["namespace"]))

    def host_name(self):
        return (self.pod["spec"].get("hostname") or self.pod["metadata"]["name"])[:63]

    def make_network(self):
        network = namespaces.new_network()
        outer = f"v{self.node.index}-{self.number}"
        peer = ["peer", "name", "eth0", "netns", f"/proc/self/fd/{network}"]
        command = ["ip", "link", "add", outer, "up", "master", pod_network.BRIDGE, "type", "veth", *peer]
        with namespaces.inside(self.node.network):
            self.node.children.run(command, pass_fds=(network,))
        with namespaces.inside(network):
            namespaces.bring_up("lo")
            namespaces.bring_up("eth0", self.address, pod_network.MASK)
        self.network = network

    def log_path(self, name, run):
        return self.folder / "logs" / name / f"{run}.log"

    def start(self, container, run, on_exit):
        """(pid, identity of its mounts). Raises NotYet, or OSError if the command cannot be run."""
        image = image_of(container["image"], self.node.images)
        environment = environment_of(container, image, self.pod, self.address, self.objects)
        command = command_of(container, image, environment)
        mounts = mounts_of(container, image, self.volumes)
        mounts += [(self.folder / name, f"/etc/{name}") for name in ("hosts", "resolv.conf")]
        for mount in mounts:
            make_mount_point(*mount)
        folder = container.get("workingDir") or image.get("workdir") or "/"
        path = self.log_path(container["name"], run)
        path.parent.mkdir(parents=True, exist_ok=True)

        def launch():
            self.enter(mounts)
            with open(path, "ab") as log:
                pid = self.node.children.start(
                    command, on_exit, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
            return pid, os.readlink("/proc/thread-self/ns/mnt")

        return namespaces.in_thread(launch)

    def enter(self, mounts):
        """The calling thread, and what it starts, is in the container then."""
        namespaces.enter(self.network)
        namespaces.unshare(namespaces.NEW_MOUNTS | namespaces.NEW_HOST_NAME)
        namespaces.set_host_name(self.host_name())
        for source, path in mounts:
            namespaces.bind(source, path)

    def leave_network(self):
        if self.network is not None:
            os.close(self.network)
            self.network = None

    def remove(self):
        self.leave_network()
        shutil.rmtree(self.folder, ignore_errors=True)
