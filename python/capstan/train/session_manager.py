"""tf.train.SessionManager: sessions that are initialised or restored, or that wait until others
have done so."""

import sys
import time

from capstan.core import errors
from capstan.core import graph as graphs
from capstan.core.public import public
from capstan.files import checkpoints
from capstan.platform import logs
from capstan.session import cluster, task
from capstan.session.session import ManagedSession

_FIRST_WAIT_SECS, _LONGEST_WAIT_SECS = 0.05, 1.0
_SAY_SECS = 5.0
_CHIEF_ADVICE = "; the chief is the task whose program says is_chief=True: does one run?"


class _Waiting:
    """Waits a little longer each time, never beyond `at_most`; says every 5 s what it waits for."""

    def __init__(self, at_most, max_wait_secs=None):
        self._pause = _FIRST_WAIT_SECS
        self._longest = min(_LONGEST_WAIT_SECS, at_most)
        self._start = self._said = time.monotonic()
        self._end = self._start + (float("inf") if max_wait_secs is None else max_wait_secs)

    def wait(self, what, advice=""):
        """False once the time is over."""
        now = time.monotonic()
        if now >= self._end:
            return False
        if now - self._said >= _SAY_SECS:
            self._said = now
            waited = now - self._start
            sys.stderr.write("capstan: waiting for %s for %d s%s\n" % (what, waited, advice))
            sys.stderr.flush()
        time.sleep(min(self._pause, self._longest, self._end - now))
        self._pause *= 1.5
        return True


