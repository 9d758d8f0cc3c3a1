"""A small client of the Kubernetes API: requests, and watches that resume."""

import base64
import http.client
import json
import ssl
import threading
import time
import urllib.parse

CLOSED_MEANWHILE = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ssl.SSLEOFError)
MERGE = "application/merge-patch+json"
STRATEGIC_MERGE = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


class ApiError(Exception):
    def __init__(self, code, status):
        super().__init__(f"{code} {status.get('reason', '')}: {status.get('message', '')}")
        self.code = code
        self.reason = status.get("reason", "")


def decode_status(data):
    try:
        status = json.loads(data)
    except ValueError:
        return {"message": data.decode(errors="replace")}
    return status if isinstance(status, dict) else {"message": str(status)}


class KubeClient:
    """Thread-safe: each thread has a connection of its own."""

    def __init__(self, server, ca=None, token=None, timeout=30):
        self.server = server
        address = urllib.parse.urlsplit(server)
        self.host, self.port, self.tls = address.hostname, address.port, address.scheme == "https"
        self.token, self.timeout = token, timeout
        self.context = ssl.create_default_context(cadata=ca) if ca else ssl.create_default_context()
        self.local = threading.local()

    @classmethod
    def from_kubeconfig(cls, path, **options):
        """Of the JSON kubeconfigs that the rig writes."""
        with open(path) as file:
            config = json.load(file)
        cluster = config["clusters"][0]["cluster"]
        ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        return cls(cluster["server"], ca, config["users"][0]["user"].get("token"), **options)

    def connect(self, timeout=None):
        timeout = timeout or self.timeout
        if self.tls:
            return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=self.context)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def headers(self, content_type=None):
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if content_type:
            headers["Content-Type"] = content_type
        return headers

    def send(self, connection, method, path, body, content_type):
        data = None if body is None else json.dumps(body).encode()
        connection.request(method, path, data, self.headers(content_type if data else None))
        return connection.getresponse()

    def exchange(self, method, path, body, content_type):
        """(status, body); once more on a new connection if a kept one was closed meanwhile."""
        kept = getattr(self.local, "connection", None)
        for connection in [kept, None] if kept else [None]:
            connection = connection or self.connect()
            self.local.connection = connection
            try:
                answer = self.send(connection, method, path, body, content_type)
                return answer.status, answer.read()
            except CLOSED_MEANWHILE:
                connection.close()
                self.local.connection = None
                if connection is not kept:
                    raise
            except BaseException:
                connection.close()
                self.local.connection = None
                raise
        raise AssertionError("unreachable")

    def request(self, method, path, body=None, content_type="application/json", **query):
        """The decoded answer; raises ApiError unless the status is 2xx."""
        if query:
            path += "?" + urllib.parse.urlencode(query)
        code, data = self.exchange(method, path, body, content_type)
        if code >= 300:
            raise ApiError(code, decode_status(data))
        return json.loads(data) if data[:1] in (b"{", b"[") else data.decode()

    def get(self, path, **query):
        return self.request("GET", path, **query)

    def create(self, path, body, **query):
        return self.request("POST", path, body, **query)

    def patch(self, path, body, content_type=MERGE, **query):
        return self.request("PATCH", path, body, content_type, **query)

    def delete(self, path, **options):
        return self.request("DELETE", path, options or None)

    def find(self, path):
        """The object, or None where there is none."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def ensure(self, path, body):
        """Creates what is not there yet."""
        try:
            return self.create(path, body)
        except ApiError as error:
            if error.code != 409:
                raise
            return None

    def watch(self, path, version, timeout=300, **query):
        """Yields events until the server ends the watch."""
        query = {**query, "watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
        query["timeoutSeconds"] = timeout
        connection = self.connect(timeout + 30)
        try:
            answer = self.send(connection, "GET", f"{path}?{urllib.parse.urlencode(query)}", None, None)
            if answer.status >= 300:
                raise ApiError(answer.status, decode_status(answer.read()))
            for line in answer:
                yield json.loads(line)
        finally:
            connection.close()

    def follow(self, path, **query):
        """Lists, then watches for ever. Yields ("LIST", items) at first and whenever events may have
        been missed, else (type, object). A server that is away is tried again."""
        while True:
            try:
                listing = self.get(path, **query)
                yield "LIST", listing["items"]
                yield from self.follow_from(path, listing["metadata"]["resourceVersion"], query)
            except (ApiError, OSError, http.client.HTTPException, ValueError):
                time.sleep(0.1)

    def follow_from(self, path, version, query):
        while True:
            for event in self.watch(path, version, **query):
                if event["type"] == "ERROR":
                    return
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    yield event["type"], event["object"]
