"""What the engine's composites compute, against the formulas written in numpy."""

import inspect
import math

import numpy as np
import pytest
import tensorflow as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def value(tensor, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensor, feeds)


LABELS = np.array([[1, 0, 0], [0, 1, 0]], np.float32)
LOGITS = np.array([[2.0, -1.0, 0.5], [0.1, 0.2, 30.0]], np.float32)


def log_softmax(x):
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


@pytest.mark.parametrize(
    "reduction,weights,expected",
    [
        ("weighted_sum_by_nonzero_weights", 1.0, 5.0),
        ("weighted_sum_by_nonzero_weights", 0.0, 0.0),
        ("weighted_sum_by_nonzero_weights", [[1.0], [0.0]], 1.0),
        ("weighted_sum_by_nonzero_weights", [[2.0], [4.0]], 19.0),
        ("weighted_mean", [[1.0], [3.0]], 7.0),
        ("weighted_sum_over_batch_size", [[1.0], [3.0]], 14.0),
        ("weighted_sum", 2.0, 40.0),
        ("none", 2.0, [[2.0, 2.0], [18.0, 18.0]]),
    ],
)
def test_a_loss_is_weighted_and_reduced_as_asked(reduction, weights, expected):
    predictions = tf.constant([[1.0, -1.0], [3.0, -3.0]])
    loss = tf.losses.mean_squared_error(tf.zeros([2, 2]), predictions, weights, reduction=reduction)
    np.testing.assert_allclose(value(loss), expected)
    assert tf.losses.get_losses() == [loss]


def test_weights_whose_shape_is_known_only_at_run_time_count_too():
    weights = tf.placeholder(tf.float32, [None, 1])
    loss = tf.losses.mean_squared_error(tf.zeros([2, 2]), [[1.0, -1.0], [3.0, -3.0]], weights)
    assert value(loss, {weights: [[1.0], [0.0]]}) == 1.0


def test_weights_that_do_not_fit_the_losses_are_refused():
    with pytest.raises(
        ValueError, match=r"weights of shape \[3\] do not fit losses of shape \[2,2\]"
    ):
        tf.losses.mean_squared_error(tf.zeros([2, 2]), tf.zeros([2, 2]), tf.ones([3]))


def test_losses_of_classes():
    each = -(LABELS * log_softmax(LOGITS)).sum(-1)
    soft = tf.losses.softmax_cross_entropy(LABELS, LOGITS)
    sparse = tf.losses.sparse_softmax_cross_entropy([0, 1], LOGITS)
    column = tf.losses.sparse_softmax_cross_entropy([[0], [1]], LOGITS)
    smooth = tf.losses.softmax_cross_entropy(LABELS, LOGITS, label_smoothing=0.3)
    np.testing.assert_allclose(value([soft, sparse, column]), [each.mean()] * 3, rtol=1e-6)
    softened = -((LABELS * 0.7 + 0.1) * log_softmax(LOGITS)).sum(-1)
    np.testing.assert_allclose(value(smooth), softened.mean(), rtol=1e-6)


def test_cross_entropies_of_cubes_keep_the_outer_dimensions():
    cube = np.stack([LOGITS, -LOGITS])
    ids = np.array([[0, 1], [2, 2]])
    fed = tf.placeholder(tf.float32, [2, None, 3])
    sparse = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.constant(ids), logits=fed)
    dense = tf.nn.softmax_cross_entropy_with_logits(labels=tf.one_hot(ids, 3), logits=fed)
    assert dense.shape.as_list() == [2, None]
    expected = -np.take_along_axis(log_softmax(cube), ids[..., None], -1)[..., 0]
    for got in value([sparse, dense], {fed: cube}):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_labels_that_are_not_the_rows_of_the_logits_fail_when_it_runs():
    logits = tf.placeholder(tf.float32, name="logits")
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.constant([0, 1, 2]), logits=logits
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[2\] and \[3\].*SparseSoftmax"):
        value(loss, {logits: np.zeros([2, 3])})


def test_sigmoid_cross_entropy_is_exact_far_from_zero():
    x, z = np.array([-1000.0, -2.0, 0.0, 1000.0], np.float32), np.array([0, 1, 1, 0], np.float32)
    expected = np.maximum(x, 0) - x * z + np.log1p(np.exp(-np.abs(x)))
    loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=z, logits=x)
    weighted = tf.nn.weighted_cross_entropy_with_logits(labels=z, logits=x, pos_weight=3.0)
    got, heavier = value([loss, weighted])
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    np.testing.assert_allclose(heavier, np.where(z == 1, 3, 1) * expected, rtol=1e-6)


