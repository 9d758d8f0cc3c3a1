"""Messages: protobuf's own, of the fields that proto/ declares, loaded with the first of them."""

import copy
import pickle

import pytest
import tensorflow as tf
from capstan.core import protos


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
    with pytest.raises(ValueError, match='no "allow_soft" field'):
        tf.ConfigProto(allow_soft=True)


def test_values_that_do_not_fit_are_refused():
    with pytest.raises(TypeError):
        tf.ConfigProto(device_filters="/job:ps", allow_soft_placement="yes")
    with pytest.raises(ValueError, match="out of range"):
        tf.ConfigProto(placement_period=1 << 40)
    with pytest.raises(AttributeError):
        tf.ConfigProto().gpu_options = tf.GPUOptions()


def test_messages_are_copied_merged_and_compared():
    config, other = tf.ConfigProto(placement_period=3), tf.ConfigProto(device_filters=["/job:ps"])
    other.gpu_options.CopyFrom(tf.GPUOptions(allow_growth=True))
    config.MergeFrom(other)
    assert config.placement_period == 3 and config.gpu_options.allow_growth
    assert config.HasField("gpu_options") and not config.HasField("graph_options")
    assert copy.deepcopy(config) == config == pickle.loads(pickle.dumps(config)) != other


def test_the_tools_of_protobuf_take_them():
    from google.protobuf import json_format, text_format

    given = text_format.Parse("trace_level: FULL_TRACE timeout_in_ms: 7", tf.RunOptions())
    assert given.trace_level == tf.RunOptions.FULL_TRACE and given.timeout_in_ms == 7
    assert json_format.MessageToDict(given) == {"traceLevel": "FULL_TRACE", "timeoutInMs": "7"}


def test_messages_that_no_public_module_shows_are_found_where_they_are_defined():
    from tensorflow.core.framework import types_pb2
    from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2

    assert config_pb2.ConfigProto is tf.ConfigProto
    assert rewriter_config_pb2.RewriterConfig.OFF == 2 and types_pb2.DT_FLOAT == 1


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
