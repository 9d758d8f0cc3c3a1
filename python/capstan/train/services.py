"""The threads of a supervisor: they save, summarise and count on a timer."""

import time

from capstan.core import protos
from capstan.ops import global_step as global_steps
from capstan.platform import logs
from capstan.train.coordinator import LooperThread


class SVSummaryThread(LooperThread):
    """Writes the summary op's values on a timer."""

    def __init__(self, sv, sess):
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self):
        sv = self._sv
        fetches = [sv.summary_op] if sv.global_step is None else [sv.summary_op, sv.global_step]
        values = self._sess.run(fetches)
        if sv.summary_writer:
            sv.summary_writer.add_summary(values[0], values[1] if len(values) > 1 else None)


class SVStepCounterThread(LooperThread):
    """Writes how many steps are done in a second."""

    def __init__(self, sv, sess, step_counter=None):
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess
        self._step_counter = sv.global_step if step_counter is None else step_counter
        self._summary_tag = "%s/sec" % self._step_counter.op.name

    def start_loop(self):
        self._last_time = time.time()
        self._last_step = global_steps.global_step(self._sess, self._step_counter)

    def run_loop(self):
        step, now = global_steps.global_step(self._sess, self._step_counter), time.time()
        elapsed = now - self._last_time
        rate = (step - self._last_step) / elapsed if elapsed > 0 else float("inf")
        self._last_step, self._last_time = step, now
        if self._sv.summary_writer:
            value = protos.Summary.Value(tag=self._summary_tag, simple_value=rate)
            self._sv.summary_writer.add_summary(protos.Summary(value=[value]), step)
        logs.log_first_n(logs.INFO, "%s: %g", 10, self._summary_tag, rate)


class SVTimerCheckpointThread(LooperThread):
    """Writes checkpoints on a timer."""

    def __init__(self, sv, sess):
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self):
        sv = self._sv
        logs.info("Saving checkpoint to path %s", sv.save_path)
        sv.saver.save(self._sess, sv.save_path, global_step=sv.global_step)
        if sv.summary_writer and sv.global_step is not None:
            log = protos.SessionLog(
                status=protos.SessionLog.CHECKPOINT, checkpoint_path=sv.save_path
            )
            sv.summary_writer.add_session_log(
                log, global_steps.global_step(self._sess, sv.global_step)
            )
