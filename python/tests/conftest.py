"""Every test starts with an empty default graph."""

import pytest
import tensorflow as tf


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()
    yield
    tf.reset_default_graph()
