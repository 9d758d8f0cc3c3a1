"""Loss curves: TensorFlow's, whatever the number of threads, in one process and on clusters."""

import curves
import live
import numpy as np
import pytest
import tensorflow as tf

NAMES = list(curves.CURVES)
# The three kinds of model; the others differ from these in the optimizer alone.
MODELS = ["linear regression, SGD", "784-100-10, Momentum", "784-500-500-10, tanh, Adam"]


def run_with_threads(name, threads):
    config = tf.ConfigProto(intra_op_parallelism_threads=threads)
    return curves.Training(tf, name).run(config=config)


def assert_same_bits(one, other):
    """Both are (losses, weights)."""
    np.testing.assert_array_equal(np.array(one[0]), np.array(other[0]))
    for a, b in zip(one[1], other[1]):
        np.testing.assert_array_equal(a, b)


def assert_follows(losses, expected):
    assert len(expected) == curves.STEPS
    np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_follows_tensorflows_recorded_one(name):
    assert_follows(curves.Training(tf, name).run()[0], live.recorded("curves.json")[name])


@pytest.mark.oracle
def test_the_loss_follows_tensorflows_live_one(oracle_python):
    theirs = live.told(oracle_python, "curves.py")
    assert list(theirs) == NAMES
    for name in NAMES:
        assert_follows(curves.Training(tf, name).run()[0], theirs[name])


@pytest.mark.parametrize("name", MODELS)
def test_two_and_four_threads_give_the_bits_of_one(name):
    alone = run_with_threads(name, 1)
    assert_same_bits(run_with_threads(name, 2), alone)
    assert_same_bits(run_with_threads(name, 4), alone)


@pytest.mark.parametrize("ps, threads", [(1, 1), (2, 2)])
@pytest.mark.parametrize("name", MODELS)
def test_one_asynchronous_worker_follows_the_one_process_curve_exactly(name, ps, threads, make_cluster):
    target = make_cluster(ps, 1, threads).target()
    setter = tf.train.replica_device_setter(ps_tasks=ps, worker_device="/job:worker/task:0")
    on_cluster = curves.Training(tf, name, setter).run(target)
    tf.Session.reset(target)
    assert_same_bits(on_cluster, curves.Training(tf, name).run())
