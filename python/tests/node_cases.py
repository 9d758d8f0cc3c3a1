# ruff: noqa: B018
"""Small programs whose nodes must equal TensorFlow's: each function builds a graph with `tf`.

`record_nodes.py` runs them under TensorFlow once and keeps what it saw in golden/nodes.json.
"""

import numpy as np


def operators(tf):
    a = tf.placeholder(tf.float32, [2, 3], name="a")
    b = tf.placeholder(tf.float32, [2, 3], name="b")
    a + b, a - b, a * b, a / b, -a, abs(a), a**2.0, a % b, a // b
    a + 1, 1 + a, a - 1.0, 2.0 - a, 3 * a, a * 3, a / 2.0, 2.0 / a, 2.0**a
    a > b, a >= b, a < b, a <= 0.5
    c = tf.placeholder(tf.bool, [2], name="c")
    ~c, c & c, c | True, c ^ c
    a + [[1.0, 2.0, 3.0]]


def integer_operators(tf):
    a = tf.placeholder(tf.int32, [2], name="a")
    b = tf.placeholder(tf.int64, [], name="b")
    a / 2, a // 2, a % 2, a * a, b + 1, -a
    tf.cast(a, tf.float32) * 0.5
    tf.cast(b, tf.int64)
    tf.to_float(a)
    tf.to_int32(b)
    tf.to_int64(a)
    tf.div(a, 2)
    tf.truediv(a, 3)
    tf.floordiv(a, 3)
    tf.mod(a, 3)


def binary_functions(tf):
    a = tf.placeholder(tf.float32, [2, 3], name="a")
    tf.add(a, 1.0)
    tf.add(1.0, a, name="sum")
    tf.subtract(a, 2)
    tf.multiply(a, a)
    tf.multiply(3.0, a)
    tf.divide(a, 2.0)
    tf.maximum(a, 0.0)
    tf.minimum(a, 1.0)
    tf.pow(a, 2)
    tf.squared_difference(a, 1.0)
    tf.equal(a, 0.0)
    tf.not_equal(a, a)
    tf.less(a, 1.0)
    tf.greater_equal(1.0, a)
    tf.logical_and(a > 0.0, a < 1.0)
    tf.logical_not(a > 0.0)


def unary_functions(tf):
    a = tf.placeholder(tf.float32, [2, 3], name="a")
    for function in (
        tf.square,
        tf.sqrt,
        tf.exp,
        tf.log,
        tf.abs,
        tf.negative,
        tf.sign,
        tf.tanh,
        tf.sigmoid,
        tf.floor,
        tf.nn.relu,
        tf.nn.sigmoid,
        tf.nn.tanh,
        tf.nn.softmax,
        tf.nn.log_softmax,
        tf.identity,
        tf.stop_gradient,
        tf.zeros_like,
        tf.ones_like,
        tf.shape,
        tf.size,
        tf.rank,
        tf.reciprocal,
        tf.rsqrt,
        tf.nn.relu6,
        tf.nn.softplus,
        tf.nn.elu,
        tf.round,
        tf.ceil,
        tf.nn.l2_loss,
        tf.log1p,
    ):
        function(a)
    tf.square(3.0)
    tf.exp([1.0, 2.0], name="powers")
    tf.nn.relu(a, name="act")


def reductions(tf):
    a = tf.placeholder(tf.float32, [2, 3], name="a")
    u = tf.placeholder(tf.float32, name="u")
    tf.reduce_mean(a)
    tf.reduce_mean(a, 1)
    tf.reduce_sum(a, axis=[0, 1])
    tf.reduce_sum(a, reduction_indices=[1])
    tf.reduce_sum(a, 1, keep_dims=True)
    tf.reduce_max(a, axis=0, name="top")
    tf.reduce_min(a, axis=-1)
    tf.reduce_prod(a)
    tf.reduce_mean(u)
    tf.reduce_sum(u, name="total")
    tf.reduce_all(a > 0.0)
    tf.reduce_any(a > 0.0, 1)
    tf.reduce_mean(tf.cast(a > 0.0, tf.float32), name="rate")
    tf.argmax(a, 1)
    tf.argmax(a, axis=0)
    tf.argmin(a, 1)
    tf.arg_max(a, 1)
    tf.add_n([a, a])
    tf.add_n([a])


