"""tf.train.MonitoredTrainingSession, its hooks and its recovery."""

import os

import numpy as np
import pytest
import tensorflow as tf
from capstan.session import task
from test_training_summary import events_in, scalars_in


@pytest.fixture
def count():
    """An op that counts the global step, which is returned."""
    step = tf.train.get_or_create_global_step()
    return tf.assign_add(step, 1)


def run_to_the_end(sess, op):
    done = []
    while not sess.should_stop():
        done.append(sess.run(op))
    return done


class Watcher(tf.train.SessionRunHook):
    """Writes down what happens to it."""

    def __init__(self, name="hook", log=None, **asks):
        self.name, self.log, self.asks = name, [] if log is None else log, asks
        self.results = []

    def begin(self):
        self.log.append(self.name + " begin")
        assert not tf.get_default_graph().finalized

    def after_create_session(self, session, coord):
        self.log.append(self.name + " created")
        assert session.graph.finalized

    def before_run(self, run_context):
        self.log.append(self.name + " before")
        return tf.train.SessionRunArgs(self.asks.get("fetches"), self.asks.get("feed_dict"))

    def after_run(self, run_context, run_values):
        self.log.append(self.name + " after")
        self.results.append(run_values.results)

    def end(self, session):
        self.log.append(self.name + " end")


# --- Stopping ---


@pytest.mark.parametrize("last", [1, 2, 5])
def test_training_stops_at_a_step(count, last):
    with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(last_step=last)]) as sess:
        assert run_to_the_end(sess, count) == list(range(1, last + 1))
        with pytest.raises(RuntimeError, match="after should_stop"):
            sess.run(count)


def test_training_stops_after_so_many_steps(count, tmp_path):
    for begin in (0, 3):
        with tf.Graph().as_default():
            op = tf.assign_add(tf.train.get_or_create_global_step(), 1)
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), hooks=[tf.train.StopAtStepHook(num_steps=3)]
            ) as sess:
                assert run_to_the_end(sess, op) == [begin + 1, begin + 2, begin + 3]


def test_runs_that_do_not_count_do_not_stop(count):
    step = tf.train.get_global_step()
    with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(last_step=2)]) as sess:
        for _ in range(5):
            assert sess.run(step) == 0 and not sess.should_stop()
        assert len(run_to_the_end(sess, count)) == 2


def test_a_program_hook_may_stop(count):
    class Stop(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            if run_context.session.run(tf.train.get_global_step()) == 3:
                run_context.request_stop()

    with tf.train.MonitoredSession(hooks=[Stop()]) as sess:
        assert run_to_the_end(sess, count) == [1, 2, 3]


def test_bad_stop_hooks_are_refused():
    for bad in ({}, {"num_steps": 1, "last_step": 2}):
        with pytest.raises(ValueError, match="num_steps"):
            tf.train.StopAtStepHook(**bad)
    with pytest.raises(RuntimeError, match="Global step should be created"):
        tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(1)])


def test_the_limit_of_the_launcher_stops(count, monkeypatch):
    monkeypatch.setattr(task.process(), "max_steps", 4)
    with tf.train.MonitoredSession(hooks=[Watcher()]) as sess:
        assert run_to_the_end(sess, count) == [1, 2, 3, 4]
    with tf.Graph().as_default():
        op = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        with tf.train.MonitoredSession() as sess:
            assert run_to_the_end(sess, op) == [1, 2, 3, 4]


# --- Hooks ---


def test_hooks_are_called_in_order(count):
    log = []
    hooks = [Watcher("a", log), Watcher("b", log)]
    with tf.train.MonitoredSession(hooks=hooks) as sess:
        sess.run(count)
    assert log == [
        "a begin",
        "b begin",
        "a created",
        "b created",
        "a before",
        "b before",
        "a after",
        "b after",
        "a end",
        "b end",
    ]


def test_hooks_get_what_they_ask_for(count):
    x = tf.placeholder(tf.float32, [])
    double = x * 2
    listens = Watcher(fetches={"twice": double, "list": [x]})
    feeds = tf.train.FeedFnHook(lambda: {x: 4.0})
    stop = tf.train.StopAtStepHook(last_step=2)
    with tf.train.MonitoredSession(hooks=[listens, stop, feeds]) as sess:
        assert [float(v) for v in run_to_the_end(sess, [double, count])[-1]] == [8.0, 2.0]
    assert listens.results == [{"twice": 8.0, "list": [4.0]}] * 2


