"""Leads synchronous replicas through small scenes, one act at a time, and notes what there is after each.

Run with an interpreter that has TensorFlow 2.21: python sync_traces.py > ../golden/sync_traces.json
test_sync_traces.py plays the same scenes here. Nothing runs by itself: the chief's queue runner is not
started, its op is the act "apply". A replica that finds no token waits in a thread until the next one.
"""

import json
import socket
import sys
import threading
import time

import curves

REPLICAS = 3

# name: (replicas_to_aggregate, total_num_replicas, tokens at first, acts). (replica, x) pushes the
# gradient x of the one variable v, which starts at 100 and learns at rate 1.
SCENES = {
    "the mean of all replicas is applied": (3, 3, 0, [
        (0, 1), (1, 2), (2, 6), "apply", (2, 3), (0, 3), (1, 0), "apply"]),
    "a stale gradient is dropped and its replica takes a token": (1, 2, 0, [
        (0, 1), "apply", (1, 50), (1, 2), "apply", (0, 50), (0, 4), "apply"]),
    "backup replicas: the first two of three count": (2, 3, 0, [
        (0, 1), (2, 3), "apply", (1, 50), (1, 2), (0, 4), "apply", (2, 50)]),
    "a third gradient of the same step counts, too": (2, 3, 0, [
        (0, 1), (1, 2), (2, 6), "apply", (0, 5), (1, 5), "apply"]),
    "a fast replica takes a slow one's token": (2, 2, 2, [
        (0, 1), (0, 3), "apply", (1, 50), (0, 50), (1, 4), (0, 2), "apply"]),
    "more aggregates than replicas": (3, 1, 2, [
        (0, 1), (0, 2), (0, 6), "apply", (0, 1), (0, 1), (0, 4), "apply"]),
    "more aggregates than replicas, two of them": (4, 2, 4, [
        (0, 1), (1, 2), (0, 3), (1, 6), "apply", (0, 50), (1, 50), (0, 4), (1, 3), (0, 4), (1, 5), "apply"]),
    "as many tokens as aggregates unless told otherwise": (2, 3, -1, [(0, 1), (0, 1), "apply"]),
}


class Replica:
    """One worker's graph and session."""

    def __init__(self, tf, target, index, scene):
        aggregate, total, tokens, _ = scene
        self._tf, self._graph = tf, tf.Graph()
        setter = tf.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:%d" % index)
        with self._graph.as_default(), tf.device(setter):
            self._x = tf.placeholder(tf.float32, [])
            v, step = tf.Variable(100.0, name="v"), tf.train.get_or_create_global_step()
            sync = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), aggregate, total)
            self._train = sync.minimize(self._x * v, global_step=step)
            self.apply_op = sync.get_chief_queue_runner().enqueue_ops[0]
            self._begin = [tf.global_variables_initializer(), sync.chief_init_op, sync.get_init_tokens_op(tokens)]
            self._join = sync.local_step_init_op
            self._state = [v, step, self._size_of_queue(), self._size_of_accumulator()]
            self._local_step = sync._local_step
        self.session = tf.Session(target, graph=self._graph)

    def _handle(self, op_type):
        return next(op for op in self._graph.get_operations() if op.type == op_type).outputs[0]

    def _size_of_queue(self):
        return self._tf.raw_ops.QueueSizeV2(handle=self._handle("FIFOQueueV2"))

    def _size_of_accumulator(self):
        handle = self._handle("ResourceConditionalAccumulator")
        return self._tf.raw_ops.ResourceAccumulatorNumAccumulated(handle=handle)

    def begin(self, is_chief):
        for op in self._begin if is_chief else [self._join]:
            self.session.run(op)

    def push(self, x):
        self.session.run(self._train, {self._x: x})

    def state(self):
        """v, global step, tokens in the queue, gradients in the accumulator"""
        return [float(value) for value in self.session.run(self._state)]

    def local_step(self):
        return float(self.session.run(self._local_step))


class Scene:
    def __init__(self, tf, targets, name):
        scene = SCENES[name]
        self._replicas = [Replica(tf, target, i, scene) for i, target in enumerate(targets)]
        self._acts, self._waiting = scene[3], []
        for i, replica in enumerate(self._replicas):
            replica.begin(is_chief=i == 0)

    def _push(self, index, x):
        _, _, tokens, before = self._replicas[0].state()
        # The wait for the end must not outlive a failure, hence a daemon.
        thread = threading.Thread(target=self._replicas[index].push, args=(x,), daemon=True)
        thread.start()
        if tokens:
            return self._end([thread])
        self._waiting.append(thread)
        deadline = time.monotonic() + 30
        while self._replicas[0].state()[3] == before:
            assert time.monotonic() < deadline, "the gradient did not arrive"

    def _end(self, threads):
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive(), "no token came"

    def _apply(self):
        self._replicas[0].session.run(self._replicas[0].apply_op)
        self._end(self._waiting)
        self._waiting = []

    def play(self):
        """After each act: the act, the shared state, and each replica's local step unless one waits."""
        rows = []
        for act in self._acts:
            self._apply() if act == "apply" else self._push(*act)
            steps = [] if self._waiting else [replica.local_step() for replica in self._replicas]
            rows.append([json.dumps(act)] + self._replicas[0].state() + steps)
        for replica in self._replicas:
            replica.session.close()
        return rows


def _servers(tf):
    """One parameter server and the replicas, all in this process."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(1 + REPLICAS)]
    ps, *workers = ["127.0.0.1:%d" % s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    spec = {"ps": [ps], "worker": workers}
    return [tf.train.Server(spec, job_name="ps", task_index=0)] + [
        tf.train.Server(spec, job_name="worker", task_index=i) for i in range(REPLICAS)
    ]


def main():
    tf = curves.tensorflow()
    targets = [server.target for server in _servers(tf)[1:]]
    traces = {}
    for name in SCENES:
        traces[name] = Scene(tf, targets, name).play()
        tf.Session.reset(targets[0])
    text = json.dumps(traces)
    print(text.replace("]], ", "]],\n").replace("], [", "],\n["), flush=True)
    sys.exit(0)


if __name__ == "__main__":
    main()
