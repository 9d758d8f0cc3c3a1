"""A 784-100-10 perceptron on a cluster, or in one process.

    ./capstan run --ps 2 --workers 2 examples/mnist.py
    ./capstan python examples/mnist.py

Every task runs this same file. `capstan run` fills in the role flags below; by hand one gives them:

    ./capstan python examples/mnist.py --ps_hosts=a:2222 --worker_hosts=b:2222 --job_name=ps --task_index=0
"""
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "Comma-separated host:port of the parameter servers")
flags.DEFINE_string("worker_hosts", "", "Comma-separated host:port of the workers")
flags.DEFINE_string("job_name", "", "ps or worker; empty: one process does it all")
flags.DEFINE_integer("task_index", 0, "Which task of the job this is")
flags.DEFINE_integer("last_step", 3000, "Global step to stop at")
flags.DEFINE_integer("batch_size", 100, "Examples per step")
flags.DEFINE_string("data_dir", "MNIST_data", "Where the four idx files lie, if they do")
flags.DEFINE_string("train_dir", "", "Where checkpoints go, from which a task that comes back goes on")
flags.DEFINE_integer("save_steps", 500, "Steps between two checkpoints")
FLAGS = flags.FLAGS


def dense(x, units, name):
    with tf.variable_scope(name):
        fan_in = int(x.get_shape()[1])
        w = tf.get_variable("w", [fan_in, units], initializer=tf.truncated_normal_initializer(stddev=fan_in ** -0.5))
        b = tf.get_variable("b", [units], initializer=tf.zeros_initializer())
    return tf.matmul(x, w) + b


def build():
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    y = tf.placeholder(tf.float32, [None, 10], name="y")
    logits = dense(tf.nn.relu(dense(x, 100, "hidden")), 10, "output")
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
    hits = tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1))
    accuracy = tf.reduce_mean(tf.cast(hits, tf.float32))
    global_step = tf.train.get_or_create_global_step()
    train_op = tf.train.AdamOptimizer(0.001).minimize(loss, global_step=global_step)
    tf.summary.scalar("loss", loss)
    return x, y, loss, accuracy, global_step, train_op


class ReportAccuracy(tf.train.SessionRunHook):
    """Says at the end how well the test set is told apart."""

    def __init__(self, accuracy, feed):
        self.accuracy, self.feed = accuracy, feed

    def end(self, session):
        print("test accuracy: %.4f" % session.run(self.accuracy, self.feed), flush=True)


def main(_):
    server, setter, is_chief = None, None, True
    if FLAGS.job_name:
        cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
        server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
        if FLAGS.job_name == "ps":
            server.join()
        setter = tf.train.replica_device_setter(
            worker_device="/job:worker/task:%d" % FLAGS.task_index, cluster=cluster)
        is_chief = FLAGS.task_index == 0

    data = input_data.read_data_sets(FLAGS.data_dir, one_hot=True)
    with tf.device(setter):
        x, y, loss, accuracy, global_step, train_op = build()

    hooks = [tf.train.StopAtStepHook(last_step=FLAGS.last_step)]
    if is_chief:
        hooks.append(ReportAccuracy(accuracy, {x: data.test.images, y: data.test.labels}))
    with tf.train.MonitoredTrainingSession(
            master=server.target if server else "", is_chief=is_chief, hooks=hooks,
            checkpoint_dir=FLAGS.train_dir or None, save_checkpoint_secs=None,
            save_checkpoint_steps=FLAGS.save_steps) as session:
        seen = 0
        while not session.should_stop():
            images, labels = data.train.next_batch(FLAGS.batch_size)
            _, value, step = session.run([train_op, loss, global_step], {x: images, y: labels})
            if seen % 500 == 0:
                print("step: %d, loss: %.4f" % (step, value), flush=True)
            seen += 1


if __name__ == "__main__":
    tf.app.run()
