"""tf.train.MonitoredTrainingSession: a session that is set up, watched by hooks, and made anew when a
task was lost."""

from capstan import _capstan, control_ops, errors, graph as graphs, summary as summaries, variables
from capstan.coordinator import Coordinator
from capstan.graph import GraphKeys
from capstan.hooks import (CheckpointSaverHook, SessionRunArgs, SessionRunContext, SessionRunValues,
                           StepCounterHook, StopAtStepHook, SummarySaverHook)
from capstan.queue_runner import start_queue_runners
from capstan.saver import Saver
from capstan.session_manager import SessionManager
from capstan.supervisor import default_local_init_op, from_collection

USE_DEFAULT = object()
_LOST = (errors.AbortedError, errors.UnavailableError)


class Scaffold:
    """What a session needs to get ready; what is not given is made."""

    def __init__(self, init_op=None, init_feed_dict=None, init_fn=None, ready_op=None,
                 ready_for_local_init_op=None, local_init_op=None, summary_op=None, saver=None,
                 copy_from_scaffold=None, local_init_feed_dict=None):
        base = copy_from_scaffold

        def chosen(given, name):
            return getattr(base, name) if given is None and base is not None else given

        self._init_op, self._init_feed_dict = chosen(init_op, "_init_op"), init_feed_dict
        self._user_init_fn = init_fn
        self._ready_op = chosen(ready_op, "_ready_op")
        self._ready_for_local_init_op = chosen(ready_for_local_init_op, "_ready_for_local_init_op")
        self._local_init_op = chosen(local_init_op, "_local_init_op")
        self._summary_op, self._saver = chosen(summary_op, "_summary_op"), chosen(saver, "_saver")

    init_op = property(lambda self: self._init_op)
    init_feed_dict = property(lambda self: self._init_feed_dict)
    ready_op = property(lambda self: self._ready_op)
    ready_for_local_init_op = property(lambda self: self._ready_for_local_init_op)
    local_init_op = property(lambda self: self._local_init_op)
    summary_op = property(lambda self: self._summary_op)
    saver = property(lambda self: self._saver)

    @property
    def init_fn(self):
        if self._user_init_fn is None:
            return None
        return lambda sess: self._user_init_fn(self, sess)

    def finalize(self):
        """Makes what is missing, and finalizes the graph."""
        if self._init_op is None:
            self._init_op = from_collection(
                GraphKeys.INIT_OP, lambda: control_ops.group(variables.global_variables_initializer()))
        if self._ready_op is None:
            self._ready_op = from_collection(GraphKeys.READY_OP, variables.report_uninitialized_variables)
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = from_collection(
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: variables.report_uninitialized_variables(variables.global_variables()))
        if self._local_init_op is None:
            self._local_init_op = from_collection(GraphKeys.LOCAL_INIT_OP, default_local_init_op)
        if self._summary_op is None:
            self._summary_op = from_collection(GraphKeys.SUMMARY_OP, summaries.merge_all)
        if self._saver is None:
            self._saver = from_collection(GraphKeys.SAVERS, lambda: Saver(allow_empty=True))
        self._saver.build()
        graphs.get_default_graph().finalize()
        return self

    @staticmethod
    def default_local_init_op():
        return default_local_init_op()


class SessionCreator:
    def create_session(self):
        raise NotImplementedError("create_session is not implemented for %s." % self)


class _Creator(SessionCreator):
    def __init__(self, scaffold, master, config):
        self._scaffold = scaffold or Scaffold()
        self._master, self._config, self._manager = master, config, None

    def _session_manager(self):
        if self._manager is None:
            self._scaffold.finalize()
            self._manager = SessionManager(
                local_init_op=self._scaffold.local_init_op, ready_op=self._scaffold.ready_op,
                ready_for_local_init_op=self._scaffold.ready_for_local_init_op,
                graph=graphs.get_default_graph())
        return self._manager


class ChiefSessionCreator(_Creator):
    def __init__(self, scaffold=None, master="", config=None, checkpoint_dir=None,
                 checkpoint_filename_with_path=None):
        super().__init__(scaffold, master, config)
        self._checkpoint_dir, self._checkpoint = checkpoint_dir, checkpoint_filename_with_path

    def create_session(self):
        manager = self._session_manager()
        return manager.prepare_session(
            self._master, saver=self._scaffold.saver, checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint, config=self._config,
            init_op=self._scaffold.init_op, init_feed_dict=self._scaffold.init_feed_dict,
            init_fn=self._scaffold.init_fn)


class WorkerSessionCreator(_Creator):
    def __init__(self, scaffold=None, master="", config=None, max_wait_secs=30 * 60):
        super().__init__(scaffold, master, config)
        self._max_wait_secs = max_wait_secs

    def create_session(self):
        return self._session_manager().wait_for_session(self._master, config=self._config,
                                                        max_wait_secs=self._max_wait_secs)