def arrays(tf):
    a = tf.placeholder(tf.float32, [2, 3], name="a")
    u = tf.placeholder(tf.float32, [None, 3], name="u")
    tf.reshape(a, [3, 2])
    tf.reshape(a, (-1,))
    tf.reshape(tf.reduce_sum(a), [])
    tf.reshape(a, np.array([3, 2]))
    tf.reshape(a, [-1, tf.size(a)])
    tf.transpose(a)
    tf.transpose(a, [1, 0])
    tf.expand_dims(a, 0)
    tf.expand_dims(a, axis=-1)
    tf.squeeze(tf.reshape(a, [1, 6]))
    tf.concat([a, a], 0)
    tf.concat([a, a], axis=1, name="both")
    tf.concat([a], 0)
    tf.split(a, 3, axis=1)
    tf.stack([a, a])
    tf.unstack(a)
    tf.slice(a, [0, 0], [1, 2])
    tf.tile(a, [1, 2])
    tf.one_hot([0, 2], 3)
    tf.one_hot(tf.argmax(a, 1), depth=3, on_value=1.0, off_value=0.0)
    tf.zeros([2, 3])
    tf.ones([4], tf.int32)
    tf.zeros([])
    tf.zeros([100, 50])
    tf.zeros(tf.shape(a))
    tf.fill([2], 7.0)
    tf.constant(1.0)
    tf.constant([1, 2, 3], name="ids")
    tf.constant(0.1, shape=[2, 2])
    tf.constant(5, dtype=tf.int64)
    tf.range(5)
    tf.range(1, 10, 2)
    tf.gather(a, [0, 1])
    tf.shape(u)
    tf.size(u)
    tf.rank(u)
    tf.zeros_like(u)
    tf.ones_like(u)
    tf.pad(a, [[1, 1], [0, 0]])
    tf.where(a > 0.0, a, a)
    tf.convert_to_tensor([1.0, 2.0])
    tf.convert_to_tensor([tf.constant(1.0), 2.0])
    tf.placeholder_with_default(1.0, [], name="keep")


def getitem(tf):
    a = tf.placeholder(tf.float32, [4, 3], name="a")
    a[0], a[1:3], a[:, 1], a[..., 0], a[::2], a[:, tf.newaxis]


def randoms(tf):
    tf.set_random_seed(7)
    tf.random_normal([2, 3])
    tf.random_normal([2, 3], mean=1.0, stddev=0.5, seed=3)
    tf.random_uniform([2], -1.0, 1.0)
    tf.random_uniform([2], maxval=10, dtype=tf.int32)
    tf.truncated_normal([3, 3], stddev=0.1, name="start")
    tf.random_shuffle(tf.range(4))


def matmuls(tf):
    a = tf.placeholder(tf.float32, [2, 3], name="a")
    tf.matmul(a, a, transpose_b=True)
    tf.matmul(a, tf.ones([3, 4]), name="product")
    b = tf.placeholder(tf.float32, [5, 2, 3], name="b")
    tf.matmul(b, b, transpose_a=True)
    tf.nn.xw_plus_b(a, tf.ones([3, 2]), tf.zeros([2]))
    tf.nn.bias_add(a, tf.zeros([3]))
    tf.nn.relu_layer(a, tf.ones([3, 2]), tf.zeros([2]))


def cross_entropies(tf):
    x = tf.placeholder(tf.float32, [None, 10], name="x")
    y = tf.placeholder(tf.float32, [None, 10], name="y")
    ids = tf.placeholder(tf.int64, [None], name="ids")
    tf.nn.softmax_cross_entropy_with_logits(logits=x, labels=y)
    tf.nn.softmax_cross_entropy_with_logits_v2(logits=x, labels=y, name="v2")
    tf.nn.sparse_softmax_cross_entropy_with_logits(logits=x, labels=ids)
    tf.nn.sigmoid_cross_entropy_with_logits(logits=x, labels=y)
    tf.nn.in_top_k(x, ids, 1)
    tf.clip_by_value(x, 1e-10, 1.0)


