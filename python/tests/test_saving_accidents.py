"""Saves that do not come to their end: writers that are killed, disks that refuse."""

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest
import tensorflow as tf

# --- Writers that die -----------------------------------------------------------------------------

# Says when it is in the middle of a save, and is stopped there.
SAVES = """
import os, signal, sys, threading
import tensorflow as tf
v = tf.Variable(tf.ones([64 << 20]))  # 256 MB
with tf.Session() as sess:
    sess.run(v.initializer)
    def watch():
        while not any(".data.part-" in name for name in os.listdir(sys.argv[1])):
            pass
        os.kill(os.getpid(), signal.SIGSTOP)
    threading.Thread(target=watch, daemon=True).start()
    print(tf.train.Saver().save(sess, sys.argv[1] + "/model", int(sys.argv[2])), flush=True)
"""


@pytest.fixture
def stopped_writer(tmp_path):
    """A process that was stopped in the middle of its save of step 1."""
    process = subprocess.Popen(
        [sys.executable, "-c", SAVES, str(tmp_path), "1"], stdout=subprocess.PIPE, text=True
    )
    os.waitpid(process.pid, os.WUNTRACED)
    assert parts(tmp_path) and not (tmp_path / "model-1.index").exists()
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def parts(folder):
    return sorted(p.name for p in folder.glob("*.part-*"))


def save_here(folder, step):
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(tf.Variable(1.0).initializer)
        return tf.train.Saver().save(sess, str(folder / "model"), step)


def test_the_next_save_removes_what_a_killed_writer_left(stopped_writer, tmp_path):
    stopped_writer.kill()
    stopped_writer.wait()
    assert parts(tmp_path)
    save_here(tmp_path, 2)
    assert parts(tmp_path) == []
    assert sorted(p.name for p in tmp_path.glob("*.index")) == ["model-2.index"]


def test_a_save_beside_a_living_writer_leaves_it_its_files(stopped_writer, tmp_path):
    left = parts(tmp_path)
    save_here(tmp_path, 2)
    assert parts(tmp_path) == left
    stopped_writer.send_signal(signal.SIGCONT)
    assert stopped_writer.communicate()[0].strip() == str(tmp_path / "model-1")
    assert stopped_writer.returncode == 0
    assert tf.train.load_variable(str(tmp_path / "model-1"), "Variable").shape == (64 << 20,)
    assert parts(tmp_path) == []


def test_files_of_others_with_such_names_stay(tmp_path):
    for name in ("corpus.part-1-2", "corpus.data.part-0001"):
        (tmp_path / name).write_text("mine")
    save_here(tmp_path, 2)
    assert parts(tmp_path) == ["corpus.data.part-0001", "corpus.part-1-2"]


# --- Disks that refuse ----------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 6 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=6m", "none", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("needs the right to mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def limited_files(tmp_path):
    """Files of at most 6 MB; Python ignores the signal that says so."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6 << 20, before[1]))
    yield tmp_path
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def lockable_folder():
    """(folder, function that takes the right to write there)"""
    folder = pathlib.Path(tempfile.mkdtemp())
    was = os.geteuid()

    def lock():
        folder.chmod(0o555)
        if was == 0:  # whom no mode keeps out
            os.seteuid(65534)

    yield folder, lock
    os.seteuid(was)
    folder.chmod(0o755)
    shutil.rmtree(folder)


def grown_model():
    """Variables of 2 MB that are saved as step 1, and 16 MB more."""
    small, large = tf.Variable(tf.ones([1 << 19]), name="s"), tf.Variable(tf.ones([4 << 20]))
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    return sess, tf.train.Saver([small]), tf.train.Saver([small, large])


def assert_only_step_1_stands(folder):
    assert tf.train.latest_checkpoint(str(folder)) == str(folder / "model-1")
    assert tf.train.load_variable(str(folder / "model-1"), "s").sum() == 1 << 19
    assert sorted(p.name for p in folder.iterdir() if p.is_file()) == [
        "checkpoint",
        "model-1.data-00000-of-00001",
        "model-1.index",
        "model-1.meta",
    ]


@pytest.mark.parametrize(
    "disk, why", [("small_disk", "No space left on device"), ("limited_files", "File too large")]
)
def test_a_save_that_finds_no_room_says_so_and_leaves_the_last_checkpoint(request, disk, why):
    folder = request.getfixturevalue(disk)
    sess, small, large = grown_model()
    with sess:
        small.save(sess, str(folder / "model"), 1)
        with pytest.raises(tf.errors.ResourceExhaustedError) as error:
            large.save(sess, str(folder / "model"), 2)
        assert str(folder / "model-2.data") in str(error.value) and why in str(error.value)
        with pytest.raises(tf.errors.ResourceExhaustedError):
            large.save(sess, str(folder / "model"), 1)
    assert_only_step_1_stands(folder)


def test_a_save_into_a_forbidden_folder_says_so_and_leaves_the_last_checkpoint(lockable_folder):
    folder, lock = lockable_folder
    sess, small, _ = grown_model()
    with sess:
        small.save(sess, str(folder / "model"), 1)
        lock()
        with pytest.raises(tf.errors.PermissionDeniedError) as error:
            small.save(sess, str(folder / "model"), 2)
        assert str(folder / "model-2.data") in str(error.value)
        assert "choose a folder that you may write to" in str(error.value)
    assert_only_step_1_stands(folder)
