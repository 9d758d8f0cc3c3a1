"""What a program asks for in a wrong way is the error that TensorFlow raises, with the name of what
was meant, and is never taken for something else."""

import pytest
import tensorflow as tf


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        tf.placeholder(tf.float32, [], name="x")
        yield session


@pytest.mark.parametrize("name", ["y:0", "y", "x:7", "x:y"])
def test_a_fetch_that_is_not_there_is_a_value_error_with_its_name(sess, name):
    with pytest.raises(ValueError, match="Fetch argument '%s' cannot be interpreted" % name):
        sess.run(name)


@pytest.mark.parametrize("name", ["y:0", "x", "x:7", "x:y"])
def test_a_feed_that_is_not_there_is_a_type_error_with_its_name(sess, name):
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor: .*'%s'" % name):
        sess.run("x:0", {name: 1.0})


def test_a_feed_of_another_graph_is_a_type_error(sess):
    with tf.Graph().as_default():
        other = tf.placeholder(tf.float32, name="other")
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor: .*'other:0'"):
        sess.run("x:0", {other: 1.0})


def test_a_tuple_of_tensors_is_fed_with_as_many_values(sess):
    a, b, c = (tf.placeholder(tf.float32, []) for _ in range(3))
    assert sess.run([a, b, c], {(a, (b, c)): (1.0, [2.0, 3.0])}) == [1.0, 2.0, 3.0]
    for wrong in ((1.0,), 1.0):
        with pytest.raises(ValueError, match="as many values"):
            sess.run(a, {(a, b): wrong})


def test_fetches_and_feeds_that_hold_themselves_are_refused(sess):
    x = tf.placeholder(tf.float32, [])
    circle, key, value = [x], x, 1.0
    circle.append(circle)
    for _ in range(100000):
        key, value = (key,), [value]
    with pytest.raises(RecursionError):
        sess.run(circle, {x: 1.0})
    with pytest.raises(RecursionError):
        sess.run(x, {key: value})


def test_a_config_that_is_none_is_refused():
    with pytest.raises(TypeError, match="tf.ConfigProto"):
        tf.Session(config=3)


@pytest.mark.parametrize("value", [[1, "a"], [[1.5, 2], [3, "a"]], {1, 2}, 2**70, object()])
def test_a_constant_of_no_type_is_a_type_error(value):
    with tf.Graph().as_default(), pytest.raises(TypeError, match="cannot make a tensor of"):
        tf.constant(value)


def test_an_op_refuses_a_type_that_it_does_not_take_with_a_type_error():
    with tf.Graph().as_default():
        for build in (tf.floor, tf.nn.l2_loss, lambda x: tf.matmul([x], [x])):
            with pytest.raises(TypeError, match="bool"):
                build(tf.constant([True]))


def test_unstack_names_the_axis_that_is_not_there():
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"`axis` = 2 not in range \[-1, 1\)"):
        tf.unstack(tf.zeros([3]), axis=2)


def test_a_queue_refuses_elements_of_another_shape_when_the_graph_is_built():
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(3, [tf.int32, tf.int32], [[2], []])
        with pytest.raises(ValueError, match="not compatible|incompatible"):
            queue.enqueue([[1, 2, 3], 4])
        with pytest.raises(ValueError, match="not compatible|incompatible"):
            queue.enqueue_many([[[1, 2], [3, 4]], [1]])
        with pytest.raises(ValueError, match="rank at least 1"):
            queue.enqueue_many([1, [1]])
        queue.enqueue([tf.placeholder(tf.int32), 4])
        queue.enqueue_many([tf.placeholder(tf.int32, [None, 2]), [4]])


def test_a_checkpoint_needs_a_name():
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(tf.Variable(1.0).initializer)
        with pytest.raises(ValueError, match="'save_path' is empty"):
            tf.train.Saver().save(sess, "")


def test_a_slip_in_an_input_map_is_refused():
    with tf.Graph().as_default() as graph:
        tf.identity(tf.constant(1.0, name="a"))
    with tf.Graph().as_default(), pytest.raises(ValueError, match="'aa:0'"):
        tf.import_graph_def(graph.as_graph_def(), input_map={"aa": tf.constant(2.0)})


def test_text_is_no_summary(tmp_path):
    with tf.summary.FileWriter(str(tmp_path)) as writer, pytest.raises(TypeError, match="'text'"):
        writer.add_summary("text", 1)


def test_a_condition_that_fits_by_its_count_alone_is_refused():
    condition, x = tf.placeholder(tf.bool), tf.placeholder(tf.float32)
    chosen = tf.where(condition, x, x + 1)
    with tf.Session() as sess:
        assert sess.run(chosen, {condition: True, x: [1.0, 2.0]}).tolist() == [1, 2]
        assert sess.run(chosen, {condition: [False], x: [[1.0, 2.0]]}).tolist() == [[2, 3]]
        for wrong in ([[True]], [True]):
            with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
                sess.run(chosen, {condition: wrong, x: 1.0})
