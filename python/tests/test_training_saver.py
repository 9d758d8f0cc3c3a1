"""Checkpoints: written, found, kept, restored; graphs beside them."""

import os
import time

import numpy as np
import pytest
import tensorflow as tf


@pytest.fixture
def model():
    """Two variables and a session in which they have values."""
    tf.Variable([1.0, 2.0], name="a")
    tf.Variable(7, name="b")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        yield sess


def test_what_was_saved_is_restored(model, tmp_path):
    saver = tf.train.Saver()
    prefix = saver.save(model, str(tmp_path / "model"), global_step=3)
    assert prefix == str(tmp_path / "model-3")
    model.run([tf.assign(v, v * 0 - 1) for v in tf.global_variables()])
    saver.restore(model, prefix)
    assert model.run("a:0").tolist() == [1.0, 2.0] and model.run("b:0") == 7


def test_a_name_without_a_folder_is_saved_in_the_current_one(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert tf.train.Saver().save(model, "model") == "model"
    assert tf.train.latest_checkpoint("") == tf.train.latest_checkpoint(".")[2:] == "model"
    assert tf.train.write_graph(model.graph, "", "graph.pbtxt") == "graph.pbtxt"
    tf.gfile.MakeDirs("")
    tf.train.Saver().restore(model, "model")
    assert {"checkpoint", "model.index", "model.meta", "graph.pbtxt"} < set(os.listdir(tmp_path))


def test_the_step_may_be_a_tensor_and_may_be_padded(model, tmp_path):
    step = tf.Variable(12, name="global_step")
    model.run(step.initializer)
    assert tf.train.Saver().save(model, str(tmp_path / "m"), step).endswith("m-12")
    padded = tf.train.Saver(pad_step_number=True)
    assert padded.save(model, str(tmp_path / "m"), 12).endswith("m-00000012")


def test_an_iterator_over_checkpoints_tells_each_new_one(model, tmp_path):
    saver, rounds = tf.train.Saver(), []

    def save_another():
        rounds.append(len(rounds))
        if len(rounds) == 3:
            return True
        saver.save(model, str(tmp_path / "m"), len(rounds))
        return False

    found = tf.train.checkpoints_iterator(str(tmp_path), timeout=0, timeout_fn=save_another)
    assert [os.path.basename(path) for path in found] == ["m-1", "m-2"]
    assert len(list(tf.train.checkpoints_iterator(str(tmp_path), timeout=0))) == 1


def test_only_the_newest_are_kept(model, tmp_path):
    saver = tf.train.Saver(max_to_keep=2)
    for step in range(4):
        saver.save(model, str(tmp_path / "m"), step)
    assert [os.path.basename(p) for p in saver.last_checkpoints] == ["m-2", "m-3"]
    assert sorted(p.name for p in tmp_path.glob("*.index")) == ["m-2.index", "m-3.index"]
    assert sorted(p.name for p in tmp_path.glob("*.meta")) == ["m-2.meta", "m-3.meta"]
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert state.model_checkpoint_path == str(tmp_path / "m-3")
    assert list(state.all_model_checkpoint_paths) == saver.last_checkpoints


def test_one_is_kept_for_good_every_few_hours(model, tmp_path):
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1e-9)
    time.sleep(0.001)
    for step in range(3):
        saver.save(model, str(tmp_path / "m"), step)
    assert len(list(tmp_path.glob("*.index"))) == 3


def test_all_are_kept_when_no_number_is_given(model, tmp_path):
    saver = tf.train.Saver(max_to_keep=None)
    for step in range(7):
        saver.save(model, str(tmp_path / "m"), step)
    assert len(list(tmp_path.glob("*.index"))) == 7 and saver.last_checkpoints == []
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "m-6")


def test_a_new_saver_takes_over_the_checkpoints_of_an_earlier_run(model, tmp_path):
    tf.train.Saver(max_to_keep=2).save(model, str(tmp_path / "m"), 1)
    later = tf.train.Saver(max_to_keep=2)
    later.recover_last_checkpoints([str(tmp_path / "m-0"), str(tmp_path / "m-1")])
    assert later.last_checkpoints == [str(tmp_path / "m-1")]


def test_state_and_meta_graph_are_left_out_on_request(model, tmp_path):
    saver = tf.train.Saver()
    saver.save(model, str(tmp_path / "m"), write_meta_graph=False, write_state=False)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.data-00000-of-00001", "m.index"]


def test_a_folder_without_checkpoints_has_no_latest(tmp_path):
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    assert tf.train.get_checkpoint_state(str(tmp_path)) is None
    assert not tf.train.checkpoint_exists(str(tmp_path / "m"))


def test_variables_are_saved_under_given_names(model, tmp_path):
    prefix = tf.train.Saver({"other": tf.global_variables()[0]}).save(model, str(tmp_path / "m"))
    assert tf.train.list_variables(prefix) == [("other", [2])]
    assert tf.train.load_variable(prefix, "other").tolist() == [1.0, 2.0]
    reader = tf.train.NewCheckpointReader(prefix)
    assert reader.has_tensor("other") and not reader.has_tensor("a")
    assert reader.get_variable_to_dtype_map() == {"other": tf.float32}


