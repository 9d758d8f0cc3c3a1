"""The task that this process is: what it tells its launcher, how it takes leave of its cluster.

Both are the process's own, hence one object: made when a server starts or a training session
begins. A process that ends in good order says so to the tasks that only serve, which end when all
who trained have; one that fails says to the launcher why, and leaves nobody.
"""

import atexit
import contextlib
import os
import sys

from capstan import _capstan
from capstan.core import errors


class LimitReached(errors.OutOfRangeError):
    """Training has come to the launcher's limit: for the program, the end of its input. Where nobody
    catches it, it ends the process in good order."""

    step = 0


def limit_reached(step):
    error = LimitReached(
        None, None, "training ends at global step %d: the limit was reached" % step
    )
    error.step = step
    return error


class _Process:
    def __init__(self):
        self.channel = _capstan.TaskChannel()
        self.max_steps = _capstan.max_steps()
        self._pid = os.getpid()
        self._servers = []
        self._next_hook, sys.excepthook = sys.excepthook, self._on_exception
        atexit.register(self._on_exit)

    def join(self, server, waited_for):
        """A server was started. `waited_for`: others that serve end only after it has left."""
        if waited_for:
            self._servers.append(server)
        port = server.target.rpartition(":")[2]
        if port.isdigit():
            self.channel.port(int(port))

    def leave(self, server):
        """Its training has ended in good order."""
        if server in self._servers:
            self._servers.remove(server)
            server._leave()

    def serve(self, server):
        """A task that only serves from now on, and says goodbye to nobody. Whether it trained before."""
        if server in self._servers:
            self._servers.remove(server)
        self.channel.serves(bool(_targets))
        return bool(_targets)

    def _on_exception(self, kind, value, trace):
        if issubclass(kind, LimitReached):
            print("capstan: %s" % value, file=sys.stderr)
            raise SystemExit(0)  # from here the interpreter takes it as the program's own
        if not issubclass(kind, KeyboardInterrupt) and os.getpid() == self._pid:
            self.channel.error(kind.__name__, str(value))
        self._next_hook(kind, value, trace)

    def _on_exit(self):
        if os.getpid() != self._pid:
            return
        self.channel.end_at_exit()
        # What is said last was asked for first.
        for server in self._servers:
            server._leave_at_exit()


_made = []
_targets = set()  # of the sessions that this process has made on a cluster


def note_session(target):
    if target:
        _targets.add(target)


def process():
    if not _made:
        _made.append(_Process())
    return _made[0]


def watched():
    """Whether anybody wants to know the global step: a launcher, or a limit that it gave."""
    if not _made and not _capstan.watched():
        return False
    return process().channel.connected or process().max_steps > 0


@contextlib.contextmanager
def waiting_for(whom):
    """A block; what it gives is to be called when it really waits. The launcher hears of both."""
    told = []

    def say():
        if not told and watched():
            told.append(process().channel)
            told[0].waits(whom)

    try:
        yield say
    finally:
        for channel in told:
            channel.waits("")
