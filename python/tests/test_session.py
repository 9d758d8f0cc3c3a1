"""Session.run: fetches of every form, feeds of every form, and what goes wrong."""

import collections
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import tensorflow as tf


@pytest.fixture
def sess():
    with tf.Session() as session:
        yield session


Pair = collections.namedtuple("Pair", ["first", "second"])


def test_fetches_come_back_in_their_own_form(sess):
    a, b = tf.constant(1.0, name="a"), tf.constant([2, 3])
    op = tf.no_op()
    v = tf.Variable(5.0)
    sess.run(v.initializer)
    assert sess.run(a) == 1.0
    assert sess.run(op) is None
    assert sess.run("a:0") == 1.0
    assert sess.run(v) == 5.0
    got = sess.run({"x": [a, (b, op)], "y": Pair(a, v), "z": []})
    assert got["x"][0] == 1.0 and got["x"][1][0].tolist() == [2, 3] and got["x"][1][1] is None
    assert got["y"] == Pair(1.0, 5.0) and isinstance(got["y"], Pair)
    assert got["z"] == []
    ordered = sess.run(collections.OrderedDict([("b", a), ("a", a)]))
    assert list(ordered) == ["b", "a"] and type(ordered) is collections.OrderedDict


def test_one_tensor_may_be_fetched_often(sess):
    a = tf.constant(2.0)
    assert sess.run([a, a, a]) == [2.0, 2.0, 2.0]


def test_values_have_numpys_types(sess):
    got = sess.run(
        [
            tf.constant(1.5),
            tf.constant(1, tf.int64),
            tf.constant(True),
            tf.constant("text"),
            tf.constant([1.0]),
            tf.constant(["a", "b"]),
            tf.zeros([0, 3]),
        ]
    )
    assert [type(v) for v in got[:4]] == [np.float32, np.int64, np.bool_, bytes]
    assert got[4].dtype == np.float32
    assert got[5].tolist() == [b"a", b"b"]
    assert got[6].shape == (0, 3)


def test_fetched_arrays_belong_to_the_program(sess):
    v = tf.Variable([1.0, 2.0])
    sess.run(v.initializer)
    first = sess.run(v)
    first[0] = 9.0
    assert sess.run(v).tolist() == [1.0, 2.0]
    sess.run(v.assign([5.0, 6.0]))
    assert first.tolist() == [9.0, 2.0]


@pytest.mark.parametrize(
    "value",
    [
        [[1.0, 2.0]],
        ((1.0, 2.0),),
        np.array([[1, 2]]),
        np.array([[1.0, 2.0]]),
        np.array([[1.0], [2.0]], np.float32).T,
        np.array([[1.0, 0.0, 2.0]], np.float32)[:, ::2],
        np.array([[1, 2]], np.uint8),
        np.array([[1.0, 2.0]], ">f4"),
        [np.array([1.0, 2.0])],
    ],
)
def test_feeds_of_any_kind_are_converted(sess, value):
    x = tf.placeholder(tf.float32, [None, 2])
    assert sess.run(x * 2.0, {x: value}).tolist() == [[2.0, 4.0]]


def test_scalars_strings_and_intermediate_tensors_are_fed(sess):
    x = tf.placeholder(tf.float32, [])
    i = tf.placeholder(tf.int32, [])
    s = tf.placeholder(tf.string, [None])
    y = x + 1.0
    assert sess.run(y * 2.0, {x: 3}) == 8.0
    assert sess.run(y * 2.0, {y: 10.0}) == 20.0
    assert sess.run(y, {"Placeholder:0": 1.5}) == 2.5
    assert sess.run(i + 1, {i: np.int64(4)}) == 5
    assert sess.run(tf.identity(s), {s: ["a", b"b"]}).tolist() == [b"a", b"b"]


def test_a_fed_constant_is_not_folded(sess):
    c = tf.constant(1.0)
    y = c + 1.0
    assert sess.run(y) == 2.0
    assert sess.run(y, {c: 5.0}) == 6.0
    assert sess.run([c, y], {c: 7.0}) == [7.0, 8.0]


HANDED_ON = {
    "print": lambda x: tf.Print(x, ["hi"], first_n=0),
    "constant default": lambda x: tf.placeholder_with_default([[5.0, 6.0]], [1, 2]),
    "computed default": lambda x: tf.placeholder_with_default(x, [1, 2]),
    "default of any shape": lambda x: tf.placeholder_with_default(x, None),
}


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("hand_on", HANDED_ON.values(), ids=HANDED_ON.keys())
def test_what_was_printed_or_had_a_default_may_be_reshaped(sess, hand_on, computed):
    x = tf.constant([[5.0, 6.0]])
    feeds = {}
    if computed:
        fed = tf.placeholder(tf.float32, [1, 2])
        feeds = {fed: [[4.0, 5.0]]}
        x = fed + 1.0
    y = hand_on(x)
    shapes = [tf.identity(y), tf.reshape(y, [2, 1]), tf.expand_dims(y, 0), tf.squeeze(y, [0])]
    for _ in range(2):
        same, column, deep, flat = sess.run(shapes, feeds)
        assert same.tolist() == [[5.0, 6.0]]
        assert column.tolist() == [[5.0], [6.0]]
        assert deep.tolist() == [[[5.0, 6.0]]]
        assert flat.tolist() == [5.0, 6.0]