def integer_labels(tf):
    x = tf.placeholder(tf.float32, [None, 10], name="x")
    y = tf.placeholder(tf.int32, [None, 10], name="y")
    tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=x, labels=y))


def scopes(tf):
    a = tf.constant(1.0, name="a")
    with tf.name_scope("s"):
        tf.constant(1.0, name="a")
        with tf.name_scope("t") as t:
            a + a
        with tf.name_scope(t):
            a + a
        with tf.name_scope(None):
            a + a
    with tf.name_scope("s"):
        a + a
    with tf.name_scope("S"):
        a * a
    with tf.name_scope(None, "fallback", [a]):
        a * a
    tf.constant(1.0, name="A")


def placement(tf):
    a = tf.placeholder(tf.float32, [], name="a")
    with tf.device("/job:ps/task:1"):
        b = a + 1.0
        with tf.device("/cpu:0"):
            a + 2.0
        with tf.device(None):
            a + 3.0
    with tf.colocate_with(b.op):
        a + 4.0
    with tf.device("job:worker/task:0/"):
        a + 5.0
    with tf.device("/job:worker/replica:0/task:0/gpu:1"):
        a + 6.0
    with tf.device(lambda op: "/job:ps/task:0" if op.type == "AddV2" else "/job:w"):
        a + 7.0


def control(tf):
    a = tf.placeholder(tf.float32, [], name="a")
    b = tf.no_op(name="b")
    with tf.control_dependencies([b]):
        c = a + 1.0
        c * 2.0
        with tf.control_dependencies([c]):
            tf.no_op()
            a * c
        with tf.control_dependencies(None):
            a * 3.0
    with tf.control_dependencies([]):
        a * 4.0
    tf.group(b, c.op, name="all")
    tf.group(b)
    tf.group()
    tf.tuple([a, c])
    tf.tuple([a, c], control_inputs=[b], name="pair")
    with tf.device("/job:ps/task:0"):
        d = tf.no_op(name="d")
    with tf.device("/job:worker/task:0"):
        e = tf.no_op(name="e")
    tf.group(d, e, name="across")


def variables(tf):
    v = tf.Variable(0.5, name="v")
    w = tf.Variable(tf.zeros([2, 3]))
    tf.Variable([1, 2], dtype=tf.int64, trainable=False, name="ids")
    tf.Variable(lambda: tf.ones([3]), name="made")
    v.assign(2.0)
    v.assign_add(1.0)
    tf.assign(v, 3.0)
    tf.assign_sub(v, v)
    tf.assign_add(w, tf.ones([2, 3]), use_locking=True)
    v + 1.0
    w * w
    v.value()
    v.read_value()
    tf.identity(v)
    with tf.name_scope("scope"):
        tf.Variable(1.0, name="inner")
    with tf.control_dependencies([tf.no_op(name="before")]):
        tf.Variable(1.0, name="free")
    tf.global_variables_initializer()
    tf.is_variable_initialized(v)
    tf.report_uninitialized_variables()


def get_variables(tf):
    tf.get_variable("a", [2, 3])
    tf.get_variable("b", [3], initializer=tf.zeros_initializer())
    tf.get_variable("c", [3], initializer=tf.constant_initializer(0.1))
    tf.get_variable("d", [2], tf.float32, tf.random_normal_initializer(stddev=0.1))
    tf.get_variable("e", [2], initializer=tf.truncated_normal_initializer(stddev=0.1))
    tf.get_variable("f", [2], initializer=tf.random_uniform_initializer(-1.0, 1.0))
    tf.get_variable("g", initializer=tf.constant([1.0, 2.0]))
    tf.get_variable("h", [3, 4], initializer=tf.glorot_normal_initializer())
    tf.get_variable("i", [], tf.int32, initializer=tf.zeros_initializer(), trainable=False)
    tf.get_variable("j", initializer=3.0)
    tf.get_variable("k", [2], initializer=tf.ones_initializer())
    with tf.variable_scope("s"):
        tf.get_variable("a", [2])
        with tf.variable_scope("t", reuse=False, initializer=tf.zeros_initializer()):
            tf.get_variable("a", [2])
            tf.constant(1.0)
    with tf.variable_scope("s", reuse=True):
        tf.get_variable("a", [2]) + 1.0
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        tf.get_variable("z", [2])
    with tf.variable_scope(None, "auto"):
        tf.get_variable("a", [1])
    with tf.variable_scope(None, "auto"):
        tf.get_variable("a", [1])
    with tf.name_scope("names"):
        tf.get_variable("outside", [1])


