"""Synchronous replicas treat stale gradients, tokens and numbers of aggregates as TensorFlow does."""

import live
import pytest
import sync_traces
import tensorflow as tf


@pytest.fixture
def play(make_cluster):
    targets = [make_cluster(1, sync_traces.REPLICAS).target(i) for i in range(sync_traces.REPLICAS)]

    def play(name):
        rows = sync_traces.Scene(tf, targets, name).play()
        tf.Session.reset(targets[0])
        return rows

    return play


@pytest.mark.parametrize("name", sync_traces.SCENES)
def test_the_replicas_do_what_tensorflows_did(name, play):
    assert play(name) == live.recorded("sync_traces.json")[name]


@pytest.mark.oracle
def test_the_replicas_do_what_tensorflows_do(oracle_python, play):
    theirs = live.told(oracle_python, "sync_traces.py")
    assert {name: play(name) for name in sync_traces.SCENES} == theirs
