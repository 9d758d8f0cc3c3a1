"""tf.train.Supervisor and tf.train.SessionManager."""

import threading
import time

import numpy as np
import pytest
import tensorflow as tf
from capstan.session import task


def counting_model():
    """(step, op that counts it)"""
    step = tf.Variable(0, name="global_step", trainable=False)
    return step, tf.assign_add(step, 1)


def test_a_model_is_initialised_and_the_graph_is_final(tmp_path):
    step, count = counting_model()
    sv = tf.train.Supervisor(logdir=str(tmp_path))
    assert tf.get_default_graph().finalized
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(1)
    with sv.managed_session() as sess:
        assert sess.run(count) == 1
    assert tf.train.latest_checkpoint(str(tmp_path)) is not None
    assert (tmp_path / "graph.pbtxt").exists()


def test_a_program_may_count_its_steps_in_floats(tmp_path):
    step = tf.Variable(0.0, name="steps", trainable=False)
    w = tf.Variable(1.0)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(w * w, global_step=step)
    with tf.train.Supervisor(logdir=str(tmp_path), global_step=step).managed_session() as sess:
        sess.run(train)
        assert sess.run([train, step])[1] in (1.0, 2.0)


def test_a_basic_train_loop_outlives_an_aborted_session(tmp_path):
    step, count = counting_model()
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
    calls = []

    def train(session, last, fail_at):
        calls.append(session)
        if len(calls) == fail_at:
            raise tf.errors.AbortedError(None, None, "the server is gone")
        if session.run(count) == last:
            sv.request_stop()

    tf.train.basic_train_loop(sv, train, args=[3], kwargs={"fail_at": 2})
    # The second session begins anew, since nothing was saved.
    assert len(calls) == 5 and calls[0] is calls[1] and calls[2] is not calls[1]


def test_training_goes_on_from_the_last_checkpoint(tmp_path):
    for start in (0, 5):
        tf.reset_default_graph()
        step, count = counting_model()
        sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
        with sv.managed_session() as sess:
            assert sess.run(step) == start
            for _ in range(5):
                sess.run(count)
            sv.saver.save(sess, sv.save_path, global_step=sv.global_step)


def test_none_is_not_the_default(tmp_path):
    counting_model()
    tf.summary.scalar("x", tf.constant(1.0))
    usual = tf.train.Supervisor(logdir=str(tmp_path))
    assert usual.saver is not None and usual.summary_op is not None
    assert usual.global_step.name == "global_step:0" and usual.init_op is not None
    tf.get_default_graph()._unsafe_unfinalize()
    none = tf.train.Supervisor(
        saver=None,
        summary_op=None,
        global_step=None,
        ready_op=None,
        init_op=None,
        local_init_op=None,
        summary_writer=None,
        logdir=str(tmp_path),
    )
    assert none.saver is None and none.summary_op is None and none.global_step is None
    assert none.ready_op is None and none.init_op is None and none.summary_writer is None


def test_services_write_summaries_steps_and_checkpoints(tmp_path):
    from test_training_summary import events_in, scalars_in

    step, count = counting_model()
    tf.summary.scalar("x", tf.constant(2.0))
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=0.05, save_model_secs=0.05)
    with sv.managed_session() as sess:
        deadline = time.monotonic() + 20
        while len(scalars_in(tmp_path)) < 6 and time.monotonic() < deadline:
            sess.run(count)
            sv.summary_writer.flush()
    assert {tag for tag, _, _ in scalars_in(tmp_path)} == {"x", "global_step/sec"}
    statuses = [e.session_log.status for e in events_in(tmp_path) if e.HasField("session_log")]
    log = tf.SessionLog
    assert statuses[0] == log.START and statuses[-1] == log.STOP and log.CHECKPOINT in statuses


def test_an_error_in_the_block_is_raised_after_the_threads_have_ended(tmp_path):
    counting_model()
    sv = tf.train.Supervisor(logdir=str(tmp_path))
    with pytest.raises(ZeroDivisionError):
        with sv.managed_session():
            raise ZeroDivisionError
    assert sv.should_stop() and sv.coord.joined


def test_the_end_of_input_ends_the_block_in_good_order():
    counting_model()
    sv = tf.train.Supervisor()
    with sv.managed_session():
        raise tf.errors.OutOfRangeError(None, None, "no more")


def test_an_error_in_a_thread_ends_the_block():
    step, count = counting_model()
    sv = tf.train.Supervisor()

    def fail():
        raise ValueError("of a thread")

    with pytest.raises(ValueError, match="of a thread"):
        with sv.managed_session() as sess:
            sv.loop(None, fail)
            while not sv.should_stop():
                sess.run(count)


def test_loops_and_queue_runners_stop_with_the_supervisor():
    queue = tf.FIFOQueue(2, tf.int32)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1)]))
    value = queue.dequeue()
    counting_model()
    sv = tf.train.Supervisor()
    calls = []
    with sv.managed_session() as sess:
        looper = sv.loop(0.01, calls.append, args=(1,))
        assert sess.run(value) == 1
        while not calls:
            time.sleep(0.001)
    assert not looper.is_alive()


