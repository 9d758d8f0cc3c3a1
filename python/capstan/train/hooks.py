"""tf.train.SessionRunHook, and hooks that programs put around their runs. Those that save, count
and stop are in step_hooks.py."""

import collections
import time

from capstan.core import errors
from capstan.core import graph as graphs
from capstan.core.public import public
from capstan.ops import global_step as global_steps
from capstan.platform import logs
from capstan.train.timers import NeverTimer, SecondOrStepTimer


@public("train.SessionRunArgs")
class SessionRunArgs(collections.namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])):
    """What a run fetches and feeds, or what a hook adds to it."""

    __slots__ = ()

    def __new__(cls, fetches, feed_dict=None, options=None):
        return super().__new__(cls, fetches, feed_dict, options)


SessionRunValues = public("train.SessionRunValues")(
    collections.namedtuple("SessionRunValues", ["results", "options", "run_metadata"])
)


@public("train.SessionRunContext")
class SessionRunContext:
    """One run, as hooks see it."""

    def __init__(self, original_args, session):
        self._original_args, self._session = original_args, session
        self._stop_requested = False

    original_args = property(lambda self: self._original_args)
    session = property(lambda self: self._session)
    stop_requested = property(lambda self: self._stop_requested)

    def request_stop(self):
        self._stop_requested = True


@public("train.SessionRunHook")
class SessionRunHook:
    """Programs subclass this; every method may be left as it is."""

    def begin(self):
        """Called once, before the session exists; the graph may still be changed."""

    def after_create_session(self, session, coord):
        """Called whenever a new session was made; the graph is final."""

    def before_run(self, run_context):
        """May return SessionRunArgs to be added to the run."""
        return None

    def after_run(self, run_context, run_values):
        """Called after each run, with the values of what before_run asked for."""

    def end(self, session):
        """Called at the end of a session, unless an error ended it."""


@public("train.LoggingTensorHook")
class LoggingTensorHook(SessionRunHook):
    """Logs tensors every so many runs or seconds, or at the end."""

    def __init__(self, tensors, every_n_iter=None, every_n_secs=None, at_end=False, formatter=None):
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be "
                "provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError("invalid every_n_iter=%s." % every_n_iter)
        self._tag_order = sorted(tensors) if isinstance(tensors, dict) else list(tensors)
        self._tensors = tensors if isinstance(tensors, dict) else {item: item for item in tensors}
        self._formatter, self._log_at_end = formatter, at_end
        self._timer = NeverTimer() if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)

    def begin(self):
        self._timer.reset()
        self._iter_count = 0
        self._current_tensors = {
            tag: _as_graph_element(tensor) for tag, tensor in self._tensors.items()
        }

    def before_run(self, run_context):
        self._should_trigger = self._timer.should_trigger_for_step(self._iter_count)
        return SessionRunArgs(self._current_tensors) if self._should_trigger else None

    def after_run(self, run_context, run_values):
        if self._should_trigger:
            self._log_tensors(run_values.results)
        self._iter_count += 1

    def _log_tensors(self, values):
        import numpy as np

        elapsed_secs, _ = self._timer.update_last_triggered_step(self._iter_count)
        with np.printoptions(suppress=True):
            if self._formatter:
                logs.info(self._formatter(values))
                return
            text = ", ".join("%s = %s" % (tag, values[tag]) for tag in self._tag_order)
        logs.info(text if elapsed_secs is None else "%s (%.3f sec)" % (text, elapsed_secs))

    def end(self, session):
        if self._log_at_end:
            self._log_tensors(session.run(self._current_tensors))


@public("train.NanLossDuringTrainingError")
class NanLossDuringTrainingError(RuntimeError):
    def __str__(self):
        return "NaN loss during training."


@public("train.NanTensorHook")
class NanTensorHook(SessionRunHook):
    """Fails, or stops, when the loss is not a number."""

    def __init__(self, loss_tensor, fail_on_nan_loss=True):
        self._loss_tensor, self._fail_on_nan_loss = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context):
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context, run_values):
        import numpy as np

        if not np.isnan(run_values.results):
            return
        if self._fail_on_nan_loss:
            logs.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        logs.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


@public("train.GlobalStepWaiterHook")
class GlobalStepWaiterHook(SessionRunHook):
    """Lets a worker begin only once the global step has come so far."""

    def __init__(self, wait_until_step):
        self._wait_until_step = wait_until_step

    def begin(self):
        self._worker_is_started = self._wait_until_step <= 0
        self._global_step_tensor = global_steps.global_step_read()
        if self._global_step_tensor is None:
            raise RuntimeError("Global step should be created to use _GlobalStepWaiterHook.")

    def before_run(self, run_context):
        last_logged = -1001
        while not self._worker_is_started:
            step = run_context.session.run(self._global_step_tensor)
            self._worker_is_started = step >= self._wait_until_step
            if self._worker_is_started:
                break
            if step - last_logged > 1000:
                logs.info(
                    "Waiting for global step %d before starting training. Current step is %d.",
                    self._wait_until_step,
                    step,
                )
                last_logged = step
            time.sleep(0.1)
        return None


@public("train.FinalOpsHook")
class FinalOpsHook(SessionRunHook):
    """Runs ops at the end and keeps their values."""

    def __init__(self, final_ops, final_ops_feed_dict=None):
        self._final_ops, self._final_ops_feed_dict = final_ops, final_ops_feed_dict
        self._final_ops_values = None

    final_ops_values = property(lambda self: self._final_ops_values)

    def end(self, session):
        if self._final_ops is None:
            return
        try:
            self._final_ops_values = session.run(
                self._final_ops, feed_dict=self._final_ops_feed_dict
            )
        except (errors.OutOfRangeError, StopIteration):
            logs.warning(
                "The ops of FinalOpsHook read from an input that is exhausted; they should depend "
                "on variables only."
            )
            raise


@public("train.FeedFnHook")
class FeedFnHook(SessionRunHook):
    """Feeds what a function returns."""

    def __init__(self, feed_fn):
        self.feed_fn = feed_fn

    def before_run(self, run_context):
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())


def _as_graph_element(obj):
    graph = graphs.get_default_graph()
    if not isinstance(obj, str):
        if getattr(obj, "graph", None) is not graph:
            raise ValueError(
                "Passed %s should have graph attribute that is equal to current graph %s."
                % (obj, graph)
            )
        return obj
    if ":" in obj:
        return graph.as_graph_element(obj)
    if len(graph.get_operation_by_name(obj).outputs) > 1:
        raise ValueError(
            "Name %s is ambiguous, as this `Operation` has multiple outputs (at least 2)." % obj
        )
    return graph.as_graph_element(obj + ":0")
