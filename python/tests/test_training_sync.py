"""tf.train.SyncReplicasOptimizer: one replica here, or several as threads on one server."""

import threading
import time

import numpy as np
import pytest
import tensorflow as tf


def model(**options):
    """(loss fed through x, optimizer that aggregates, train op, variable)"""
    x = tf.placeholder(tf.float32, [], name="x")
    v = tf.Variable(10.0, name="v")
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), **options)
    train = optimizer.minimize(x * v, global_step=step)
    return x, optimizer, train, v


def test_one_worker_fills_two_places():
    x, optimizer, train, v = model(replicas_to_aggregate=2, total_num_replicas=2)
    hooks = [optimizer.make_session_run_hook(True), tf.train.StopAtStepHook(last_step=3)]
    start = time.monotonic()
    with tf.train.MonitoredTrainingSession(hooks=hooks) as sess:
        runs = 0
        while not sess.should_stop():
            sess.run(train, {x: 1.0})
            runs += 1
        # The mean of two equal gradients, three times.
        assert sess._tf_sess().run(v) == 7.0
    assert runs >= 5
    assert time.monotonic() - start < 20, "the chief's queue runner is not waited for"


def test_gradients_are_averaged():
    x, optimizer, train, v = model(replicas_to_aggregate=2, total_num_replicas=1)
    hook = optimizer.make_session_run_hook(True, num_tokens=1)
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        sess.run(train, {x: 1.0})
        sess.run(train, {x: 3.0})
        assert sess._tf_sess().run(v) == 8.0


def test_the_old_way_with_a_supervisor():
    x, optimizer, train, v = model(replicas_to_aggregate=1, total_num_replicas=1, replica_id=0, use_locking=True)
    runner, tokens = optimizer.get_chief_queue_runner(), optimizer.get_init_tokens_op()
    sv = tf.train.Supervisor(
        local_init_op=optimizer.chief_init_op,
        global_step=tf.train.get_global_step(),
        ready_for_local_init_op=optimizer.ready_for_local_init_op,
        recovery_wait_secs=1,
    )
    start = time.monotonic()
    with sv.managed_session() as sess:
        sv.start_queue_runners(sess, [runner])
        sess.run(tokens)
        for _ in range(3):
            sess.run(train, {x: 1.0})
    assert time.monotonic() - start < 20


def test_three_replicas_in_step_give_the_mean_of_their_batches():
    server = tf.train.Server.create_local_server()
    replicas, steps = 3, 4
    data = np.arange(1.0, 13.0).reshape(replicas, steps)
    failures, results, ready = [], [], threading.Event()
    # Tokens have no owner: without this a fast replica could take one of a slow one.
    in_step = threading.Barrier(replicas, timeout=30)

    def replica(index):
        with tf.Graph().as_default():
            x, optimizer, train, v = model(replicas_to_aggregate=replicas)
            hook = optimizer.make_session_run_hook(index == 0, num_tokens=0)
            with tf.train.MonitoredTrainingSession(server.target, is_chief=index == 0, hooks=[hook]) as sess:
                for step in range(steps):
                    sess.run(train, {x: data[index, step]})
                    in_step.wait()
                if index == 0:
                    results.append(sess._tf_sess().run(v))
                    ready.set()
                ready.wait(30)

    def guarded(index):
        try:
            replica(index)
        except Exception as error:
            failures.append(error)
            ready.set()

    threads = [threading.Thread(target=guarded, args=(i,), daemon=True) for i in range(replicas)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not failures
    assert results == [pytest.approx(10.0 - data.mean(0).sum(), abs=1e-5)]


def test_names_and_collections_are_as_expected():
    x, optimizer, train, v = model(replicas_to_aggregate=2, total_num_replicas=3)
    assert [w.op.name for w in tf.local_variables()] == ["sync_rep_local_step"]
    assert optimizer.get_chief_queue_runner().name == "sync_token_q"
    assert train.op.type == "Assign" and train.op.inputs[0].op.name == "sync_rep_local_step"
    assert optimizer.local_step_init_op.op.type == "Assign"
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP)[0].type == "AssignAdd"
    assert optimizer.get_slot(v, "m") is None and optimizer.get_slot_names() == []


def test_wrong_uses_are_refused():
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 3, 1)
    with pytest.raises(ValueError, match="after apply_gradients"):
        optimizer.get_chief_queue_runner()
    with pytest.raises(ValueError, match="before using the hook"):
        optimizer.make_session_run_hook(True).begin()
    v = tf.Variable(1.0)
    with pytest.raises(ValueError, match="Global step is required"):
        optimizer.minimize(v * v)
    optimizer.minimize(v * v, global_step=tf.train.get_or_create_global_step())
    with pytest.raises(ValueError, match="1 \\(given\\) vs 2 \\(needed\\)"):
        optimizer.get_init_tokens_op(1)


def test_an_optimizer_of_the_program_can_be_wrapped():
    class Half(tf.train.Optimizer):
        def __init__(self):
            super().__init__(False, "Half")

        def _apply_dense(self, grad, var):
            return tf.assign_sub(var, grad * 0.5)

    v = tf.Variable(10.0, name="v")
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.SyncReplicasOptimizerV2(Half(), replicas_to_aggregate=1)
    train = optimizer.minimize(4.0 * v, global_step=step)
    with tf.train.MonitoredSession(hooks=[optimizer.make_session_run_hook(True, 0)]) as sess:
        sess.run(train)
        assert sess._tf_sess().run(v) == 8.0
