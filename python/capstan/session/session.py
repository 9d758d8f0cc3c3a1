"""tf.Session: runs parts of a graph. `run` itself is the extension's, without a Python frame."""

import contextlib
import os
import weakref

from capstan import _capstan
from capstan.core import graph as graphs
from capstan.core import protos
from capstan.core.defaults import default_sessions
from capstan.core.public import public
from capstan.session import cluster, task

_live = weakref.WeakSet()


def _mark_forked():
    for alive in (*_live, *cluster._servers.values()):
        alive._mark_forked()


os.register_at_fork(after_in_child=_mark_forked)


class BaseSession(_capstan.SessionBase):
    def __new__(cls, *unused, **also_unused):
        if cls in (Session, InteractiveSession) and task.watched():
            from capstan.session import watching  # late: few sessions are watched

            cls = watching.watched_kind(cls)
        return super().__new__(cls)

    def __init__(self, target="", graph=None, config=None):
        target = target.decode() if isinstance(target, bytes) else target or ""
        if graph is None:
            graph = graphs.get_default_graph()
        elif not isinstance(graph, graphs.Graph):
            raise TypeError("Argument `graph` must be a tf.Graph, but got %r" % (graph,))
        if config is not None and not hasattr(config, "device_filters"):
            raise TypeError("Argument `config` must be a tf.ConfigProto, but got %r" % (config,))
        filters = list(config.device_filters) if config is not None else []
        threads = config.intra_op_parallelism_threads if config is not None else 0
        super().__init__(graph, target, cluster.server_for(target), filters, threads)
        if config is not None:
            self._set_timeout(config.operation_timeout_in_ms)
        task.note_session(target)
        _live.add(self)
        self._target = target
        self._config = config

    @property
    def sess_str(self):
        return self._target.encode()

    @property
    def graph_def(self):
        return self.graph.as_graph_def(add_shapes=False)

    def as_default(self):
        return default_sessions.block(self)

    def make_callable(self, fetches, feed_list=None, accept_options=False):
        keys = list(feed_list or ())

        def call(*args):
            if len(args) != len(keys):
                raise TypeError("Expected %d feeds, got %d" % (len(keys), len(args)))
            return self.run(fetches, dict(zip(keys, args)))

        return call

    def list_devices(self):
        return [
            protos.DeviceAttributes(
                name="/job:localhost/replica:0/task:0/device:CPU:0", device_type="CPU"
            )
        ]


@public(
    "Session",
    differs="of its config it heeds `device_filters`, `intra_op_parallelism_threads` and `operation_timeout_in_ms`",
)
class Session(BaseSession):
    """A session that is also a block: within it, it and its graph are the default."""

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        self._blocks = []

    def __enter__(self):
        stack = contextlib.ExitStack()
        stack.enter_context(self.graph.as_default())
        stack.enter_context(self.as_default())
        self._blocks.append(stack)
        return self

    def __exit__(self, *exception):
        self._blocks.pop().close()
        self.close()
        return False

    @staticmethod
    def reset(target, containers=None, config=None):
        _capstan.reset_containers(target, cluster.server_for(target), list(containers or ()))


class ManagedSession(Session):
    """One whose owner tells the launcher of its steps."""


@public("InteractiveSession")
class InteractiveSession(BaseSession):
    """The default session from its construction to its close."""

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        self._stack = contextlib.ExitStack()
        if graph is not None:
            self._stack.enter_context(graph.as_default())
        self._stack.enter_context(self.as_default())

    def close(self):
        super().close()
        stack, self._stack = self._stack, contextlib.ExitStack()
        stack.close()
