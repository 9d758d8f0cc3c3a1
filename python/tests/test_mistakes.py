"""A mistake of the user's is an error that names it: it never ends the process, nor passes in silence.
Values are fed without a shape, so that kernels meet them; tests/fuzz draws many more."""

import numpy as np
import pytest
import tensorflow as tf

MOST = 2**63 - 1


@pytest.fixture
def refuses():
    """refuses(build, *values): what build makes of placeholders fed with the values is an
    InvalidArgumentError, and so is (here or when the graph is built) what it makes of constants."""

    def refuses(build, *values):
        arrays = [np.asarray(value) for value in values]
        with tf.Graph().as_default(), tf.Session() as sess:
            fed = [tf.placeholder(array.dtype) for array in arrays]
            made = build(*fed)
            with pytest.raises(tf.errors.InvalidArgumentError) as error:
                sess.run(made, dict(zip(fed, arrays)))
        with tf.Graph().as_default(), tf.Session() as sess:
            with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
                sess.run(build(*map(tf.constant, arrays)))
        return str(error.value)

    return refuses


def test_no_parts_cannot_be_split_into():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="num_split"):
        tf.split(tf.zeros([4]), 0)


@pytest.mark.parametrize("begin, size", [([1], [MOST]), ([MOST], [MOST]), ([MOST], [1]), ([-1], [2])])
def test_a_slice_past_the_end_is_refused(refuses, begin, size):
    x = np.zeros([3], np.float32)
    refuses(tf.slice, x, np.int64(begin), np.int64(size))


@pytest.mark.parametrize("paddings", [[[MOST, 1]], [[MOST, MOST]], [[1, MOST]], [[-1, 0]]])
def test_paddings_that_overflow_are_refused(refuses, paddings):
    refuses(tf.pad, np.zeros([3], np.float32), np.int64(paddings))


@pytest.mark.parametrize("multiples", [2**62, MOST, -1])
def test_multiples_that_overflow_are_refused(refuses, multiples):
    refuses(tf.tile, np.zeros([4], np.float32), np.int64([multiples]))


def test_more_data_than_segment_ids_is_refused(refuses):
    data, ids = np.ones([7, 2], np.float32), np.int32([0, 1, 0])
    message = refuses(lambda d, i: tf.unsorted_segment_sum(d, i, 2), data, ids)
    assert "[7,2]" in message and "[3]" in message


@pytest.mark.parametrize("batch_dims", [1, -1])
def test_gather_refuses_leading_dimensions_that_differ(refuses, batch_dims):
    params, indices = np.zeros([2, 3], np.float32), np.int32([[0, 1], [0, 1], [0, 1]])
    refuses(lambda p, i: tf.gather(p, i, batch_dims=batch_dims, axis=1), params, indices)


@pytest.mark.parametrize("batch_dims", [3, -3, MOST, -MOST])
def test_gather_refuses_more_leading_dimensions_than_there_are(refuses, batch_dims):
    params, indices = np.zeros([2, 3], np.float32), np.int32([[0, 1], [0, 1]])
    refuses(lambda p, i: tf.gather(p, i, batch_dims=batch_dims, axis=1), params, indices)


def test_where_refuses_a_condition_that_is_too_short(refuses):
    refuses(tf.where, np.array([True, False]), np.zeros([5], np.float32), np.ones([5], np.float32))


def test_a_shape_of_more_than_2_to_the_58_elements_is_refused(refuses):
    refuses(lambda shape: tf.fill(shape, 1.0), np.int64([2**40, 2**40]))


ROWS = np.float32([[1, 2], [3, 4]])
SCALARS = {
    "argmax": (lambda axis: tf.argmax(ROWS, axis), np.int32),
    "cumsum": (lambda axis: tf.cumsum(ROWS, axis), np.int32),
    "expand_dims": (lambda dim: tf.expand_dims(ROWS, dim), np.int32),
    "fill": (lambda value: tf.fill([3], value), np.float32),
    "one_hot depth": (lambda depth: tf.one_hot([1, 0], depth), np.int32),
    "one_hot on": (lambda on: tf.one_hot([1, 0], 3, on, 0.0), np.float32),
    "one_hot off": (lambda off: tf.one_hot([1, 0], 3, 1.0, off), np.float32),
    "range limit": (lambda limit: tf.range(0, limit, 1), np.int32),
    "range start": (lambda start: tf.range(start, 5, 1), np.int32),
    "range delta": (lambda delta: tf.range(0, 5, delta), np.int32),
    "linspace start": (lambda start: tf.linspace(start, 5.0, 3), np.float32),
    "linspace stop": (lambda stop: tf.linspace(0.0, stop, 3), np.float32),
    "linspace num": (lambda num: tf.linspace(0.0, 5.0, num), np.int32),
    "split": (lambda axis: tf.split(ROWS, 2, axis), np.int32),
    "concat": (lambda axis: tf.concat([ROWS, ROWS], axis), np.int32),
    "gather": (lambda axis: tf.gather(ROWS, [0], axis=axis), np.int32),
    "top_k": (lambda k: tf.raw_ops.TopKV2(input=ROWS, k=k), np.int32),
    "random_uniform": (lambda low: tf.random_uniform([3], low, 9, tf.int32), np.int32),
    "in_top_k": (lambda k: tf.nn.in_top_k(ROWS, np.int32([0, 1]), k), np.int32),
    "segments": (lambda count: tf.unsorted_segment_sum(ROWS, [0, 1], count), np.int32),
}


@pytest.mark.parametrize("wrong", [[], [1, 1], [[1, 1]]], ids=["empty", "vector", "matrix"])
@pytest.mark.parametrize("op", sorted(SCALARS))
def test_what_must_be_a_scalar_is_refused_as_something_else(refuses, op, wrong):
    build, dtype = SCALARS[op]
    refuses(build, np.array(wrong, dtype))


@pytest.mark.parametrize("wrong", [[], ["a", "b"]], ids=["empty", "vector"])
def test_the_tag_of_a_histogram_is_refused_as_anything_but_a_scalar(refuses, wrong):
    def histogram(tag):
        graph = tf.get_default_graph()
        return graph.create_op("HistogramSummary", [tag, tf.constant(ROWS)], [tf.string]).outputs[0]

    refuses(histogram, np.array(wrong, object))
