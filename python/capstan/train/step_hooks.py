"""Hooks that follow the global step: they stop training, save, count and summarise.

Each asks for nothing but the step before the run, and has nothing to do at most steps. The session
fetches the step once for all of them, and calls them only when one has something to do; see
monitored_session.py.
"""

import os

from capstan.core import graph as graphs
from capstan.core import protos
from capstan.core.graph import GraphKeys
from capstan.core.public import public
from capstan.files import meta_graphs
from capstan.files.summary import FileWriterCache
from capstan.ops import global_step as global_steps
from capstan.platform import logs
from capstan.train.hooks import SessionRunArgs, SessionRunHook
from capstan.train.timers import NEVER, SecondOrStepTimer


class StepHook(SessionRunHook):
    """What they have in common."""

    def _find_step(self):
        self._global_step_tensor = global_steps.global_step_read()
        if self._global_step_tensor is None:
            raise RuntimeError("Global step should be created to use %s." % type(self).__name__)

    def before_run(self, run_context):
        return SessionRunArgs(self._global_step_tensor)

    def _wants_before_run(self):
        """Whether the next run's before_run asks for more than the step."""
        return False

    def _quiet_until(self):
        """(step, time): while the step after a run is below the one and the time before the other,
        after_run does nothing."""
        raise NotImplementedError

    def _results(self, step):
        """What before_run would have got, where it was not called."""
        return step

    def _ends_at(self):
        """The step at which it ends training, for the launcher; 0 where it does not know."""
        return 0


@public("train.StopAtStepHook")
class StopAtStepHook(StepHook):
    """Stops at a step, or after so many steps from the session's first."""

    def __init__(self, num_steps=None, last_step=None):
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self):
        self._find_step()

    def after_create_session(self, session, coord):
        if self._last_step is None:
            self._last_step = int(session.run(self._global_step_tensor)) + self._num_steps

    def after_run(self, run_context, run_values):
        # The step before the run: whether the run counted is asked once it could matter.
        if run_values.results + 1 >= self._last_step:
            if run_context.session.run(self._global_step_tensor) >= self._last_step:
                run_context.request_stop()

    def _quiet_until(self):
        return self._last_step, NEVER

    def _ends_at(self):
        return int(self._last_step)


@public("train.CheckpointSaverListener")
class CheckpointSaverListener:
    """Told of each checkpoint; after_save may return True to stop training."""

    def begin(self):
        pass

    def before_save(self, session, global_step_value):
        pass

    def after_save(self, session, global_step_value):
        pass

    def end(self, session, global_step_value):
        pass


@public("train.CheckpointSaverHook")
class CheckpointSaverHook(StepHook):
    """Saves at the beginning, every so many seconds or steps, and at the end."""

    def __init__(
        self,
        checkpoint_dir,
        save_secs=None,
        save_steps=None,
        saver=None,
        checkpoint_basename="model.ckpt",
        scaffold=None,
        listeners=None,
        save_graph_def=True,
    ):
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._scaffold = saver, scaffold
        self._checkpoint_dir = checkpoint_dir
        self._save_path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = listeners or []
        self._save_graph_def = save_graph_def

    def begin(self):
        self._summary_writer = FileWriterCache.get(self._checkpoint_dir)
        self._find_step()
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session, coord):
        step = session.run(self._global_step_tensor)
        graph = session.graph
        if self._save_graph_def:
            meta_graphs.write_graph_with_shapes(graph, self._checkpoint_dir, "graph.pbtxt")
        saver = self._get_saver()
        self._summary_writer.add_graph(graph)
        meta = meta_graphs.meta_graph_bytes(graph, saver.saver_def if saver else None)
        self._summary_writer._add_meta_graph(meta, None)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def after_run(self, run_context, run_values):
        if not self._timer.should_trigger_for_step(run_values.results + 1):
            return
        step = run_context.session.run(self._global_step_tensor)
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session):
        step = session.run(self._global_step_tensor)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)
        self._summary_writer.flush()

    def _save(self, session, step):
        for listener in self._listeners:
            listener.before_save(session, step)
        logs.info("Saving checkpoints for %d into %s.", step, self._save_path)
        self._get_saver().save(
            session, self._save_path, global_step=step, write_meta_graph=self._save_graph_def
        )
        log = protos.SessionLog(
            status=protos.SessionLog.CHECKPOINT, checkpoint_path=self._save_path
        )
        self._summary_writer.add_session_log(log, step)
        # All are told, also when the first one asks for a stop.
        return any([listener.after_save(session, step) for listener in self._listeners])

    def _get_saver(self):
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        savers = graphs.get_collection(GraphKeys.SAVERS)
        if len(savers) != 1:
            raise RuntimeError(
                "%s in collection %s. Please add a saver to the collection or provide a "
                "saver or scaffold."
                % ("More than one item" if savers else "No items", GraphKeys.SAVERS)
            )
        self._saver = savers[0]
        return self._saver

    def _quiet_until(self):
        return self._timer.quiet_until()


