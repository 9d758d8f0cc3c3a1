"""What a step means: state that outlives steps and sessions."""

import numpy as np
import pytest
import tensorflow as tf


def number(place, value=0.0, name="v", ps=0, dtype=tf.float32):
    with tf.device(place.ps(ps)):
        return tf.Variable(value, name=name, dtype=dtype)


def queue(place, **options):
    with tf.device(place.ps()):
        return tf.FIFOQueue(10, [tf.float32], shapes=[[]], **options)


def test_variables_are_shared_by_two_sessions_on_a_server_and_outlive_both(place):
    v = number(place)
    add = v.assign_add(1.0)
    with tf.Session(place.target()) as first, tf.Session(place.target(1)) as second:
        first.run(v.initializer)
        first.run(add)
        assert second.run(add) == 2.0
        assert first.run(v) == 2.0
    with tf.Session(place.target()) as third:
        assert third.run(v) == 2.0


def test_a_session_without_a_server_has_a_store_of_its_own():
    v = tf.Variable(1.0)
    with tf.Session() as first, tf.Session() as second:
        first.run(v.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError):
            second.run(v)


def test_a_queue_with_a_shared_name_is_shared_and_one_without_is_the_sessions(place):
    shared, own = queue(place, shared_name="q"), queue(place)
    puts, sizes = [shared.enqueue(1.0), own.enqueue(2.0)], [shared.size(), own.size()]
    with tf.Session(place.target()) as first, tf.Session(place.target()) as second:
        first.run(puts)
        assert first.run(sizes) == [1, 1]
        assert second.run(sizes) == [1, 0]
    with tf.Session(place.target()) as third:
        assert third.run(sizes) == [1, 0]


@pytest.mark.parametrize("where", ["ps", "worker"])
def test_the_counter_of_a_random_op_belongs_to_the_session_and_the_node(place, where):
    with tf.device(getattr(place, where)()):
        draw = tf.random_uniform([4], seed=3)
        twice = draw * 2.0
    with place.session() as sess:
        expected = [sess.run(draw).tolist() for _ in range(4)]
    assert len({tuple(values) for values in expected}) == 4
    with place.session() as sess:
        # Other fetches make other plans; the sequence goes on.
        got = [sess.run(draw), sess.run(twice) / 2, sess.run([draw, twice])[0], sess.run(draw)]
    assert [values.tolist() for values in got] == expected


def test_the_first_creation_fixes_the_type_and_another_is_an_error_that_names_both(place):
    with tf.Session(place.target(), graph=tf.get_default_graph()) as sess:
        sess.run(number(place).initializer)
    with tf.Graph().as_default(), tf.Session(place.target()) as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="(?s)int32.*float|float.*int32"):
            sess.run(number(place, 1, dtype=tf.int32).initializer)


def test_closing_a_session_keeps_shared_state_and_cancels_its_runs_at_once(place, start, eventually):
    v, q = number(place), queue(place, shared_name="q")
    taken, add = q.dequeue(), v.assign_add(1.0)
    first, second = tf.Session(place.target()), tf.Session(place.target())
    first.run(v.initializer)
    running = start(first.run, [taken, add])
    eventually(lambda: second.run(v) == 1.0)
    first.close()
    with pytest.raises(tf.errors.CancelledError):
        running.result(2)
    assert second.run(v) == 1.0
    second.run(q.enqueue(5.0))
    assert second.run(taken) == 5.0
    second.close()


def test_a_closed_session_cancels_a_blocked_call_of_its_own_store_at_once(place, start, eventually):
    v, q = number(place), queue(place)
    taken, add = q.dequeue(), v.assign_add(1.0)
    sess = place.session()
    sess.run(v.initializer)
    running = start(sess.run, [taken, add])
    eventually(lambda: sess.run(v) == 1.0)
    sess.close()
    with pytest.raises(tf.errors.CancelledError):
        running.result(2)


def test_reset_clears_variables_and_queues(place):
    v, q = number(place), queue(place, shared_name="q")
    with tf.Session(place.target()) as sess:
        sess.run([v.initializer, q.enqueue(1.0)])
    tf.Session.reset(place.target())
    with tf.Session(place.target()) as sess:
        assert sess.run(q.size()) == 0
        with pytest.raises(tf.errors.FailedPreconditionError, match="v"):
            sess.run(v)


def test_reset_clears_the_containers_that_it_is_given(place):
    with tf.container("mine"):
        mine = number(place, 1.0, "mine")
    other = number(place, 2.0, "other", ps=1)
    with tf.Session(place.target()) as sess:
        sess.run(tf.global_variables_initializer())
    tf.Session.reset(place.target(), ["mine"])
    with tf.Session(place.target()) as sess:
        assert sess.run(other) == 2.0
        with pytest.raises(tf.errors.FailedPreconditionError, match="mine"):
            sess.run(mine)


def test_two_threads_share_a_session_and_its_plans(place, start):
    x = tf.placeholder(tf.float32, [None])
    with tf.device(place.ps()):
        v = tf.Variable(2.0)
        inner = x * v
    with tf.device(place.worker()):
        total = tf.reduce_sum(tf.square(inner + 1.0))
    with place.session() as sess:
        sess.run(v.initializer)

        def work(size):
            value = np.arange(size, dtype=np.float32) % 7
            expected = np.square(value * 2 + 1).sum()
            for _ in range(100):
                assert sess.run(total, {x: value}) == expected

        for thread in [start(work, size) for size in (3, 500)]:
            thread.result()


def test_one_plan_serves_feeds_of_many_shapes(place):
    x = tf.placeholder(tf.float32)
    with tf.device(place.ps()):
        twice = x * 2.0
    with tf.device(place.worker()):
        out = tf.reduce_sum(twice) + 1.0
    with place.session() as sess:
        for shape in ([], [1], [7], [3, 4], [0], [2, 3, 4], [7], [100, 100], [3, 4]):
            assert sess.run(out, {x: np.ones(shape)}) == 2 * np.prod(shape) + 1


def test_a_fed_tensor_is_not_folded(place):
    with tf.device(place.ps()):
        two = tf.constant(1.0) + tf.constant(1.0)
    with tf.device(place.worker()):
        three = two + tf.constant(1.0)
    with tf.device(place.ps(1)):
        nine = three * three
    with place.session() as sess:
        assert sess.run(nine) == 9.0
        assert sess.run(nine, {two: 4.0}) == 25.0
        assert sess.run(nine, {three: 4.0}) == 16.0
        assert sess.run([two, nine], {two: 0.0}) == [0.0, 1.0]
        assert sess.run(nine) == 9.0


def test_a_fed_variable_is_not_read(place):
    v = number(place, 3.0)
    with tf.device(place.worker()):
        out = v * 2.0
    with place.session() as sess:
        assert sess.run(out, {v: 5.0}) == 10.0


def test_a_checkpoint_is_written_by_the_sessions_task_and_holds_every_tasks_variables(place, tmp_path):
    values = [number(place, float(i + 1), "v%d" % i, ps=i % 2) for i in range(4)]
    saver = tf.train.Saver()
    with place.session() as sess:
        sess.run(tf.global_variables_initializer())
        path = saver.save(sess, str(tmp_path / "model"))
        sess.run([v.assign(0.0) for v in values])
        saver.restore(sess, path)
        assert sess.run(values) == [1.0, 2.0, 3.0, 4.0]
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["checkpoint", "model.data-00000-of-00001", "model.index", "model.meta"]