@pytest.mark.parametrize(
    "bad, message",
    [
        (dict(var_list=["a"]), "not a Variable"),
        (dict(var_list=[]), "No variables to save"),
        (dict(defer_build=True, var_list=[1]), "cannot be deferred"),
    ],
)
def test_bad_arguments_are_refused(model, bad, message):
    with pytest.raises((TypeError, ValueError), match=message):
        tf.train.Saver(**bad)


def test_wrong_uses_are_refused(model, tmp_path):
    saver = tf.train.Saver()
    with pytest.raises(ValueError, match="path components"):
        saver.save(model, str(tmp_path / "m"), latest_filename="a/b")
    with pytest.raises(ValueError, match="collides"):
        saver.save(model, str(tmp_path / "checkpoint"))
    with pytest.raises(TypeError, match="must be a Session"):
        saver.save("model", str(tmp_path / "m"))
    with pytest.raises(ValueError, match="not a valid checkpoint"):
        saver.restore(model, str(tmp_path / "nothing"))
    with pytest.raises(RuntimeError, match="build"):
        tf.train.Saver(defer_build=True).save(model, str(tmp_path / "m"))


def test_a_missing_variable_is_named(model, tmp_path):
    prefix = tf.train.Saver([tf.global_variables()[0]]).save(model, str(tmp_path / "m"))
    with pytest.raises(tf.errors.NotFoundError, match="b"):
        tf.train.Saver().restore(model, prefix)


def test_an_empty_saver_saves_nothing(tmp_path):
    tf.constant(1)
    saver = tf.train.Saver(allow_empty=True)
    with tf.Session() as sess:
        assert saver.save(sess, str(tmp_path / "m")) is None
        saver.restore(sess, None)


def test_a_graph_comes_back_from_its_meta_file(tmp_path):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w)), name="loss")
    step = tf.train.get_or_create_global_step()
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, global_step=step)
    tf.add_to_collection("mine", loss)
    feed = np.array([[1.0, 2.0]])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train, {x: feed})
        prefix = tf.train.Saver().save(sess, str(tmp_path / "m"), step)
        sess.run(train, {x: feed})
        expected = sess.run(w)
    tf.reset_default_graph()
    saver = tf.train.import_meta_graph(prefix + ".meta")
    assert [v.name for v in tf.trainable_variables()] == ["w:0"]
    assert sorted(v.op.name for v in tf.global_variables()) == ["global_step", "w", "w/Momentum"]
    assert tf.get_collection("mine")[0].name == "loss:0"
    with tf.Session() as sess:
        saver.restore(sess, prefix)
        sess.run(tf.get_collection("train_op")[0], {"x:0": feed})
        assert np.array_equal(sess.run("w:0"), expected)
        assert sess.run(tf.train.get_global_step()) == 2


def test_export_meta_graph_is_a_message(model):
    meta = tf.train.export_meta_graph()
    assert [n.name for n in meta.graph_def.node][:2] == ["a/initial_value", "a"]
    assert len(meta.collection_def["variables"].bytes_list.value) == 2


def test_devices_are_cleared_on_the_way_out_or_in():
    with tf.Graph().as_default(), tf.device("/job:ps/task:1"):
        tf.constant(1.0, name="c")
        kept, cleared = tf.train.export_meta_graph(), tf.train.export_meta_graph(clear_devices=True)
    assert kept.graph_def.node[0].device == "/job:ps/task:1"
    assert cleared.graph_def.node[0].device == ""
    for meta, clear, device in [
        (kept, False, "/job:ps/task:1"),
        (kept, True, ""),
        (cleared, False, ""),
    ]:
        with tf.Graph().as_default() as graph:
            tf.train.import_meta_graph(meta, clear_devices=clear)
            assert graph.get_operation_by_name("c").device == device


def test_import_meta_graph_maps_inputs_and_chooses_collections():
    with tf.Graph().as_default():
        tf.multiply(tf.constant(2.0, name="c"), 3.0, name="product")
        tf.add_to_collection("mine", 1)
        tf.add_to_collection("yours", 2)
        meta = tf.train.export_meta_graph()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(
            meta,
            input_map={"c": tf.constant(5.0)},
            restore_collections_predicate=lambda key: key == "mine",
        )
        assert session.run("product:0") == 15
        assert tf.get_collection("mine") == [1] and tf.get_collection("yours") == []


def test_write_graph_writes_text_or_bytes(model, tmp_path):
    path = tf.train.write_graph(model.graph, str(tmp_path), "g.pbtxt")
    assert 'name: "a"' in open(path).read()
    path = tf.train.write_graph(model.graph.as_graph_def(), str(tmp_path), "g.pb", as_text=False)
    assert tf.GraphDef.FromString(open(path, "rb").read()).node[1].name == "a"
