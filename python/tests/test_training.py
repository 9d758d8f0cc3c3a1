"""Models train in one process; optimizers of the program's own meet the engine."""

import inspect
import pickle

import numpy as np
import pytest
import tensorflow as tf


def test_linear_regression_learns():
    x, y = tf.placeholder("float"), tf.placeholder("float")
    w = tf.get_variable("w", [1], initializer=tf.random_normal_initializer())
    b = tf.get_variable("b", [1], initializer=tf.random_normal_initializer())
    step = tf.Variable(0, name="global_step", trainable=False)
    loss = tf.square(y - (tf.mul(x, w) + b))
    train = tf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)
    random = np.random.RandomState(0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(1000):
            value = random.randn(1)
            _, count = sess.run([train, step], {x: value, y: 2 * value + 10})
        assert count == 1000
        assert np.allclose(sess.run([w, b]), [[2.0], [10.0]], atol=1e-3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.train.GradientDescentOptimizer(0.5),
        lambda: tf.train.MomentumOptimizer(0.1, 0.9),
        lambda: tf.train.AdagradOptimizer(0.5),
        lambda: tf.train.AdamOptimizer(0.05),
        lambda: tf.train.GradientDescentOptimizer(
            tf.train.exponential_decay(0.5, tf.train.get_global_step(), 50, 0.9)
        ),
    ],
)
def test_a_perceptron_learns_with(make):
    random = np.random.RandomState(1)
    images = random.randn(300, 8).astype(np.float32)
    labels = np.eye(3)[np.argmax(images[:, :3], 1)]
    x, y = tf.placeholder(tf.float32, [None, 8]), tf.placeholder(tf.float32, [None, 3])
    tf.set_random_seed(2)
    logits = tf.layers.dense(tf.layers.dense(x, 16, activation=tf.nn.tanh), 3)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=y))
    step = tf.train.get_or_create_global_step()
    train = make().minimize(loss, global_step=step)
    right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), tf.float32))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(200):
            sess.run(train, {x: images, y: labels})
        assert sess.run(right, {x: images, y: labels}) > 0.95
        assert sess.run(step) == 200


class Halving(tf.train.Optimizer):
    """Written by a program: takes half of the gradient, and counts in a slot."""

    def __init__(self):
        super().__init__(False, "Halving")

    def _create_slots(self, var_list):
        for var in var_list:
            self._zeros_slot(var, "count", self._name)

    def _prepare(self):
        self._half = tf.constant(0.5)

    def _apply_dense(self, grad, var):
        counted = tf.assign_add(self.get_slot(var, "count"), tf.ones(var.shape))
        return tf.group(counted, tf.assign_sub(var, grad * self._half))


def test_an_optimizer_of_the_program_is_called_by_the_engine():
    v = tf.Variable([4.0, 8.0], name="v")
    optimizer = Halving()
    train = optimizer.minimize(tf.reduce_sum(v * v) / 2.0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        assert sess.run(v).tolist() == [2.0, 4.0]
        assert sess.run(optimizer.get_slot(v, "count")).tolist() == [1.0, 1.0]
    assert optimizer.get_slot(v, "count").name == "v/Halving:0"


class Clipping(tf.train.GradientDescentOptimizer):
    def _apply_dense(self, grad, var):
        return super()._apply_dense(tf.clip_by_value(grad, -1.0, 1.0), var)


def test_one_step_of_ours_can_be_overridden():
    v = tf.Variable([10.0])
    train = Clipping(0.5).minimize(tf.reduce_sum(v * v))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        assert sess.run(v).tolist() == [9.5]


class Unprepared(tf.train.GradientDescentOptimizer):
    def _prepare(self):
        pass


def test_a_step_that_is_overridden_without_its_base_is_told_so():
    v = tf.Variable([10.0])
    with pytest.raises(Exception, match="'learning_rate' was not prepared"):
        Unprepared(0.5).minimize(tf.reduce_sum(v * v))


def test_classes_of_optimizers_are_real_ones():
    kind = tf.train.AdamOptimizer
    assert str(inspect.signature(kind)).startswith("(learning_rate=0.001, beta1=0.9, beta2=0.999, ")
    assert inspect.getdoc(kind).startswith("Steps of about learning_rate")
    assert pickle.loads(pickle.dumps(kind)) is kind and issubclass(kind, tf.train.Optimizer)
    assert kind(0.5, epsilon=1.0)._lr == 0.5
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'momentum'"):
        tf.train.MomentumOptimizer(0.1)
    with pytest.raises(ValueError, match="initial_accumulator_value must be positive: 0"):
        tf.train.AdagradOptimizer(0.1, initial_accumulator_value=0)


def test_slots_are_variables_of_the_graph():
    v = tf.Variable([1.0], name="v")
    optimizer = tf.train.AdamOptimizer()
    optimizer.minimize(tf.reduce_sum(v * v))
    assert sorted(w.op.name for w in tf.global_variables()) == [
        "beta1_power",
        "beta2_power",
        "v",
        "v/Adam",
        "v/Adam_1",
    ]
    assert optimizer.get_slot_names() == ["m", "v"]
    assert optimizer.get_slot(v, "m").op.name == "v/Adam"


def test_a_loss_without_variables_is_refused():
    v = tf.Variable(1.0, name="v")
    with pytest.raises(ValueError, match="No gradients provided.*'v:0'"):
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))
    assert tf.gradients(tf.constant(1.0), v) == [None]


def test_gradients_follow_the_chain_rule():
    x = tf.placeholder(tf.float32, [2])
    y = tf.reduce_sum(tf.exp(x) * x)
    (grad,) = tf.gradients(y, x)
    with tf.Session() as sess:
        value = np.array([0.5, -1.0], np.float32)
        assert np.allclose(sess.run(grad, {x: value}), np.exp(value) * (1 + value), rtol=1e-5)