def linear_regression(tf):
    step = tf.Variable(0, name="global_step", trainable=False)
    x = tf.placeholder("float")
    y = tf.placeholder("float")
    w = tf.get_variable("weight", [1], tf.float32, initializer=tf.random_normal_initializer())
    b = tf.get_variable("biase", [1], tf.float32, initializer=tf.random_normal_initializer())
    pred = tf.multiply(x, w) + b
    loss = tf.square(y - pred)
    tf.train.GradientDescentOptimizer(0.00001).minimize(loss, global_step=step)
    tf.global_variables_initializer()
    tf.summary.scalar("cost", loss)
    tf.summary.merge_all()


def replica_setter(tf):
    cluster = {"ps": ["a:1", "b:1"], "worker": ["c:1"]}
    with tf.device(
        tf.train.replica_device_setter(worker_device="/job:worker/task:0", cluster=cluster)
    ):
        step = tf.train.get_or_create_global_step()
        x = tf.placeholder(tf.float32, [None, 4])
        y = tf.placeholder(tf.float32, [None, 1])
        w = tf.get_variable("w", [4, 1], initializer=tf.zeros_initializer())
        b = tf.Variable(tf.zeros([1]))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
        tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
        tf.global_variables_initializer()


def mlp(tf):
    with tf.name_scope("input"):
        x = tf.placeholder(tf.float32, shape=[None, 784], name="x-input")
        y_ = tf.placeholder(tf.float32, shape=[None, 10], name="y-input")
    tf.set_random_seed(1)
    step = tf.get_variable(
        "global_step", [], initializer=tf.constant_initializer(0), trainable=False
    )
    with tf.name_scope("weights"):
        w1 = tf.Variable(tf.random_normal([784, 100]))
        w2 = tf.Variable(tf.random_normal([100, 10]))
    with tf.name_scope("biases"):
        b1 = tf.Variable(tf.zeros([100]))
        b2 = tf.Variable(tf.zeros([10]))
    with tf.name_scope("softmax"):
        z2 = tf.add(tf.matmul(x, w1), b1)
        a2 = tf.nn.sigmoid(z2)
        z3 = tf.add(tf.matmul(a2, w2), b2)
        y = tf.nn.softmax(z3)
    with tf.name_scope("cross_entropy"):
        loss = tf.reduce_mean(-tf.reduce_sum(y_ * tf.log(y), reduction_indices=[1]))
    with tf.name_scope("train"):
        tf.train.GradientDescentOptimizer(0.001).minimize(loss, global_step=step)
    with tf.name_scope("Accuracy"):
        right = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
        accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
    tf.summary.scalar("cost", loss)
    tf.summary.scalar("accuracy", accuracy)
    tf.summary.histogram("weights", w1)
    tf.summary.merge_all()
    tf.global_variables_initializer()


def dense_layers(tf):
    images = tf.placeholder(tf.float32, [None, 784])
    labels = tf.placeholder(tf.int32, [None, 10])
    net = tf.layers.dense(images, 500, activation=tf.nn.relu)
    net = tf.layers.dense(net, 500, activation=tf.nn.relu, name="second")
    logits = tf.layers.dense(net, 10, activation=None)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=labels))
    step = tf.train.get_or_create_global_step()
    tf.train.AdamOptimizer(learning_rate=1e-4).minimize(
        loss, global_step=step, aggregation_method=tf.AggregationMethod.ADD_N
    )