@public("train.SessionManager")
class SessionManager:
    """Makes sessions ready: the chief's by restoring or initialising, others' by waiting."""

    def __init__(
        self,
        local_init_op=None,
        ready_op=None,
        ready_for_local_init_op=None,
        graph=None,
        recovery_wait_secs=30,
        local_init_run_options=None,
        local_init_feed_dict=None,
    ):
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , "
                "ready_for_local_init_op [%s]" % ready_for_local_init_op
            )
        self._local_init_op, self._ready_op = local_init_op, ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = graph or graphs.get_default_graph()
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options
        self._local_init_feed_dict = local_init_feed_dict

    # --- The chief --------------------------------------------------------------------------------

    def prepare_session(
        self,
        master,
        init_op=None,
        saver=None,
        checkpoint_dir=None,
        checkpoint_filename_with_path=None,
        wait_for_checkpoint=False,
        max_wait_secs=7200,
        config=None,
        init_feed_dict=None,
        init_fn=None,
    ):
        """A session whose model is restored from the newest checkpoint, else initialised."""
        sess, restored = self._restore_checkpoint(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        if not restored:
            self._initialise(sess, init_op, init_feed_dict, init_fn)
        done, why = self._try_run_local_init_op(sess)
        if not done:
            raise RuntimeError(
                "Init operations did not make model ready for local_init.  Init op: %s, init "
                "fn: %s, error: %s" % (_name(init_op), init_fn, why)
            )
        ready, why = self._model_ready(sess)
        if not ready:
            raise RuntimeError(
                "Init operations did not make model ready.  Init op: %s, init fn: %s, "
                "local_init_op: %s, error: %s"
                % (_name(init_op), init_fn, _name(self._local_init_op), why)
            )
        return sess

    def _initialise(self, sess, init_op, init_feed_dict, init_fn):
        if init_op is None and not init_fn and self._local_init_op is None:
            raise RuntimeError(
                "Model is not initialized and no init_op or init_fn or local_init_op was given"
            )
        if init_op is not None:
            sess.run(init_op, init_feed_dict)
        if init_fn:
            init_fn(sess)

    def recover_session(
        self,
        master,
        saver=None,
        checkpoint_dir=None,
        checkpoint_filename_with_path=None,
        wait_for_checkpoint=False,
        max_wait_secs=7200,
        config=None,
    ):
        """(session, whether it was restored and is ready)"""
        sess, restored = self._restore_checkpoint(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        done, why = self._try_run_local_init_op(sess)
        if not restored:
            return sess, False
        ready, why = self._model_ready(sess) if done else (False, why)
        if not ready:
            logs.info(
                "Restoring model from %s did not make model ready: %s",
                checkpoint_dir or checkpoint_filename_with_path,
                why,
            )
            return sess, False
        logs.info("Restored model from %s", checkpoint_dir or checkpoint_filename_with_path)
        return sess, True

    def _restore_checkpoint(
        self,
        master,
        saver,
        checkpoint_dir,
        checkpoint_filename_with_path,
        wait_for_checkpoint,
        max_wait_secs,
        config,
    ):
        sess = self._session(master, config)
        if checkpoint_dir and checkpoint_filename_with_path:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        if not saver or not (checkpoint_dir or checkpoint_filename_with_path):
            return sess, False
        if checkpoint_filename_with_path:
            saver.restore(sess, checkpoint_filename_with_path)
            return sess, True
        state, recorded = self._checkpoint_state(checkpoint_dir, wait_for_checkpoint, max_wait_secs)
        if state is None:
            return sess, False
        saver.restore(sess, state.model_checkpoint_path)
        # What no state file names may be kept for good, or be somebody else's: it is not removed.
        if recorded:
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return sess, True

    def _checkpoint_state(self, checkpoint_dir, wait_for_checkpoint, max_wait_secs):
        waiting = _Waiting(self._recovery_wait_secs, max_wait_secs)
        while True:
            state, recorded = checkpoints.look_into_folder(checkpoint_dir)
            if state:
                return state, recorded
            if not wait_for_checkpoint or not waiting.wait("a checkpoint in %s" % checkpoint_dir):
                return None, recorded

    def _session(self, master, config):
        return ManagedSession(master, graph=self._graph, config=config)

    # --- Everybody else ---------------------------------------------------------------------------

    def wait_for_session(self, master, config=None, max_wait_secs=float("Inf")):
        """A session, once the chief has initialised the model. Asks often at first, so that a
        worker starts within a second of its chief."""
        sess = self._session(master, config)
        try:
            with task.waiting_for("chief") as say:
                self._wait_until_ready(sess, cluster.chief_of(master), max_wait_secs, say)
            return sess
        except BaseException:
            sess.close()
            raise

    def _wait_until_ready(self, sess, chief, max_wait_secs, say):
        waiting = _Waiting(self._recovery_wait_secs, max_wait_secs)
        while True:
            gone = chief.has_left()  # before we look: its last act may have been to initialise
            is_ready, why = self._ready_for_all(sess)
            if is_ready:
                return
            if gone:
                raise errors.FailedPreconditionError(
                    None,
                    None,
                    "%s has ended, the chief, and nobody else initialises the model (%s); start all "
                    "tasks of the job again" % (chief.name, why),
                )
            say()
            what = "the chief to initialise the model (%s)" % why
            if not waiting.wait(what, _CHIEF_ADVICE):
                raise errors.DeadlineExceededError(
                    None,
                    None,
                    "Session was not ready after waiting %s secs: %s" % (max_wait_secs, why),
                )

    def _ready_for_all(self, sess):
        is_ready, why = self._try_run_local_init_op(sess)
        return self._model_ready(sess) if is_ready else (is_ready, why)

    # --- Readiness --------------------------------------------------------------------------------

    def _model_ready(self, sess):
        return ready(self._ready_op, sess)

    def _model_ready_for_local_init(self, sess):
        return ready(self._ready_for_local_init_op, sess)

    def _try_run_local_init_op(self, sess):
        if self._local_init_op is None:
            return True, None
        is_ready, why = self._model_ready_for_local_init(sess)
        if is_ready:
            sess.run(self._local_init_op, self._local_init_feed_dict, self._local_init_run_options)
        return is_ready, why


def _name(op):
    return getattr(op, "name", op)


def ready(op, sess):
    """(whether the op names no variable as uninitialised, which it names)"""
    if op is None:
        return True, None
    try:
        missing = sess.run(op)
    except errors.FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            raise
        return False, str(error)
    if missing is None or missing.dtype.kind in "iu" or missing.size == 0:
        return True, None
    names = [name.decode() if isinstance(name, bytes) else str(name) for name in missing.ravel()]
    return False, "Variables not initialized: " + ", ".join(names)