def test_a_printed_scalar_is_handed_on(sess, capfd):
    assert sess.run(tf.identity(tf.Print(tf.constant(5.0), ["hi"]))) == 5.0
    assert "[hi]" in capfd.readouterr().err


def test_a_computed_default_stays_what_it_is_beside_its_users(sess):
    fed = tf.placeholder(tf.float32, [3])
    y = tf.placeholder_with_default(-fed, [3])
    used = tf.exp(tf.nn.softmax(y))
    for _ in range(2):
        value, _ = sess.run([y, used], {fed: [1.0, 2.0, 3.0]})
        assert value.tolist() == [-1.0, -2.0, -3.0]
    assert sess.run(y, {y: [7.0, 8.0, 9.0]}).tolist() == [7.0, 8.0, 9.0]


def test_an_array_fed_may_change_afterwards(sess):
    x = tf.placeholder(tf.float32, [2])
    v = tf.Variable([0.0, 0.0])
    store = tf.assign(v, x)
    array = np.array([1.0, 2.0], np.float32)
    sess.run(store, {x: array})
    array[:] = 9.0
    assert sess.run(v).tolist() == [1.0, 2.0]


def test_wrong_feeds_are_named(sess):
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    y = x + 1.0
    with pytest.raises(ValueError, match=r"shape \[3\] for Tensor 'x:0', which has shape \[2,3\]"):
        sess.run(y, {x: [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="'x:0'"):
        sess.run(y, {x: [["a", "b", "c"]] * 2})
    with pytest.raises(TypeError, match="cannot be a tf.Tensor"):
        sess.run(y, {x: tf.zeros([2, 3])})
    with pytest.raises(TypeError, match="feed_dict key"):
        sess.run(y, {3: 1.0})
    with pytest.raises(TypeError, match="dictionary"):
        sess.run(y, [1.0])
    i = tf.placeholder(tf.int32, [], name="i")
    with pytest.raises((TypeError, OverflowError, ValueError)):
        sess.run(i, {i: 1 << 40})


def test_an_unfed_placeholder_is_named(sess):
    x = tf.placeholder(tf.float32, name="lonely")
    with pytest.raises(tf.errors.InvalidArgumentError, match="lonely"):
        sess.run(x + 1.0)


def test_wrong_fetches_are_named(sess):
    tf.constant(1.0)
    with pytest.raises(TypeError, match="Fetch argument None"):
        sess.run(None)
    with pytest.raises(TypeError, match="Fetch argument 3"):
        sess.run([3])
    with pytest.raises(ValueError, match="nothing"):
        sess.run("nothing:0")
    with tf.Graph().as_default():
        other = tf.constant(1.0, name="other")
    with pytest.raises(ValueError, match="other:0"):
        sess.run(other)


def test_an_uninitialized_variable_is_named_with_its_line(sess):
    v = tf.Variable(1.0, name="weights")
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"weights.*made at \S*test_session.py:\d+"):
        sess.run(v + 1.0)


def test_clashing_shapes_are_named_at_the_programs_line():
    a, b = (
        tf.placeholder(tf.float32, [2, 3], name="a"),
        tf.placeholder(tf.float32, [4, 5], name="b"),
    )
    with pytest.raises(ValueError, match=r"product.*test_session.py:\d+"):
        tf.matmul(a, b, name="product")
    with pytest.raises(ValueError, match=r"\[2,3\].*\[4,5\]"):
        a + b


def test_clashing_types_are_type_errors():
    with pytest.raises(TypeError, match="int32.*float32|float32.*int32"):
        tf.multiply(tf.constant(1), tf.constant(1.0))


def test_errors_carry_code_and_operation(sess):
    v = tf.Variable(1.0, name="v")
    with pytest.raises(tf.errors.FailedPreconditionError) as caught:
        sess.run(v * 2.0)
    assert caught.value.error_code == tf.errors.FAILED_PRECONDITION
    assert isinstance(caught.value, tf.errors.OpError)


def test_a_closed_session_and_an_empty_graph_say_so():
    sess = tf.Session()
    with pytest.raises(RuntimeError, match="empty"):
        sess.run("a")
    c = tf.constant(1.0)
    assert sess.run(c) == 1.0
    sess.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        sess.run(c)


def test_the_default_session_evaluates():
    c = tf.constant(3.0)
    with pytest.raises(ValueError, match="no default session"):
        c.eval()
    with tf.Session() as sess:
        assert c.eval() == 3.0
        assert tf.get_default_session() is sess
        tf.no_op().run()
    sess = tf.InteractiveSession()
    assert c.eval() == 3.0
    sess.close()
    assert tf.get_default_session() is None


def test_the_graph_may_grow_between_runs(sess):
    a = tf.constant(1.0)
    assert sess.run(a) == 1.0
    b = a + 1.0
    assert sess.run([a, b]) == [1.0, 2.0]


def test_threads_share_a_session(sess):
    x = tf.placeholder(tf.float32, [1000])
    y = tf.reduce_sum(x * x)
    sess.run(y, {x: np.zeros(1000)})
    wrong = []

    def work(k):
        for _ in range(50):
            if sess.run(y, {x: np.full(1000, k, np.float32)}) != 1000.0 * k * k:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_make_callable_and_indexed_slices(sess):
    x = tf.placeholder(tf.float32, [])
    double = sess.make_callable(x * 2.0, [x])
    assert double(4.0) == 8.0
    rows = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([3]))
    got = sess.run(rows)
    assert got.indices.tolist() == [3] and got.values.tolist() == [[1.0]]


