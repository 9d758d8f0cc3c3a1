"""Values at the edges of their types are TensorFlow's (tests/oracle compares every row; these have names)."""

import numpy as np
import pytest
import tensorflow as tf

NAN, INF = np.nan, np.inf


@pytest.fixture
def run():
    """run(function): the value of what it builds, in a graph of its own."""

    def run(build):
        with tf.Graph().as_default(), tf.Session() as sess:
            return sess.run(build())

    return run


def assert_same(value, expected):
    """Equal, NaN to NaN, zeros by their sign."""
    value, expected = np.asarray(value), np.asarray(expected)
    np.testing.assert_array_equal(value, expected)
    if value.dtype.kind == "f":
        real = ~np.isnan(value)
        np.testing.assert_array_equal(np.signbit(value)[real], np.signbit(expected)[real])


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "int32", "uint32"])
def test_the_mean_of_integers_does_not_overflow(run, dtype):
    most = np.iinfo(dtype).max
    assert_same(run(lambda: tf.reduce_mean(tf.constant([most] * 3, dtype))), most)
    assert_same(run(lambda: tf.reduce_mean(tf.constant([[most, most], [1, 2]], dtype), 1)), [most, 1])
    assert_same(run(lambda: tf.reduce_mean(tf.constant([[most, 1], [most, 2]], dtype), 0)), [most, 1])


def test_gather_with_batch_dims_gathers_behind_them(run):
    params, indices = np.arange(12).reshape([2, 3, 2]), [[2, 0], [1, 1]]
    expected = [params[0][[2, 0]], params[1][[1, 1]]]
    assert_same(run(lambda: tf.gather(params, indices, batch_dims=1)), expected)


@pytest.mark.parametrize(
    "values, largest, smallest",
    [
        ([NAN, 1, 2], 2, 1),
        ([1, NAN, 2], 2, 0),
        ([NAN, NAN], 0, 0),
        ([NAN, NAN, 1, 5, 3, 5], 3, 2),
        ([NAN, -INF, INF], 2, 1),
        ([-INF, -INF], 0, 0),
    ],
)
def test_argmax_and_argmin_pass_over_nan(run, values, largest, smallest):
    assert run(lambda: tf.argmax(tf.constant(values), 0)) == largest
    assert run(lambda: tf.argmin(tf.constant(values), 0)) == smallest


def test_argmax_passes_over_nan_along_every_axis(run):
    matrix = [[NAN, 1, 2], [1, NAN, 3], [0, 1, NAN]]
    assert_same(run(lambda: tf.argmax(tf.constant(matrix), 0)), [1, 0, 1])
    assert_same(run(lambda: tf.argmax(tf.constant(matrix), 1)), [2, 2, 1])


@pytest.mark.parametrize(
    "shape, wanted, given", [([0, 3], [0, -1], (0, 3)), ([0], [-1, 0], (1, 0)), ([0, 3], [-1, 0, 2], (1, 0, 2))]
)
def test_reshape_of_nothing_finds_the_open_dimension(run, shape, wanted, given):
    assert run(lambda: tf.reshape(tf.zeros(shape), wanted)).shape == given
    with tf.Graph().as_default(), tf.Session() as sess:
        fed = tf.placeholder(tf.int32)
        assert sess.run(tf.reshape(tf.zeros(shape), fed), {fed: wanted}).shape == given


@pytest.mark.parametrize(
    "logits, labels, loss, gradient",
    [
        ([-INF, 0, 1], [0, 1, 0], NAN, [0, -0.7310586, 0.7310586]),
        ([-INF, 0, 1], [1, 0, 0], INF, [-1, 0.26894143, 0.7310586]),
        ([INF, 1], [0, 1], NAN, [NAN, NAN]),
    ],
)
def test_cross_entropy_with_an_infinite_logit_is_tensorflows(run, logits, labels, loss, gradient):
    logits, labels = np.float32([logits]), np.float32([labels])
    build = tf.raw_ops.SoftmaxCrossEntropyWithLogits
    found = run(lambda: build(features=tf.constant(logits), labels=tf.constant(labels)))
    assert_same(found[0], np.float32([loss]))
    np.testing.assert_allclose(found[1], [gradient], rtol=1e-6)


