"""The names that programs import: all resolve, and a missing one says so where it is used."""

import inspect
import subprocess
import sys

import pytest
import tensorflow as tf
from capstan import _names
from capstan.front import namespaces


def test_every_name_of_the_table_exists():
    for path in _names.TABLE:
        for name in namespaces._table(path):
            assert namespaces.find(path, name) is not None or name == "newaxis"


def test_both_eras_find_the_same_functions():
    assert tf.mul is tf.multiply and tf.initialize_all_variables is tf.global_variables_initializer
    assert tf.train.SyncReplicasOptimizerV2 is tf.train.SyncReplicasOptimizer
    assert tf.contrib.framework.get_or_create_global_step is tf.train.get_or_create_global_step


def test_modules_are_found_as_programs_import_them():
    import tensorflow.compat.v1 as v1
    from tensorflow.contrib.learn.python.learn.datasets.mnist import read_data_sets as contrib_read
    from tensorflow.examples.tutorials.mnist import input_data
    from tensorflow.examples.tutorials.mnist.input_data import read_data_sets
    from tensorflow.examples.tutorials.mnist.mnist import IMAGE_PIXELS
    from tensorflow.python.framework import ops
    from tensorflow.python.ops import control_flow_ops
    from tensorflow.python.platform import gfile

    assert v1.placeholder is tf.placeholder and v1.train.Server is tf.train.Server
    assert input_data.read_data_sets is read_data_sets is contrib_read
    assert IMAGE_PIXELS == 784
    assert control_flow_ops.group is tf.group and ops.get_default_graph is tf.get_default_graph
    assert gfile.Exists("/")


def test_ops_of_the_catalog_get_functions_of_their_own():
    x = tf.constant([1.0, 4.0])
    with tf.Session() as sess:
        assert sess.run(tf.sqrt(x)).tolist() == [1.0, 2.0]
        assert sess.run(tf.raw_ops.Sqrt(x=x)).tolist() == [1.0, 2.0]
    with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
        tf.sqrt(x, axis=1)


@pytest.mark.parametrize(
    "function,shown",
    [
        (lambda: tf.cumsum, "(x, axis=0, exclusive=False, reverse=False, name=None)"),
        (lambda: tf.unique, "(x, out_idx=tf.int32, name=None)"),
        (lambda: tf.Print, "(input_, data, message=None, first_n=None, summarize=None, name=None)"),
        (lambda: tf.nn.top_k, "(input, k=1, sorted=True, name=None)"),
    ],
)
def test_functions_of_rows_show_their_parameters_and_defaults(function, shown):
    assert str(inspect.signature(function())) == shown


def test_what_has_a_default_may_be_left_out():
    assert tf.Session().run(tf.cumsum(tf.constant([1.0, 2.0]))).tolist() == [1.0, 3.0]


def test_a_function_of_a_row_is_one_object_under_all_its_names():
    assert tf.cumsum is tf.math.cumsum and tf.tanh is tf.nn.tanh


def test_an_op_is_not_found_where_tensorflow_has_something_else_of_that_name():
    for absent in ("linalg.inv", "strings.split", "sets.size"):
        module, name = absent.split(".")
        assert not hasattr(getattr(tf, module), name)


def test_a_missing_name_fails_with_line_and_nearest_name():
    with pytest.raises(
        AttributeError, match=r"tf\.reduce_meam.*test_names\.py:\d+.*tf\.reduce_mean\?"
    ):
        tf.reduce_meam(1)
    with pytest.raises(AttributeError, match=r"tf\.nn\.no_such_thing does not exist"):
        tf.nn.no_such_thing(1)
    assert not hasattr(tf, "no_such_thing_at_all")


def test_a_missing_name_that_is_imported_fails_when_it_is_called():
    from tensorflow import no_such_function
    from tensorflow.contrib.layers import no_such_layer
    from tensorflow.contrib.somewhere import absent

    for function in (absent, no_such_layer, no_such_function):
        with pytest.raises(
            AttributeError, match=r"does not exist in Capstan \(test_names\.py:\d+\)"
        ):
            function(1)


def test_nothing_is_an_instance_of_an_absent_class():
    assert not isinstance(1, tf.RaggedTensor)
    assert not isinstance(1, (tf.Tensor, tf.keras.Model))
    assert isinstance(tf.constant(1), (tf.RaggedTensor, tf.Tensor))
    assert not issubclass(int, tf.keras.Model)


def test_an_absent_class_cannot_be_derived_from():
    with pytest.raises(AttributeError, match=r"tf\.keras\.Model does not exist in Capstan"):

        class Mine(tf.keras.Model):
            pass


@pytest.mark.parametrize(
    "use", [lambda x: x + 1, lambda x: 1 - x, lambda x: int(x), lambda x: 1 in x, lambda x: x > 1]
)
def test_whatever_is_done_with_an_absent_name_fails_by_its_name(use):
    with pytest.raises(AttributeError, match=r"tf\.bfloat16 does not exist in Capstan"):
        use(tf.bfloat16)
    with pytest.raises(AttributeError, match=r"tf\.bfloat16 does not exist in Capstan"):
        tf.bfloat16.size = 2


def test_a_program_can_ask_whether_a_name_exists():
    assert hasattr(tf, "Tensor") and hasattr(tf.train, "AdamOptimizer")
    assert not hasattr(tf, "RaggedTensor") and getattr(tf, "RaggedTensor", None) is None
    assert not hasattr(tf.contrib, "no_such_module") and hasattr(tf.contrib, "layers")
    assert getattr(tf.nn, "crelu", tf.nn.relu) is tf.nn.relu
    with pytest.raises(AttributeError, match=r"tf\.nn\.crelu does not exist in Capstan"):
        getattr(tf.nn, "crelu")  # noqa: B009  (as programs that take the name from a flag)


