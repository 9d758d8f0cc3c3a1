"""Capstan: trains TensorFlow 1 parameter-server programs, with no TensorFlow.

`import tensorflow` under `capstan python` finds the names of this package; see front/.
"""

import os

# Folders whose lines are never "the program's own line" in a message.
OUR_FOLDERS = [
    os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), package, "")
    for package in ("capstan", "tensorflow", "tensorflowonspark", "pyjava")
]