class MonitoredSession:
    """Runs steps with hooks around them."""

    _recovers = True

    def __init__(self, session_creator=None, hooks=None, stop_grace_period_secs=120):
        self._creator = session_creator or ChiefSessionCreator()
        self._hooks = list(hooks or [])
        self._grace = stop_grace_period_secs
        self._coord = self._sess = None
        self._stop = False
        self._graph = graphs.get_default_graph()
        if _capstan.max_steps():
            self._hooks.append(StopAtStepHook(last_step=_capstan.max_steps()))
        for hook in self._hooks:
            hook.begin()
        self._open()

    def _open(self):
        while True:
            try:
                self._coord = Coordinator(clean_stop_exception_types=[])
                with self._graph.as_default():
                    self._sess = self._creator.create_session()
                    start_queue_runners(sess=self._sess, coord=self._coord)
                    for hook in self._hooks:
                        hook.after_create_session(self._sess, self._coord)
                return
            except _LOST:
                self._drop()
                if not self._recovers:
                    raise

    def _drop(self):
        """Leaves a session whose tasks are lost."""
        sess, self._sess = self._sess, None
        if self._coord is not None:
            self._coord.request_stop()
        if sess is not None:
            sess.close()

    @property
    def graph(self):
        return None if self._sess is None else self._sess.graph

    def should_stop(self):
        return self._sess is None or self._stop or self._coord.should_stop()

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        while True:
            try:
                if self._sess is None:
                    raise RuntimeError("Run called even after should_stop requested.")
                return self._run_once(fetches, feed_dict, options, run_metadata)
            except _LOST:
                if not self._recovers:
                    raise
                self._drop()
                self._open()
            except Exception:
                # A queue runner's failure explains the step's.
                if self._coord is not None:
                    self._coord.raise_requested_exception()
                raise

    def _run_once(self, fetches, feed_dict, options, run_metadata):
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        wanted, feeds = [fetches], feed_dict
        asked = []
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                wanted.append(request.fetches)
                asked.append(hook)
            if request.feed_dict:
                feeds = _joined(feeds, request.feed_dict)
        results = self._sess.run(wanted, feeds, options, run_metadata)
        answers = dict(zip(asked, results[1:]))
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(answers.get(hook), options, run_metadata))
        self._stop = self._stop or context.stop_requested
        return results[0]

    def run_step_fn(self, step_fn):
        return step_fn(StepContext(self))

    def close(self):
        self._close(None)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        finished = kind is not None and issubclass(kind, (errors.OutOfRangeError, StopIteration))
        self._close(None if finished else kind)
        return finished

    def _close(self, failure):
        sess, coord = self._sess, self._coord
        if sess is None:
            return
        try:
            if failure is None:
                for hook in self._hooks:
                    hook.end(sess)
        finally:
            self._sess = None
            try:
                coord.request_stop()
                coord.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
            finally:
                sess.close()


def _joined(feeds, more):
    joined = dict(feeds or {})
    for key, value in more.items():
        if key in joined:
            raise RuntimeError("Same tensor is fed by a hook and by the caller (or two hooks): %s" % (key,))
        joined[key] = value
    return joined


class StepContext:
    """What a function for run_step_fn gets."""

    def __init__(self, monitored):
        self._monitored = monitored

    @property
    def session(self):
        return self._monitored._sess

    def run_with_hooks(self, *args, **kwargs):
        return self._monitored.run(*args, **kwargs)

    def request_stop(self):
        self._monitored._stop = True
        raise StopIteration("step_fn has requested the iterations to stop.")


class SingularMonitoredSession(MonitoredSession):
    """One that does not recover."""

    _recovers = False

    def __init__(self, hooks=None, scaffold=None, master="", config=None, checkpoint_dir=None,
                 stop_grace_period_secs=120, checkpoint_filename_with_path=None):
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir,
                                      checkpoint_filename_with_path)
        super().__init__(creator, hooks, stop_grace_period_secs)

    def raw_session(self):
        return self._sess


def _default_pair(steps, secs, default_steps, default_secs):
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return default_steps, default_secs
    return None if steps is USE_DEFAULT else steps, None if secs is USE_DEFAULT else secs


def MonitoredTrainingSession(master="", is_chief=True, checkpoint_dir=None, scaffold=None, hooks=None,
                             chief_only_hooks=None, save_checkpoint_secs=USE_DEFAULT,
                             save_summaries_steps=USE_DEFAULT, save_summaries_secs=USE_DEFAULT,
                             config=None, stop_grace_period_secs=120, log_step_count_steps=100,
                             max_wait_secs=7200, save_checkpoint_steps=USE_DEFAULT, summary_dir=None,
                             save_graph_def=True):
    scaffold = scaffold or Scaffold()
    if not is_chief:
        creator = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(creator, hooks, stop_grace_period_secs)
    summary_steps, summary_secs = _default_pair(save_summaries_steps, save_summaries_secs, 100, None)
    save_steps, save_secs = _default_pair(save_checkpoint_steps, save_checkpoint_secs, None, 600)
    summary_dir = summary_dir or checkpoint_dir
    all_hooks = list(chief_only_hooks or [])
    if summary_dir:
        if log_step_count_steps and log_step_count_steps > 0:
            all_hooks.append(StepCounterHook(log_step_count_steps, output_dir=summary_dir))
        if summary_steps or summary_secs:
            all_hooks.append(SummarySaverHook(summary_steps or None, summary_secs or None, summary_dir,
                                              scaffold=scaffold))
    if checkpoint_dir and (save_secs or save_steps):
        all_hooks.append(CheckpointSaverHook(checkpoint_dir, save_secs or None, save_steps or None,
                                             scaffold=scaffold))
    all_hooks.extend(hooks or [])
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, all_hooks, stop_grace_period_secs)
