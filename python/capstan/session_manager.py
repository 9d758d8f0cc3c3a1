"""Gets a session ready: the chief initialises or restores, the others wait for it."""

import sys
import time

import numpy as np

from capstan import errors, saver as savers
from capstan.session import Session

# How long a waiting worker sleeps between two looks at the variables, in seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
_NOTICE_EVERY = 5.0


def _missing(sess, ready_op):
    """What is not ready yet, as text; empty when all is."""
    if ready_op is None:
        return ""
    try:
        names = sess.run(ready_op)
    except errors.FailedPreconditionError as error:
        return str(error)
    if names is None or (getattr(names, "dtype", None) is not None and names.dtype.kind == "O"
                         and not np.size(names)) or not np.size(names):
        return ""
    return ", ".join(n.decode() if isinstance(n, bytes) else str(n) for n in np.ravel(names))


class SessionManager:
    def __init__(self, local_init_op=None, ready_op=None, ready_for_local_init_op=None, graph=None,
                 recovery_wait_secs=30, local_init_run_options=None):
        self._local_init_op, self._ready_op = local_init_op, ready_op
        self._ready_for_local_init_op, self._graph = ready_for_local_init_op, graph

    def _restore(self, sess, saver, checkpoint_dir, checkpoint_filename_with_path, wait, max_wait_secs):
        if checkpoint_filename_with_path:
            saver.restore(sess, checkpoint_filename_with_path)
            return True
        if not saver or not checkpoint_dir:
            return False
        deadline = time.time() + max_wait_secs
        state = savers.get_checkpoint_state(checkpoint_dir)
        while not (state and state.model_checkpoint_path):
            if not wait or time.time() > deadline:
                return False
            time.sleep(_LONGEST_PAUSE)
            state = savers.get_checkpoint_state(checkpoint_dir)
        saver.restore(sess, state.model_checkpoint_path)
        saver.recover_last_checkpoints(list(state.all_model_checkpoint_paths))
        return True

    def prepare_session(self, master, init_op=None, saver=None, checkpoint_dir=None,
                        checkpoint_filename_with_path=None, wait_for_checkpoint=False,
                        max_wait_secs=7200, config=None, init_feed_dict=None, init_fn=None):
        """The chief's way."""
        sess = Session(master, graph=self._graph, config=config)
        loaded = self._restore(sess, saver, checkpoint_dir, checkpoint_filename_with_path,
                               wait_for_checkpoint, max_wait_secs)
        if not loaded:
            if init_op is None and not init_fn and self._local_init_op is None:
                raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op "
                                   "was given")
            if init_op is not None:
                sess.run(init_op, feed_dict=init_feed_dict)
            if init_fn:
                init_fn(sess)
        self._run_local_init(sess)
        missing = _missing(sess, self._ready_op)
        if missing:
            raise RuntimeError("Init operations did not make model ready. Variables not initialized: %s"
                               % missing)
        return sess

    def _run_local_init(self, sess):
        missing = _missing(sess, self._ready_for_local_init_op)
        if missing:
            raise RuntimeError("Init operations did not make model ready for local_init. Variables not "
                               "initialized: %s" % missing)
        if self._local_init_op is not None:
            sess.run(self._local_init_op)

    def recover_session(self, master, saver=None, checkpoint_dir=None, checkpoint_filename_with_path=None,
                        wait_for_checkpoint=False, max_wait_secs=7200, config=None):
        sess = Session(master, graph=self._graph, config=config)
        loaded = self._restore(sess, saver, checkpoint_dir, checkpoint_filename_with_path,
                               wait_for_checkpoint, max_wait_secs)
        if not loaded:
            return sess, False
        self._run_local_init(sess)
        return sess, not _missing(sess, self._ready_op)

    def wait_for_session(self, master, config=None, max_wait_secs=float("Inf")):
        """The way of all others: looks often at first, then twice a second."""
        sess = Session(master, graph=self._graph, config=config)
        began = told = time.monotonic()
        pause = _FIRST_PAUSE
        while True:
            missing = _missing(sess, self._ready_for_local_init_op)
            if not missing:
                if self._local_init_op is not None:
                    sess.run(self._local_init_op)
                missing = _missing(sess, self._ready_op)
            if not missing:
                return sess
            now = time.monotonic()
            if max_wait_secs is not None and now - began > max_wait_secs:
                sess.close()
                raise errors.DeadlineExceededError(
                    None, None, "Session was not ready after waiting %d secs: the chief has not "
                    "initialised %s" % (max_wait_secs, missing))
            if now - told > _NOTICE_EVERY:
                told = now
                sys.stderr.write("capstan: waiting for the chief to initialise %s\n" % missing)
                sys.stderr.flush()
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