def test_saturate_cast_stays_inside_the_target(run):
    values = [3e9, -3e9, INF, -INF, 5.9]
    expected = [2147483520, -2147483648, 2147483520, -2147483648, 5]
    assert_same(run(lambda: tf.saturate_cast(tf.constant(values), tf.int32)), expected)
    assert_same(run(lambda: tf.saturate_cast(tf.constant([3e9, -3e9, NAN]), tf.uint8)), [255, 0, 0])
    assert_same(run(lambda: tf.saturate_cast(tf.constant([1e6, -1.0]), tf.uint16)), [65535, 0])
    assert_same(run(lambda: tf.saturate_cast(tf.constant([5e9, -1.0]), tf.uint32)), [4294967040, 0])


@pytest.mark.parametrize("dtype, most", [("float32", 2**63 - 2**39), ("float64", 2**63 - 2**10)])
def test_saturate_cast_to_64_bits_stays_inside_them(run, dtype, most):
    values = np.array([1e19, -1e19], dtype)
    assert_same(run(lambda: tf.saturate_cast(tf.constant(values), tf.int64)), [most, -(2**63)])
    assert_same(run(lambda: tf.saturate_cast(tf.constant(2 * values), tf.uint64)), [2 * most, 0])
    whole = np.array([2**64 - 1, 5], np.uint64)
    assert_same(run(lambda: tf.saturate_cast(tf.constant(whole), tf.int64)), [2**63 - 1, 5])


@pytest.mark.parametrize("reduce", ["reduce_max", "reduce_min"])
@pytest.mark.parametrize("count", [2, 9, 16, 33, 40000])
def test_of_zeros_of_both_signs_the_last_is_the_extreme(run, reduce, count):
    for last in (0.0, -0.0):
        values = np.full(count, -last, np.float32)
        values[-1] = last
        assert_same(run(lambda: getattr(tf, reduce)(tf.constant(values))), np.float32(last))  # noqa: B023
        columns = np.stack([values, -values], 1)
        assert_same(run(lambda: getattr(tf, reduce)(tf.constant(columns), 0)), [last, -last])  # noqa: B023
        blocks = columns.reshape([count, 1, 2]).repeat(2, 1)
        found = run(lambda: getattr(tf, reduce)(tf.constant(blocks), [0, 2]))  # noqa: B023
        assert_same(found, [-last, -last])


def test_listdiff_keeps_nan(run):
    kept, places = run(lambda: tf.raw_ops.ListDiff(x=[NAN, 1.0, 2.0, NAN, -0.0], y=[NAN, 2.0, 0.0]))
    assert_same(kept, np.float32([NAN, 1, NAN]))
    assert places.tolist() == [0, 1, 3]


@pytest.mark.parametrize("op", ["ReluGrad", "Relu6Grad"])
def test_a_gradient_of_nan_stays_at_inactive_units(run, op):
    gradients, features = np.float32([NAN, INF, -1, 1, 2]), np.float32([-1, 0, -1, NAN, 3])
    found = run(lambda: getattr(tf.raw_ops, op)(gradients=gradients, features=features))
    assert_same(found, np.float32([NAN, NAN, -0.0, 0, 2]))


def test_a_range_over_all_of_int64_says_that_it_is_too_long(run):
    low, high = -(2**63), 2**63 - 1
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="2\\^63"):
        run(lambda: tf.range(low, high, dtype=tf.int64))
    assert_same(run(lambda: tf.range(low, high, 2**62, dtype=tf.int64)), [low, -(2**62), 0, 2**62])
    assert_same(run(lambda: tf.range(high, low, low, dtype=tf.int64)), [high, -1])