def test_a_hook_sees_the_program_s_arguments(count):
    x = tf.placeholder(tf.float32, [])
    seen = []

    class Looks(tf.train.SessionRunHook):
        def before_run(self, run_context):
            seen.append(run_context.original_args)

        def after_run(self, run_context, run_values):
            assert run_values.results is None

    with tf.train.MonitoredSession(hooks=[Looks()]) as sess:
        sess.run([count, x], {x: 1.0})
    assert seen[0].fetches == [count, x] and seen[0].feed_dict == {x: 1.0}


def test_two_feeds_of_one_tensor_are_refused(count):
    x = tf.placeholder(tf.float32, [])
    with tf.train.MonitoredSession(hooks=[Watcher(feed_dict={x: 1.0})]) as sess:
        with pytest.raises(RuntimeError, match="fed by a SessionRunHook and user"):
            sess.run(x, {x: 2.0})
        assert sess.run(x) == 1.0
    with tf.Graph().as_default():
        y = tf.placeholder(tf.float32, [])
        with tf.train.MonitoredSession(hooks=[Watcher(feed_dict={y: 1.0})] * 2) as sess:
            with pytest.raises(RuntimeError, match="fed by two hooks"):
                sess.run(y)


def test_hooks_do_not_end_after_an_error(count):
    watcher = Watcher()
    with pytest.raises(ZeroDivisionError):
        with tf.train.MonitoredSession(hooks=[watcher]):
            raise ZeroDivisionError
    assert "hook end" not in watcher.log


def test_the_end_of_input_ends_the_block_in_good_order(count):
    watcher = Watcher()
    with tf.train.MonitoredSession(hooks=[watcher]):
        raise tf.errors.OutOfRangeError(None, None, "no more")
    assert watcher.log[-1] == "hook end"


def test_a_closed_session_is_closed(count):
    sess = tf.train.MonitoredSession()
    assert sess.graph is tf.get_default_graph() and sess.graph.finalized
    sess.close()
    assert sess.should_stop() and sess.graph is None
    assert not tf.get_default_graph().finalized
    with pytest.raises(RuntimeError, match="already closed"):
        sess.close()


def test_a_subclass_of_a_hook_of_ours_is_called_at_every_run(count):
    class Counts(tf.train.StopAtStepHook):
        calls = 0

        def after_run(self, run_context, run_values):
            Counts.calls += 1
            super().after_run(run_context, run_values)

    with tf.train.MonitoredSession(hooks=[Counts(last_step=4)]) as sess:
        run_to_the_end(sess, count)
    assert Counts.calls == 4


def test_logging_nan_final_and_waiting_hooks(count, caplog):
    tf.logging.set_verbosity(tf.logging.INFO)
    x = tf.placeholder(tf.float32, [], name="x")
    final = tf.train.FinalOpsHook(tf.train.get_global_step())
    hooks = [
        tf.train.LoggingTensorHook({"value": "x"}, every_n_iter=2),
        final,
        tf.train.NanTensorHook(x, fail_on_nan_loss=False),
        tf.train.GlobalStepWaiterHook(0),
    ]
    tf.get_logger = tf.logging.get_logger
    tf.logging.get_logger().propagate = True
    with caplog.at_level("INFO", logger="tensorflow"):
        with tf.train.MonitoredSession(hooks=hooks) as sess:
            for value in (1.0, 2.0, 3.0, float("nan")):
                assert not sess.should_stop()
                sess.run(count, {x: value})
            assert sess.should_stop()
    logged = [r.message for r in caplog.records if r.message.startswith("value = ")]
    assert [line.split()[2] for line in logged] == ["1.0", "3.0"]
    assert final.final_ops_values == 4
    tf.logging.set_verbosity(tf.logging.WARN)


def test_a_nan_loss_fails(count):
    x = tf.placeholder(tf.float32, [])
    with pytest.raises(tf.train.NanLossDuringTrainingError):
        with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(x)]) as sess:
            sess.run(count, {x: float("nan")})


