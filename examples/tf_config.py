"""The role of a task from TF_CONFIG, with a master as chief; no flags at all.

    ./capstan run --chief=master --ps 1 --workers 1 examples/tf_config.py
"""
import json
import os

import numpy as np
import tensorflow as tf

config = json.loads(os.environ["TF_CONFIG"])
cluster = tf.train.ClusterSpec(config["cluster"])
job, task = config["task"]["type"], config["task"]["index"]
server = tf.train.Server(cluster, job_name=job, task_index=task)
if job == "ps":
    server.join()

with tf.device(tf.train.replica_device_setter(worker_device="/job:%s/task:%d" % (job, task), cluster=cluster)):
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.placeholder(tf.float32, [None, 1])
    w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    global_step = tf.train.get_or_create_global_step()
    train_op = tf.train.AdagradOptimizer(0.5).minimize(loss, global_step=global_step)
    tf.summary.scalar("loss", loss)

truth = np.array([[1.0], [-2.0], [0.5]], np.float32)
random = np.random.RandomState(task)
with tf.train.MonitoredTrainingSession(
        master=server.target, is_chief=job == "master", checkpoint_dir=os.environ.get("MODEL_DIR"),
        hooks=[tf.train.StopAtStepHook(last_step=400)]) as session:
    while not session.should_stop():
        batch = random.randn(32, 3).astype(np.float32)
        _, value, step = session.run([train_op, loss, global_step], {x: batch, y: batch.dot(truth)})
print("%s %d ends at step %d with loss %.5f" % (job, task, step, value), flush=True)
