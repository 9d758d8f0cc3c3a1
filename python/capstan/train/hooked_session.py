"""The layer of a monitored session that calls the hooks, and the hook for the launcher."""

import time

from capstan.core import graph as graphs
from capstan.core import protos
from capstan.ops import global_step as global_steps
from capstan.session import steps, task
from capstan.session.limit_guard import LimitGuard
from capstan.session.session import BaseSession
from capstan.train.hooks import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from capstan.train.session_layers import WrappedSession
from capstan.train.step_hooks import StepHook


class HookedSession(WrappedSession):
    """Calls the hooks. Those of ours that only follow the global step share one fetch of it, and
    are called when one of them has something to do; where there are no others, a run costs next to
    nothing more than a plain one."""

    def __init__(self, sess, hooks):
        super().__init__(sess)
        self._hooks = hooks
        self._should_stop = False
        guards = [hook._guard for hook in hooks if isinstance(hook, _LauncherHook) and hook._guard]
        self._run = guards[0].run if guards else sess.run
        self._step_hooks = [hook for hook in hooks if _only_follows_step(hook)]
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


def _only_follows_step(hook):
    """A step hook of ours: what a program derives from one may do anything."""
    return isinstance(hook, StepHook) and type(hook).__module__.startswith("capstan.")


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
        self._global_step_tensor, self._others, self._guard = step, hooks, None
        self._reporter = steps.StepReporter(step.graph)

    def after_create_session(self, session, coord):
        ends = (hook._ends_at() for hook in self._others if isinstance(hook, StepHook))
        end = min((end for end in ends if end > 0), default=0)
        self._reporter.ends_at(end)
        # Whoever gets to the last step first may take a token too many with it, and then another one
        # would wait for its own for ever.
        waits = any(getattr(hook, "_waits_for_others", False) for hook in self._others)
        limit = self._reporter.limit or (end if waits else 0)
        if limit and isinstance(session, BaseSession):
            self._guard = LimitGuard(session, limit, self._global_step_tensor)

    def after_run(self, run_context, run_values):
        step = int(run_values.results) + 1
        self._reporter.report_if_due(
            step, run_context.original_args.fetches, run_context._caller_values
        )
        if self._reporter.reached(step):
            if self._reporter.reached(int(run_context.session.run(self._global_step_tensor))):
                run_context.request_stop()

    def end(self, session):
        self._reporter.end(session, self._global_step_tensor)

    def _quiet_until(self):
        return self._reporter.limit or float("inf"), self._reporter.next_time


def launcher_hooks(hooks):
    if not task.watched():
        return []
    step = global_steps.global_step_read()
    if step is None:
        step = _read_of_counted()
    return [] if step is None else [_LauncherHook(step, hooks)]


def _read_of_counted():
    """As global_step_read(), of a step that only its optimizer knows."""
    graph = graphs.get_default_graph()
    step = steps.step_counted(graph)
    if step is None:
        if graph.get_collection(graphs.GraphKeys.TRAIN_OP):
            steps.say_limit_is_unkept(graph)
        return None
    with graph.name_scope(None), graph.name_scope(step.op.name + "/"):
        return step + 0


# Subclasses may override anything: those are called at every run.
