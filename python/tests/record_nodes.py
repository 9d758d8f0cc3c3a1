"""Records what TensorFlow builds for node_cases.py: `python record_nodes.py > golden/nodes.json`.

Needs TensorFlow 2.21 and tf-keras; run only when a case is added.
"""

import json
import os
import sys

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import node_cases  # noqa: E402
import node_text  # noqa: E402


def old_spellings(tf):
    import tf_keras.src.legacy_tf_layers.core as layers_core

    class Both:
        """compat.v1 plus the spellings that it no longer has."""

        layers = type("layers", (), {"dense": staticmethod(layers_core.dense)})

        def __getattr__(self, name):
            return getattr(tf, {"mul": "multiply", "sub": "subtract"}.get(name, name))

    return Both()


def main():
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    golden = {}
    for name, case in node_text.cases(node_cases):
        with tf.Graph().as_default() as graph:
            case(old_spellings(tf))
            golden[name] = node_text.lines(graph)
    json.dump(golden, sys.stdout, indent=0)
    print()


if __name__ == "__main__":
    main()
