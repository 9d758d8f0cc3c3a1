"""Each sentence of what a step means is tried in one process and on a cluster, by the same test."""

import threading
import time

import pytest
import tensorflow as tf


class OneProcess:
    """Every device is here. Sessions that share their state need a server; the others do without."""

    def __init__(self):
        self._server = None

    def ps(self, index=0):
        return ""

    worker = ps

    def target(self, worker=0):
        self._server = self._server or tf.train.Server.create_local_server()
        return self._server.target

    def session(self):
        return tf.Session()

    def client_environment(self):
        return {}

    def clear(self):
        pass


class OnCluster:
    def __init__(self, cluster):
        self._cluster = cluster

    def ps(self, index=0):
        return "/job:ps/task:%d" % index

    def worker(self, index=0):
        return "/job:worker/task:%d" % index

    def target(self, worker=0):
        return self._cluster.target(worker)

    def session(self):
        return tf.Session(self.target())

    def client_environment(self):
        return self._cluster.environment()

    def clear(self):
        tf.Session.reset(self.target())


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()
    yield
    tf.reset_default_graph()


@pytest.fixture(params=["one process", "cluster"])
def place(request):
    """Devices, targets and sessions."""
    if request.param == "one process":
        made = OneProcess()
    else:
        made = OnCluster(request.getfixturevalue("make_cluster")(2, 2))
    yield made
    made.clear()


class Running:
    """A call in a thread of its own."""

    def __init__(self, call, *args):
        self._result = self._error = None
        self._thread = threading.Thread(target=self._run, args=(call, args), daemon=True)
        self._thread.start()

    def _run(self, call, args):
        try:
            self._result = call(*args)
        except Exception as error:
            self._error = error

    @property
    def ended(self):
        return not self._thread.is_alive()

    def result(self, seconds=20):
        self._thread.join(seconds)
        assert self.ended, "still running after %g s" % seconds
        if self._error is not None:
            raise self._error
        return self._result


@pytest.fixture
def start():
    return Running


@pytest.fixture
def eventually():
    """Asks until the answer is yes."""

    def wait(question, seconds=20):
        deadline = time.monotonic() + seconds
        while not question():
            assert time.monotonic() < deadline, "nothing happened for %g s" % seconds

    return wait


@pytest.fixture
def put_to_stay(eventually):
    """Fills a queue whose waiting taker was cancelled. Another task learns of that a moment after the
    caller, and may until then still give the taker a value."""

    def put(sess, queue, value):
        enqueue, size = queue.enqueue(value), queue.size()
        eventually(lambda: sess.run(enqueue) is None and sess.run(size) > 0)

    return put
