"""The small protocol buffers: keyword arguments, the wire format, text."""

import pytest
import tensorflow as tf
from capstan import protos


def test_config_takes_what_programs_give():
    config = tf.ConfigProto(
        allow_soft_placement=True,
        device_filters=["/job:ps"],
        device_count={"GPU": 0},
        gpu_options=tf.GPUOptions(allow_growth=True),
    )
    config.gpu_options.per_process_gpu_memory_fraction = 0.5
    config.intra_op_parallelism_threads = 2
    again = tf.ConfigProto.FromString(config.SerializeToString())
    assert again == config
    assert again.gpu_options.allow_growth and list(again.device_filters) == ["/job:ps"]
    assert again.device_count == {"GPU": 0}


def test_unknown_fields_are_refused_by_name():
    with pytest.raises(ValueError, match="no field 'allow_soft'"):
        tf.ConfigProto(allow_soft=True)


def test_bytes_are_protocol_buffers():
    cluster = tf.train.ClusterDef()
    job = cluster.job.add(name="ps")
    job.tasks[0] = "a:1"
    task = b"\x08\x00\x12\x03a:1"
    inner = b"\n\x02ps" + b"\x12" + bytes([len(task)]) + task
    assert cluster.SerializeToString() == b"\n" + bytes([len(inner)]) + inner


def test_reading_a_field_does_not_set_it():
    config = tf.ConfigProto()
    assert config.gpu_options.allow_growth is False
    assert config.SerializeToString() == b"" and not config.HasField("gpu_options")


def test_oneofs_hold_one_value():
    value = protos.AttrValue(i=3)
    value.s = b"text"
    assert value.WhichOneof("value") == "s" and value.i == 0
    assert protos.AttrValue.FromString(value.SerializeToString()).s == b"text"
    assert protos.AttrValue.FromString(protos.AttrValue(i=-1).SerializeToString()).i == -1
    assert (
        protos.AttrValue.FromString(protos.AttrValue(b=False).SerializeToString()).WhichOneof(
            "value"
        )
        == "b"
    )


def test_examples_round_trip():
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 2.5]))
    example = tf.train.Example(features=tf.train.Features(feature={"x": feature}))
    again = tf.train.Example.FromString(example.SerializeToString())
    assert list(again.features.feature["x"].float_list.value) == [1.0, 2.5]


def test_text_is_readable():
    assert str(tf.ConfigProto(log_device_placement=True)) == "log_device_placement: true\n"


def test_cluster_specs_take_every_form():
    spec = tf.train.ClusterSpec({"ps": ["a:1"], "worker": {1: "b:2"}})
    assert spec.as_dict() == {"ps": ["a:1"], "worker": {1: "b:2"}}
    assert tf.train.ClusterSpec(spec.as_cluster_def()) == spec
    assert spec.task_address("worker", 1) == "b:2" and spec.num_tasks("ps") == 1
    with pytest.raises(ValueError, match="evaluator.*ps, worker"):
        spec.num_tasks("evaluator")
    with pytest.raises(TypeError):
        tf.train.ClusterSpec({"ps": "a:1"})
