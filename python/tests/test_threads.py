"""What belongs to a thread: the default graph, the scopes of names and of variables; as recorded from
TensorFlow. The other blocks are the graph's, which all its threads share."""

import subprocess
import sys
import threading

import pytest
import tensorflow as tf


def in_thread(function, graph=None):
    """What the function returns, called on a thread of its own with `graph` as its default."""
    made = []

    def call():
        if graph is None:
            made.append(function())
        else:
            with graph.as_default():
                made.append(function())

    thread = threading.Thread(target=call)
    thread.start()
    thread.join(60)
    assert made, "the thread raised, or never ended"
    return made[0]


def test_each_thread_has_a_default_graph_of_its_own():
    mine = tf.get_default_graph()
    theirs = in_thread(tf.get_default_graph)
    assert theirs is not mine and tf.get_default_graph() is mine
    assert in_thread(lambda: tf.constant(1.0).graph) is not mine
    assert in_thread(tf.get_default_graph, mine) is mine
    with tf.Graph().as_default():
        in_thread(tf.reset_default_graph)  # nothing is entered there


def test_a_scope_that_one_thread_entered_is_not_seen_by_another():
    graph = tf.get_default_graph()

    def variable():
        with tf.variable_scope("bar"):
            return tf.get_variable("v", []).name

    with tf.variable_scope("main"):
        assert in_thread(variable, graph) == "bar/v:0"
        assert in_thread(lambda: tf.get_variable_scope().name, graph) == ""
        assert tf.get_variable("v", []).name == "main/v:0"
    with tf.name_scope("main_names"):
        assert in_thread(lambda: tf.constant(1.0, name="c").name, graph) == "c:0"
        assert tf.constant(1.0, name="c").name == "main_names/c:0"


def test_settings_of_a_variable_scope_are_a_threads_own():
    graph = tf.get_default_graph()
    with tf.variable_scope("r", reuse=tf.AUTO_REUSE):
        assert in_thread(lambda: tf.get_variable_scope().reuse, graph) is False
    tf.get_variable_scope().set_initializer(tf.zeros_initializer())
    assert in_thread(lambda: tf.get_variable_scope().initializer, graph) is None


def test_names_of_scopes_are_counted_by_thread_and_names_of_nodes_by_graph():
    graph = tf.get_default_graph()

    def unnamed():
        with tf.variable_scope(None, "u") as scope:
            return scope.name, scope.original_name_scope

    assert unnamed() == ("u", "u/")
    assert in_thread(unnamed, graph) == ("u", "u_1/")


def test_variables_of_a_graph_are_found_by_all_its_threads():
    with tf.variable_scope("store"):
        made = tf.get_variable("w", [])

    def find():
        with tf.variable_scope("store", reuse=True):
            return tf.get_variable("w", [])

    assert in_thread(find, tf.get_default_graph()) is made


def test_other_blocks_are_the_graphs():
    graph, first = tf.get_default_graph(), tf.constant(1.0, name="first")

    def made(look):
        return in_thread(lambda: look(tf.constant(1.0).op), graph)

    with tf.device("/job:ps/task:1"):
        assert made(lambda op: op.device) == "/job:ps/task:1"
    with tf.control_dependencies([first]):
        assert made(lambda op: [before.name for before in op.control_inputs]) == ["first"]
    with graph.colocate_with(first.op):
        assert made(lambda op: op.colocation_groups()) == [b"loc:@first"]


def test_threads_that_build_one_graph_at_a_time_lose_no_node():
    graph = tf.get_default_graph()
    interval, threads = sys.getswitchinterval(), []
    names = []

    def build(number):
        with graph.as_default(), tf.name_scope("thread%d" % number):
            for i in range(50):
                # A function of the program, in which another thread may enter or leave a block.
                with tf.device(lambda op: "/cpu:0"), tf.name_scope("layer"):
                    value = tf.get_variable("v%d_%d" % (number, i), [2], initializer=tf.zeros_initializer())
                    names.append((value + 1.0).name)

    sys.setswitchinterval(1e-6)
    try:
        for number in range(4):
            threads.append(threading.Thread(target=build, args=[number]))
            threads[-1].start()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive()
    finally:
        sys.setswitchinterval(interval)
    assert len(set(names)) == 200
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert all((sess.run(name) == 1.0).all() for name in names)


# The first thing that a program does with TensorFlow, in two threads at once.
BUILDS = """
import threading
import tensorflow as tf

def work(number):
    start.wait()
    with tf.variable_scope("model"):
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(20):
            session.run(train, {x: [[1.0, 2.0, 3.0]]})
        names.append((w.name, train.name))

names, start = [], threading.Barrier(4)
threads = [threading.Thread(target=work, args=[i]) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(names)
"""


@pytest.mark.parametrize("time", range(3))
def test_a_program_whose_threads_each_build_a_model_ends(time):
    done = subprocess.run(
        [sys.executable, "-c", BUILDS], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str([("model/w:0", "model/GradientDescent")] * 4), done.stderr
