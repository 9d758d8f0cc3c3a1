"""tf.train.MonitoredTrainingSession and its parts: a session with hooks that outlives lost tasks.

Four layers, as programs that reach inside know them: MonitoredSession, one that makes a new session
when a task was lost, one that knows the coordinator, one that calls the hooks; below is tf.Session.
"""

import time

from capstan import errors, launcher, logs, protos
from capstan import global_step as global_steps
from capstan import graph as graphs
from capstan.coordinator import Coordinator, join_all
from capstan.graph import GraphKeys
from capstan.hooks import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from capstan.queue_runner import start_queue_runners
from capstan.scaffold import ChiefSessionCreator, Scaffold, WorkerSessionCreator
from capstan.step_hooks import (
    CheckpointSaverHook,
    StepCounterHook,
    StepHook,
    StopAtStepHook,
    SummarySaverHook,
)

# A lost task; everything else is the program's own failure.
_PREEMPTION_ERRORS = (errors.AbortedError, errors.UnavailableError)
# Threads that wait within a run are freed by closing the session; those that work get this long.
_FIRST_GRACE_SECS = 1.0

USE_DEFAULT = object()


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
        own_hooks = _launcher_hooks(self._hooks)
        self._coordinated_creator = self._CoordinatedSessionCreator(
            session_creator or ChiefSessionCreator(), self._hooks, own_hooks, stop_grace_period_secs
        )
        if should_recover:
            self._sess = _RecoverableSession(self._coordinated_creator)
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

    class StepContext:
        """What a step_fn works with."""

        def __init__(self, session, run_with_hooks_fn):
            self._session, self._run_with_hooks_fn = session, run_with_hooks_fn

        session = property(lambda self: self._session)

        def run_with_hooks(self, *args, **kwargs):
            return self._run_with_hooks_fn(*args, **kwargs)

        def request_stop(self):
            raise StopIteration("step_fn has requested the iterations to stop.")

    def should_stop(self):
        return self._sess is None or self._sess.should_stop()

    def close(self):
        self._close_internal()

    def __enter__(self):
        return self

    def __exit__(self, exception_type, exception_value, traceback):
        # The end of the input is a good end.
        if exception_type in (errors.OutOfRangeError, StopIteration):
            exception_type = None
        self._close_internal(exception_type)
        return exception_type is None

    class _CoordinatedSessionCreator:
        """Makes the session below the recoverable one, again and again if need be."""

        def __init__(self, session_creator, hooks, own_hooks, stop_grace_period_secs):
            self._session_creator, self._hooks, self._own_hooks = session_creator, hooks, own_hooks
            self._stop_grace_period_secs = stop_grace_period_secs
            self.coord = self.tf_sess = None

        def create_session(self):
            self.tf_sess = self._session_creator.create_session()
            self.coord = Coordinator(clean_stop_exception_types=[])
            if self.tf_sess.graph.get_collection(GraphKeys.QUEUE_RUNNERS):
                start_queue_runners(sess=self.tf_sess, coord=self.coord)
            for hook in self._hooks + self._own_hooks:
                hook.after_create_session(self.tf_sess, self.coord)
            hooked = _HookedSession(self.tf_sess, self._hooks + self._own_hooks)
            return _CoordinatedSession(hooked, self.coord, self._stop_grace_period_secs)

    def _close_internal(self, exception_type=None):
        try:
            if not exception_type:
                for hook in self._hooks:
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


class MonitoredSession(_MonitoredSession):
    """Makes a new session when a parameter server or worker was lost, and runs the step again."""

    def __init__(self, session_creator=None, hooks=None, stop_grace_period_secs=120):
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


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


# --- Layers ---------------------------------------------------------------------------------------


class _WrappedSession:
    """A layer; closing it never fails because of a lost task."""

    def __init__(self, sess):
        self._sess = sess
        self._wrapped_is_stoppable = isinstance(sess, _WrappedSession)

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
        except _PREEMPTION_ERRORS as error:
            logs.error("closing a session whose task was lost: %s", error)

    def run(self, *args, **kwargs):
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn, raw_session, run_with_hooks):
        return step_fn(_MonitoredSession.StepContext(raw_session, run_with_hooks or self.run))


class _RecoverableSession(_WrappedSession):
    """Closes its session and makes another when a task was lost."""

    def __init__(self, sess_creator):
        self._sess_creator = sess_creator
        super().__init__(self._create_session())

    def _create_session(self):
        while True:
            try:
                return self._sess_creator.create_session()
            except _PREEMPTION_ERRORS as error:
                logs.info("A task was lost while a session was made; trying again: %s", error)

    def _check_stop(self):
        try:
            return self._sess._check_stop() if self._sess else True
        except _PREEMPTION_ERRORS as error:
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
            except _PREEMPTION_ERRORS as error:
                self._lost(error)

    def run_step_fn(self, step_fn, raw_session, run_with_hooks):
        while True:
            try:
                if self._sess is None:
                    self._sess = self._create_session()
                return self._sess.run_step_fn(step_fn, self._sess_creator.tf_sess, self._sess.run)
            except _PREEMPTION_ERRORS as error:
                self._lost(error)


class _CoordinatedSession(_WrappedSession):
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
        except _PREEMPTION_ERRORS:
            raise
        except Exception as original:
            self._raise_preemption(original)
            raise

    def _raise_preemption(self, original):
        try:
            self._coord.raise_requested_exception()
        except _PREEMPTION_ERRORS:
            raise
        except Exception:
            raise original from None


