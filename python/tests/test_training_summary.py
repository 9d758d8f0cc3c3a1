"""Summaries and event files."""

import glob
import os

import pytest
import tensorflow as tf


def events_in(folder):
    """All events of a folder, file by file."""
    paths = sorted(glob.glob(os.path.join(str(folder), "events.out.tfevents.*")))
    return [event for path in paths for event in tf.train.summary_iterator(path)]


def scalars_in(folder):
    return [(value.tag, event.step, value.simple_value) for event in events_in(folder) for value in event.summary.value]


def test_a_scalar_is_tagged_with_its_scoped_name():
    with tf.name_scope("scope"):
        summary = tf.summary.scalar("my loss", tf.constant(0.5))
    assert summary.op.name == "scope/my_loss"
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [summary]
    with tf.Session() as sess:
        value = tf.Summary.FromString(sess.run(summary)).value[0]
    assert (value.tag, value.simple_value) == ("scope/my_loss", 0.5)


def test_a_family_comes_first_in_the_tag():
    summary = tf.summary.scalar("loss", tf.constant(1.0), family="train")
    with tf.Session() as sess:
        assert tf.Summary.FromString(sess.run(summary)).value[0].tag == "train/train/loss"
    picture = tf.summary.image("digit", tf.zeros([1, 2, 2, 1]), 1, family="train")
    with tf.Session() as sess:
        value = tf.Summary.FromString(sess.run(picture)).value[0]
    assert value.tag == "train/train/digit/image" and picture.op.name == "train/digit"


def test_old_spellings_tag_as_told():
    summary = tf.scalar_summary("any tag", tf.constant(2.0))
    tf.histogram_summary("h", tf.constant([1.0, 2.0]))
    merged = tf.merge_all_summaries()
    assert summary.op.name == "ScalarSummary" and merged.op.name == "Merge/MergeSummary"
    with tf.Session() as sess:
        values = tf.Summary.FromString(sess.run(merged)).value
    assert [v.tag for v in values] == ["any tag", "h"] and values[1].histo.num == 2


def test_nothing_to_merge_is_none():
    assert tf.summary.merge_all() is None and tf.merge_all_summaries() is None


def test_a_writer_writes_summaries_graphs_and_session_logs(tmp_path):
    summary = tf.summary.scalar("loss", tf.constant(0.25))
    with tf.summary.FileWriter(str(tmp_path), tf.get_default_graph()) as writer, tf.Session() as sess:
        writer.add_summary(sess.run(summary), 7)
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="x", simple_value=1.5)]), 8)
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 7)
        assert writer.get_logdir() == str(tmp_path)
    events = events_in(tmp_path)
    assert events[0].file_version == "brain.Event:2"
    graph = next(e.graph_def for e in events if e.graph_def)
    assert "loss" in [node.name for node in tf.GraphDef.FromString(graph).node]
    assert scalars_in(tmp_path) == [("loss", 7, 0.25), ("x", 8, 1.5)]
    assert [e.session_log.status for e in events if e.HasField("session_log")] == [1]


def test_a_closed_writer_says_so_and_can_be_reopened(tmp_path):
    writer = tf.train.SummaryWriter(str(tmp_path))
    writer.close()
    one = tf.Summary(value=[tf.Summary.Value(tag="x", simple_value=1.0)])
    with pytest.warns(UserWarning, match="closed FileWriter"):
        writer.add_summary(one, 1)
    writer.reopen()
    writer.add_summary(one, 2)
    writer.close()
    assert scalars_in(tmp_path) == [("x", 2, 1.0)]


def test_writers_are_shared_per_folder(tmp_path):
    first = tf.summary.FileWriterCache.get(str(tmp_path))
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is first
    tf.summary.FileWriterCache.clear()
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is not first
    tf.summary.FileWriterCache.clear()


def test_a_folder_without_a_name_is_the_current_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with tf.summary.FileWriter("") as writer:
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.5)]), 3)
    assert writer.get_logdir() == ""
    assert scalars_in(tmp_path) == [("loss", 3, 0.5)]
