"""A program that ends while daemon threads are in every kind of wait; its arguments say as what, and
how. Run by test_ends.py, alone or as a task of a cluster.

    ends.py <end> [<job> <ps address> <worker address>]
"""

import socket
import sys
import threading

import numpy as np
import tensorflow as tf

end, job, addresses = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "", sys.argv[3:]
server = None
if job:
    cluster = {"ps": addresses[:1], "worker": addresses[1:]}
    server = tf.train.Server(cluster, job_name=job, task_index=0)
    if job == "ps":
        server.join()
target = server.target if server else ""

waits = []  # functions that never return, or not soon


@waits.append
def save():
    while True:
        saver.save(session, "saved/model")


@waits.append
def dequeue():
    session.run(empty)


@waits.append
def enqueue():
    while True:
        session.run(put)


@waits.append
def take_grad():
    session.run(average)


@waits.append
def compute():
    session.run(product)


@waits.append
def feed():
    while True:
        session.run(total, {numbers: values})


@waits.append
def feed_lists():
    while True:
        session.run(total, {numbers: as_lists})


@waits.append
def build():
    while True:
        with tf.Graph().as_default():
            tf.get_variable("v", [3], initializer=lambda shape, dtype: tf.zeros(shape, dtype))


@waits.append
def build_on_devices():
    while True:
        with tf.Graph().as_default(), tf.device(lambda op: "/cpu:0"):
            tf.constant(1.0)


@waits.append
def connect():
    tf.Session("grpc://%s:%d" % silent.getsockname()).run(tf.constant(1))


@waits.append
def join():
    host = {"ps": ["127.0.0.1:0"], "worker": ["127.0.0.1:1"]}
    tf.train.Server(host, job_name="ps", task_index=0).join()


silent = socket.create_server(("127.0.0.1", 0))  # takes connections, and never says a word
values = np.ones([200, 200], np.float32)
as_lists = values.tolist()
with tf.device("/job:ps/task:0" if job else None):
    queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
    gradients = tf.ConditionalAccumulator(tf.float32, shape=[])
    weights = tf.get_variable("weights", [1000, 1000])
empty, average = tf.FIFOQueue(1, [tf.float32]).dequeue(), gradients.take_grad(1)
put = queue.enqueue(1.0)
numbers = tf.placeholder(tf.float32)
total = tf.reduce_sum(numbers)
product = x = tf.random_uniform([1000, 1000])
for _ in range(500):
    product = tf.matmul(product, x) / 1000.0
step = tf.assign_add(weights, tf.ones([1000, 1000]))
saver = tf.train.Saver()
session = tf.Session(target)
session.run(tf.global_variables_initializer())

started = []
for wait in waits:
    started.append(threading.Event())

    def begin(wait=wait, event=started[-1]):
        event.set()
        wait()

    threading.Thread(target=begin, name=wait.__name__, daemon=True).start()
for event in started:
    event.wait()
for _ in range(20):
    session.run(step)
print("trained", flush=True)
if end == "raise":
    raise ValueError("its own")
sys.exit(int(end))