def test_log_loss_and_absolute_difference():
    p, z = np.array([0.2, 0.9], np.float32), np.array([0, 1], np.float32)
    expected = -(z * np.log(p + 1e-7) + (1 - z) * np.log(1 - p + 1e-7)).mean()
    got = value([tf.losses.log_loss(z, p), tf.losses.absolute_difference(z, p)])
    np.testing.assert_allclose(got, [expected, np.abs(z - p).mean()], rtol=1e-5)


def test_dropout_keeps_a_part_and_scales_it():
    x = tf.ones([100, 100])
    kept = value(tf.nn.dropout(x, rate=0.25, seed=3))
    assert set(np.unique(kept)) == {0.0, np.float32(1 / 0.75)}
    assert 0.7 < (kept != 0).mean() < 0.8
    rows = value(tf.nn.dropout(x, 0.5, noise_shape=[100, 1], seed=4))
    assert all(len(set(row)) == 1 for row in rows)
    assert tf.nn.dropout(x, rate=0.0) is x
    with pytest.raises(ValueError, match=r"a dropout rate lies within \[0, 1\), not at 1.5"):
        tf.nn.dropout(x, rate=1.5)


def test_gradients_are_clipped_together():
    tensors = [tf.constant([3.0, 0.0]), None, tf.constant([4.0])]
    clipped, norm = tf.clip_by_global_norm(tensors, 1.0)
    assert clipped[1] is None
    first, third, length = value([clipped[0], clipped[2], norm])
    np.testing.assert_allclose(first, [0.6, 0.0], rtol=1e-6)
    np.testing.assert_allclose(third, [0.8], rtol=1e-6)
    assert length == 5.0
    untouched, _ = tf.clip_by_global_norm(tensors, 10.0)
    np.testing.assert_allclose(value(untouched[0]), [3.0, 0.0], rtol=1e-6)


def test_an_infinite_norm_shows_in_what_is_clipped_by_it():
    clipped, _ = tf.clip_by_global_norm([tf.constant([math.inf, 1.0])], 1.0)
    assert np.isnan(value(clipped[0])).all()