# --- The chief's hooks ---


def test_the_chief_saves_at_the_beginning_and_at_the_end(count, tmp_path):
    folder = str(tmp_path)
    with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=[tf.train.StopAtStepHook(last_step=5)]) as sess:
        assert tf.train.latest_checkpoint(folder).endswith("model.ckpt-0")
        run_to_the_end(sess, count)
    assert tf.train.latest_checkpoint(folder).endswith("model.ckpt-5")
    assert os.path.exists(os.path.join(folder, "graph.pbtxt"))


def test_checkpoints_are_written_every_few_steps(count, tmp_path):
    saved = []

    class Listener(tf.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            saved.append(int(global_step_value))

    hooks = [
        tf.train.CheckpointSaverHook(str(tmp_path), save_steps=4, listeners=[Listener()]),
        tf.train.StopAtStepHook(last_step=10),
    ]
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    with tf.train.MonitoredSession(hooks=hooks) as sess:
        run_to_the_end(sess, count)
    assert saved == [0, 4, 8, 10]


def test_a_listener_may_stop(count, tmp_path):
    class Enough(tf.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            return global_step_value >= 3

    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1, saver=tf.train.Saver(), listeners=[Enough()])
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        assert run_to_the_end(sess, count) == [1, 2, 3]


def test_summaries_and_speed_are_written_every_few_steps(count, tmp_path):
    tf.summary.scalar("twice", 2.0 * tf.cast(tf.train.get_global_step(), tf.float32))
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path),
        save_summaries_steps=10,
        log_step_count_steps=20,
        hooks=[tf.train.StopAtStepHook(last_step=45)],
    ) as sess:
        run_to_the_end(sess, count)
    found = scalars_in(tmp_path)
    assert [step for tag, step, _ in found if tag == "twice"] == [1, 11, 21, 31, 41]
    assert [step for tag, step, _ in found if tag == "global_step/sec"] == [21, 41]
    logs = [e.session_log.status for e in events_in(tmp_path) if e.HasField("session_log")]
    assert sorted(logs) == [tf.SessionLog.START] + [tf.SessionLog.CHECKPOINT] * 2


def test_nothing_is_written_when_all_is_switched_off(count, tmp_path):
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path),
        save_summaries_steps=None,
        log_step_count_steps=None,
        save_checkpoint_secs=None,
        hooks=[tf.train.StopAtStepHook(last_step=3)],
    ) as sess:
        run_to_the_end(sess, count)
    assert list(tmp_path.iterdir()) == []


