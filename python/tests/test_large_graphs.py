"""Graphs of many nodes cost in proportion to their size."""

import subprocess
import sys

CHAIN = """
import resource
import tensorflow as tf

x = tf.placeholder(tf.float32, [2])
y = x
for _ in range(8000):
    y = tf.identity(y)
with tf.Session() as sess:
    assert sess.run(y, {x: [1, 2]}).tolist() == [1, 2]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_a_long_chain_of_what_is_handed_on_takes_little_memory():
    ended = subprocess.run([sys.executable, "-c", CHAIN], capture_output=True, text=True, check=True)
    assert int(ended.stdout) < 600, "MB at its peak"
