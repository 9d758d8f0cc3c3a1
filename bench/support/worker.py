"""One process under measurement: builds a model, says when it is ready, then trains in slices.

It talks over its standard streams, a JSON object per line. Out, once: {"ready": true}. In:
{"seconds": 0.5}, answered with {"steps": n, "seconds": t, "loss": x}; {"steps": n} runs so many
steps; the end of the input ends the process. Between slices it is blocked and uses no CPU. A task
of a cluster with synchronous replicas may be blocked in its last step until the others go on; that
is not waited for.
"""

import argparse
import itertools
import json
import os
import sys
import threading
import time


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--front", choices=["capstan", "tensorflow", "torch"], required=True)
    parser.add_argument("--model", default="lr")
    parser.add_argument("--threads", type=int, default=0, help="for kernels; 0: its default")
    parser.add_argument("--cluster", type=json.loads, help='{"ps": ["host:port"], "worker": [...]}')
    parser.add_argument("--job", default="worker")
    parser.add_argument("--task", type=int, default=0)
    parser.add_argument("--sync", type=int, default=0, help="replicas to aggregate")
    return parser.parse_args()


def import_front(front):
    if front == "capstan":
        import tensorflow as tf
    else:
        import tensorflow.compat.v1 as tf

        tf.disable_v2_behavior()
    return tf


def local_step(options):
    tf = import_front(options.front)
    import models

    model = models.build(tf, options.model)
    config = tf.ConfigProto(intra_op_parallelism_threads=options.threads)
    session = tf.Session(config=config if options.threads else None)
    session.run(tf.global_variables_initializer())
    return stepper(session, model)


def cluster_step(options, say):
    tf = import_front(options.front)
    import models

    cluster = tf.train.ClusterSpec(options.cluster)
    server = tf.train.Server(cluster, job_name=options.job, task_index=options.task)
    if options.job == "ps":
        threading.Thread(target=end_with_input, daemon=True).start()
        say(ready=True)
        server.join()
    is_chief = options.task == 0
    worker = "/job:worker/task:%d" % options.task
    with tf.device(tf.train.replica_device_setter(worker_device=worker, cluster=cluster)):
        model = models.build(tf, options.model, options.sync, is_chief)
    # As is usual: a worker does not wait for the others, but for the parameter servers alone.
    config = tf.ConfigProto(device_filters=["/job:ps", worker])
    session = tf.train.MonitoredTrainingSession(
        server.target, is_chief, hooks=model.hooks, config=config
    )
    return stepper(session, model)


def end_with_input():
    """A parameter server waits for workers that may never leave; the driver's end is its end."""
    sys.stdin.read()
    os._exit(0)


def stepper(session, model):
    """A function that trains once on the next feed and returns the loss."""
    run, fetches, feeds = session.run, model.fetches, itertools.cycle(model.feeds)

    def step():
        return run(fetches, feed_dict=next(feeds))[1]

    return step


class Slices:
    """Trains on the main thread, as programs do; a second thread opens and closes the gate."""

    def __init__(self, step):
        self._step = step
        self._open = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._steps = 0
        self._limit = None
        self._loss = None
        self._last = 0.0

    def train(self):
        step, clock, is_open = self._step, time.perf_counter, self._open.is_set
        while True:
            self._open.wait()
            self._idle.clear()
            while is_open():
                self._loss = step()
                self._steps += 1
                self._last = clock()
                if self._limit is not None and self._steps >= self._limit:
                    self._open.clear()
            self._idle.set()

    def run(self, seconds=None, steps=None):
        first, start = self._steps, time.perf_counter()
        self._limit = first + steps if steps else None
        self._idle.clear()
        self._open.set()
        if steps:
            self._idle.wait()
        else:
            time.sleep(seconds)
            self._open.clear()
            self._idle.wait(0.2)
        done = self._steps - first
        return {
            "steps": done,
            "seconds": self._last - start if done else time.perf_counter() - start,
            "loss": self.loss(),
        }

    def loss(self):
        """A number, whatever form the loss was fetched in."""
        return None if self._loss is None else float(getattr(self._loss, "flat", [self._loss])[0])


def answer_commands(slices, say):
    for line in sys.stdin:
        say(**slices.run(**json.loads(line)))
    os._exit(0)  # the main thread may be inside a step


def output():
    """The driver's end of the pipe for answers alone: what else is printed goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return lambda **line: answers.write(json.dumps(line) + "\n")


def main():
    say = output()
    options = parse_arguments()
    if options.front == "torch":
        import torch_peer

        step = torch_peer.make_step(options.model)
    elif options.cluster:
        step = cluster_step(options, say)
    else:
        step = local_step(options)
    slices = Slices(step)
    threading.Thread(target=answer_commands, args=(slices, say), daemon=True).start()
    say(ready=True)
    slices.train()


if __name__ == "__main__":
    main()
