"""y = 2 x + 10, learned asynchronously under a Supervisor; 0.x spellings, as such programs have them.

    ./capstan run --ps 1 --workers 2 examples/linear_regression.py
"""
import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "Comma-separated host:port of the parameter servers")
flags.DEFINE_string("worker_hosts", "", "Comma-separated host:port of the workers")
flags.DEFINE_string("job_name", "", "ps or worker")
flags.DEFINE_integer("task_index", 0, "Which task of the job this is")
flags.DEFINE_integer("last_step", 4000, "Global step to stop at")
flags.DEFINE_string("logdir", "", "Where checkpoints and summaries go; empty: nowhere")
FLAGS = flags.FLAGS


def main(_):
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()

    with tf.device(tf.train.replica_device_setter(
            worker_device="/job:worker/task:%d" % FLAGS.task_index, cluster=cluster)):
        global_step = tf.Variable(0, name="global_step", trainable=False)
        x, y = tf.placeholder("float"), tf.placeholder("float")
        w = tf.get_variable("w", [1], initializer=tf.random_normal_initializer())
        b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(y - (tf.mul(x, w) + b)))
        train_op = tf.train.GradientDescentOptimizer(0.02).minimize(loss, global_step=global_step)
        tf.scalar_summary("loss", loss)
        init_op = tf.initialize_all_variables()

    supervisor = tf.train.Supervisor(
        is_chief=FLAGS.task_index == 0, logdir=FLAGS.logdir or None, init_op=init_op, global_step=global_step,
        summary_op=None)  # the loss needs a feed, which the supervisor's own thread does not have
    random = np.random.RandomState(FLAGS.task_index)
    with supervisor.managed_session(server.target) as session:
        step = 0
        while step < FLAGS.last_step and not supervisor.should_stop():
            a = random.randn(16)
            _, value, step = session.run([train_op, loss, global_step], {x: a, y: 2 * a + 10})
        weight, bias = session.run([w, b])
        print("step: %d, loss: %f, w: %.3f, b: %.3f" % (step, value, weight[0], bias[0]), flush=True)
    supervisor.stop()


if __name__ == "__main__":
    tf.app.run()
