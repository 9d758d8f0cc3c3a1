"""A program that saves as often as it can beside training, and reads every checkpoint back whole
before the next one is written: by itself, and by TensorFlow where --oracle names a Python that has
it. Prints `N saves, N bad`.

    python save_often.py --kind=supervisor --optimizer=adam --megabytes=8 --saves=10 --logdir=/tmp/x

Under `capstan run` the variables lie on the parameter servers.
"""

import json
import os
import subprocess
import sys
import threading

import tensorflow as tf

FLAGS = tf.app.flags.FLAGS
tf.app.flags.DEFINE_string("kind", "supervisor", "supervisor or monitored")
tf.app.flags.DEFINE_string("optimizer", "sgd", "sgd, adam or locking")
tf.app.flags.DEFINE_integer("megabytes", 8, "of trained variables")
tf.app.flags.DEFINE_integer("saves", 10, "how many checkpoints to write")
tf.app.flags.DEFINE_float("every_secs", 0.01, "between two saves, at least")
tf.app.flags.DEFINE_string("logdir", "", "where the checkpoints go")
tf.app.flags.DEFINE_string("oracle", "", "a Python that has TensorFlow")

OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.01),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
    "locking": lambda: tf.train.GradientDescentOptimizer(0.01, use_locking=True),
}

READ_WITH_TENSORFLOW = """
import sys, tensorflow as tf
print("ready", flush=True)
for line in sys.stdin:
    try:
        reader = tf.train.load_checkpoint(line.strip())
        for name in reader.get_variable_to_shape_map():
            reader.get_tensor(name)
        print("ok", flush=True)
    except Exception as error:
        print("bad", " ".join(str(error).split()), flush=True)
"""


class Oracle:
    """TensorFlow, in a process of its own."""

    def __init__(self, python):
        hidden = ("CAPSTAN_", "TF_CONFIG", "PYTHONPATH")
        env = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
        self._process = subprocess.Popen(
            [python, "-c", READ_WITH_TENSORFLOW],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            text=True,
        )
        assert self._answer() == "ready", "the oracle's Python cannot import TensorFlow"

    def _answer(self):
        return self._process.stdout.readline().strip()

    def read(self, prefix):
        self._process.stdin.write(prefix + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        if answer != "ok":
            raise RuntimeError("TensorFlow: " + answer)

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def read_whole(prefix):
    reader = tf.train.NewCheckpointReader(prefix)
    for name in reader.get_variable_to_shape_map():
        reader.get_tensor(name)


def _problem(read, prefix):
    try:
        return read(prefix)
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)


class CheckedSaver(tf.train.Saver):
    """Reads each checkpoint back before the next save may remove it."""

    def __init__(self, wanted, **options):
        super().__init__(**options)
        self.wanted, self.done, self.bad = wanted, 0, 0
        self.enough = threading.Event()
        self._readers = [read_whole]
        self._oracle = Oracle(FLAGS.oracle) if FLAGS.oracle else None
        if self._oracle:
            self._readers.append(self._oracle.read)

    def save(self, *args, **kwargs):
        prefix = super().save(*args, **kwargs)
        problems = [p for p in (_problem(read, prefix) for read in self._readers) if p]
        for problem in problems:
            print("BAD %s: %s" % (prefix, problem), flush=True)
        self.bad += bool(problems)
        self.done += 1
        if self.done >= self.wanted:
            self.enough.set()
        return prefix

    def close(self):
        if self._oracle:
            self._oracle.close()


def build():
    """The step of training, every element of which changes in every run."""
    rows = FLAGS.megabytes * (1 << 20) // 4 // 1024 // 2
    step = tf.train.get_or_create_global_step()
    weights = [tf.get_variable("w%d" % i, [rows, 1024], initializer=tf.ones_initializer()) for i in range(2)]
    loss = tf.add_n([tf.reduce_sum(w * w) for w in weights])
    return OPTIMIZERS[FLAGS.optimizer]().minimize(loss, global_step=step)


def train(session, train_op, enough):
    while not enough.is_set():
        session.run(train_op)


class TrainBeside(tf.train.SessionRunHook):
    """Trains in a thread of its own, so that the hooks of the main thread save beside it."""

    def __init__(self, train_op, enough):
        self._train_op, self._enough, self._thread = train_op, enough, None

    def after_create_session(self, session, coord):
        self._thread = threading.Thread(
            target=train, args=(session, self._train_op, self._enough), daemon=True
        )
        self._thread.start()

    def after_run(self, run_context, run_values):
        if self._enough.is_set():
            run_context.request_stop()

    def end(self, session):
        self._thread.join()


def run_supervisor(target, train_op, saver):
    sv = tf.train.Supervisor(
        logdir=FLAGS.logdir, saver=saver, save_model_secs=FLAGS.every_secs, save_summaries_secs=0
    )
    with sv.managed_session(target) as session:
        train(session, train_op, saver.enough)


def run_monitored(target, train_op, saver):
    with tf.train.MonitoredTrainingSession(
        target,
        checkpoint_dir=FLAGS.logdir,
        scaffold=tf.train.Scaffold(saver=saver),
        hooks=[TrainBeside(train_op, saver.enough)],
        save_checkpoint_secs=FLAGS.every_secs,
        save_summaries_steps=None,
        save_summaries_secs=None,
        log_step_count_steps=None,
    ) as session:
        while not session.should_stop():
            session.run(train_op)


def place():
    """(server, device) of this task; a parameter server never comes back from here."""
    config = json.loads(os.environ.get("TF_CONFIG", "{}"))
    if "cluster" not in config:
        return None, None
    cluster, task = tf.train.ClusterSpec(config["cluster"]), config["task"]
    server = tf.train.Server(cluster, job_name=task["type"], task_index=task["index"])
    if task["type"] == "ps":
        server.join()
        sys.exit(0)
    return server, tf.train.replica_device_setter(cluster=cluster)


def main(_):
    server, device = place()
    with tf.device(device):
        train_op = build()
    saver = CheckedSaver(FLAGS.saves, max_to_keep=2)
    run = {"supervisor": run_supervisor, "monitored": run_monitored}[FLAGS.kind]
    run(server.target if server else "", train_op, saver)
    saver.close()
    print("%d saves, %d bad" % (saver.done, saver.bad), flush=True)


if __name__ == "__main__":
    tf.app.run()