@public("train.StepCounterHook")
class StepCounterHook(StepHook):
    """Counts steps per second."""

    def __init__(self, every_n_steps=100, every_n_secs=None, output_dir=None, summary_writer=None):
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._summary_writer, self._output_dir = summary_writer, output_dir

    def begin(self):
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._find_step()
        self._summary_tag = global_steps.get_global_step().op.name + "/sec"

    def after_run(self, run_context, run_values):
        if not self._timer.should_trigger_for_step(run_values.results + 1):
            return
        step = run_context.session.run(self._global_step_tensor)
        if self._timer.should_trigger_for_step(step):
            elapsed_secs, elapsed_steps = self._timer.update_last_triggered_step(step)
            if elapsed_secs is not None:
                self._log_and_record(elapsed_steps, elapsed_secs, step)

    def _log_and_record(self, elapsed_steps, elapsed_time, global_step):
        rate = elapsed_steps / elapsed_time if elapsed_time > 0 else float("inf")
        if self._summary_writer is not None:
            value = protos.Summary.Value(tag=self._summary_tag, simple_value=rate)
            self._summary_writer.add_summary(protos.Summary(value=[value]), global_step)
        logs.info("%s: %g", self._summary_tag, rate)

    def _quiet_until(self):
        return self._timer.quiet_until()


@public("train.SummarySaverHook")
class SummarySaverHook(StepHook):
    """Writes summaries every so many steps or seconds."""

    def __init__(
        self,
        save_steps=None,
        save_secs=None,
        output_dir=None,
        summary_writer=None,
        scaffold=None,
        summary_op=None,
    ):
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op, self._scaffold = summary_op, scaffold
        self._summary_writer, self._output_dir = summary_writer, output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self):
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._next_step, self._request_summary = None, False
        self._find_step()

    def before_run(self, run_context):
        self._request_summary = self._wants_before_run()
        requests = {"global_step": self._global_step_tensor}
        summaries = self._get_summary_op()
        if self._request_summary and summaries is not None:
            requests["summary"] = summaries
        return SessionRunArgs(requests)

    def after_run(self, run_context, run_values):
        if not self._summary_writer:
            return
        requested, self._request_summary = self._request_summary, False
        step = run_values.results["global_step"] + 1
        if self._next_step is None or requested:
            step = run_context.session.run(self._global_step_tensor)
        if self._next_step is None:
            self._summary_writer.add_session_log(
                protos.SessionLog(status=protos.SessionLog.START), step
            )
        if requested:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session=None):
        if self._summary_writer:
            self._summary_writer.flush()

    def _get_summary_op(self):
        op = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
        return op if op is None or isinstance(op, list) else [op]

    def _wants_before_run(self):
        if not self._summary_writer:
            return False
        return self._next_step is None or self._timer.should_trigger_for_step(self._next_step)

    def _quiet_until(self):
        if not self._summary_writer:
            return NEVER, NEVER
        # The run after the one that reaches this step asks for the summary.
        step, moment = self._timer.quiet_until()
        return step - 1, moment

    def _results(self, step):
        return {"global_step": step}
