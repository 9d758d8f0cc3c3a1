"""read_data_sets: the digits that so many programs train on, without the network.

The four idx files where they lie, else Debian's dataset-fashion-mnist where it is installed, else
digits that are drawn here, always the same ones.
"""

import collections
import gzip
import math
import os
import struct
import sys
import zlib

import numpy as np

from capstan.core.public import public, public_module

public_module("examples.tutorials.mnist.input_data")

Datasets = collections.namedtuple("Datasets", ["train", "validation", "test"])

DEBIAN_FOLDER = "/usr/share/datasets/fashion-mnist"
_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


class DataSet:
    """Images as rows of 784 numbers in [0, 1] (as pixels with reshape=False), and their labels."""

    def __init__(
        self,
        images,
        labels,
        fake_data=False,
        one_hot=False,
        dtype=np.float32,
        reshape=True,
        seed=None,
    ):
        self._fake, self._one_hot = fake_data, one_hot
        self._random = np.random if seed is None else np.random.RandomState(seed)
        self._dtype = np.dtype(getattr(dtype, "as_numpy_dtype", dtype))
        if self._dtype not in (np.dtype(np.float32), np.dtype(np.uint8)):
            raise TypeError("Invalid image dtype %r, expected uint8 or float32" % (dtype,))
        self._pixels = images
        if not fake_data:
            if len(images) != len(labels):
                raise ValueError("%d images but %d labels" % (len(images), len(labels)))
            if reshape:
                self._pixels = images.reshape(len(images), int(np.prod(images.shape[1:])))
        self._labels = labels
        self._count = 10000 if fake_data else len(images)
        self._order = None  # None: the order of the file
        self._at = 0
        self._epochs = 0
        self._images = None

    num_examples = property(lambda self: self._count)
    epochs_completed = property(lambda self: self._epochs)

    @property
    def images(self):
        if self._images is None:
            self._images = self._scaled(self._pixels)
        return self._images

    @property
    def labels(self):
        return self._labels

    def _scaled(self, pixels):
        """Bytes stay bytes until they are used: a fourth of the memory."""
        if self._dtype == np.uint8 or pixels.dtype != np.uint8:
            return pixels
        return np.multiply(pixels, np.float32(1.0 / 255.0), dtype=np.float32)

    def _rows(self, start, end):
        if self._order is None:
            return slice(start, end)
        return self._order[start:end]

    def _shuffle(self, shuffle):
        self._order = self._random.permutation(self._count) if shuffle else None
        self._at = 0

    def _take(self, rows):
        return self._scaled(self._pixels[rows]), self._labels[rows]

    def next_batch(self, batch_size, fake_data=False, shuffle=True):
        """The next examples; an epoch that ends within the batch goes on with the next one."""
        if fake_data or self._fake:
            return self._fake_batch(batch_size)
        if self._epochs == 0 and self._at == 0:
            self._shuffle(shuffle)
        start, end = self._at, self._at + batch_size
        if end <= self._count:
            self._at = end
            return self._take(self._rows(start, end))
        self._epochs += 1
        rest = self._take(self._rows(start, self._count))
        self._shuffle(shuffle)
        self._at = end - self._count
        head = self._take(self._rows(0, self._at))
        return np.concatenate([rest[0], head[0]]), np.concatenate([rest[1], head[1]])

    def _fake_batch(self, batch_size):
        label = [1] + [0] * 9 if self._one_hot else 0
        return [[1] * 784 for _ in range(batch_size)], [label for _ in range(batch_size)]


def read_data_sets(
    train_dir,
    fake_data=False,
    one_hot=False,
    dtype=np.float32,
    reshape=True,
    validation_size=5000,
    seed=None,
    source_url=None,
):
    """(train, validation, test). `source_url` is never asked: nothing here uses the network."""
    if fake_data:
        fakes = [
            DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed)
            for _ in range(3)
        ]
        return Datasets(*fakes)
    arrays = _find(train_dir)
    images, labels, test_images, test_labels = arrays
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            "Validation size should be between 0 and %d. Received: %d."
            % (len(images), validation_size)
        )
    if one_hot:
        labels, test_labels = dense_to_one_hot(labels, 10), dense_to_one_hot(test_labels, 10)
    cut = validation_size
    options = dict(dtype=dtype, reshape=reshape, seed=seed, one_hot=one_hot)
    return Datasets(
        DataSet(images[cut:], labels[cut:], **options),
        DataSet(images[:cut], labels[:cut], **options),
        DataSet(test_images, test_labels, **options),
    )


def _find(folder):
    for place, label in (
        (folder, "MNIST files in %s" % folder),
        (DEBIAN_FOLDER, "Debian's fashion-mnist in %s" % DEBIAN_FOLDER),
    ):
        paths = [_file_in(place, name) for name in _FILES]
        if all(paths):
            _say(label)
            return (
                extract_images(paths[0]),
                extract_labels(paths[1]),
                extract_images(paths[2]),
                extract_labels(paths[3]),
            )
    from capstan.datasets import digits  # late: only where no files are

    _say("digits drawn by Capstan (no idx files in %s, no dataset-fashion-mnist)" % folder)
    return digits.draw_sets()


def _say(what):
    sys.stderr.write("read_data_sets: %s\n" % what)
    sys.stderr.flush()


def _file_in(folder, name):
    for candidate in (name + ".gz", name, name.replace("-idx", ".idx")):
        path = os.path.join(str(folder), candidate)
        if os.path.exists(path):
            return path
    return None


def _bytes_of(source, name):
    data = source.read() if hasattr(source, "read") else open(source, "rb").read()
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError("%s is a damaged gzip file: %s" % (name, error)) from None


def _idx(source, magic, ranks):
    """The array in an idx file: a magic number, the sizes, the bytes."""
    name = getattr(source, "name", source)
    data = _bytes_of(source, name)
    head = 4 * (1 + ranks)
    numbers = struct.unpack(">%dI" % (1 + ranks), data[:head]) if len(data) >= head else (0,)
    if numbers[0] != magic:
        raise ValueError(
            "Invalid magic number in %s: this is not an idx file of %s"
            % (name, "images" if ranks == 3 else "labels")
        )
    shape = numbers[1:]
    if len(data) - head != math.prod(shape):
        raise ValueError("%s holds %d bytes, but announces %s" % (name, len(data) - head, shape))
    return np.frombuffer(data, np.uint8, offset=head).reshape(shape)


def extract_images(f):
    images = _idx(f, 2051, 3)
    if images.shape[1:] != (28, 28):
        raise ValueError(
            "%s holds images of %s pixels, not 28 by 28" % (getattr(f, "name", f), images.shape[1:])
        )
    return images.reshape(-1, 28, 28, 1)


def extract_labels(f, one_hot=False, num_classes=10):
    labels = _idx(f, 2049, 1)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def dense_to_one_hot(labels_dense, num_classes):
    one_hot = np.zeros((len(labels_dense), num_classes))
    one_hot[np.arange(len(labels_dense)), np.asarray(labels_dense).ravel()] = 1
    return one_hot


@public("contrib.learn.datasets.load_mnist")
def load_mnist(train_dir="MNIST-data"):
    return read_data_sets(train_dir)
