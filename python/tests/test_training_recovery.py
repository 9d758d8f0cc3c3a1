"""Folders of checkpoints whose state file, or whose newest checkpoint, is lost or damaged."""

import pytest
import tensorflow as tf


def counting_model():
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1)


def by_supervisor(folder):
    return tf.train.Supervisor(logdir=folder, save_model_secs=0).managed_session()


def by_monitored_session(folder):
    return tf.train.MonitoredTrainingSession(checkpoint_dir=folder, save_checkpoint_secs=3600)


def by_hand(folder):
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    newest = tf.train.latest_checkpoint(folder)
    if newest:
        tf.train.Saver().restore(sess, newest)
    return sess


def by_state(folder):
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    state = tf.train.get_checkpoint_state(folder)
    if state and state.model_checkpoint_path:
        tf.train.Saver().restore(sess, state.model_checkpoint_path)
    return sess


every_way = pytest.mark.parametrize(
    "start", [by_supervisor, by_monitored_session, by_hand, by_state], ids=lambda way: way.__name__
)


@pytest.fixture
def folder(tmp_path):
    """Three checkpoints, of the steps 9, 10 and 11."""
    step, count = counting_model()
    with tf.Session() as sess:
        sess.run(step.assign(8))
        saver = tf.train.Saver()
        for _ in range(3):
            sess.run(count)
            saver.save(sess, str(tmp_path / "model.ckpt"), step)
    tf.reset_default_graph()
    return tmp_path


@pytest.fixture
def warnings(monkeypatch):
    """What was logged as a warning, as lines."""
    from capstan.files import checkpoints

    lines = []
    checkpoints._warn_once.cache_clear()
    monkeypatch.setattr(checkpoints.logs, "warning", lambda text, *args: lines.append(text % args))
    return lines


def first_step(start, folder):
    step, _ = counting_model()
    with start(str(folder)) as sess:
        return sess.run(step)


def half(text):
    return text[: len(text) * 2 // 3]


DAMAGE = {
    "half-written": half,
    "cut in its first line": lambda text: text[:30],
    "binary": lambda text: bytes(range(256)),
    "empty": lambda text: b"",
    "missing": None,
}


@every_way
@pytest.mark.parametrize("damage", DAMAGE)
def test_with_a_lost_state_file_training_goes_on_from_the_newest_whole_checkpoint(
    folder, warnings, start, damage
):
    state = folder / "checkpoint"
    if DAMAGE[damage]:
        state.write_bytes(DAMAGE[damage](state.read_bytes()))
    else:
        state.unlink()
    assert first_step(start, folder) == 11
    (line,) = warnings
    assert str(state) in line and "using %s," % (folder / "model.ckpt-11") in line


@every_way
@pytest.mark.parametrize("lost", ["index", "data", "half of the data", "half of the index"])
def test_where_the_named_checkpoint_is_not_whole_the_newest_whole_one_is_used(
    folder, warnings, start, lost
):
    ending = ".index" if "index" in lost else ".data-00000-of-00001"
    file = folder / ("model.ckpt-11" + ending)
    file.write_bytes(half(file.read_bytes())) if "half" in lost else file.unlink()
    assert first_step(start, folder) == 10
    (line,) = warnings
    assert str(folder / "checkpoint") in line and str(file) in line
    assert "using %s," % (folder / "model.ckpt-10") in line


@pytest.mark.parametrize("start", [by_supervisor, by_monitored_session], ids=lambda way: way.__name__)
def test_where_no_named_checkpoint_is_whole_training_does_not_start_over(folder, start):
    for file in folder.glob("*.data-*"):
        file.unlink()
    with pytest.raises(tf.errors.DataLossError, match="model.ckpt-11.data-00000-of-00001 is missing"):
        first_step(start, folder)


def test_checkpoints_that_no_state_file_names_are_never_removed(folder, warnings):
    (folder / "checkpoint").unlink()
    step, count = counting_model()
    saver = tf.train.Saver(max_to_keep=1)
    with tf.train.Supervisor(logdir=str(folder), saver=saver, save_model_secs=0).managed_session() as sess:
        for _ in range(3):
            sess.run(count)
            saver.save(sess, str(folder / "model.ckpt"), step)
    steps = sorted(int(p.stem.rpartition("-")[2]) for p in folder.glob("*.index"))
    assert steps[:3] == [9, 10, 11] and steps[-1] == 14


def test_who_waits_for_checkpoints_is_warned_once(folder, warnings):
    (folder / "checkpoint").unlink()
    for _ in range(3):
        assert tf.train.latest_checkpoint(str(folder)) == str(folder / "model.ckpt-11")
    assert len(warnings) == 1


def test_a_state_file_of_another_name_that_is_missing_names_nothing(folder, warnings):
    assert tf.train.latest_checkpoint(str(folder), "best") is None and not warnings
