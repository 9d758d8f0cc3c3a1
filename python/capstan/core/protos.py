"""TensorFlow's messages that programs make or read: those of proto/, as real protocol buffers.

`protos.GraphDef` is made when it is first asked for, and protobuf loaded with the first of all: that
takes longer than all of ours together, and many programs need none.
"""

import os

import capstan

_DESCRIPTORS = os.path.join(os.path.dirname(os.path.abspath(capstan.__file__)), "_messages.bin")
_made = {}


def __getattr__(name):
    if name.startswith("__") or not has(name):
        raise AttributeError("module '%s' has no attribute '%s'" % (__name__, name))
    return _made[name]


def has(name):
    """Whether there is a message, an enum or a value of an enum of this name."""
    if not _made:
        _made.update(_load())
    return name in _made


def is_message(value, name):
    """Whether a value is a message of this name, of ours or of somebody else's library."""
    return getattr(getattr(value, "DESCRIPTOR", None), "name", None) == name


def _load():
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf.internal import enum_type_wrapper

    # A pool of its own: the program may have TensorFlow's messages from another package.
    pool, made = descriptor_pool.DescriptorPool(), {}
    with open(_DESCRIPTORS, "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read()).file
    for one in _in_order(files):
        pool.AddSerializedFile(one.SerializeToString())
        found = pool.FindFileByName(one.name)
        for name, message in found.message_types_by_name.items():
            made[name] = message_factory.GetMessageClass(message)
            made[name].__module__ = __name__  # where pickle looks for it
        for name, enum in found.enum_types_by_name.items():
            made[name] = enum_type_wrapper.EnumTypeWrapper(enum)
            made.update(made[name].items())
    return made


def _in_order(files):
    """Each after what it imports."""
    left, done = {file.name: file for file in files}, set()
    while left:
        ready = [file for file in left.values() if done.issuperset(file.dependency)]
        for file in ready:
            done.add(file.name)
            yield left.pop(file.name)