@pytest.mark.parametrize(
    "look,spelled",
    [
        (lambda: tf.gfile.no_such, "tf.gfile.no_such"),
        (lambda: tf.errors.NoSuchError, "tf.errors.NoSuchError"),
        (lambda: tf.logging.no_such, "tf.logging.no_such"),
        (lambda: tf.app.no_such, "tf.app.no_such"),
        (lambda: tf.flags.no_such, "tf.flags.no_such"),
    ],
)
def test_a_missing_name_of_an_inner_module_fails_by_its_name_and_line(look, spelled):
    with pytest.raises(AttributeError, match=r"%s does not exist in Capstan \(test_names" % spelled):
        look()
    parent, _, name = spelled.rpartition(".")
    assert not hasattr(eval(parent), name)


def test_a_missing_name_of_an_inner_module_is_imported_and_fails_when_it_is_called():
    from tensorflow.errors import NoSuchError
    from tensorflow.gfile import no_such
    from tensorflow.python.platform.gfile import no_such_either

    for absent in (NoSuchError, no_such, no_such_either):
        with pytest.raises(AttributeError, match="does not exist in Capstan"):
            absent()


@pytest.mark.parametrize(
    "absent",
    [
        lambda: tf.cond(1, 2, 3),
        lambda: tf.train.RMSPropOptimizer(0.1),
        lambda: tf.nn.conv2d(1, 2),
        lambda: tf.while_loop(1, 2, 3),
        lambda: tf.contrib.layers.fully_connected(1, 2),
        lambda: tf.no_such_thing_at_all,
    ],
)
def test_no_guess_is_made_where_no_name_was_meant(absent):
    with pytest.raises(AttributeError, match="does not exist in Capstan") as caught:
        absent()
    assert "did you mean" not in str(caught.value) and "nearest" not in str(caught.value)


@pytest.mark.parametrize("first", ["python.platform.gfile", "python.lib.io.file_io", "gfile"])
def test_a_module_lacks_a_name_however_it_is_imported_first(first):
    code = "import tensorflow.%s, tensorflow as tf; tf.gfile.Exist" % first
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "tf.gfile.Exist does not exist" in ended.stderr
    assert "did you mean tf.gfile.Exists?" in ended.stderr


@pytest.mark.parametrize(
    "slip,meant",
    [
        (lambda: tf.reduce_meam, "tf.reduce_mean"),
        (lambda: tf.train.AdamOptimiser, "tf.train.AdamOptimizer"),
        (lambda: tf.gfile.Exist, "tf.gfile.Exists"),
        (lambda: tf.AdamOptimizer, "tf.train.AdamOptimizer"),
    ],
)
def test_a_slip_is_told_the_name_that_was_meant(slip, meant):
    with pytest.raises(AttributeError, match=r"did you mean %s\?" % meant):
        slip()


def test_an_unknown_module_is_not_found():
    with pytest.raises(ImportError):
        import tensorflow.not_a_module  # noqa: F401


def _measure(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_importing_is_cheap():
    code = (
        "import sys, time\n"
        "import tensorflow as tf\n"
        "tf.placeholder, tf.train.Server, tf.train.Supervisor, tf.app.flags\n"
        "peak = int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
        "print(peak / 1024, time.process_time(),\n"
        "      'google.protobuf' in sys.modules, 'tensorboard' in sys.modules)\n"
    )
    memory, seconds, protobuf, board = _measure(code).split()
    assert float(memory) < 80
    assert float(seconds) < 0.6  # of one core, interpreter and numpy included
    assert (protobuf, board) == ("False", "False")


@pytest.mark.parametrize("first", [
    "tf.constant(3.0) * tf.constant(2.0)", "tf.random_normal([]) > -99", "tf.constant([1, 2])[0]",
])
def test_tensors_have_operators_from_the_first_line_of_a_program(first):
    code = "import tensorflow as tf\nx = %s\nprint(tf.Session().run(x))" % first
    assert _measure(code).strip() in ("6.0", "True", "1")


def test_a_name_that_only_tensorflow_has_fails_where_it_is_called():
    table = {"relu": tf.nn.relu, "crelu": tf.nn.crelu, "conv": tf.contrib.slim.conv2d}
    with pytest.raises(AttributeError, match=r"tf\.nn\.crelu does not exist in Capstan"):
        table["crelu"](tf.constant(1.0))
    with pytest.raises(AttributeError, match=r"tf\.contrib\.slim\.conv2d does not exist"):
        table["conv"](tf.constant(1.0))
    assert not hasattr(tf, "name_that_nobody_has")
    import tensorflow.estimator as estimator

    with pytest.raises(AttributeError, match=r"tf\.estimator\.DNNClassifier does not exist"):
        estimator.DNNClassifier()


def test_switches_between_the_ways_of_tensorflow_1_and_2():
    import tensorflow.compat.v1 as v1

    v1.disable_v2_behavior()
    v1.disable_eager_execution()
    assert not v1.executing_eagerly()
    with pytest.raises(NotImplementedError, match="eager execution does not exist here"):
        v1.enable_eager_execution()


def test_messages_are_found_in_the_modules_that_define_them():
    from tensorflow.core.framework import summary_pb2

    assert summary_pb2.Summary is tf.Summary
