"""Compares the messages in proto/ with those of an installed TensorFlow: name, number, type, label.

Run it with a Python that has tensorflow: python check_protos.py. Needs protoc on the PATH. A
message that we keep as bytes counts as equal; fields that we leave out are not reported.
"""

import pathlib
import subprocess
import sys
import tempfile

import tensorflow as tf  # noqa: F401  (fills the descriptor pool)
from google.protobuf import descriptor_pb2, descriptor_pool
from tensorflow.core.framework import device_attributes_pb2, step_stats_pb2  # noqa: F401
from tensorflow.core.protobuf import (  # noqa: F401
    cluster_pb2,
    config_pb2,
    meta_graph_pb2,
    queue_runner_pb2,
    rewriter_config_pb2,
    saved_model_pb2,
    tensor_bundle_pb2,
    tensorflow_server_pb2,
)
from tensorflow.core.util import event_pb2  # noqa: F401
from tensorflow.python.training import checkpoint_state_pb2  # noqa: F401

FIELD = descriptor_pb2.FieldDescriptorProto
PROTOS = pathlib.Path(__file__).resolve().parents[2] / "proto"


def our_files():
    with tempfile.NamedTemporaryFile() as out:
        files = sorted(map(str, PROTOS.glob("*.proto")))
        command = ["protoc", f"-I{PROTOS}", f"--descriptor_set_out={out.name}", *files]
        subprocess.run(command, check=True)
        return descriptor_pb2.FileDescriptorSet.FromString(out.read()).file


def same_type(ours, theirs):
    if ours.type == theirs.type:
        return True
    opaque = ours.type == FIELD.TYPE_BYTES and theirs.type == FIELD.TYPE_MESSAGE
    number = ours.type == FIELD.TYPE_INT32 and theirs.type == FIELD.TYPE_ENUM
    return opaque or number


def check_enum(ours, theirs, problems):
    numbers = {v.name: v.number for v in theirs.value}
    for value in ours.value:
        if numbers.get(value.name) != value.number:
            theirs = numbers.get(value.name)
            problems.append(f"{ours.name}.{value.name}: {value.number}, theirs {theirs}")


def check_message(ours, theirs, problems):
    fields = {f.number: f for f in theirs.field}
    for field in ours.field:
        peer = fields.get(field.number)
        if peer is None or peer.name != field.name:
            theirs = peer and peer.name
            problems.append(f"{ours.name}.{field.name} = {field.number}: theirs {theirs}")
        elif not same_type(field, peer) or field.label != peer.label:
            problems.append(f"{ours.name}.{field.name}: another type or label")
    nested = {m.name: m for m in theirs.nested_type}
    for message in ours.nested_type:
        check_message(message, nested[message.name], problems)
    enums = {e.name: e for e in theirs.enum_type}
    for enum in ours.enum_type:
        check_enum(enum, enums[enum.name], problems)


def proto_of(descriptor, kind):
    proto = kind()
    descriptor.CopyToProto(proto)
    return proto


def main():
    pool, problems, count = descriptor_pool.Default(), [], 0
    for file in our_files():
        for message in file.message_type:
            theirs = pool.FindMessageTypeByName(f"tensorflow.{message.name}")
            check_message(message, proto_of(theirs, descriptor_pb2.DescriptorProto), problems)
            count += 1
        for enum in file.enum_type:
            theirs = pool.FindEnumTypeByName(f"tensorflow.{enum.name}")
            check_enum(enum, proto_of(theirs, descriptor_pb2.EnumDescriptorProto), problems)
            count += 1
    print("\n".join(problems) or f"{count} messages and enums agree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
