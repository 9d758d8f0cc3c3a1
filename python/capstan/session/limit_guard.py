"""The launcher's limit for runs that wait: where others have stopped at it, nobody comes any more
who would hand out the token, or fill the queue, that a run waits for."""

import threading
import time
import weakref

from capstan import _capstan
from capstan.core import errors
from capstan.session import task

_LOOK_SECS = 0.5  # also how long a run has waited before anybody looks


class LimitGuard:
    """Ends the runs of one session that wait while the global step stands at the limit; made only
    where there is one."""

    def __init__(self, session, limit, step=None):
        self._session, self._limit, self._step = weakref.ref(session), limit, step
        self._lock = threading.Lock()
        self._runs = {}  # thread: (since when, step)
        self._ended = set()  # threads whose runs were told to end
        self._watcher = None

    def run(self, *args, step=None):
        """The session's run(*args), whose training counts `step`."""
        me, step = threading.get_ident(), self._step if step is None else step
        with self._lock:
            self._runs[me] = time.monotonic(), step
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._watch, daemon=True)
            self._watcher.start()
        try:
            return self._plain_run(*args)
        except (errors.OutOfRangeError, errors.CancelledError):
            self._forget(me)
            reached = self._value(step)
            if reached < self._limit:
                raise
        finally:
            self._forget(me)
        raise task.limit_reached(reached)

    def _forget(self, thread):
        with self._lock:
            self._runs.pop(thread, None)
            if thread in self._ended:
                self._ended.remove(thread)
                self._session()._allow_runs_of(thread)

    def _plain_run(self, *args):
        return _capstan.SessionBase.run(self._session(), *args)

    def _value(self, step):
        try:
            return int(self._plain_run(step))
        except (errors.OpError, RuntimeError):
            return 0  # the server of the step is gone, or the session is closed

    def _watch(self):
        while True:
            time.sleep(_LOOK_SECS)
            session = self._session()
            if session is None or session._closed:
                return
            self._look(session)
            del session

    def _look(self, session):
        before = time.monotonic() - _LOOK_SECS
        for thread, (since, step) in list(self._runs.items()):
            if since > before or self._value(step) < self._limit:
                continue
            with self._lock:
                if self._runs.get(thread, (None,))[0] == since:
                    self._ended.add(thread)
                    session._cancel_runs_of(thread)