def test_a_timer_triggers_by_steps_or_by_seconds(monkeypatch):
    with pytest.raises(ValueError):
        tf.train.SecondOrStepTimer()
    with pytest.raises(ValueError):
        tf.train.SecondOrStepTimer(every_secs=1, every_steps=1)
    steps = tf.train.SecondOrStepTimer(every_steps=3)
    assert steps.should_trigger_for_step(1)
    assert steps.update_last_triggered_step(1) == (None, None)
    assert [steps.should_trigger_for_step(s) for s in (1, 3, 4)] == [False, False, True]
    now = [100.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    secs = tf.train.SecondOrStepTimer(every_secs=2.0)
    secs.update_last_triggered_step(1)
    assert not secs.should_trigger_for_step(2)
    now[0] = 102.0
    assert secs.should_trigger_for_step(2)
    assert secs.update_last_triggered_step(5) == (2.0, 4)


# --- Scaffolds and creators ---


def test_a_scaffold_makes_what_is_missing_and_keeps_what_is_given(count):
    seen = []
    local = tf.Variable(3, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="local")
    init = tf.global_variables_initializer()
    scaffold = tf.train.Scaffold(init_op=init, init_fn=lambda s, sess: seen.append(s))
    with tf.train.MonitoredTrainingSession(scaffold=scaffold) as sess:
        assert sess.run(local) == 3
    assert scaffold.init_op is init and seen == [scaffold]
    assert scaffold.saver in tf.get_collection(tf.GraphKeys.SAVERS)
    copy = tf.train.Scaffold(copy_from_scaffold=scaffold)
    assert copy.init_op is init and copy.ready_op is scaffold.ready_op
    with pytest.raises(TypeError):
        tf.train.Scaffold(copy_from_scaffold=1)


def test_training_goes_on_from_a_checkpoint_file(count, tmp_path):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run([count])
        prefix = tf.train.Saver().save(sess, str(tmp_path / "m"))
    creator = tf.train.ChiefSessionCreator(checkpoint_filename_with_path=prefix)
    with tf.train.MonitoredSession(creator) as sess:
        assert sess.run(count) == 2


def test_the_raw_session_of_a_singular_one_can_be_used(count):
    with tf.train.SingularMonitoredSession() as sess:
        assert isinstance(sess.raw_session(), tf.Session)
        assert sess.raw_session().run(count) == 1 and sess.run(count) == 2


def test_a_step_function_uses_the_raw_session_and_the_hooks(count):
    watcher = Watcher()

    def step_fn(step_context):
        assert step_context.session.run(count) == 1
        assert "hook before" not in watcher.log
        return step_context.run_with_hooks(count)

    with tf.train.MonitoredSession(hooks=[watcher]) as sess:
        assert sess.run_step_fn(step_fn) == 2
        assert watcher.log[-1] == "hook after"
        with pytest.raises(ValueError, match="step_context"):
            sess.run_step_fn(lambda other: None)
        sess.run_step_fn(lambda step_context: step_context.request_stop())
    assert watcher.log[-1] == "hook end"


# --- Lost tasks ---


class Breaks(tf.train.SessionRunHook):
    """Fails once with a given error, as if a task had been lost."""

    def __init__(self, error, at=2):
        self.error, self.at, self.runs, self.sessions = error, at, 0, 0

    def after_create_session(self, session, coord):
        self.sessions += 1

    def before_run(self, run_context):
        self.runs += 1
        if self.runs == self.at:
            raise self.error(None, None, "lost")


@pytest.mark.parametrize("error", [tf.errors.AbortedError, tf.errors.UnavailableError])
def test_a_lost_task_makes_a_new_session_and_the_run_is_repeated(count, error, tmp_path):
    breaks = Breaks(error, at=4)
    hooks = [breaks, tf.train.StopAtStepHook(last_step=6)]
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), hooks=hooks, save_checkpoint_secs=None, save_checkpoint_steps=2
    ) as sess:
        done = run_to_the_end(sess, count)
    # Back to the checkpoint at step 2: a session of this process has a store of its own.
    assert done == [1, 2, 3, 3, 4, 5, 6] and breaks.sessions == 2


def test_other_errors_are_the_program_s(count):
    with pytest.raises(tf.errors.InternalError):
        with tf.train.MonitoredSession(hooks=[Breaks(tf.errors.InternalError)]) as sess:
            run_to_the_end(sess, count)


def test_a_singular_session_does_not_recover(count):
    with pytest.raises(tf.errors.AbortedError):
        with tf.train.SingularMonitoredSession(hooks=[Breaks(tf.errors.AbortedError)]) as sess:
            run_to_the_end(sess, count)


def test_the_error_of_a_thread_explains_the_error_of_a_run(count):
    class Thread(tf.train.SessionRunHook):
        def after_create_session(self, session, coord):
            self.coord = coord

        def before_run(self, run_context):
            self.coord.request_stop(tf.errors.AbortedError(None, None, "the cause"))
            raise ValueError("what followed")

    hook = Thread()
    with pytest.raises(tf.errors.AbortedError, match="the cause"):
        with tf.train.SingularMonitoredSession(hooks=[hook]) as sess:
            sess.run(count)


# --- Values ---


def test_fetches_of_any_form_come_back_in_that_form(count):
    v = tf.Variable([1.0, 2.0])
    with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(last_step=100)]) as sess:
        for _ in range(3):  # hooks may be called at the first run and not at the next
            got = sess.run({"v": v, "pair": (count, [v])})
            assert np.array_equal(got["v"], [1.0, 2.0]) and isinstance(got["pair"], tuple)
            assert sess.run("Variable:0").tolist() == [1.0, 2.0]
            assert sess.run(count.op) is None
