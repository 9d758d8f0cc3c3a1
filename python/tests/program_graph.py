"""Runs a program up to the point where it would make its session, and prints its graph.

    python program_graph.py program.py --job_name=worker ...

Servers are not started. Under real TensorFlow the spellings that compat.v1 no longer has are aliased.
"""

import json
import os
import runpy
import sys
import types

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)

import node_text  # noqa: E402


class _Batches:
    """Stands for data that a graph does not depend on."""

    images = labels = ()
    num_examples = 1000

    def __getattr__(self, name):
        return self if name in ("train", "validation", "test") else None


def _data_modules():
    fake = types.ModuleType("input_data")
    fake.read_data_sets = lambda *args, **kwargs: _Batches()
    fake.input_data = fake
    paths = (
        "examples.tutorials.mnist.input_data",
        "contrib.learn.python.learn.datasets.mnist",
    )
    for path in paths:
        parts = path.split(".")
        for end in range(1, len(parts) + 1):
            sys.modules["tensorflow." + ".".join(parts[:end])] = fake


def _scalar_summary(tf):
    """0.x: the tag is given, the node is named after its op."""
    from tensorflow.python.ops import gen_logging_ops

    def scalar_summary(tags, values):
        with tf.name_scope(None, "ScalarSummary", [tags, values]) as scope:
            made = gen_logging_ops.scalar_summary(tags=tags, values=values, name=scope)
        tf.add_to_collection(tf.GraphKeys.SUMMARIES, made)
        return made

    return scalar_summary


def _aliased(tf):
    import tf_keras.src.legacy_tf_layers.core as layers

    old = {
        "mul": tf.multiply,
        "initialize_all_variables": tf.global_variables_initializer,
        "merge_all_summaries": tf.summary.merge_all,
        "scalar_summary": _scalar_summary(tf),
        "layers": types.SimpleNamespace(dense=layers.dense),
    }

    class Aliased(types.ModuleType):
        def __getattr__(self, name):
            return old[name] if name in old else getattr(tf, name)

    module = Aliased("tensorflow")
    module.__path__ = []
    sys.modules["tensorflow"] = module
    sys.path.append(os.path.dirname(FOLDER))  # pyjava


def _tensorflow():
    import tensorflow

    if tensorflow.__version__.startswith("1."):
        return tensorflow
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    _aliased(tf)
    _data_modules()
    return tf


class _Server:
    target = ""

    def __init__(self, *unused, **kwargs):
        pass


def main(program, arguments):
    tf = _tensorflow()

    def show(*unused, **kwargs):
        lines = node_text.lines(tf.get_default_graph())
        # The saver's own nodes differ between versions of TensorFlow.
        sys.stdout.flush()
        os.write(1, json.dumps([line for line in lines if not line.startswith("save/")]).encode())
        os._exit(0)

    tf.train.Server = _Server
    tf.train.Supervisor = tf.train.MonitoredTrainingSession = show
    sys.argv = [program] + arguments
    sys.path.insert(0, os.path.dirname(program))
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
