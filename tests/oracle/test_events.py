"""TensorBoard's own reader reads our event files, with and without TensorFlow beside it."""

import sys

import live
import numpy as np
import pytest
import tensorflow as tf


@pytest.fixture
def logs(tmp_path):
    """A folder with a training's summaries and graph."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        v = tf.Variable([4.0, 2.0], name="v")
        loss = tf.reduce_sum(tf.square(v))
        train = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
        tf.summary.scalar("loss", loss)
        tf.summary.histogram("weights", v)
        merged = tf.summary.merge_all()
        sess.run(tf.global_variables_initializer())
        writer = tf.summary.FileWriter(str(tmp_path / "logs"), graph)
        for step in range(10):
            writer.add_summary(sess.run([merged, train])[0], step)
        writer.close()
        return tmp_path / "logs", graph


def assert_found(found, graph):
    assert found["scalars"]["loss"] == [[step, 20.0 * 0.25**step] for step in range(10)]
    assert found["histograms"]["weights"][-1] == [9, 2.0]  # how many are kept is the reader's choice
    expected = graph.as_graph_def().node
    assert found["nodes"] == [[node.name, node.op, list(node.input)] for node in expected]
    assert len(expected) > 10


def test_tensorboard_reads_our_scalars_and_graph(logs):
    folder, graph = logs
    assert_found(live.told(sys.executable, "events.py", folder), graph)


@pytest.mark.oracle
def test_tensorboard_beside_tensorflow_reads_our_scalars_and_graph(oracle_python, logs):
    folder, graph = logs
    assert_found(live.told(oracle_python, "events.py", folder), graph)


@pytest.mark.oracle
def test_tensorflows_own_iterator_reads_every_event(oracle_python, logs):
    code = "import sys; from tensorflow.compat.v1.train import summary_iterator as events; import glob; " \
           "print([e.step for f in glob.glob(sys.argv[1] + '/*') for e in events(f) if e.HasField('summary')])"
    script = logs[0].parent / "read.py"
    script.write_text(code)
    assert live.run(oracle_python, script, logs[0]).strip() == str(list(np.arange(10)))
