"""tf.train.MonitoredTrainingSession and its parts: a session with hooks that outlives lost tasks.

Four layers, as programs that reach inside know them: MonitoredSession, one that makes a new session
when a task was lost, one that knows the coordinator, one that calls the hooks; below is tf.Session.
"""

from capstan.core import errors
from capstan.core import graph as graphs
from capstan.core.graph import GraphKeys
from capstan.core.public import public
from capstan.session import task
from capstan.session.queue_runner import start_queue_runners
from capstan.train.coordinator import Coordinator
from capstan.train.hooked_session import HookedSession, launcher_hooks
from capstan.train.scaffold import ChiefSessionCreator, Scaffold, WorkerSessionCreator
from capstan.train.session_layers import CoordinatedSession, RecoverableSession, StepContext
from capstan.train.step_hooks import CheckpointSaverHook, StepCounterHook, SummarySaverHook

USE_DEFAULT = object()


@public("train.MonitoredTrainingSession")
def MonitoredTrainingSession(
    master="",
    is_chief=True,
    checkpoint_dir=None,
    scaffold=None,
    hooks=None,
    chief_only_hooks=None,
    save_checkpoint_secs=USE_DEFAULT,
    save_summaries_steps=USE_DEFAULT,
    save_summaries_secs=USE_DEFAULT,
    config=None,
    stop_grace_period_secs=120,
    log_step_count_steps=100,
    max_wait_secs=7200,
    save_checkpoint_steps=USE_DEFAULT,
    summary_dir=None,
    save_graph_def=True,
):
    """A MonitoredSession with the usual hooks: the chief counts, summarises and saves."""
    summary_steps, summary_secs = _one_of(save_summaries_steps, save_summaries_secs, 100, None)
    save_steps, save_secs = _one_of(save_checkpoint_steps, save_checkpoint_secs, None, 600)
    scaffold = scaffold or Scaffold()
    if not is_chief:
        creator = WorkerSessionCreator(scaffold, master, config, max_wait_secs=max_wait_secs)
        return MonitoredSession(creator, hooks or [], stop_grace_period_secs)
    all_hooks = list(chief_only_hooks or ())
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir and _positive(log_step_count_steps):
        all_hooks.append(
            StepCounterHook(output_dir=summary_dir, every_n_steps=log_step_count_steps)
        )
    if summary_dir and (_positive(summary_steps) or _positive(summary_secs)):
        all_hooks.append(
            SummarySaverHook(
                scaffold=scaffold,
                save_steps=summary_steps,
                save_secs=summary_secs,
                output_dir=summary_dir,
            )
        )
    if checkpoint_dir and (_positive(save_steps) or _positive(save_secs)):
        all_hooks.append(
            CheckpointSaverHook(
                checkpoint_dir,
                save_steps=save_steps,
                save_secs=save_secs,
                scaffold=scaffold,
                save_graph_def=save_graph_def,
            )
        )
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, all_hooks + list(hooks or ()), stop_grace_period_secs)


def _one_of(steps, secs, default_steps, default_secs):
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return default_steps, default_secs
    return None if steps is USE_DEFAULT else steps, None if secs is USE_DEFAULT else secs


def _positive(value):
    return bool(value) and value > 0


class _MonitoredSession:
    """What MonitoredSession and SingularMonitoredSession have in common."""

    def __init__(self, session_creator, hooks, should_recover, stop_grace_period_secs=120):
        self._graph_was_finalized = graphs.get_default_graph().finalized
        self._hooks = list(hooks or ())
        for hook in self._hooks:
            hook.begin()
        self._all_hooks = self._hooks + launcher_hooks(self._hooks)
        self._coordinated_creator = self._CoordinatedSessionCreator(
            session_creator or ChiefSessionCreator(), self._all_hooks, stop_grace_period_secs
        )
        if should_recover:
            self._sess = RecoverableSession(self._coordinated_creator)
        else:
            self._sess = self._coordinated_creator.create_session()

    @property
    def graph(self):
        sess = self._tf_sess()
        return None if sess is None else sess.graph

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        return self._sess.run(fetches, feed_dict, options, run_metadata)

    def run_step_fn(self, step_fn):
        """Calls step_fn(step_context), whose session is the raw one."""
        import inspect

        names = tuple(inspect.signature(step_fn).parameters)
        if names not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and "
                "`step_context` arguments if it's an instance method. Got %s instead." % (names,)
            )
        return self._sess.run_step_fn(step_fn, self._tf_sess(), run_with_hooks=None)

    StepContext = StepContext

    def should_stop(self):
        return self._sess is None or self._sess.should_stop()

    def close(self):
        self._close_internal()

    def __enter__(self):
        return self

    def __exit__(self, exception_type, exception_value, traceback):
        # The end of the input is a good end.
        if exception_type in (errors.OutOfRangeError, task.LimitReached, StopIteration):
            exception_type = None
        self._close_internal(exception_type)
        return exception_type is None

    class _CoordinatedSessionCreator:
        """Makes the session below the recoverable one, again and again if need be."""

        def __init__(self, session_creator, hooks, stop_grace_period_secs):
            self._session_creator, self._hooks = session_creator, hooks
            self._stop_grace_period_secs = stop_grace_period_secs
            self.coord = self.tf_sess = None

        def create_session(self):
            self.tf_sess = self._session_creator.create_session()
            self.coord = Coordinator(clean_stop_exception_types=[])
            if self.tf_sess.graph.get_collection(GraphKeys.QUEUE_RUNNERS):
                start_queue_runners(sess=self.tf_sess, coord=self.coord)
            for hook in self._hooks:
                hook.after_create_session(self.tf_sess, self.coord)
            hooked = HookedSession(self.tf_sess, self._hooks)
            return CoordinatedSession(hooked, self.coord, self._stop_grace_period_secs)

    def _close_internal(self, exception_type=None):
        try:
            if not exception_type and not self._is_closed():
                for hook in self._all_hooks:
                    hook.end(self._coordinated_creator.tf_sess)
        finally:
            try:
                if self._sess is None:
                    raise RuntimeError("Session is already closed.")
                self._sess.close()
            finally:
                self._sess = None
                self._coordinated_creator.tf_sess = self._coordinated_creator.coord = None
                if not self._graph_was_finalized:
                    graphs.get_default_graph()._unsafe_unfinalize()

    def _is_closed(self):
        return self._coordinated_creator.tf_sess is None

    def _tf_sess(self):
        return self._coordinated_creator.tf_sess


@public("train.MonitoredSession")
class MonitoredSession(_MonitoredSession):
    """Makes a new session when a parameter server or worker was lost, and runs the step again."""

    def __init__(self, session_creator=None, hooks=None, stop_grace_period_secs=120):
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


@public("train.SingularMonitoredSession")
class SingularMonitoredSession(_MonitoredSession):
    """The same without recovery, and with the raw session for all to see."""

    def __init__(
        self,
        hooks=None,
        scaffold=None,
        master="",
        config=None,
        checkpoint_dir=None,
        stop_grace_period_secs=120,
        checkpoint_filename_with_path=None,
    ):
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self):
        return self._tf_sess()
