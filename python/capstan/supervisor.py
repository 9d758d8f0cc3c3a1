"""tf.train.Supervisor: a session that is initialised, restored, saved and summarised for the program."""

import contextlib
import os
import time

from capstan import control_ops, graph as graphs, protos, summary as summaries, variables
from capstan.coordinator import Coordinator, LooperThread
from capstan.global_step import get_global_step
from capstan.graph import GraphKeys
from capstan.saver import Saver
from capstan.session_manager import SessionManager

_DEFAULT = 0  # as TensorFlow's: None means "none", leaving it out means "the usual"


def default_local_init_op():
    return control_ops.group(variables.local_variables_initializer(), variables.tables_initializer())


def from_collection(key, make):
    """The item of a collection of one, made where it is missing."""
    found = graphs.get_collection(key)
    if found:
        return found[0]
    made = make()
    if made is not None:
        graphs.add_to_collection(key, made)
    return made


class Supervisor:
    USE_DEFAULT = _DEFAULT

    def __init__(self, graph=None, ready_op=_DEFAULT, ready_for_local_init_op=_DEFAULT, is_chief=True,
                 init_op=_DEFAULT, init_feed_dict=None, local_init_op=_DEFAULT, logdir=None,
                 summary_op=_DEFAULT, saver=_DEFAULT, global_step=_DEFAULT, save_summaries_secs=120,
                 save_model_secs=600, recovery_wait_secs=30, stop_grace_secs=120,
                 checkpoint_basename="model.ckpt", session_manager=None, summary_writer=_DEFAULT,
                 init_fn=None, local_init_run_options=None):
        self._graph = graph or graphs.get_default_graph()
        self._is_chief, self._logdir = is_chief, logdir
        self._init_feed_dict, self._init_fn = init_feed_dict, init_fn
        self._save_summaries_secs, self._save_model_secs = save_summaries_secs, save_model_secs
        self._stop_grace_secs = stop_grace_secs
        with self._graph.as_default():
            self._choose(ready_op, ready_for_local_init_op, init_op, local_init_op, summary_op, saver,
                         global_step)
        self._coord = Coordinator()
        self._save_path = os.path.join(logdir, checkpoint_basename) if logdir else None
        self._summary_writer = self._choose_writer(summary_writer)
        self._session_manager = session_manager or SessionManager(
            local_init_op=self._local_init_op, ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op, graph=self._graph,
            recovery_wait_secs=recovery_wait_secs)
        self._started_threads = []
        self._verify_setup()
        self._graph.finalize()

    # --- Setting up -----------------------------------------------------------------------------

    def _choose(self, ready_op, ready_for_local_init_op, init_op, local_init_op, summary_op, saver,
                global_step):
        def chosen(given, key, make):
            return from_collection(key, make) if given is _DEFAULT else given

        self._ready_op = chosen(ready_op, GraphKeys.READY_OP, variables.report_uninitialized_variables)
        self._ready_for_local_init_op = chosen(
            ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None)
        self._init_op = chosen(init_op, GraphKeys.INIT_OP, variables.global_variables_initializer)
        self._local_init_op = chosen(local_init_op, GraphKeys.LOCAL_INIT_OP, default_local_init_op)
        self._saver = chosen(saver, GraphKeys.SAVERS,
                             lambda: Saver() if variables.global_variables() else None)
        self._summary_op = chosen(summary_op, GraphKeys.SUMMARY_OP, summaries.merge_all)
        self._global_step = get_global_step(self._graph) if global_step is _DEFAULT else global_step

    def _choose_writer(self, summary_writer):
        if not self._is_chief:
            return None
        if summary_writer is _DEFAULT:
            if not self._logdir:
                return None
            os.makedirs(self._logdir, exist_ok=True)
            return summaries.FileWriter(self._logdir)
        return summary_writer

    def _verify_setup(self):
        if self._is_chief:
            return
        for op in self._graph.get_operations():
            if op.type in ("Variable", "VariableV2") and not op.device:
                raise ValueError("When using replicas, all Variables must have their device set: %s"
                                 % op.name)

    is_chief = property(lambda self: self._is_chief)
    session_manager = property(lambda self: self._session_manager)
    coord = property(lambda self: self._coord)
    init_op = property(lambda self: self._init_op)
    init_feed_dict = property(lambda self: self._init_feed_dict)
    ready_op = property(lambda self: self._ready_op)
    ready_for_local_init_op = property(lambda self: self._ready_for_local_init_op)
    local_init_op = property(lambda self: self._local_init_op)
    summary_op = property(lambda self: self._summary_op)
    summary_writer = property(lambda self: self._summary_writer)
    save_summaries_secs = property(lambda self: self._save_summaries_secs)
    save_model_secs = property(lambda self: self._save_model_secs)
    saver = property(lambda self: self._saver)
    save_path = property(lambda self: self._save_path)
    global_step = property(lambda self: self._global_step)

    # --- Sessions -------------------------------------------------------------------------------

    def prepare_or_wait_for_session(self, master="", config=None, wait_for_checkpoint=False,
                                    max_wait_secs=7200, start_standard_services=True):
        self._coord.clear_stop()
        if self._summary_writer:
            self._summary_writer.reopen()
        if self._is_chief:
            sess = self._session_manager.prepare_session(
                master, init_op=self._init_op, saver=self._saver, checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint, max_wait_secs=max_wait_secs, config=config,
                init_feed_dict=self._init_feed_dict, init_fn=self._init_fn)
            self._write_graph()
            if start_standard_services:
                self.start_standard_services(sess)
        else:
            sess = self._session_manager.wait_for_session(master, config=config,
                                                          max_wait_secs=max_wait_secs)
        if start_standard_services:
            self.start_queue_runners(sess)
        return sess

    def _write_graph(self):
        if self._summary_writer and self._logdir:
            self._summary_writer.add_graph(self._graph)

    def start_standard_services(self, sess):
        """Threads of the chief that save and summarise."""
        if not self._is_chief:
            raise RuntimeError("Only chief supervisor can start standard services.")
        if not self._logdir:
            return []
        if self._summary_writer and self._global_step is not None:
            step = int(sess.run(self._global_step))
            self._summary_writer.add_session_log(
                protos.SessionLog(status=protos.SessionLog.START), step)
        services = []
        if self._save_summaries_secs and self._summary_writer:
            if self._summary_op is not None:
                services.append((self._save_summaries_secs, self._summarise))
            if self._global_step is not None:
                services.append((self._save_summaries_secs, _StepRate(self, sess)))
        if self._saver and self._save_model_secs:
            services.append((self._save_model_secs, self._save))
        started = [LooperThread.loop(self._coord, seconds, target=service, args=(sess,))
                   for seconds, service in services]
        self._started_threads.extend(started)
        return started

    def _summarise(self, sess):
        step = 0 if self._global_step is None else int(sess.run(self._global_step))
        self._summary_writer.add_summary(sess.run(self._summary_op), step)

    def _save(self, sess):
        self._saver.save(sess, self._save_path, global_step=self._global_step)

    def start_queue_runners(self, sess, queue_runners=None):
        runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS) if queue_runners is None else queue_runners
        threads = []
        for runner in runners:
            threads.extend(runner.create_threads(sess, coord=self._coord, daemon=True, start=True))
        self._started_threads.extend(threads)
        return threads

    def loop(self, timer_interval_secs, target, args=None, kwargs=None):
        looper = LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)
        self._started_threads.append(looper)
        return looper

    # --- Stopping -------------------------------------------------------------------------------

    def stop(self, threads=None, close_summary_writer=True, ignore_live_threads=False):
        self._coord.request_stop()
        try:
            self._coord.join(threads, stop_grace_period_secs=self._stop_grace_secs,
                             ignore_live_threads=ignore_live_threads)
        finally:
            if close_summary_writer and self._summary_writer:
                self._summary_writer.add_session_log(
                    protos.SessionLog(status=protos.SessionLog.STOP))
                self._summary_writer.close()

    def request_stop(self, ex=None):
        self._coord.request_stop(ex=ex)

    def should_stop(self):
        return self._coord.should_stop()

    def stop_on_exception(self):
        return self._coord.stop_on_exception()

    def wait_for_stop(self):
        self._coord.wait_for_stop()

    def summary_computed(self, sess, summary, global_step=None):
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = int(sess.run(self._global_step))
        self._summary_writer.add_summary(summary, global_step)

    @contextlib.contextmanager
    def managed_session(self, master="", config=None, start_standard_services=True,
                        close_summary_writer=True):
        """A session that is stopped and closed at the end; what goes wrong within is raised there."""
        sess = None
        try:
            sess = self.prepare_or_wait_for_session(master=master, config=config,
                                                    start_standard_services=start_standard_services)
            yield sess
        except Exception as error:  # raised again by stop(), after the threads have ended
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if sess is not None:
                    sess.close()

    PrepareSession = prepare_or_wait_for_session
    StartStandardServices = start_standard_services
    StartQueueRunners = start_queue_runners
    Loop = loop
    Stop = stop
    RequestStop = request_stop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


class _StepRate:
    """Writes global_step/sec."""

    def __init__(self, supervisor, sess):
        self._supervisor = supervisor
        self._time, self._step = time.time(), None

    def __call__(self, sess):
        supervisor = self._supervisor
        now, step = time.time(), int(sess.run(supervisor._global_step))
        if self._step is not None and now > self._time:
            rate = (step - self._step) / (now - self._time)
            value = protos.Summary.Value(tag=supervisor._global_step.op.name + "/sec", simple_value=rate)
            supervisor._summary_writer.add_summary(protos.Summary(value=[value]), step)
        self._time, self._step = now, step


