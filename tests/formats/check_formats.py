"""Checks our bundles, records and event files against an installed TensorFlow and TensorBoard.

Run it with a Python that has tensorflow: python check_formats.py <path of format_tool>.
"""

import glob
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

TOOL = sys.argv[1]
tf1 = tf.compat.v1
DTYPES = [np.float32, np.float64, np.int32, np.int64, np.uint8, np.int16, np.int8, np.bool_,
          np.complex64, np.float16, np.uint16, np.uint32, np.uint64]


def tool(*args):
    subprocess.run([TOOL, *args], check=True)


def same(actual, expected):
    np.testing.assert_array_equal(actual, expected)


def tensorflow_reads_our_bundle(folder):
    prefix = f"{folder}/ours"
    for _ in range(3):  # the second and third replace a bundle that is there
        tool("write", prefix)
        reader = tf.train.load_checkpoint(prefix)
        same(reader.get_tensor("float"), np.arange(12, dtype=np.float32).reshape(3, 4))
        same(reader.get_tensor("double"), np.arange(5.0))
        same(reader.get_tensor("scope/int32"), np.arange(8, dtype=np.int32).reshape(2, 2, 2))
        same(reader.get_tensor("int64"), 1 << 40)
        same(reader.get_tensor("uint8"), np.arange(7, dtype=np.uint8))
        same(reader.get_tensor("bool"), [True, False, True])
        text = np.array([[b"", b"a"], [b"b" * 300, "é".encode()]], object)
        same(reader.get_tensor("string"), text)
        same(reader.get_tensor("empty"), np.zeros((0, 3), np.float32))
        parts = np.concatenate([np.arange(12), np.arange(28)]).reshape(10, 4)
        same(reader.get_tensor("parts"), parts)
        assert reader.get_variable_to_shape_map()["parts"] == [10, 4]
    with tf.Graph().as_default(), tf1.Session() as session:
        cut = tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=["parts"],
                                   shape_and_slices=["10 4 2,3:1,2"], dtypes=[tf.float32])
        same(session.run(cut)[0], parts[2:5, 1:3])


def save(prefix, tensors, slices=None):
    with tf.Graph().as_default(), tf1.Session() as session:
        session.run(tf.raw_ops.SaveV2(
            prefix=prefix, tensor_names=[name for name, _ in tensors],
            shape_and_slices=slices or [""] * len(tensors),
            tensors=[value for _, value in tensors]))


def we_read_tensorflows_bundle(folder):
    random = np.random.RandomState(0)
    tensors = [(f"scope/{d.__name__}", random.randint(0, 2, (3, 5)).astype(d)) for d in DTYPES]
    tensors += [("many/%05d" % i, np.float32(i)) for i in range(5000)]
    tensors += [("text", np.array([b"x" * n for n in (0, 1, 127, 128, 70000)], object))]
    save(f"{folder}/theirs", tensors)
    tool("rewrite", f"{folder}/theirs", f"{folder}/copy")
    reader = tf.train.load_checkpoint(f"{folder}/copy")
    for name, value in tensors:
        same(reader.get_tensor(name), value)
    # Byte for byte, too: same tensors in the same order (theirs are stored as given, ours by name).
    tensors.sort(key=lambda item: item[0].encode())
    save(f"{folder}/sorted", tensors)
    for ending in (".index", ".data-00000-of-00001"):
        with open(f"{folder}/sorted{ending}", "rb") as a, open(f"{folder}/copy{ending}", "rb") as b:
            assert a.read() == b.read(), ending


def we_read_tensorflows_partitioned_variables(folder):
    whole = np.arange(40, dtype=np.float32).reshape(10, 4)
    save(f"{folder}/p0", [("w", whole[:3]), ("a", np.float32(1))], ["10 4 0,3:0,4", ""])
    save(f"{folder}/p1", [("w", whole[3:]), ("b", np.float32(2))], ["10 4 3,7:-", ""])
    tool("merge", f"{folder}/merged", f"{folder}/p0", f"{folder}/p1")
    assert not glob.glob(f"{folder}/p0*")
    tool("rewrite", f"{folder}/merged", f"{folder}/joined")
    for prefix in (f"{folder}/merged", f"{folder}/joined"):
        reader = tf.train.load_checkpoint(prefix)
        same(reader.get_tensor("w"), whole)
        same(reader.get_tensor("b"), np.float32(2))


def tensorflow_merges_our_shards(folder):
    tool("write", f"{folder}/shard0")
    with tf.Graph().as_default(), tf1.Session() as session:
        session.run(tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=[f"{folder}/shard0"],
                                                  destination_prefix=f"{folder}/theirs_merged"))
    assert tf.train.load_checkpoint(f"{folder}/theirs_merged").get_tensor("parts").shape == (10, 4)


def tensorboard_reads_our_events(folder):
    from tensorboard.backend.event_processing import event_accumulator

    tool("events", f"{folder}/logs")
    log = event_accumulator.EventAccumulator(f"{folder}/logs")
    log.Reload()
    scalars = log.Scalars("loss")
    assert [s.step for s in scalars] == list(range(13)), scalars
    assert [s.value for s in scalars[10:]] == [7, 7, 7]
    assert abs(scalars[1].value - np.exp(-1)) < 1e-6
    assert log.Histograms("weights")[0].histogram_value.num == 3


def records_go_both_ways(folder):
    data = [b"", b"abc", os.urandom(100000)]
    for kind in ("", "ZLIB", "GZIP"):
        path = f"{folder}/records{kind}"
        with tf.io.TFRecordWriter(path, kind) as writer:
            for record in data:
                writer.write(record)
        tool("records", path, path + ".copy", *filter(None, [kind]))
        assert list(tf1.io.tf_record_iterator(path + ".copy")) == data


def main():
    for check in (tensorflow_reads_our_bundle, we_read_tensorflows_bundle,
                  we_read_tensorflows_partitioned_variables, tensorflow_merges_our_shards,
                  tensorboard_reads_our_events, records_go_both_ways):
        with tempfile.TemporaryDirectory() as folder:
            check(folder)
            print("ok  ", check.__name__)


if __name__ == "__main__":
    main()
