"""read_data_sets: where the images come from, and how batches are cut."""

import gzip
import struct

import numpy as np
import pytest
from capstan.datasets import digits, mnist


def write_idx(path, array):
    kind = 2051 if array.ndim == 3 else 2049
    head = struct.pack(">I%dI" % array.ndim, kind, *array.shape)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wb") as file:
        file.write(head + array.tobytes())


@pytest.fixture
def folder(tmp_path):
    random = np.random.RandomState(0)
    for prefix, count, ending in (("train", 50, ".gz"), ("t10k", 10, "")):
        images = random.randint(0, 256, (count, 28, 28)).astype(np.uint8)
        write_idx(tmp_path / ("%s-images-idx3-ubyte%s" % (prefix, ending)), images)
        write_idx(
            tmp_path / ("%s-labels-idx1-ubyte%s" % (prefix, ending)),
            (np.arange(count) % 10).astype(np.uint8),
        )
    return tmp_path


def test_files_are_read_where_they_lie(folder, capfd):
    data = mnist.read_data_sets(str(folder), one_hot=True, validation_size=5)
    assert str(folder) in capfd.readouterr().err
    assert data.train.num_examples == 45 and data.validation.num_examples == 5
    assert data.test.images.shape == (10, 784) and data.test.images.dtype == np.float32
    assert data.test.images.max() <= 1.0
    assert data.test.labels[3].tolist() == np.eye(10)[3].tolist()


def test_an_epoch_shows_each_example_once(folder):
    train = mnist.read_data_sets(str(folder), validation_size=0).train
    seen = np.concatenate([train.next_batch(20)[0] for _ in range(2)] + [train.next_batch(10)[0]])
    assert sorted(map(tuple, seen)) == sorted(map(tuple, train.images))
    assert train.epochs_completed == 0
    images, labels = train.next_batch(20)
    assert images.shape == (20, 784) and labels.shape == (20,) and train.epochs_completed == 1


def test_a_batch_may_span_two_epochs(folder):
    train = mnist.read_data_sets(str(folder), validation_size=0).train
    train.next_batch(45)
    assert train.next_batch(20)[0].shape == (20, 784)


def test_fake_data_needs_no_files():
    data = mnist.read_data_sets("nowhere", fake_data=True, one_hot=True)
    images, labels = data.train.next_batch(3)
    assert len(images) == 3 and len(images[0]) == 784 and labels[0][0] == 1


def test_a_file_that_is_none_is_named(folder):
    (folder / "t10k-images-idx3-ubyte").write_bytes(b"nonsense" * 10)
    with pytest.raises(ValueError, match="t10k-images"):
        mnist.read_data_sets(str(folder))


def test_digits_are_drawn_when_there_are_none(tmp_path, monkeypatch, capfd):
    small = digits.draw_sets(500, 100)
    monkeypatch.setattr(mnist, "DEBIAN_FOLDER", str(tmp_path / "absent"))
    monkeypatch.setattr(digits, "draw_sets", lambda: small)
    data = mnist.read_data_sets(str(tmp_path), validation_size=100)
    assert "digits drawn" in capfd.readouterr().err
    assert data.train.num_examples == 400


def test_digits_are_the_same_every_time_and_can_be_told_apart():
    images, labels, test_images, test_labels = digits.draw_sets(3000, 500)
    again = digits.draw_sets(3000, 500)
    assert np.array_equal(images, again[0]) and np.array_equal(labels, again[1])

    def rows(pixels):
        flat = pixels.reshape(len(pixels), -1).astype(np.float32) / 255
        return np.c_[flat, np.ones(len(flat), np.float32)]

    weights = np.linalg.lstsq(rows(images), np.eye(10)[labels], rcond=1e-3)[0]
    assert (np.argmax(rows(test_images) @ weights, 1) == test_labels).mean() > 0.85


def damaged(data, random):
    """A file cut short, with a byte changed, or with a piece overwritten."""
    at = random.randint(len(data))
    kind = random.randint(3)
    if kind == 0:
        return data[:at]
    changed = bytearray(data)
    end = min(len(data), at + (1 if kind == 1 else 4))
    changed[at:end] = bytes(random.randint(0, 256, end - at).tolist())
    return bytes(changed)


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_damaged_file_is_read_or_refused_by_name(tmp_path, ending):
    random = np.random.RandomState(1)
    path = tmp_path / ("images" + ending)
    write_idx(path, random.randint(0, 256, (2, 28, 28)).astype(np.uint8))
    whole, refused = path.read_bytes(), 0
    for _ in range(300):
        path.write_bytes(damaged(whole, random))
        try:
            assert mnist.extract_images(str(path)).shape[1:] == (28, 28, 1)
        except ValueError as error:
            refused += 1
            assert str(path) in str(error)
    assert refused > 80