def test_clip_by_norm_and_value():
    x = tf.constant([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(value(tf.clip_by_norm(x, 1.0, axes=[1])), [[0.6, 0.8], [0, 0]])
    np.testing.assert_allclose(value(tf.clip_by_value(x, 1.0, 3.5)), [[3, 3.5], [1, 1]])


@pytest.mark.parametrize("step", [0, 25, 100, 250])
def test_learning_rates_follow_their_formulas(step):
    at = tf.constant(step, tf.int64)
    done, left = step / 100, 1 - min(step, 100) / 100
    rates = {
        tf.train.exponential_decay(0.1, at, 100, 0.5): 0.1 * 0.5**done,
        tf.train.exponential_decay(0.1, at, 100, 0.5, True): 0.1 * 0.5 ** (step // 100),
        tf.train.natural_exp_decay(0.1, at, 100, 0.5): 0.1 * math.exp(-0.5 * done),
        tf.train.inverse_time_decay(0.1, at, 100, 0.5): 0.1 / (1 + 0.5 * done),
        tf.train.polynomial_decay(0.1, at, 100, 0.01, 2.0): 0.09 * left**2 + 0.01,
        tf.train.polynomial_decay(0.1, at, 100, 0.01, cycle=True): 0.09
        * (1 - step / (100 * max(1, math.ceil(done))))
        + 0.01,
        tf.train.cosine_decay(0.1, at, 100, 0.1): 0.1
        * (0.9 * 0.5 * (1 + math.cos(math.pi * min(done, 1))) + 0.1),
        tf.train.piecewise_constant(at, [25, 100], [1.0, 0.5, 0.1]): 1.0
        if step <= 25
        else 0.5
        if step <= 100
        else 0.1,
    }
    np.testing.assert_allclose(value(list(rates)), list(rates.values()), rtol=1e-5)


def test_sums_of_exponentials_do_not_overflow():
    x = tf.constant([[1000.0, 1000.0], [-math.inf, -math.inf]])
    got = value(tf.reduce_logsumexp(x, 1))
    np.testing.assert_allclose(got, [1000.0 + math.log(2), -math.inf])


def test_softmax_along_another_axis():
    for axis in (0, 1, -2, -1):
        got = value(tf.nn.softmax(tf.constant(LOGITS), axis=axis))
        np.testing.assert_allclose(got.sum(axis), np.ones(LOGITS.shape[1 - axis % 2]), rtol=1e-6)
    any_rank = tf.placeholder(tf.float32)
    got = value(tf.nn.log_softmax(any_rank, axis=0), {any_rank: LOGITS})
    np.testing.assert_allclose(got, log_softmax(LOGITS.T).T, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="has 2 axes"):
        tf.nn.softmax(tf.constant(LOGITS), axis=2)


def test_masks_and_small_things():
    x = tf.constant(LOGITS)
    np.testing.assert_allclose(value(tf.boolean_mask(x, [False, True])), LOGITS[1:])
    np.testing.assert_allclose(value(tf.boolean_mask(x, LABELS == 1)), LOGITS[LABELS == 1])
    columns = value(tf.boolean_mask(x, [True, False, True], axis=1))
    np.testing.assert_allclose(columns, LOGITS[:, [0, 2]])
    assert value(tf.nn.zero_fraction(tf.constant([0.0, 1.0, 0.0, 2.0]))) == 0.5
    assert list(value(tf.saturate_cast(tf.constant([-5.0, 12.0, 300.0]), tf.uint8))) == [0, 12, 255]
    unit = value(tf.nn.l2_normalize(x, 1))
    np.testing.assert_allclose((unit**2).sum(1), [1, 1], rtol=1e-5)
    assert list(value(tf.logical_xor([True, True, False], [True, False, False]))) == [0, 1, 0]


def test_initial_values_have_the_variance_that_was_asked_for():
    shape = [400, 100]
    expected = {
        tf.glorot_uniform_initializer(1)(shape): 2 / 500,
        tf.glorot_normal_initializer(2)(shape): 2 / 500,
        tf.variance_scaling_initializer(2.0, "fan_out", seed=3)(shape): 2 / 100,
        tf.variance_scaling_initializer(distribution="untruncated_normal", seed=4)(shape): 1 / 400,
    }
    for drawn, variance in zip(value(list(expected)), expected.values()):
        np.testing.assert_allclose(drawn.var(), variance, rtol=0.05)


def test_an_average_follows_its_variable():
    v = tf.Variable(1.0)
    averages = tf.train.ExponentialMovingAverage(0.9)
    move = averages.apply([v])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(v.assign(11.0))
        session.run(move)
        np.testing.assert_allclose(session.run(averages.average(v)), 2.0, rtol=1e-6)


def test_cross_entropies_along_another_axis_and_by_position():
    along = tf.nn.softmax_cross_entropy_with_logits(logits=LOGITS.T, labels=LABELS.T, dim=0)
    by_position = tf.nn.softmax_cross_entropy_with_logits_v2(LABELS, LOGITS)
    expected = -(LABELS * log_softmax(LOGITS)).sum(-1)
    for got in value([along, by_position]):
        np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_weights_that_turn_out_not_to_fit_fail_when_it_runs():
    x, w = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32)
    loss = tf.losses.compute_weighted_loss(x, w)
    assert value(loss, {x: [[1.0, 2.0]], w: 2.0}) == 3.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="weights do not fit the losses"):
        value(loss, {x: [[1.0, 2.0]], w: [1.0, 0.0]})
    column = tf.placeholder(tf.float32, [None, 1])
    loss = tf.losses.compute_weighted_loss(x, column)
    with pytest.raises(tf.errors.InvalidArgumentError, match="weights do not fit the losses"):
        value(loss, {x: [[1.0, 2.0]], column: [[1.0], [2.0], [2.0]]})


def test_whole_numbers_are_clipped_exactly():
    large = 2**53 + 1
    x = tf.constant([5, 2**60], tf.int64)
    assert list(value(tf.clip_by_value(x, 0, large))) == [5, large]
    assert list(value(tf.clip_by_value(x, 0, tf.int64.max))) == [5, 2**60]
    with pytest.raises(TypeError):
        tf.clip_by_value(x, 0, 2.5)


def test_tensors_that_are_larger_than_an_int32_counts_keep_their_shape():
    assert tf.zeros([2**32 + 5], tf.int8).shape.as_list() == [2**32 + 5]
    assert tf.random_normal([2**32 + 5]).shape.as_list() == [2**32 + 5]


def test_a_mask_of_another_size_is_refused():
    with pytest.raises(ValueError, match=r"a mask of shape \[1,3\] does not cover"):
        tf.boolean_mask([[1, 2], [3, 4]], [[True, False, True]])


def test_no_gradients_have_no_norm():
    assert value(tf.global_norm([])) == 0.0
    assert tf.clip_by_global_norm([None], 1.0)[0] == [None]


def test_a_decaying_rate_is_a_fraction():
    with pytest.raises(TypeError, match="is a fraction, not a int32"):
        tf.train.exponential_decay(1, tf.constant(25), 10, 0.5)


def test_an_average_starts_from_what_its_variable_is_by_then():
    v = tf.Variable(1.0)
    averages = tf.train.ExponentialMovingAverage(0.9)
    averages.apply([v])
    with tf.Session() as session:
        session.run(v.assign(5.0))  # restored from somewhere
        session.run(tf.variables_initializer([averages.average(v)]))
        assert session.run([v, averages.average(v)]) == [5.0, 5.0]


def test_initializers_tell_how_they_were_made():
    made = tf.truncated_normal_initializer(stddev=0.5, seed=3)
    again = tf.truncated_normal_initializer.from_config(made.get_config())
    assert (again.mean, again.stddev, again.seed, again.dtype) == (0.0, 0.5, 3, tf.float32)
    glorot = tf.glorot_uniform_initializer(seed=4)
    assert tf.glorot_uniform_initializer.from_config(glorot.get_config()).seed == 4


def test_logits_and_labels_that_clash_are_named_where_they_are_put_together():
    with pytest.raises(ValueError, match=r"SoftmaxCrossEntropyWithLogits.*test_composites\.py:\d+"):
        tf.nn.softmax_cross_entropy_with_logits(logits=tf.zeros([2, 3]), labels=tf.zeros([4, 5]))


def test_what_is_not_supported_is_refused(tmp_path):
    options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    with pytest.raises(NotImplementedError, match="compressed"):
        tf.python_io.TFRecordWriter(str(tmp_path / "records"), options)
    with pytest.raises(NotImplementedError, match="export_scope"):
        tf.train.export_meta_graph(export_scope="part")
    with pytest.raises(NotImplementedError, match="shape"):
        tf.Variable(1.0, shape=[])
    with pytest.raises(NotImplementedError, match="channels_first"):
        tf.layers.flatten(tf.zeros([2, 3, 4]), data_format="channels_first")


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.get_variable("v", [2], initialiser=tf.zeros_initializer()),
        lambda: tf.layers.dense(tf.zeros([2, 3]), 4, kernel_initialiser=None),
        lambda: tf.layers.Dense(4, kernel_initialiser=None),
        lambda: tf.layers.flatten(tf.zeros([2, 3]), nam="x"),
        lambda: tf.train.import_meta_graph("m.meta", clear_device=True),
        lambda: tf.train.export_meta_graph(clear_device=True),
        lambda: tf.python_io.TFRecordOptions(compression=0),
    ],
)
def test_a_misspelt_argument_is_refused_not_ignored(call):
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        call()