def sync_replicas(tf):
    cluster = {"ps": ["a:1"], "worker": ["c:1", "d:1"]}
    with tf.device(
        tf.train.replica_device_setter(worker_device="/job:worker/task:0", cluster=cluster)
    ):
        x = tf.placeholder(tf.float32, [None, 4])
        y = tf.placeholder(tf.float32, [None, 3])
        logits = tf.layers.dense(x, 3)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=y))
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.SyncReplicasOptimizer(
            tf.train.AdamOptimizer(1e-4), replicas_to_aggregate=2, total_num_replicas=2
        )
        optimizer.make_session_run_hook(True)
        optimizer.minimize(loss, global_step=step)
        optimizer.get_init_tokens_op()


def optimizers(tf):
    for index, make in enumerate(
        (
            lambda: tf.train.MomentumOptimizer(0.1, 0.9),
            lambda: tf.train.AdagradOptimizer(0.1),
            lambda: tf.train.AdamOptimizer(),
            lambda: tf.train.GradientDescentOptimizer(tf.constant(0.5), use_locking=True),
        )
    ):
        with tf.variable_scope("m%d" % index):
            v = tf.get_variable("v", [3], initializer=tf.ones_initializer())
            loss = tf.reduce_sum(v * v)
            optimizer = make()
            grads = optimizer.compute_gradients(loss)
            optimizer.apply_gradients(grads)


def shared_gradients(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    y = v * v + tf.exp(v) * v
    tf.gradients(y, v)
    tf.gradients([y, v * 2.0], [v], grad_ys=[tf.ones([2]), None], name="again")


def decay(tf):
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, step, 100, 0.96, staircase=True)
    v = tf.Variable(tf.ones([2]))
    tf.train.GradientDescentOptimizer(rate).minimize(tf.nn.l2_loss(v), global_step=step)


def tutorial(tf):
    x = tf.placeholder(tf.float32, shape=(100, 784))
    with tf.name_scope("hidden1"):
        weights = tf.Variable(
            tf.truncated_normal([784, 32], stddev=1.0 / np.sqrt(float(784))), name="weights"
        )
        biases = tf.Variable(tf.zeros([32]), name="biases")
        tf.nn.relu(tf.matmul(x, weights) + biases)


def weighted_losses(tf):
    p = tf.placeholder(tf.float32, [None, 3], name="p")
    y = tf.placeholder(tf.float32, [None, 3], name="y")
    tf.losses.mean_squared_error(y, p)
    tf.losses.absolute_difference(y, p, weights=0.5)
    tf.losses.log_loss(y, p, scope="named")
    tf.losses.mean_squared_error(y, p, reduction="weighted_sum")
    tf.losses.mean_squared_error(y, p, weights=2.0, reduction="weighted_mean")
    tf.losses.mean_squared_error(y, p, reduction="weighted_sum_over_batch_size")
    tf.losses.get_total_loss()
    tf.losses.mean_squared_error(y, p, reduction="none")


def weighted_cross_entropies(tf):
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    y = tf.placeholder(tf.float32, [4, 3], name="y")
    ids = tf.placeholder(tf.int32, [4], name="ids")
    tf.losses.softmax_cross_entropy(y, x)
    tf.losses.softmax_cross_entropy(y, x, label_smoothing=0.1)
    tf.losses.sparse_softmax_cross_entropy(ids, x)
    tf.losses.sigmoid_cross_entropy(y, x)
    tf.losses.sigmoid_cross_entropy(y, x, label_smoothing=0.1)
    tf.losses.compute_weighted_loss(x[:, 0], weights=tf.ones([4]))


def losses_of_unknown_rank(tf):
    x = tf.placeholder(tf.float32, name="x")
    y = tf.placeholder(tf.float32, name="y")
    ids = tf.placeholder(tf.int64, name="ids")
    tf.nn.softmax_cross_entropy_with_logits(logits=x, labels=y)
    tf.nn.sparse_softmax_cross_entropy_with_logits(logits=x, labels=ids)
    cube = tf.placeholder(tf.float32, [2, None, 5], name="cube")
    rows = tf.placeholder(tf.int32, [2, None], name="rows")
    tf.nn.softmax_cross_entropy_with_logits_v2(logits=cube, labels=cube)
    tf.nn.sparse_softmax_cross_entropy_with_logits(logits=cube, labels=rows)
    tf.nn.sigmoid_cross_entropy_with_logits(logits=x, labels=y, name="sig")