THREADS = """
import os
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, None])
product = tf.matmul(x, x)
before = len(os.listdir("/proc/self/task"))
with tf.Session() as sess:
    sess.run(product, {x: np.ones([512, 512])})
    print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.parametrize("setting, helpers", [({"CAPSTAN_THREADS": "3"}, 2), ({"CAPSTAN_WORKERS_ON_HOST": "1000"}, 0)])
def test_a_session_without_a_server_takes_its_part_of_the_cores(setting, helpers):
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **setting}
    done = subprocess.run([sys.executable, "-c", THREADS], env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout == "%d\n" % helpers, done.stderr


def test_a_session_may_limit_the_time_of_all_its_runs():
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(1, tf.float32)
        config = tf.ConfigProto(operation_timeout_in_ms=50)
        with tf.Session(config=config) as session, pytest.raises(tf.errors.DeadlineExceededError):
            session.run(queue.dequeue())


# As TensorFlow has them: numpy's own kinds of text end at the last byte that is not zero.
TEXTS = [
    (b"a\0\0", b"a\0\0"),
    ("a\0", b"a\0"),
    ("é\0", b"\xc3\xa9\0"),
    ([b"a\0\0", b"b"], [b"a\0\0", b"b"]),
    ((["a\0"], ["b"]), [[b"a\0"], [b"b"]]),
    ([b"a\0", "b\0"], [b"a\0", b"b\0"]),
    (np.array([b"a\0\0", b"bb"], dtype=object), [b"a\0\0", b"bb"]),
    (np.array(b"a\0", dtype=object), b"a\0"),
    (np.array([b"a\0\0"]), [b"a"]),
    (np.array(["a\0"]), [b"a"]),
    ([np.bytes_(b"a\0")], [b"a\0"]),
]


@pytest.mark.parametrize("given,kept", TEXTS, ids=lambda value: repr(value)[:30])
def test_text_keeps_its_last_zeros(sess, given, kept):
    fed = tf.placeholder(tf.string)
    variable = tf.Variable(given, dtype=tf.string)
    sess.run(variable.initializer)
    fetches = [tf.identity(fed), tf.constant(given), tf.constant(given, tf.string), variable]
    for value in sess.run(fetches, {fed: given}):
        assert (value.tolist() if isinstance(value, np.ndarray) else value) == kept
    assert tf.make_ndarray(tf.make_tensor_proto(given)).tolist() == kept


def test_a_scalar_of_numpy_keeps_its_last_zeros_when_it_is_fed(sess):
    fed = tf.placeholder(tf.string)
    assert sess.run(fed, {fed: np.bytes_(b"a\0")}) == b"a\0"
    assert sess.run(fed, {fed: np.str_("a\0")}) == b"a\0"


@pytest.mark.parametrize(
    "wrong",
    [
        [b"a", 5],
        [b"a", None],
        [b"a", bytearray(b"b")],
        [np.array(b"a", dtype=object)],
        [[b"a"], [b"b", b"c"]],
        np.array([b"a", 5], dtype=object),
    ],
)
def test_a_constant_of_text_holds_nothing_but_text(wrong):
    for given in ({}, {"dtype": tf.string}):
        with pytest.raises((TypeError, ValueError), match="Expected string|cannot make a tensor"):
            tf.constant(wrong, **given)


@pytest.mark.parametrize("wrong", [5, [b"a", 5], [b"a", None], bytearray(b"a\0"), [[b"a"], [b"b", b"c"]]])
def test_what_is_no_text_is_not_fed_as_text(sess, wrong):
    fed = tf.placeholder(tf.string)
    with pytest.raises((TypeError, ValueError), match="Placeholder"):
        sess.run(fed, {fed: wrong})
