"""Names, scopes, collections, placement, and the identity of a graph's elements."""

import gc
import weakref

import pytest
import tensorflow as tf


def test_an_element_is_one_object():
    x = tf.placeholder(tf.float32, name="x")
    graph = tf.get_default_graph()
    assert graph.get_tensor_by_name("x:0") is x
    assert graph.get_operation_by_name("x") is x.op
    assert x.op.outputs[0] is x
    assert {x: 1}[graph.get_tensor_by_name("x:0")] == 1


def test_elements_tell_what_they_are():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.identity(x, name="y")
    assert (y.name, y.op.name, y.op.type, y.dtype) == ("y:0", "y", "Identity", tf.float32)
    assert y.get_shape().as_list() == [None, 3]
    assert y.shape[1] == 3 and y.shape[1].value == 3 and int(y.shape[1]) == 3
    assert list(y.op.inputs) == [x]
    assert x.consumers() == [y.op]
    assert y.graph is tf.get_default_graph()
    assert str(y) == 'Tensor("y:0", shape=(?, 3), dtype=float32)'
    assert y.op.get_attr("T") == tf.float32


def test_set_shape_merges_and_refuses_what_clashes():
    x = tf.placeholder(tf.float32, [None, 3])
    x.set_shape([2, None])
    assert x.shape.as_list() == [2, 3]
    with pytest.raises(ValueError, match=r"\[2,3\].*\[4,3\]"):
        x.set_shape([4, 3])


def test_names_are_made_unique_whatever_their_case():
    names = [tf.constant(1.0, name=name).op.name for name in ("a", "a", "A", "a_1")]
    assert names == ["a", "a_1", "A_2", "a_1_1"]


def test_a_scope_entered_by_its_own_name_goes_on():
    with tf.name_scope("s") as scope:
        first = tf.constant(1.0)
    with tf.name_scope(scope):
        second = tf.constant(1.0)
    with tf.name_scope("s"):
        third = tf.constant(1.0)
    assert [t.op.name for t in (first, second, third)] == ["s/Const", "s/Const_1", "s_1/Const"]
    assert scope == "s/"


def test_bad_names_are_refused():
    with pytest.raises(ValueError, match="not a valid"):
        tf.constant(1.0, name="a b")


def test_collections_hold_python_objects():
    thing = object()
    tf.add_to_collection("things", thing)
    assert tf.get_collection("things") == [thing]
    tf.get_collection_ref("things").append(2)
    assert tf.get_default_graph()._collections["things"] == [thing, 2]
    assert tf.get_collection("nothing") == []


def test_collections_filter_by_scope():
    with tf.variable_scope("a"):
        v = tf.get_variable("v", [1])
    tf.get_variable("w", [1])
    assert tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="a/") == [v]


def test_device_functions_see_the_operation():
    seen = []

    def place(op):
        seen.append((op.type, op.name, op.device))
        return "/job:ps/task:3"

    with tf.device(place):
        with tf.device("/cpu:0"):
            x = tf.constant(1.0)
    assert seen == [("Const", "Const", "/device:CPU:0")]
    assert x.device == "/job:ps/task:3"


def test_an_error_of_a_device_function_reaches_the_program():
    def place(op):
        raise ZeroDivisionError("here")

    with pytest.raises(ZeroDivisionError, match="here"):
        with tf.device(place):
            tf.constant(1.0)
    assert tf.constant(1.0).device == ""


def test_replica_device_setter_turns_round():
    setter = tf.train.replica_device_setter(
        cluster={"ps": ["a:1", "b:1"], "worker": ["c:1"]}, worker_device="/job:worker/task:7"
    )
    with tf.device(setter):
        variables = [tf.Variable(1.0) for _ in range(3)]
        x = tf.constant(1.0)
    assert [v.device for v in variables] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
    assert x.device == "/job:worker/task:7"
    assert tf.train.replica_device_setter() is None


def test_a_strategy_of_the_program_places_variables():
    setter = tf.train.replica_device_setter(ps_tasks=2, ps_strategy=lambda op: len(op.name) % 2)
    with tf.device(setter):
        assert tf.Variable(1.0, name="ab").device == "/job:ps/task:0"
        assert tf.Variable(1.0, name="abc").device == "/job:ps/task:1"


def test_a_finalized_graph_takes_no_nodes():
    tf.constant(1.0)
    tf.get_default_graph().finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(2.0)


def test_graphs_nest():
    outer = tf.get_default_graph()
    with tf.Graph().as_default() as inner:
        assert tf.get_default_graph() is inner
    assert tf.get_default_graph() is outer


def test_elements_of_two_graphs_do_not_mix():
    x = tf.constant(1.0, name="x")
    with tf.Graph().as_default():
        y = tf.constant(2.0, name="y")
        with pytest.raises(ValueError, match="another graph"):
            tf.add(y, x)


def test_the_collector_frees_a_graph_with_all_its_elements():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32)
        y = x * 2.0
        with tf.Session() as sess:
            sess.run(y, {x: 1.0})
        tf.add_to_collection("k", y)
    gone = weakref.ref(graph)
    del graph, x, y, sess
    gc.collect()
    assert gone() is None


def test_a_graph_goes_into_a_graph_def_and_back():
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.add(x, [1.0, 2.0], name="y")
    graph_def = tf.get_default_graph().as_graph_def()
    assert [node.name for node in graph_def.node] == ["x", "y/y", "y"]
    with tf.Graph().as_default():
        (y,) = tf.import_graph_def(graph_def, return_elements=["y:0"], name="again")
        with tf.Session() as sess:
            assert sess.run(y, {"again/x:0": [1.0, 1.0]}).tolist() == [2.0, 3.0]


def test_missing_elements_are_named():
    with pytest.raises(KeyError, match="nowhere"):
        tf.get_default_graph().get_tensor_by_name("nowhere:0")
    with pytest.raises(KeyError, match="nowhere"):
        tf.get_default_graph().get_operation_by_name("nowhere")


def test_control_dependencies_take_tensors_operations_and_variables():
    v = tf.Variable(1.0, name="v")
    x = tf.constant(1.0, name="x")
    with tf.control_dependencies([v, x, tf.no_op(name="n")]):
        after = tf.no_op()
    assert sorted(op.name for op in after.control_inputs) == ["n", "v", "x"]


def test_what_is_said_of_each_dimension_says_how_many_there_are():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32)
        assert tf.transpose(x, [1, 0, 2]).shape.as_list() == [None, None, None]
        assert tf.pad(x, [[1, 0], [0, 1]]).shape.as_list() == [None, None]
        assert tf.tile(x, [2, 0]).shape.as_list() == [None, 0]
        assert tf.tile(x, tf.placeholder(tf.int32, [2])).shape.as_list() == [None, None]
        for unsaid in (tf.transpose(x), tf.tile(x, tf.placeholder(tf.int32))):
            assert unsaid.shape.ndims is None
        with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(tf.transpose(x, [1, 0, 2]), {x: [[1.0]]})
