"""tf.train.SessionRunHook and the hooks that come with it."""

import collections
import os
import time

import numpy as np

from capstan import errors, graph as graphs, logs, protos
from capstan.global_step import get_global_step
from capstan.graph import GraphKeys

SessionRunArgs = collections.namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])
SessionRunArgs.__new__.__defaults__ = (None, None)
SessionRunValues = collections.namedtuple("SessionRunValues", ["results", "options", "run_metadata"])


class SessionRunContext:
    __slots__ = ("_original_args", "_session", "_stop_requested")

    def __init__(self, original_args, session):
        self._original_args, self._session, self._stop_requested = original_args, session, False

    original_args = property(lambda self: self._original_args)
    session = property(lambda self: self._session)
    stop_requested = property(lambda self: self._stop_requested)

    def request_stop(self):
        self._stop_requested = True


class SessionRunHook:
    """Sees, and may stop, the steps of a monitored session."""

    def begin(self):
        pass

    def after_create_session(self, session, coord):
        pass

    def before_run(self, run_context):
        return None

    def after_run(self, run_context, run_values):
        pass

    def end(self, session):
        pass


class SecondOrStepTimer:
    """Due after so many seconds, or so many steps."""

    def __init__(self, every_secs=None, every_steps=None):
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self):
        self._last_step = self._last_time = None

    def should_trigger_for_step(self, step):
        if self._last_step is None:
            return True
        if self._last_step == step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_time + self._every_secs
        return step >= self._last_step + self._every_steps

    def update_last_triggered_step(self, step):
        """(seconds, steps) since the last time."""
        now = time.time()
        elapsed = (None, None) if self._last_step is None else (now - self._last_time,
                                                                step - self._last_step)
        self._last_time, self._last_step = now, step
        return elapsed

    def last_triggered_step(self):
        return self._last_step


def _required_step():
    step = get_global_step()
    if step is None:
        raise RuntimeError("Global step should be created to use this hook: "
                           "tf.train.get_or_create_global_step()")
    return step


class StopAtStepHook(SessionRunHook):
    def __init__(self, num_steps=None, last_step=None):
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self):
        self._step = _required_step()
        self._args = SessionRunArgs(self._step)

    def after_create_session(self, session, coord):
        if self._last_step is None:
            self._last_step = int(session.run(self._step)) + self._num_steps

    def before_run(self, run_context):
        return self._args

    def after_run(self, run_context, run_values):
        # A variable that is fetched shows its value after the step.
        if run_values.results >= self._last_step:
            run_context.request_stop()


class CheckpointSaverListener:
    def begin(self):
        pass

    def before_save(self, session, global_step_value):
        pass

    def after_save(self, session, global_step_value):
        pass

    def end(self, session, global_step_value):
        pass


class CheckpointSaverHook(SessionRunHook):
    def __init__(self, checkpoint_dir, save_secs=None, save_steps=None, saver=None,
                 checkpoint_basename="model.ckpt", scaffold=None, listeners=None, **unused):
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._scaffold, self._dir = saver, scaffold, checkpoint_dir
        self._path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._listeners = listeners or []

    def begin(self):
        from capstan.summary import FileWriterCache

        os.makedirs(self._dir, exist_ok=True)
        self._writer = FileWriterCache.get(self._dir)
        self._step = _required_step()
        self._args = SessionRunArgs(self._step)
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session, coord):
        from capstan.importer import write_graph

        step = int(session.run(self._step))
        write_graph(session.graph, self._dir, "graph.pbtxt")
        self._writer.add_graph(session.graph)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context):
        return self._args

    def after_run(self, run_context, run_values):
        step = int(run_values.results)
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session):
        step = int(session.run(self._step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _get_saver(self):
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        found = graphs.get_collection(GraphKeys.SAVERS)
        if not found:
            raise RuntimeError("No items in collection SAVERS. Please add a saver to the collection or "
                               "provide a saver or scaffold.")
        return found[0]

    def _save(self, session, step):
        """Saves; returns whether a listener asked to stop."""
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._path, global_step=step)
        log = protos.SessionLog(status=protos.SessionLog.CHECKPOINT, checkpoint_path=self._path)
        self._writer.add_session_log(log, step)
        return any([listener.after_save(session, step) for listener in self._listeners])


class _WritingHook(SessionRunHook):
    """One that writes to an event file, of its own or of the folder's."""

    def __init__(self, output_dir, summary_writer):
        self._output_dir, self._writer = output_dir, summary_writer

    def begin(self):
        if self._writer is None and self._output_dir:
            from capstan.summary import FileWriterCache

            self._writer = FileWriterCache.get(self._output_dir)
        self._step = _required_step()


class StepCounterHook(_WritingHook):
    def __init__(self, every_n_steps=100, every_n_secs=None, output_dir=None, summary_writer=None):
        super().__init__(output_dir, summary_writer)
        if every_n_secs is not None:
            every_n_steps = None
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)

    def begin(self):
        super().begin()
        self._tag = self._step.op.name + "/sec"
        self._args = SessionRunArgs(self._step)

    def before_run(self, run_context):
        return self._args

    def after_run(self, run_context, run_values):
        step = int(run_values.results)
        if self._timer.should_trigger_for_step(step):
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds:
                self._log_and_record(seconds, steps, step)

    def _log_and_record(self, elapsed_time, elapsed_steps, global_step):
        rate = elapsed_steps / elapsed_time
        if self._writer is not None:
            value = protos.Summary.Value(tag=self._tag, simple_value=rate)
            self._writer.add_summary(protos.Summary(value=[value]), global_step)
        logs.info("%s: %g", self._tag, rate)


