"""tf.train.Supervisor: a session for training, its checkpoints and summaries, and a common end."""

import contextlib
import os

from capstan.core import dtypes, errors, protos
from capstan.core import graph as graphs
from capstan.core.graph import GraphKeys
from capstan.core.public import public
from capstan.files import meta_graphs
from capstan.files import summary as summaries
from capstan.files.saver import Saver
from capstan.ops import control_ops, variables
from capstan.ops import global_step as global_steps
from capstan.platform import logs
from capstan.session import task
from capstan.session.session import Session
from capstan.session.watching import FollowedSession, step_counted_in
from capstan.train.coordinator import Coordinator, LooperThread
from capstan.train.services import SVStepCounterThread, SVSummaryThread, SVTimerCheckpointThread
from capstan.train.session_manager import SessionManager


class _WatchedSession(FollowedSession, Session):
    """Tells the launcher how training goes; made only where a launcher listens or gave a limit."""

    _supervisor = _step = None

    def _watch(self, supervisor):
        self._follow()
        self._supervisor = supervisor

    def _finish(self):
        if self._step is not None:
            self._reporter.end(super(), self._step)

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        if self._supervisor is None:
            return super().run(fetches, feed_dict, options, run_metadata)
        self._supervisor._check_limit()
        wanted = self._reporter.limit or self._reporter.due
        # Other runs stay as the program made them: they may outlive the server of the step.
        counted = step_counted_in(self.graph, fetches) if wanted else None
        if counted is None:
            return super().run(fetches, feed_dict, options, run_metadata)
        self._step = counted
        try:
            values, step = self._run_counted(counted, fetches, feed_dict, options, run_metadata)
        except task.LimitReached as reached:
            self._supervisor._limit_reached(reached.step)
            raise
        self._reporter.report_if_due(step, fetches, values)
        if self._reporter.reached(step):
            self._supervisor._limit_reached(step)
        return values


class _WatchedSessionManager(SessionManager):
    def _session(self, master, config):
        return _WatchedSession(master, graph=self._graph, config=config)