class _HookedSession(_WrappedSession):
    """Calls the hooks. Those of ours that only follow the global step share one fetch of it, and
    are called when one of them has something to do; where there are no others, a run costs next to
    nothing more than a plain one."""

    def __init__(self, sess, hooks):
        super().__init__(sess)
        self._hooks = hooks
        self._should_stop = False
        self._run = sess.run
        self._step_hooks = [hook for hook in hooks if type(hook) in _PLAIN_STEP_HOOKS]
        self._others = [
            hook for hook in hooks if hook not in self._step_hooks and _has_run_methods(hook)
        ]
        self._step = self._step_hooks[0]._global_step_tensor if self._step_hooks else None
        self._quiet = False
        self._settle()

    def _check_stop(self):
        return self._should_stop

    def _settle(self):
        """Until when the step hooks need not be called."""
        bounds = [hook._quiet_until() for hook in self._step_hooks]
        # In terms of the step before a run, which is what is fetched.
        self._loud_step = min((step for step, _ in bounds), default=float("inf")) - 1
        self._loud_time = min((moment for _, moment in bounds), default=float("inf"))
        self._quiet = not any(hook._wants_before_run() for hook in self._step_hooks)

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        if self._should_stop:
            raise RuntimeError("Run called even after should_stop requested.")
        if not self._quiet or self._others:
            return self._run_with_hooks(fetches, feed_dict, options, run_metadata)
        if self._step is None:
            return self._run(fetches, feed_dict, options, run_metadata)
        values, step = self._run((fetches, self._step), feed_dict, options, run_metadata)
        if step >= self._loud_step or time.time() >= self._loud_time:
            context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
            self._after_run(context, {"caller": values, "step": step}, options, run_metadata)
        return values

    def _run_with_hooks(self, fetches, feed_dict, options, run_metadata):
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        options = options or protos.RunOptions()
        run_metadata = run_metadata or protos.RunMetadata()
        actual = {"caller": fetches}
        if self._step is not None:
            actual["step"] = self._step
        feed_dict = self._before_run(context, actual, feed_dict, options)
        outputs = self._run(actual, feed_dict, options, run_metadata)
        self._after_run(context, outputs, options, run_metadata)
        return outputs["caller"]

    def _before_run(self, context, actual, feed_dict, options):
        feeds = {}
        for hook in self._others if self._quiet else self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                actual[hook] = request.fetches
            if request.feed_dict:
                _refuse_common(feeds, request.feed_dict, "Same tensor is fed by two hooks.")
                feeds.update(request.feed_dict)
            if request.options:
                _merge_options(options, request.options)
        if feeds and feed_dict:
            _refuse_common(feed_dict, feeds, "Same tensor is fed by a SessionRunHook and user.")
        return {**feeds, **(feed_dict or {})} if feeds else feed_dict

    def _after_run(self, context, outputs, options, run_metadata):
        step = outputs.get("step")
        loud = step is not None and (
            not self._quiet or step >= self._loud_step or time.time() >= self._loud_time
        )
        context._caller_values = outputs["caller"]
        for hook in self._hooks if loud else self._others:
            results = outputs.get(hook)
            if results is None and loud and isinstance(hook, StepHook):
                results = hook._results(step)
            hook.after_run(context, SessionRunValues(results, options, run_metadata))
        self._should_stop = self._should_stop or context.stop_requested
        if loud:
            self._settle()


def _has_run_methods(hook):
    kind = type(hook)
    return (
        kind.before_run is not SessionRunHook.before_run
        or kind.after_run is not SessionRunHook.after_run
    )


def _refuse_common(feeds, others, message):
    common = set(feeds) & set(others)
    if common:
        raise RuntimeError("%s Conflict(s): %s" % (message, sorted(str(key) for key in common)))


def _merge_options(options, more):
    options.trace_level = max(options.trace_level, more.trace_level)
    options.timeout_in_ms = max(options.timeout_in_ms, more.timeout_in_ms)
    options.inter_op_thread_pool = max(options.inter_op_thread_pool, more.inter_op_thread_pool)
    options.output_partition_graphs = max(
        options.output_partition_graphs, more.output_partition_graphs
    )
    options.report_tensor_allocations_upon_oom = (
        options.report_tensor_allocations_upon_oom or more.report_tensor_allocations_upon_oom
    )


# --- The launcher ---------------------------------------------------------------------------------


class _LauncherHook(StepHook):
    """Tells the launcher the step and the loss, and stops at the limit that it gave."""

    def __init__(self, step, hooks):
        self._global_step_tensor, self._others = step, hooks
        self._reporter = launcher.StepReporter(step.graph)

    def after_create_session(self, session, coord):
        ends = [hook._last_step for hook in self._others if isinstance(hook, StopAtStepHook)]
        self._reporter.last_step = min((int(end) for end in ends), default=0)

    def after_run(self, run_context, run_values):
        step = run_values.results + 1
        if self._reporter.due:
            self._reporter.report(
                step, run_context.original_args.fetches, run_context._caller_values
            )
        if self._reporter.reached(step):
            if self._reporter.reached(run_context.session.run(self._global_step_tensor)):
                run_context.request_stop()

    def _quiet_until(self):
        return self._reporter.limit or float("inf"), self._reporter.next_time


def _launcher_hooks(hooks):
    step = global_steps.global_step_read() if launcher.watched() else None
    return [] if step is None else [_LauncherHook(step, hooks)]


# Subclasses may override anything: those are called at every run.
_PLAIN_STEP_HOOKS = (
    StopAtStepHook,
    CheckpointSaverHook,
    StepCounterHook,
    SummarySaverHook,
    _LauncherHook,
)
