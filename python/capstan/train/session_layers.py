"""Layers of a monitored session, between the program and tf.Session: one that makes a new session
when a task was lost, and one that knows the coordinator."""

from capstan.core import errors
from capstan.platform import logs
from capstan.train.coordinator import join_all

# A lost task; everything else is the program's own failure.
PREEMPTION_ERRORS = (errors.AbortedError, errors.UnavailableError)
# Threads that wait within a run are freed by closing the session; those that work get this long.
_FIRST_GRACE_SECS = 1.0


class StepContext:
    """What a step_fn works with."""

    def __init__(self, session, run_with_hooks_fn):
        self._session, self._run_with_hooks_fn = session, run_with_hooks_fn

    session = property(lambda self: self._session)

    def run_with_hooks(self, *args, **kwargs):
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self):
        raise StopIteration("step_fn has requested the iterations to stop.")


class WrappedSession:
    """A layer; closing it never fails because of a lost task."""

    def __init__(self, sess):
        self._sess = sess
        self._wrapped_is_stoppable = isinstance(sess, WrappedSession)

    graph = property(lambda self: self._sess.graph)
    sess_str = property(lambda self: self._sess.sess_str)

    def should_stop(self):
        if self._check_stop() or self._sess is None:
            return True
        return self._wrapped_is_stoppable and self._sess.should_stop()

    def _check_stop(self):
        return False

    def close(self):
        sess, self._sess = self._sess, None
        if sess is None:
            return
        try:
            sess.close()
        except PREEMPTION_ERRORS as error:
            logs.error("closing a session whose task was lost: %s", error)

    def run(self, *args, **kwargs):
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn, raw_session, run_with_hooks):
        return step_fn(StepContext(raw_session, run_with_hooks or self.run))


class RecoverableSession(WrappedSession):
    """Closes its session and makes another when a task was lost."""

    def __init__(self, sess_creator):
        self._sess_creator = sess_creator
        super().__init__(self._create_session())

    def _create_session(self):
        while True:
            try:
                return self._sess_creator.create_session()
            except PREEMPTION_ERRORS as error:
                logs.info("A task was lost while a session was made; trying again: %s", error)

    def _check_stop(self):
        try:
            return self._sess._check_stop() if self._sess else True
        except PREEMPTION_ERRORS as error:
            self._lost(error)
            self._sess = self._create_session()
            return False
        except Exception:
            return True  # run() raises it

    def _lost(self, error):
        logs.info("A task was lost; a new session is made: %s", error)
        self.close()

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        while True:
            try:
                if self._sess is None:
                    self._sess = self._create_session()
                return self._sess.run(fetches, feed_dict, options, run_metadata)
            except PREEMPTION_ERRORS as error:
                self._lost(error)

    def run_step_fn(self, step_fn, raw_session, run_with_hooks):
        while True:
            try:
                if self._sess is None:
                    self._sess = self._create_session()
                return self._sess.run_step_fn(step_fn, self._sess_creator.tf_sess, self._sess.run)
            except PREEMPTION_ERRORS as error:
                self._lost(error)


class CoordinatedSession(WrappedSession):
    """Raises what a thread reported, rather than what followed from it."""

    def __init__(self, sess, coord, stop_grace_period_secs=120):
        super().__init__(sess)
        self._coord, self._stop_grace_period_secs = coord, stop_grace_period_secs

    def _check_stop(self):
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def close(self):
        self._coord.request_stop()
        grace = self._stop_grace_period_secs
        join_all(self._coord._live_threads(), min(grace, _FIRST_GRACE_SECS))
        try:
            super().close()
        finally:
            self._coord.join(stop_grace_period_secs=grace, ignore_live_threads=True)

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        try:
            return self._sess.run(fetches, feed_dict, options, run_metadata)
        except PREEMPTION_ERRORS:
            raise
        except Exception as original:
            self._raise_preemption(original)
            raise

    def _raise_preemption(self, original):
        try:
            self._coord.raise_requested_exception()
        except PREEMPTION_ERRORS:
            raise
        except Exception:
            raise original from None
