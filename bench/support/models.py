"""The models that are measured, as a TensorFlow 1 program writes them.

`tf` is a parameter: the same lines run on Capstan and on TensorFlow's compat.v1. Variables are made
by hand, and batches are numpy arrays made beforehand: a step is nothing but its session.run.
"""

import numpy as np

BATCHES = 8  # fed in turn


class Model:
    """What a step fetches, and the feeds that it goes through."""

    def __init__(self, train_op, loss, global_step, feeds, hooks=()):
        self.fetches = [train_op, loss, global_step]
        self.feeds = feeds
        self.hooks = list(hooks)


def build(tf, name, sync=0, is_chief=True):
    """Builds the model in the default graph; sync: how many replicas to aggregate, 0 for none."""
    loss, optimizer, feeds = _builder(name)(tf)
    global_step = tf.train.get_or_create_global_step()
    hooks = []
    if sync:
        optimizer = tf.train.SyncReplicasOptimizer(optimizer, sync, total_num_replicas=sync)
    train_op = optimizer.minimize(loss, global_step=global_step)
    if sync:
        hooks.append(optimizer.make_session_run_hook(is_chief))
    return Model(train_op, loss, global_step, feeds, hooks)


def _builder(name):
    if name == "lr":
        return linear_regression
    if name == "mlp-a":
        return mlp_a
    if name == "mlp-b":
        return mlp_b
    if name.startswith("vars-"):
        return lambda tf: small_variables(tf, int(name[5:]))
    if name.startswith("large-"):
        return lambda tf: large_variable(tf, int(name[6:]))
    raise SystemExit("unknown model %r; known: lr, mlp-a, mlp-b, vars-<number>, large-<MB>" % name)


def linear_regression(tf):
    """Two variables of one element, fed one example a step."""
    x = tf.placeholder(tf.float32)
    y = tf.placeholder(tf.float32)
    weight = tf.Variable(tf.zeros([1]), name="weight")
    bias = tf.Variable(tf.zeros([1]), name="bias")
    loss = tf.square(y - (tf.multiply(x, weight) + bias))
    random = np.random.RandomState(1)
    feeds = []
    for _ in range(BATCHES):
        value = random.randn(1)
        feeds.append({x: value, y: 2 * value + 10})
    return loss, tf.train.GradientDescentOptimizer(1e-3), feeds


def small_variables(tf, count):
    """Many variables of ten floats: what each further variable costs."""
    variables = [tf.Variable(tf.ones([10]), name="v%d" % i) for i in range(count)]
    loss = tf.add_n([tf.reduce_sum(tf.square(v)) for v in variables])
    return loss, tf.train.GradientDescentOptimizer(1e-4), [{}]


def large_variable(tf, megabytes):
    """One variable of so many MB, all of it read and updated in every step."""
    variable = tf.Variable(tf.fill([megabytes * 250000], 1.0), name="large")
    loss = tf.reduce_mean(tf.square(variable))
    return loss, tf.train.GradientDescentOptimizer(1e-3), [{}]


def mlp_b(tf):
    """784-100-10, sigmoid, batches of 100, SGD."""
    return _perceptron(tf, [784, 100, 10], tf.sigmoid, 100, tf.train.GradientDescentOptimizer(0.05))


def mlp_a(tf):
    """784-500-500-10, relu, batches of 32, Adam."""
    return _perceptron(tf, [784, 500, 500, 10], tf.nn.relu, 32, tf.train.AdamOptimizer(1e-4))


def _perceptron(tf, sizes, activation, batch, optimizer):
    x = tf.placeholder(tf.float32, [None, sizes[0]])
    y = tf.placeholder(tf.float32, [None, sizes[-1]])
    hidden = x
    for i, (rows, columns) in enumerate(zip(sizes, sizes[1:])):
        start = tf.truncated_normal([rows, columns], stddev=rows**-0.5, seed=i)
        weight = tf.Variable(start, name="weight%d" % i)
        bias = tf.Variable(tf.zeros([columns]), name="bias%d" % i)
        hidden = tf.matmul(hidden, weight) + bias
        if i + 2 < len(sizes):
            hidden = activation(hidden)
    each = tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=hidden)
    feeds = [{x: images, y: labels} for images, labels in batches(sizes, batch)]
    return tf.reduce_mean(each), optimizer, feeds


def batches(sizes, batch):
    """Images in [0, 1) and one-hot labels."""
    random = np.random.RandomState(2)
    made = []
    for _ in range(BATCHES):
        labels = np.eye(sizes[-1], dtype=np.float32)[random.randint(sizes[-1], size=batch)]
        made.append((random.rand(batch, sizes[0]).astype(np.float32), labels))
    return made
