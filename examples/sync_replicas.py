"""Workers in step: each update is the mean of the gradients of several replicas.

    ./capstan run --ps 1 --workers 2 examples/sync_replicas.py

There may be more replicas than workers: one worker then pushes several gradients for each update.

    ./capstan run --ps 1 --workers 1 examples/sync_replicas.py --replicas=2
"""
import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "Comma-separated host:port of the parameter servers")
flags.DEFINE_string("worker_hosts", "", "Comma-separated host:port of the workers")
flags.DEFINE_string("job_name", "", "ps or worker")
flags.DEFINE_integer("task_index", 0, "Which task of the job this is")
flags.DEFINE_integer("replicas", 0, "Gradients per update; 0: one of each worker")
flags.DEFINE_integer("last_step", 300, "Global step, that is the number of updates, to stop at")
FLAGS = flags.FLAGS


def build(replicas):
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.placeholder(tf.float32, [None, 1])
    w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=replicas, total_num_replicas=replicas)
    train_op = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    return x, y, loss, optimizer, train_op


def main(_):
    workers = FLAGS.worker_hosts.split(",")
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": workers})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()

    with tf.device(tf.train.replica_device_setter(
            worker_device="/job:worker/task:%d" % FLAGS.task_index, cluster=cluster)):
        x, y, loss, optimizer, train_op = build(FLAGS.replicas or len(workers))

    is_chief = FLAGS.task_index == 0
    hooks = [optimizer.make_session_run_hook(is_chief), tf.train.StopAtStepHook(last_step=FLAGS.last_step)]
    truth = np.array([[1.0], [-2.0], [0.5]], np.float32)
    random = np.random.RandomState(FLAGS.task_index)
    pushes = 0
    with tf.train.MonitoredTrainingSession(server.target, is_chief=is_chief, hooks=hooks) as session:
        while not session.should_stop():
            batch = random.randn(32, 3).astype(np.float32)
            _, value = session.run([train_op, loss], {x: batch, y: batch.dot(truth)})
            pushes += 1
    print("worker %d: %d gradients, loss %.6f" % (FLAGS.task_index, pushes, value), flush=True)


if __name__ == "__main__":
    tf.app.run()
