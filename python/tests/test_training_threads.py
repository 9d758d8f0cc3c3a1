"""Coordinators, looper threads and queue runners."""

import threading
import time

import pytest
import tensorflow as tf


def test_threads_stop_together():
    coord = tf.train.Coordinator()
    seen = []

    def work():
        coord.wait_for_stop()
        seen.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert not coord.should_stop()
    coord.request_stop()
    coord.join(threads)
    assert coord.should_stop() and coord.joined and len(seen) == 3


def test_join_raises_the_first_error():
    coord = tf.train.Coordinator()

    def fail(text):
        with coord.stop_on_exception():
            raise ValueError(text)

    for text in ("first", "second"):
        thread = threading.Thread(target=fail, args=(text,))
        thread.start()
        thread.join()
    with pytest.raises(ValueError, match="first"):
        coord.join()
    with pytest.raises(ValueError, match="first"):
        coord.raise_requested_exception()


def test_the_end_of_input_is_no_error():
    coord = tf.train.Coordinator()
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "the end"))
    coord.join()
    strict = tf.train.Coordinator(clean_stop_exception_types=(StopIteration,))
    strict.request_stop(tf.errors.OutOfRangeError(None, None, "the end"))
    with pytest.raises(tf.errors.OutOfRangeError):
        strict.join()


def test_a_stop_can_be_cleared():
    coord = tf.train.Coordinator()
    coord.request_stop(ValueError("old"))
    coord.clear_stop()
    assert not coord.should_stop()
    coord.join()


def test_stragglers_are_named():
    coord = tf.train.Coordinator()
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="the slow one", daemon=True)
    thread.start()
    coord.register_thread(thread)
    coord.request_stop()
    with pytest.raises(RuntimeError, match="the slow one"):
        coord.join(stop_grace_period_secs=0.05)
    release.set()


def test_a_looper_runs_until_its_coordinator_stops():
    coord = tf.train.Coordinator()
    calls = []

    def count(amount):
        calls.append(amount)
        if len(calls) == 3:
            coord.request_stop()

    looper = tf.train.LooperThread.loop(coord, None, count, args=(2,))
    coord.join([looper])
    assert calls == [2, 2, 2]
    with pytest.raises(ValueError, match="must be a Coordinator"):
        tf.train.LooperThread(None, 1)


def test_an_error_in_a_looper_stops_all():
    coord = tf.train.Coordinator()
    tf.train.LooperThread.loop(coord, 0, lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        coord.join()


def test_a_queue_runner_fills_its_queue():
    queue = tf.FIFOQueue(4, tf.int32)
    count = tf.Variable(0)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.assign_add(count, 1))])
    tf.train.add_queue_runner(runner)
    value = queue.dequeue()
    with tf.Session() as sess:
        sess.run(count.initializer)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        assert [sess.run(value) for _ in range(10)] == list(range(1, 11))
        assert runner.create_threads(sess, coord) == []
        coord.request_stop()
        coord.join(threads)


def test_a_runner_closes_its_queue_at_the_end_of_its_input():
    source = tf.FIFOQueue(10, tf.int32)
    queue = tf.FIFOQueue(10, tf.int32)
    fill, close = source.enqueue_many([[1, 2, 3]]), source.close()
    runner = tf.train.QueueRunner(queue, [queue.enqueue(source.dequeue())] * 2)
    value = queue.dequeue()
    with tf.Session() as sess:
        sess.run(fill)
        sess.run(close)
        threads = runner.create_threads(sess, start=True)
        assert sorted(sess.run(value) for _ in range(3)) == [1, 2, 3]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(value)
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()


def test_a_stop_ends_at_once_what_waits_for_something_else():
    """As the chief's queue runner of sync replicas, which waits for gradients, not for its queue."""
    never = tf.FIFOQueue(1, tf.int32)
    queue = tf.FIFOQueue(1, tf.int32)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(never.dequeue())])
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = runner.create_threads(sess, coord, daemon=True, start=True)
        start = time.monotonic()
        coord.request_stop()
        coord.join(threads)
        assert time.monotonic() - start < 5
        assert sess.run(queue.size()) == 0, "the session itself goes on"


def test_a_failing_runner_stops_the_others():
    queue = tf.FIFOQueue(1, tf.float32)
    unset = tf.Variable(1.0, name="unset")
    runner = tf.train.QueueRunner(queue, [queue.enqueue(unset)])
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        runner.create_threads(sess, coord, daemon=True, start=True)
        with pytest.raises(tf.errors.FailedPreconditionError, match="unset"):
            coord.join()


def test_a_queue_runner_survives_its_message():
    queue = tf.FIFOQueue(1, tf.int32, name="q")
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)], queue_closed_exception_types=(tf.errors.CancelledError,))
    again = tf.train.QueueRunner.from_proto(runner.to_proto())
    assert again.name == "q" and again.enqueue_ops == runner.enqueue_ops
    assert again.cancel_op is runner.cancel_op
    assert again.queue_closed_exception_types == (tf.errors.CancelledError,)


def test_bad_queue_runners_are_refused():
    with pytest.raises(ValueError, match="queue and enqueue_ops"):
        tf.train.QueueRunner()
    queue = tf.FIFOQueue(1, tf.int32)
    with pytest.raises(TypeError, match="tuple of tf.error types"):
        tf.train.QueueRunner(queue, [queue.enqueue(1)], queue_closed_exception_types=(ValueError,))