class SummarySaverHook(_WritingHook):
    def __init__(self, save_steps=None, save_secs=None, output_dir=None, summary_writer=None,
                 scaffold=None, summary_op=None):
        super().__init__(output_dir, summary_writer)
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._scaffold, self._summary_op = scaffold, summary_op
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self):
        super().begin()
        self._next_step = None
        self._timer.reset()
        self._plain = SessionRunArgs({"global_step": self._step})

    def before_run(self, run_context):
        self._asked = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        summaries = self._summaries() if self._asked else None
        if summaries is None:
            return self._plain
        return SessionRunArgs({"global_step": self._step, "summary": summaries})

    def after_run(self, run_context, run_values):
        step = int(run_values.results["global_step"])
        if self._next_step is None and self._writer is not None:
            self._writer.add_session_log(protos.SessionLog(status=protos.SessionLog.START), step)
        if self._asked:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session):
        if self._writer is not None:
            self._writer.flush()

    def _summaries(self):
        op = self._summary_op
        if op is None and self._scaffold.summary_op is not None:
            op = self._scaffold.summary_op
        if op is None:
            return None
        return list(op) if isinstance(op, (list, tuple)) else [op]


class LoggingTensorHook(SessionRunHook):
    def __init__(self, tensors, every_n_iter=None, every_n_secs=None, at_end=False, formatter=None):
        if isinstance(tensors, dict):
            self._tags, self._wanted = list(tensors), dict(tensors)
        else:
            self._tags = [getattr(t, "name", t) for t in tensors]
            self._wanted = dict(zip(self._tags, tensors))
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        self._timer = None if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)
        self._formatter, self._at_end = formatter, at_end

    def begin(self):
        if self._timer is not None:
            self._timer.reset()
        self._iter = 0
        graph = graphs.get_default_graph()
        self._tensors = {tag: graph.as_graph_element(t) for tag, t in self._wanted.items()}

    def before_run(self, run_context):
        self._due = self._timer is not None and self._timer.should_trigger_for_step(self._iter)
        return SessionRunArgs(self._tensors) if self._due else None

    def after_run(self, run_context, run_values):
        if self._due:
            self._log(run_values.results)
        self._iter += 1

    def _log(self, values):
        seconds = None
        if self._timer is not None:
            seconds, _ = self._timer.update_last_triggered_step(self._iter)
        if self._formatter is not None:
            logs.info(self._formatter(values))
            return
        text = ", ".join("%s = %s" % (tag, values[tag]) for tag in self._tags)
        logs.info(text if seconds is None else "%s (%.3f sec)" % (text, seconds))

    def end(self, session):
        if self._at_end:
            self._log(session.run(self._tensors))


class NanLossDuringTrainingError(RuntimeError):
    def __str__(self):
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    def __init__(self, loss_tensor, fail_on_nan_loss=True):
        self._loss, self._fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context):
        return SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values):
        if not np.isnan(run_values.results).any():
            return
        if self._fail:
            logs.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        logs.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """Delays this worker until the others have come to a step."""

    def __init__(self, wait_until_step):
        self._wait_until_step = wait_until_step

    def begin(self):
        self._reached = self._wait_until_step <= 0
        self._step = _required_step()

    def before_run(self, run_context):
        while not self._reached:
            self._reached = int(run_context.session.run(self._step)) >= self._wait_until_step
            if not self._reached:
                time.sleep(0.5)


class FinalOpsHook(SessionRunHook):
    def __init__(self, final_ops, final_ops_feed_dict=None):
        self._ops, self._feed_dict, self._values = final_ops, final_ops_feed_dict, None

    final_ops_values = property(lambda self: self._values)

    def end(self, session):
        if self._ops is not None:
            try:
                self._values = session.run(self._ops, feed_dict=self._feed_dict)
            except (errors.OutOfRangeError, StopIteration) as error:
                logs.warning("An OutOfRangeError or StopIteration exception is raised by the code in "
                             "FinalOpsHook: %s", error)


class FeedFnHook(SessionRunHook):
    def __init__(self, feed_fn):
        self.feed_fn = feed_fn

    def before_run(self, run_context):
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