def activations(tf):
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    y = tf.placeholder(tf.float32, [4, 3], name="y")
    tf.nn.leaky_relu(x)
    tf.nn.leaky_relu(x, alpha=0.1, name="leaky")
    tf.nn.l2_normalize(x, 1)
    tf.nn.l2_normalize(x, [0, 1], epsilon=1e-6, name="unit")
    tf.nn.weighted_cross_entropy_with_logits(labels=y, logits=x, pos_weight=2.0)
    tf.nn.softmax(x, axis=0)
    tf.nn.log_softmax(x, axis=0, name="columns")
    tf.nn.softmax(x, axis=-1)


def dropouts(tf):
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    keep = tf.placeholder(tf.float32, name="keep")
    tf.nn.dropout(x, 0.5)
    tf.nn.dropout(x, keep)
    tf.nn.dropout(x, rate=0.25, noise_shape=[4, 1], seed=7, name="rows")
    tf.nn.dropout(x, rate=0.0)
    tf.nn.dropout(tf.placeholder(tf.float32, name="any"), rate=0.5)


def clips(tf):
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    y = tf.placeholder(tf.float32, [2], name="y")
    tf.clip_by_norm(x, 5.0)
    tf.clip_by_norm(x, 5.0, axes=[1], name="rows")
    tf.global_norm([x, None, y])
    tf.clip_by_global_norm([x, None, y], 1.0)
    tf.clip_by_global_norm([x, y], 1.0, name="both")
    tf.clip_by_value(x, -1.0, 1.0, name="cut")


def rates(tf):
    step = tf.train.get_or_create_global_step()
    tf.train.exponential_decay(0.1, step, 100, 0.96)
    tf.train.natural_exp_decay(0.1, step, 100, 0.5)
    tf.train.inverse_time_decay(0.1, step, 100, 0.5, staircase=True)
    tf.train.polynomial_decay(0.1, step, 100, power=2.0)
    tf.train.cosine_decay(0.1, step, 100)


def more_maths(tf):
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    any_rank = tf.placeholder(tf.float32, name="any")
    tf.reduce_logsumexp(x)
    tf.reduce_logsumexp(x, 1)
    tf.reduce_logsumexp(x, [1], keepdims=True, name="kept")
    tf.reduce_sum(any_rank)
    tf.logical_xor(x > 0.0, x > 1.0)
    tf.boolean_mask(x, [True, False, True, False])
    tf.boolean_mask(x, x > 0.0, name="masked")
    tf.transpose(any_rank)
    tf.zeros([20, 60])
    tf.ones([20, 60], tf.int32)
    tf.zeros_like(any_rank)
    tf.ones_like(any_rank)
    tf.ones_like(x)
    tf.zeros(tf.shape(any_rank))
    tf.add_n([x])
    tf.accumulate_n([x, x])


def initial_values(tf):
    tf.get_variable("a", [4, 3])
    tf.get_variable("b", [4, 3], initializer=tf.glorot_normal_initializer(seed=1))
    tf.get_variable(
        "c", [4, 3], initializer=tf.variance_scaling_initializer(distribution="uniform")
    )
    tf.get_variable("d", [3, 3, 4, 8], initializer=tf.variance_scaling_initializer(2.0, "fan_out"))
    tf.get_variable("e", [2], initializer=tf.constant_initializer(0.1))
    tf.random_uniform([2, 2], 0, 10, dtype=tf.int64, name="whole")
    tf.random_normal(tf.shape(tf.placeholder(tf.float32)), dtype=tf.float64)


def sync_replicas_with_a_step_of_int32(tf):
    step = tf.Variable(0, name="global_step", trainable=False)
    w = tf.Variable(tf.ones([2]), name="w")
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=2, total_num_replicas=2
    )
    optimizer.minimize(tf.nn.l2_loss(w), global_step=step)
    optimizer.get_init_tokens_op()
