"""The nodes of small programs equal TensorFlow's: names, types, inputs, attrs, devices."""

import json
import os

import node_cases
import node_text
import pytest
import tensorflow as tf

GOLDEN = os.path.join(os.path.dirname(__file__), "golden", "nodes.json")


@pytest.fixture(scope="module")
def golden():
    with open(GOLDEN) as file:
        return json.load(file)


@pytest.mark.parametrize("name,case", node_text.cases(node_cases))
def test_nodes_equal_tensorflows(name, case, golden):
    with tf.Graph().as_default() as graph:
        case(tf)
        assert node_text.lines(graph) == golden[name]