def test_init_fn_and_feeds_are_used():
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(x, name="v")
    seen = []
    sv = tf.train.Supervisor(init_feed_dict={x: 3.0}, init_fn=lambda sess: seen.append(sess.run(v)))
    with sv.managed_session() as sess:
        assert sess.run(v) == 3.0 and seen == [3.0]


def test_local_variables_are_initialised_by_all():
    tf.Variable(4, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="local")
    counting_model()
    with tf.train.Supervisor().managed_session() as sess:
        assert sess.run("local:0") == 4


def test_a_model_that_is_not_ready_is_named():
    v = tf.Variable(1.0, name="forgotten")
    sv = tf.train.Supervisor(init_op=tf.no_op(), ready_op=tf.report_uninitialized_variables([v]))
    with pytest.raises(RuntimeError, match="forgotten"):
        sv.prepare_or_wait_for_session()


def test_replicas_need_devices():
    tf.Variable(1.0, name="anywhere")
    with pytest.raises(ValueError, match="must have their device set: anywhere"):
        tf.train.Supervisor(is_chief=False)


def test_only_a_chief_starts_services_and_writes(tmp_path):
    with tf.device("/cpu:0"):
        counting_model()
    sv = tf.train.Supervisor(is_chief=False, logdir=str(tmp_path))
    assert sv.summary_writer is None and sv.save_path is None
    with pytest.raises(RuntimeError, match="Only chief"):
        sv.start_standard_services(None)
    with pytest.raises(RuntimeError, match="summary writer"):
        sv.summary_computed(None, b"")


def test_camel_case_names_work(tmp_path):
    step, count = counting_model()
    summary = tf.summary.scalar("x", tf.constant(1.0))
    sv = tf.train.Supervisor(logdir=str(tmp_path), summary_op=None)
    with sv.PrepareSession("") as sess:
        assert sv.StartQueueRunners(sess) == []
        assert sess.run(count) == 1
        sv.SummaryComputed(sess, sess.run(summary))
        sv.RequestStop()
        assert sv.ShouldStop()
        sv.WaitForStop()
        sv.Stop()


# --- Waiting for the chief ---


@pytest.fixture
def worker():
    """(session manager of a second worker, the server whose variables it shares)"""
    server = tf.train.Server.create_local_server()
    v = tf.Variable(1.0, name="v")
    manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables([v]))
    return manager, server, v


def test_a_worker_joins_soon_after_its_chief(worker):
    manager, server, v = worker
    chief = tf.Session(server.target)
    started = threading.Timer(0.5, lambda: chief.run(v.initializer))
    started.start()
    begin = time.monotonic()
    sess = manager.wait_for_session(server.target)
    assert sess.run(v) == 1.0
    assert time.monotonic() - begin < 2.0


def test_a_worker_gives_up_when_told_so_and_says_what_was_missing(worker):
    manager, server, _ = worker
    with pytest.raises(tf.errors.DeadlineExceededError, match="v"):
        manager.wait_for_session(server.target, max_wait_secs=0.2)


def test_a_waiting_worker_says_what_it_waits_for(worker, monkeypatch, capsys):
    from capstan.train import session_manager

    manager, server, _ = worker
    monkeypatch.setattr(session_manager, "_SAY_SECS", 0.05)
    with pytest.raises(tf.errors.DeadlineExceededError):
        manager.wait_for_session(server.target, max_wait_secs=0.4)
    assert (
        "waiting for the chief to initialise the model (Variables not initialized: v)"
        in capsys.readouterr().err
    )


def test_a_chief_waits_for_a_checkpoint_when_asked(tmp_path):
    v = tf.Variable(np.float32(5.0), name="v")
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(v.initializer)
        late = threading.Timer(0.3, lambda: saver.save(sess, str(tmp_path / "m")))
        late.start()
        manager = tf.train.SessionManager()
        restored, done = manager.recover_session("", saver, str(tmp_path), wait_for_checkpoint=True)
        late.join()
    assert done and restored.run(v) == 5.0


def test_an_older_checkpoint_is_taken_when_the_newest_is_gone(tmp_path):
    step, count = counting_model()
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(step.initializer)
        for _ in range(2):
            saver.save(sess, str(tmp_path / "m"), sess.run(count))
    (tmp_path / "m-2.index").unlink()
    sess = tf.train.SessionManager().prepare_session("", saver=saver, checkpoint_dir=str(tmp_path))
    assert sess.run(step) == 1


# --- The launcher's limit ---


@pytest.fixture
def limit(monkeypatch):
    monkeypatch.setattr(task.process(), "max_steps", 7)


def test_should_stop_is_true_at_the_limit(limit):
    step, count = counting_model()
    sv = tf.train.Supervisor()
    with sv.managed_session() as sess:
        while not sv.should_stop():
            sess.run(count)
        assert sess.run(step) == 7


def test_a_loop_that_never_asks_ends_at_the_limit(limit):
    step, count = counting_model()
    sv = tf.train.Supervisor()
    done = []
    with sv.managed_session() as sess:
        while True:
            done.append(sess.run(count))
    assert done[-1] == 7
