"""Variables, their names, scopes and reuse."""

import numpy as np
import pytest
import tensorflow as tf


def test_a_variable_is_its_reading_in_formulas_and_itself_elsewhere():
    v = tf.Variable(2.0, name="v")
    assert v.name == "v:0" and v.op.type == "VariableV2"
    assert (v + 1.0).op.inputs[0].name == "v/read:0"
    assert v.dtype == tf.float32_ref and v.dtype.base_dtype == tf.float32
    assert v in tf.global_variables() and v in tf.trainable_variables()


def test_get_variable_refuses_a_second_one_and_says_where_the_first_is():
    tf.get_variable("v", [1])
    with pytest.raises(ValueError, match=r"Variable v already exists.*test_variables.py:\d+"):
        tf.get_variable("v", [1])


def test_reuse_finds_the_same_object():
    with tf.variable_scope("s"):
        v = tf.get_variable("v", [2])
    with tf.variable_scope("s", reuse=True):
        assert tf.get_variable("v", [2]) is v
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("other", [2])
        with pytest.raises(ValueError, match="shape"):
            tf.get_variable("v", [3])
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("v") is v
        assert tf.get_variable("new", [1]).name == "s/new:0"


def test_reuse_variables_holds_within_the_scope():
    with tf.variable_scope("s") as scope:
        v = tf.get_variable("v", [1])
        scope.reuse_variables()
        assert tf.get_variable("v", [1]) is v
    assert not tf.get_variable_scope().reuse


def test_initializers_come_from_the_scope():
    with tf.variable_scope("s", initializer=tf.constant_initializer(3.0)):
        v = tf.get_variable("v", [2])
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(v).tolist() == [3.0, 3.0]


def test_an_initializer_may_be_a_function_of_the_program():
    v = tf.get_variable(
        "v", [2], initializer=lambda shape, dtype, partition_info=None: tf.ones(shape) * 4.0
    )
    w = tf.get_variable("w", [2], initializer=lambda shape: tf.zeros(shape))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(v).tolist() == [4.0, 4.0]
        assert sess.run(w).tolist() == [0.0, 0.0]


def test_assignments_change_the_value():
    v = tf.Variable([1.0, 2.0])
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(v.assign_add([1.0, 1.0])).tolist() == [2.0, 3.0]
        assert sess.run(tf.assign(v, [5.0, 6.0])).tolist() == [5.0, 6.0]
        v.load(np.array([7.0, 8.0]), sess)
        assert sess.run(v).tolist() == [7.0, 8.0]


def test_one_variable_starts_from_another():
    v = tf.Variable(tf.random_normal([3]))
    w = tf.Variable(v.initialized_value() * 2.0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        a, b = sess.run([v, w])
    assert np.allclose(b, 2 * a)


def test_uninitialized_variables_are_reported():
    v = tf.Variable(1.0, name="v")
    tf.Variable(1.0, name="w")
    report = tf.report_uninitialized_variables()
    with tf.Session() as sess:
        assert list(sess.run(report)) == [b"v", b"w"]
        sess.run(v.initializer)
        assert list(sess.run(report)) == [b"w"]


def test_a_variable_needs_a_value_and_a_shape():
    with pytest.raises(ValueError, match="initial_value"):
        tf.Variable()
    with pytest.raises(ValueError, match="fully defined"):
        tf.get_variable("v")


def test_seeds_make_draws_repeatable():
    def draw():
        with tf.Graph().as_default():
            tf.set_random_seed(3)
            with tf.Session() as sess:
                return sess.run(tf.random_normal([4]))

    assert draw().tolist() == draw().tolist()


def test_layers_make_their_variables_once():
    x = tf.placeholder(tf.float32, [None, 4])
    layer = tf.layers.Dense(3, activation=tf.nn.relu)
    layer(x)
    layer(x)
    assert [v.name for v in tf.global_variables()] == ["dense/kernel:0", "dense/bias:0"]
    with tf.variable_scope("dense", reuse=True):
        assert tf.get_variable("kernel") is layer.kernel


def test_a_partitioner_is_refused_by_name():
    with pytest.raises(NotImplementedError, match="variable v asks for a partitioner"):
        tf.get_variable("v", [4], partitioner=lambda shape, dtype: [2])


def test_a_custom_getter_may_pass_on_its_arguments_by_position():
    def getter(getter, name, *args, **kwargs):
        return getter(name + "_own", *args, **kwargs)

    with tf.Graph().as_default(), tf.variable_scope("s", custom_getter=getter):
        assert tf.get_variable("v", [2]).name == "s/v_own:0"


def test_an_initial_value_of_another_type_than_asked_for_is_refused():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="'int32' and explicit dtype 'float32' don't match"):
            tf.get_variable("v", initializer=2, dtype=tf.float32)
        assert tf.get_variable("w", initializer=lambda: tf.ones([2])).shape.as_list() == [2]


def test_a_constraint_that_nobody_would_apply_is_refused():
    with tf.Graph().as_default(), pytest.raises(NotImplementedError, match="constraint"):
        tf.Variable(1.0, constraint=lambda v: v)


def test_a_tensor_is_indexed_by_tensors_of_either_whole_type():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1, 2], [3, 4]])
        assert session.run(x[tf.constant(1, tf.int64), 0]) == 3
        assert list(session.run(x[tf.constant(1)])) == [3, 4]
