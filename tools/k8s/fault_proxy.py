"""Stands between a client and the API server, and spoils what a test asks it to.

    with FaultProxy(rig) as proxy:
        proxy.add(Fault(method="POST", path=r"/pods$", status=409, times=3))
        proxy.add(Fault(watch=True, cut_after=0.5))
        run_operator(kubeconfig=proxy.kubeconfig)

It speaks HTTP/1.1 over TLS with the rig's certificate, and hands on who the client is only where that
stands in a header (tokens, not client certificates).
"""

import http.client
import http.server
import json
import random
import re
import ssl
import threading
import time
import urllib.parse
from dataclasses import dataclass, field

from kube_client import CLOSED_MEANWHILE

REASONS = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}


@dataclass
class Fault:
    """Which requests (all that are given must match), how often, and what befalls them.

    status: this answer instead of the server's; after=True lets the server do it first, so that only
    the answer is lost. delay: seconds before a request is handed on, or before each event of a watch.
    cut_after: seconds after which the connection breaks. drop: breaks it at once."""

    method: str = ""
    path: str = ""
    watch: bool = None
    times: int = 1 << 62
    chance: float = 1.0
    status: int = 0
    after: bool = False
    retry_after: int = 0
    delay: float = 0.0
    cut_after: float = None
    drop: bool = False
    hits: int = field(default=0, compare=False)

    def matches(self, method, path, watch):
        if self.method and self.method != method or self.watch is not None and self.watch != watch:
            return False
        return re.search(self.path, path) is not None


def status_body(fault):
    code = fault.status
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code}
    body.update(reason=REASONS.get(code, ""), message=f"the fault proxy answers {code}")
    if fault.retry_after:
        body["details"] = {"retryAfterSeconds": fault.retry_after}
    return json.dumps(body).encode()


class Cut(Exception):
    """The connection to the client is broken on purpose."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy = None

    def log_message(self, *_):
        pass

    def serve(self):
        address = urllib.parse.urlsplit(self.path)
        watch = dict(urllib.parse.parse_qsl(address.query)).get("watch") in ("1", "true")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.proxy.fault_for(self.command, address.path, watch)
        try:
            self.spoil_or_forward(fault, body, watch)
        except (Cut, OSError, http.client.HTTPException):
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    def spoil_or_forward(self, fault, body, watch):
        if fault is None:
            return self.forward(body, watch)
        if fault.drop and not fault.after:
            raise Cut
        if fault.status and not fault.after:
            return self.send_whole(fault.status, status_body(fault), self.extra_headers(fault))
        if not watch:
            time.sleep(fault.delay)
        if fault.after:
            self.ask(body).read()
            if fault.drop:
                raise Cut
            return self.send_whole(fault.status, status_body(fault), self.extra_headers(fault))
        return self.forward(body, watch, fault)

    def extra_headers(self, fault):
        headers = {"Content-Type": "application/json"}
        return {**headers, "Retry-After": str(fault.retry_after)} if fault.retry_after else headers

    def send_whole(self, status, body, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def ask(self, body):
        """The server's answer. A thread serves one client connection and keeps one to the server."""
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        headers.pop("Accept-Encoding", None)
        if self.proxy.local_connection() is None:
            self.proxy.renew_connection()
        for attempt in (1, 2):
            connection = self.proxy.local_connection()
            try:
                connection.request(self.command, self.path, body or None, headers)
                return connection.getresponse()
            except CLOSED_MEANWHILE:
                self.proxy.renew_connection()
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")

    def forward(self, body, watch, fault=None):
        try:
            answer = self.ask(body)
        except (OSError, http.client.HTTPException) as error:
            self.proxy.renew_connection()
            raise Cut from error
        headers = {name: value for name, value in answer.getheaders() if name.lower() not in HOP_BY_HOP}
        if not watch or answer.status >= 300:
            return self.send_whole(answer.status, answer.read(), headers)
        try:
            self.stream(answer, headers, fault or Fault())
        finally:
            self.proxy.renew_connection()

    def stream(self, answer, headers, fault):
        self.send_response(answer.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        with self.proxy.watching(self.connection, fault.cut_after):
            for line in answer:
                time.sleep(fault.delay)
                self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
        self.wfile.write(b"0\r\n\r\n")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    context = None

    def finish_request(self, request, client_address):
        with self.context.wrap_socket(request, server_side=True) as secure:
            super().finish_request(secure, client_address)

    def handle_error(self, request, client_address):
        pass


class Watching:
    """An open watch: breaks when its time is over, or when all are cut."""

    def __init__(self, proxy, connection, cut_after):
        self.proxy, self.connection = proxy, connection
        self.timer = threading.Timer(cut_after, self.cut) if cut_after is not None else None

    def cut(self):
        try:
            self.connection.shutdown(2)
        except OSError:
            pass

    def __enter__(self):
        with self.proxy.lock:
            self.proxy.watches.add(self)
        if self.timer:
            self.timer.start()

    def __exit__(self, *_):
        if self.timer:
            self.timer.cancel()
        with self.proxy.lock:
            self.proxy.watches.discard(self)


class FaultProxy:
    def __init__(self, rig, seed=1):
        self.rig, self.random = rig, random.Random(seed)
        self.lock = threading.Lock()
        self.local = threading.local()
        self.faults, self.watches, self.requests = [], set(), []
        self.server = Server(("127.0.0.1", 0), type("ProxyHandler", (Handler,), {"proxy": self}))
        self.server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.context.load_cert_chain(rig.identity.server, rig.identity.server_key)
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        self.kubeconfig = self.kubeconfig_like(rig.kubeconfig)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.cut_watches()
        self.server.server_close()

    def kubeconfig_like(self, path):
        """The kubeconfig of the same user, through the proxy."""
        user = json.loads(path.read_text())["users"][0]["user"]
        return self.rig.identity.kubeconfig(path.with_name(path.name + "-through-proxy"), self.url, user)

    def add(self, *faults):
        with self.lock:
            self.faults.extend(faults)
        return faults[0] if len(faults) == 1 else faults

    def calm(self):
        """No more faults."""
        with self.lock:
            self.faults.clear()

    def cut_watches(self):
        with self.lock:
            watches = list(self.watches)
        for watch in watches:
            watch.cut()

    def fault_for(self, method, path, watch):
        """The first that matches and is not used up; notes the request."""
        with self.lock:
            self.requests.append((time.monotonic(), method, path, watch))
            for fault in self.faults:
                if fault.hits < fault.times and fault.matches(method, path, watch):
                    if self.random.random() < fault.chance:
                        fault.hits += 1
                        return fault
        return None

    def watching(self, connection, cut_after):
        return Watching(self, connection, cut_after)

    def local_connection(self):
        return getattr(self.local, "connection", None)

    def renew_connection(self):
        if old := self.local_connection():
            old.close()
        context = ssl.create_default_context(cafile=self.rig.identity.ca)
        host = urllib.parse.urlsplit(self.rig.url).netloc
        self.local.connection = http.client.HTTPSConnection(host, context=context, timeout=330)
