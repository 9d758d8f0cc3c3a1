"""What a kubelet answers by HTTPS: the logs of its containers, to the API server; faults, to tests.

    GET  /containerLogs/<namespace>/<pod>/<container>?follow=true&tailLines=10&limitBytes=…&previous=true
    POST /rig/evict/<namespace>/<pod>              as a node under pressure does
    POST /rig/oom/<namespace>/<pod>/<container>    as the kernel does to one that takes too much memory
"""

import collections
import http.server
import ssl
import threading
import time
import urllib.parse

POLL = 0.02
CHUNK = 1 << 16


class NotFound(Exception):
    pass


def copy(file, write, limit):
    """All that is there now; returns what of the limit is left."""
    while limit > 0 and (data := file.read(min(CHUNK, limit))):
        write(data)
        limit -= len(data)
    return limit


def skip_to_last(file, count):
    """Leaves the file at the last `count` lines."""
    starts = collections.deque([0], maxlen=count + 1)
    while file.readline():
        starts.append(file.tell())
    file.seek(starts[0] if count else file.tell())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    node = None

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer({"containerLogs": self.send_log})

    def do_POST(self):
        self.answer({"rig": self.make_fault})

    def answer(self, actions):
        address = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(address.query))
        kind, *names = address.path.strip("/").split("/")
        try:
            if kind not in actions:
                raise NotFound(f"no {address.path}")
            actions[kind](names, query)
        except NotFound as error:
            self.send_text(404, str(error))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def send_text(self, code, text):
        self.send_response(code)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def worker(self, namespace, pod):
        worker = self.node.worker_named(namespace, pod)
        if worker is None:
            raise NotFound(f"no pod {namespace}/{pod} on this node")
        return worker

    def make_fault(self, names, _):
        fault, namespace, pod, *container = names
        worker = self.worker(namespace, pod)
        if fault == "evict":
            worker.tell("fail", "Evicted", "The node was low on resource: memory.")
        elif fault == "oom":
            worker.tell("oom", container[0])
        else:
            raise NotFound(f"no fault {fault}")
        self.send_text(200, "ok")

    def send_log(self, names, query):
        namespace, pod, name = names
        worker = self.worker(namespace, pod)
        container = next((c for c in worker.inits + worker.mains if c.name == name), None)
        if container is None or not worker.sandbox or not container.runs:
            raise NotFound(f"container {name} of {namespace}/{pod} has not started")
        run = container.runs - (2 if query.get("previous") == "true" else 1)
        try:
            file = open(worker.sandbox.log_path(name, run), "rb")
        except FileNotFoundError:
            raise NotFound(f"previous terminated container {name} of {namespace}/{pod} not found") from None
        with file:
            self.send_file(file, query, lambda: container.pid and container.runs == run + 1 and not worker.over)

    def send_file(self, file, query, is_running):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        limit = int(query.get("limitBytes", 1 << 62))
        if "tailLines" in query:
            skip_to_last(file, int(query["tailLines"]))
        follow = query.get("follow") == "true"
        while limit > 0:
            running = follow and is_running()
            limit = copy(file, self.send_chunk, limit)
            if not running:
                break
            time.sleep(POLL)
        self.wfile.write(b"0\r\n\r\n")

    def send_chunk(self, data):
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, node, certificate, key):
        super().__init__(("127.0.0.1", 0), type("NodeHandler", (Handler,), {"node": node}))
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)

    @property
    def port(self):
        return self.server_address[1]

    def finish_request(self, request, client_address):
        """The handshake belongs to the thread of the request, not to the one that accepts."""
        with self.context.wrap_socket(request, server_side=True) as secure:
            super().finish_request(secure, client_address)

    def handle_error(self, request, client_address):
        pass

    def serve_in_background(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
