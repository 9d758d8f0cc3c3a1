"""The network of the rig's pods: a bridge in a network namespace, and the name server of the services.

Names answer as in a cluster (`service`, `service.namespace.svc`, …) with the addresses that the
controllers put into EndpointSlices. A service with a cluster IP answers with its pods' addresses too:
there is no kube-proxy.
"""

import argparse
import collections
import socket
import struct
import subprocess
import sys
import threading

import namespaces
from kube_client import KubeClient

BRIDGE = "pods"
GATEWAY, MASK = "10.244.0.1", "255.255.0.0"
DOMAIN = "cluster.local"
ADDRESS, NAME_ERROR, INTERNET = 1, 3, 1
SLICES = "/apis/discovery.k8s.io/v1/endpointslices"
SERVICE_LABEL = "kubernetes.io/service-name"


def resolver_file(namespace):
    """The contents of a pod's /etc/resolv.conf."""
    search = f"{namespace}.svc.{DOMAIN} svc.{DOMAIN} {DOMAIN}"
    return f"nameserver {GATEWAY}\nsearch {search}\noptions ndots:5 timeout:2\n"


class Names:
    """Which addresses a name has now."""

    def __init__(self):
        self.lock = threading.Lock()
        self.slices = {}
        self.services = collections.defaultdict(set)

    def replace(self, slices):
        with self.lock:
            self.slices.clear()
            self.services.clear()
        for item in slices:
            self.put(item)

    def key(self, item):
        meta = item["metadata"]
        return (meta["namespace"], meta.get("labels", {}).get(SERVICE_LABEL, "")), meta["name"]

    def put(self, item):
        service, name = self.key(item)
        with self.lock:
            self.slices[service[0], name] = self.hosts_of(item)
            self.services[service].add(name)

    def remove(self, item):
        service, name = self.key(item)
        with self.lock:
            self.slices.pop((service[0], name), None)
            self.services[service].discard(name)

    def hosts_of(self, item):
        ready = [e for e in item.get("endpoints") or [] if e.get("conditions", {}).get("ready", True)]
        return [(e.get("hostname"), address) for e in ready for address in e["addresses"]]

    def addresses(self, name):
        """Of `[host.]service.namespace.svc.cluster.local`; None if there is no such name."""
        labels = name.lower().rstrip(".").split(".")
        if labels[-3:] != ["svc", *DOMAIN.split(".")] or len(labels) not in (5, 6):
            return None
        *host, service, namespace = labels[:-3]
        with self.lock:
            slices = [self.slices.get((namespace, x), []) for x in self.services.get((namespace, service), ())]
        found = [address for hosts in slices for name, address in hosts if not host or name == host[0]]
        return sorted(set(found)) or None


def question_of(query):
    """(name, type, bytes of the question)."""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    kind, _ = struct.unpack_from(">HH", query, at + 1)
    return ".".join(labels), kind, query[12 : at + 5]


def answer_to(query, names):
    name, kind, question = question_of(query)
    found = names.addresses(name)
    records = [] if found is None or kind != ADDRESS else found
    flags = 0x8580 | (NAME_ERROR if found is None else 0)  # an answer with authority
    header = query[:2] + struct.pack(">HHHHH", flags, 1, len(records), 0, 0)
    body = b"".join(
        struct.pack(">HHHIH", 0xC00C, ADDRESS, INTERNET, 0, 4) + socket.inet_aton(address) for address in records
    )
    return header + question + body


def serve(server, names):
    while True:
        query, peer = server.recvfrom(4096)
        try:
            server.sendto(answer_to(query, names), peer)
        except (IndexError, struct.error, UnicodeDecodeError, OSError) as error:
            print(f"bad query from {peer}: {error}", file=sys.stderr)


def make_bridge():
    """In the network that the thread is in; returns the name server's socket."""
    namespaces.bring_up("lo")
    subprocess.run(["ip", "link", "add", BRIDGE, "type", "bridge"], check=True)
    namespaces.bring_up(BRIDGE, GATEWAY, MASK)
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((GATEWAY, 53))
    return server


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--network", type=int, required=True, help="descriptor of the namespace")
    options = parser.parse_args()
    with namespaces.inside(options.network):
        server = make_bridge()
    names = Names()
    threading.Thread(target=serve, args=(server, names), daemon=True).start()
    print("ready", flush=True)
    for kind, item in KubeClient.from_kubeconfig(options.kubeconfig).follow(SLICES):
        {"LIST": names.replace, "DELETED": names.remove}.get(kind, names.put)(item)


if __name__ == "__main__":
    main()
