"""Logistic regression in a program that has its machines written into it, as many old ones do.

On those machines, one process each:

    pc-01$ capstan python examples/written_hosts.py --job_name=ps --task_index=0
    pc-02$ capstan python examples/written_hosts.py --job_name=worker --task_index=0
    pc-03$ capstan python examples/written_hosts.py --job_name=worker --task_index=1

On this one, with the file as it is: --resolve says what a name means, here tasks of the job.

    ./capstan run --ps 1 --workers 2 --resolve pc-01:2222=ps/0 --resolve pc-02:2222=worker/0 \
        --resolve pc-03:2222=worker/1 examples/written_hosts.py
"""
import numpy as np
import tensorflow as tf

cluster = tf.train.ClusterSpec({"ps": ["pc-01:2222"], "worker": ["pc-02:2222", "pc-03:2222"]})

tf.app.flags.DEFINE_string("job_name", "", "ps or worker")
tf.app.flags.DEFINE_integer("task_index", 0, "Which task of the job this is")
FLAGS = tf.app.flags.FLAGS

server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
if FLAGS.job_name == "ps":
    server.join()

with tf.device(tf.train.replica_device_setter(
        worker_device="/job:worker/task:%d" % FLAGS.task_index, cluster=cluster)):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    w = tf.Variable(tf.zeros([2, 1]), name="w")
    b = tf.Variable(tf.zeros([1]), name="b")
    logits = tf.matmul(x, w) + b
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=y))
    accuracy = tf.reduce_mean(tf.cast(tf.equal(logits > 0, y > 0.5), tf.float32))
    global_step = tf.Variable(0, name="global_step", trainable=False)
    train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss, global_step=global_step)


def batch(random, size):
    """Points in the plane; those above a line are of class 1."""
    points = random.randn(size, 2)
    return points, (points[:, :1] + 2 * points[:, 1:] > 0.5).astype(np.float32)


supervisor = tf.train.Supervisor(is_chief=FLAGS.task_index == 0, global_step=global_step)
random = np.random.RandomState(FLAGS.task_index)
with supervisor.managed_session(server.target) as session:
    step = 0
    while step < 1000 and not supervisor.should_stop():
        points, classes = batch(random, 32)
        _, step = session.run([train_op, global_step], {x: points, y: classes})
    points, classes = batch(random, 1000)
    print("step: %d, accuracy: %.3f" % (step, session.run(accuracy, {x: points, y: classes})), flush=True)