def test_unconnected_gradients_may_be_zeros():
    x, y = tf.constant([1.0, 2.0]), tf.constant([[3.0]])
    assert tf.gradients(x * x, [x, y])[1] is None
    dx, dy = tf.gradients(x * x, [x, y], unconnected_gradients=tf.UnconnectedGradients.ZERO)
    with tf.Session() as session:
        assert session.run([dx, dy])[0].tolist() == [2, 4]
        assert session.run(dy).tolist() == [[0]]


def test_variables_are_frozen_as_listed():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        a, b = tf.Variable(2.0, name="a"), tf.Variable(3.0, name="b")
        tf.multiply(a, b, name="product")
        session.run(tf.global_variables_initializer())

        def constants(**lists):
            frozen = tf.graph_util.convert_variables_to_constants(
                session, graph.as_graph_def(), ["product"], **lists
            )
            return [node.name for node in frozen.node if node.op == "Const"]

        assert constants() == ["a", "b"]
        assert constants(variable_names_whitelist=["a"]) == ["a"]
        assert constants(variable_names_blacklist=["a"]) == ["b"]


def test_a_saver_may_restore_into_another_shape_of_as_many_elements(tmp_path):
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], name="v")
        session.run(v.initializer)
        tf.train.Saver().save(session, path)
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(tf.zeros([6]), name="v")
        tf.train.Saver(reshape=True).restore(session, path)
        assert list(session.run(v)) == [1, 2, 3, 4, 5, 6]


def test_functions_of_rows_show_tensorflows_parameters_and_what_they_do():
    shown = str(inspect.signature(tf.losses.log_loss))
    assert shown.startswith("(labels, predictions, weights=1.0, epsilon=1e-07, scope=None, ")
    assert "cross entropy" in inspect.getdoc(tf.losses.log_loss)
    assert tf.losses.log_loss.__name__ == "log_loss"
    assert tf.zero_fraction is tf.nn.zero_fraction


def test_arguments_of_rows_are_checked_under_their_names():
    with pytest.raises(TypeError, match="'x' is no seed, which random_normal takes here"):
        tf.random_normal([2], seed="x")
    with pytest.raises(ValueError, match="Argument 'labels' is None: a tensor is needed"):
        tf.losses.mean_squared_error(None, [1.0])
    with pytest.raises(ValueError, match="'mean' is no reduction of losses"):
        tf.losses.mean_squared_error([1.0], [1.0], reduction="mean")
    with pytest.raises(ValueError, match="Cannot specify both 'dim' and 'axis'"):
        tf.nn.l2_normalize([1.0], axis=0, dim=0)


def test_a_loss_may_stay_out_of_every_collection():
    tf.losses.mean_squared_error([1.0], [2.0], loss_collection=None)
    assert tf.losses.get_losses() == []