@public("train.Supervisor")
class Supervisor:
    """A keyword that is left out means the usual thing; None means that there shall be none."""

    USE_DEFAULT = 0

    def __init__(
        self,
        graph=None,
        ready_op=USE_DEFAULT,
        ready_for_local_init_op=USE_DEFAULT,
        is_chief=True,
        init_op=USE_DEFAULT,
        init_feed_dict=None,
        local_init_op=USE_DEFAULT,
        logdir=None,
        summary_op=USE_DEFAULT,
        saver=USE_DEFAULT,
        global_step=USE_DEFAULT,
        save_summaries_secs=120,
        save_model_secs=600,
        recovery_wait_secs=30,
        stop_grace_secs=120,
        checkpoint_basename="model.ckpt",
        session_manager=None,
        summary_writer=USE_DEFAULT,
        init_fn=None,
        local_init_run_options=None,
    ):
        self._graph = graph or graphs.get_default_graph()
        self._is_chief, self._init_fn, self._init_feed_dict = is_chief, init_fn, init_feed_dict
        with self._graph.as_default():
            self._take_ops(ready_op, ready_for_local_init_op, init_op, local_init_op)
            self._saver = self._given_or(saver, GraphKeys.SAVERS, _default_saver)
            self._summary_op = self._given_or(summary_op, GraphKeys.SUMMARY_OP, summaries.merge_all)
            self._global_step = self._given_or(
                global_step, GraphKeys.GLOBAL_STEP, _default_global_step
            )
        self._coord = Coordinator()
        self._recovery_wait_secs, self._stop_grace_secs = recovery_wait_secs, stop_grace_secs
        self._local_init_run_options = local_init_run_options
        self._logdir = self._save_summaries_secs = self._save_model_secs = None
        self._save_path = self._summary_writer = None
        self._graph_added_to_summary = False
        self._limit_step, self._asked_to_stop = None, False
        if is_chief:
            self._take_files(
                logdir, checkpoint_basename, save_summaries_secs, save_model_secs, summary_writer
            )
        self._session_manager = session_manager or self._make_session_manager()
        self._verify_setup()
        self._graph.finalize()

    # --- Construction -----------------------------------------------------------------------------

    def _given_or(self, given, key, make):
        """What was given, else the first of a collection, else a new one, kept there."""
        if given is not Supervisor.USE_DEFAULT:
            return given
        found = self._graph.get_collection(key)
        if found:
            return found[0]
        made = make()
        if made is not None:
            graphs.add_to_collection(key, made)
        return made

    def _take_ops(self, ready_op, ready_for_local_init_op, init_op, local_init_op):
        self._ready_op = self._given_or(
            ready_op, GraphKeys.READY_OP, variables.report_uninitialized_variables
        )
        self._ready_for_local_init_op = self._given_or(
            ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None
        )
        self._init_op = self._given_or(
            init_op, GraphKeys.INIT_OP, variables.global_variables_initializer
        )
        self._local_init_op = self._given_or(
            local_init_op, GraphKeys.LOCAL_INIT_OP, _default_local_init_op
        )

    def _take_files(self, logdir, basename, save_summaries_secs, save_model_secs, summary_writer):
        self._logdir = logdir
        self._save_summaries_secs, self._save_model_secs = save_summaries_secs, save_model_secs
        if logdir:
            self._save_path = os.path.join(logdir, basename)
        if summary_writer is not Supervisor.USE_DEFAULT:
            self._summary_writer = summary_writer
        elif logdir:
            self._summary_writer = summaries.FileWriter(logdir)

    def _make_session_manager(self):
        kind = _WatchedSessionManager if task.watched() else SessionManager
        return kind(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=self._recovery_wait_secs,
            local_init_run_options=self._local_init_run_options,
        )

    def _verify_setup(self):
        if self._is_chief:
            return
        for op in self._graph.get_operations():
            if op.type in ("Variable", "VariableV2") and not op.device:
                raise ValueError(
                    "When using replicas, all Variables must have their device set: %s" % op.name
                )

    is_chief = property(lambda self: self._is_chief)
    session_manager = property(lambda self: self._session_manager)
    coord = property(lambda self: self._coord)
    init_op = property(lambda self: self._init_op)
    init_feed_dict = property(lambda self: self._init_feed_dict)
    ready_op = property(lambda self: self._ready_op)
    ready_for_local_init_op = property(lambda self: self._ready_for_local_init_op)
    summary_writer = property(lambda self: self._summary_writer)
    summary_op = property(lambda self: self._summary_op)
    save_summaries_secs = property(lambda self: self._save_summaries_secs)
    global_step = property(lambda self: self._global_step)
    saver = property(lambda self: self._saver)
    save_model_secs = property(lambda self: self._save_model_secs)
    save_path = property(lambda self: self._save_path)

    # --- Sessions ---------------------------------------------------------------------------------

    def prepare_or_wait_for_session(
        self,
        master="",
        config=None,
        wait_for_checkpoint=False,
        max_wait_secs=7200,
        start_standard_services=True,
    ):
        """A session whose model is ready; the chief makes it so, others wait for it."""
        self._coord.clear_stop()
        if self._summary_writer:
            self._summary_writer.reopen()
        if self._is_chief:
            sess = self._session_manager.prepare_session(
                master,
                init_op=self._init_op,
                saver=self._saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                self.start_standard_services(sess)
        else:
            sess = self._session_manager.wait_for_session(
                master, config=config, max_wait_secs=max_wait_secs
            )
        if start_standard_services:
            self.start_queue_runners(sess)
        if isinstance(sess, _WatchedSession):
            sess._watch(self)
        return sess

    def _write_graph(self):
        if self._logdir:
            meta_graphs.write_graph_with_shapes(self._graph, self._logdir, "graph.pbtxt")
        if self._summary_writer and not self._graph_added_to_summary:
            self._summary_writer.add_graph(self._graph)
            saver_def = self._saver.saver_def if self._saver else None
            self._summary_writer._add_meta_graph(
                meta_graphs.meta_graph_bytes(self._graph, saver_def), None
            )
            self._graph_added_to_summary = True

    def start_standard_services(self, sess):
        """The threads that save, summarise and count steps; the chief's, where it has a folder."""
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors can write events."
            )
        if not self._logdir:
            logs.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self._global_step is not None and self._summary_writer:
            step = global_steps.global_step(sess, self._global_step)
            self._summary_writer.add_session_log(
                protos.SessionLog(status=protos.SessionLog.START), step
            )
        threads = []
        if self._save_summaries_secs and self._summary_writer:
            if self._summary_op is not None:
                threads.append(SVSummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(SVStepCounterThread(self, sess))
        if self._saver and self._save_model_secs:
            threads.append(SVTimerCheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(self, sess, queue_runners=None):
        """Starts the threads of the queue runners given, else of those in the collection."""
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        return [
            thread
            for runner in queue_runners
            for thread in runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        ]

    @contextlib.contextmanager
    def managed_session(
        self, master="", config=None, start_standard_services=True, close_summary_writer=True
    ):
        """A session for a block. An error in the block stops all threads first and is raised then;
        the end of input is no error."""
        sess = None
        try:
            sess = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            yield sess
            if isinstance(sess, _WatchedSession):
                sess._finish()
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if sess is not None:
                    sess.close()

    # --- Threads and their end --------------------------------------------------------------------

    def loop(self, timer_interval_secs, target, args=None, kwargs=None):
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def stop(self, threads=None, close_summary_writer=True, ignore_live_threads=False):
        """Ends all threads; raises the first error among them. The session stays open."""
        self._coord.request_stop()
        try:
            self._coord.join(
                threads,
                stop_grace_period_secs=self._stop_grace_secs,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if close_summary_writer and self._summary_writer:
                self._summary_writer.add_session_log(
                    protos.SessionLog(status=protos.SessionLog.STOP)
                )
                self._summary_writer.close()
                self._graph_added_to_summary = False

    def request_stop(self, ex=None):
        self._coord.request_stop(ex=ex)

    def should_stop(self):
        self._asked_to_stop = True
        return self._coord.should_stop()

    def stop_on_exception(self):
        return self._coord.stop_on_exception()

    def wait_for_stop(self):
        self._coord.wait_for_stop()

    def summary_computed(self, sess, summary, global_step=None):
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = global_steps.global_step(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    # --- The launcher's limit ---------------------------------------------------------------------

    def _limit_reached(self, step):
        self._limit_step = step
        self._coord.request_stop()

    def _check_limit(self):
        """A loop that never asks should_stop() ends as at the end of its input."""
        if self._limit_step is not None and not self._asked_to_stop:
            raise task.limit_reached(self._limit_step)

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


@public("train.basic_train_loop")
def basic_train_loop(supervisor, train_step_fn, args=None, kwargs=None, master=""):
    """Calls train_step_fn(session, *args, **kwargs) until the supervisor stops; with a new session
    where one was aborted."""
    aborted = True
    while aborted:
        try:
            aborted = False
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
        except errors.AbortedError:
            aborted = True


def _default_saver():
    return Saver() if variables.global_variables() else None


def _default_local_init_op():
    return control_ops.group(
        variables.local_variables_initializer(), variables.tables_initializer()
    )


def _default_global_step():
    op = graphs.get_default_graph()._find("global_step")
    if op is None or not op.outputs:
        return None
    step = op.outputs[0]
    if step.dtype.base_dtype in (dtypes.int32, dtypes.int64):
        return step
    logs.warning("Found 'global_step' is not an int type: %s", step.dtype)
    return None
