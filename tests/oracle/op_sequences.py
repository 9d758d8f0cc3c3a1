"""Ops that mean nothing alone: queues, accumulators, variables, files, random streams, summaries. Each
sequence runs steps that are compared with TensorFlow's one by one, errors included."""

import re
import struct
import zlib

import numpy as np

SEQUENCES = {}


def sequence(function):
    SEQUENCES[function.__name__] = function
    return function


def queue_of(tf, version):
    raw = tf.raw_ops
    make = getattr(raw, "FIFOQueue" + version)
    queue = make(component_types=[tf.float32, tf.int32], shapes=[[2], []], capacity=3)

    def op(name, **keywords):
        return getattr(raw, "Queue" + name + version)(handle=queue, **keywords)

    return op


def queue_steps(tf, step, version):
    queue = queue_of(tf, version)
    types = [tf.float32, tf.int32]
    one = queue("Enqueue", components=[tf.constant([1.0, np.nan]), tf.constant(7)])
    many = queue("EnqueueMany", components=[tf.constant([[2.0, -0.0], [3.0, np.inf]]), tf.constant([8, 9])])
    none = queue("EnqueueMany", components=[tf.zeros([0, 2]), tf.zeros([0], tf.int32)])
    shapes = [tf.placeholder(tf.float32), tf.placeholder(tf.int32)]
    any_shape = queue("Enqueue", components=shapes)
    any_many = queue("EnqueueMany", components=shapes)
    size, closed = queue("Size"), queue("IsClosed")
    take, few = queue("Dequeue", component_types=types), tf.placeholder(tf.int32)
    take_many = queue("DequeueMany", component_types=types, n=few)
    take_up_to = queue("DequeueUpTo", component_types=types, n=few)
    step(size), step(closed)
    step(one), step(many), step(none), step(size)
    step(take), step(take_many, {few: 2}), step(size)
    step(any_shape, dict(zip(shapes, [np.zeros([3]), 1])))
    step(any_many, dict(zip(shapes, [np.zeros([2, 2]), [1]])))
    step(any_many, dict(zip(shapes, [np.zeros([2]), 1])))
    step(take_many, {few: -1}), step(take_many, {few: 0})
    step(take_up_to, {few: 0}), step(take_up_to, {few: -1})
    step(one), step(queue("Close")), step(closed), step(one), step(queue("Close"))
    step(take_many, {few: 2}), step(take_up_to, {few: 3}), step(take_up_to, {few: 3}), step(take), step(size)


@sequence
def fifo_queue(tf, step):
    queue_steps(tf, step, "V2")


@sequence
def fifo_queue_of_old_programs(tf, step):
    queue_steps(tf, step, "")


@sequence
def fifo_queue_without_shapes(tf, step):
    queue = tf.raw_ops.FIFOQueueV2(component_types=[tf.string])
    value = tf.placeholder(tf.string)
    put = tf.raw_ops.QueueEnqueueV2(handle=queue, components=[value])
    take = tf.raw_ops.QueueDequeueV2(handle=queue, component_types=[tf.string])
    step(put, {value: "a"}), step(put, {value: ["b", ""]}), step(take), step(take)
    step(tf.raw_ops.QueueDequeueManyV2(handle=queue, component_types=[tf.string], n=1))
    step(tf.raw_ops.QueueDequeueV2(handle=queue, component_types=[tf.float32]))


def accumulator_steps(tf, step, prefix, reduction, dtype):
    raw = tf.raw_ops
    make = getattr(raw, prefix + "ConditionalAccumulator")
    handle = make(dtype=dtype, shape=[2], reduction_type=reduction, shared_name=prefix + reduction + dtype.name)
    at, value, count = tf.placeholder(tf.int64), tf.placeholder(dtype), tf.placeholder(tf.int32)
    apply = getattr(raw, prefix + "AccumulatorApplyGradient")(handle=handle, local_step=at, gradient=value)
    take = getattr(raw, prefix + "AccumulatorTakeGradient")(handle=handle, num_required=count, dtype=dtype)
    size = getattr(raw, prefix + "AccumulatorNumAccumulated")(handle=handle)
    set_step = getattr(raw, prefix + "AccumulatorSetGlobalStep")(handle=handle, new_global_step=at)
    step(size), step(apply, {at: 0, value: [1, 2]}), step(apply, {at: 1, value: [3, np.nan]}), step(size)
    step(take, {count: 2}), step(size)
    step(apply, {at: 0, value: [5, 5]}), step(size)  # of an old step: dropped
    step(set_step, {at: 4}), step(apply, {at: 3, value: [1, 1]}), step(size)
    step(apply, {at: 4, value: [-0.0, np.inf]}), step(size), step(take, {count: 1})
    step(set_step, {at: 2}), step(apply, {at: 9, value: [1, 1, 1]}), step(apply, {at: 9, value: 1})
    step(take, {count: 0}), step(take, {count: -1})


@sequence
def accumulator(tf, step):
    accumulator_steps(tf, step, "", "MEAN", tf.float32)
    accumulator_steps(tf, step, "", "SUM", tf.float64)


@sequence
def accumulator_by_resource(tf, step):
    accumulator_steps(tf, step, "Resource", "MEAN", tf.float64)
    accumulator_steps(tf, step, "Resource", "SUM", tf.float32)


@sequence
def variables(tf, step):
    raw = tf.raw_ops
    for variable in (raw.VariableV2(shape=[2], dtype=tf.float32), raw.Variable(shape=[2], dtype=tf.float32)):
        ready = raw.IsVariableInitialized(ref=variable)
        value = tf.placeholder(tf.float32)
        step(ready), step(variable), step(raw.AssignAdd(ref=variable, value=value), {value: [1, 2]})
        step(raw.Assign(ref=variable, value=value), {value: [1, np.nan]}), step(ready), step(variable)
        step(raw.Assign(ref=variable, value=value), {value: [1, 2, 3]})
        step(raw.AssignAdd(ref=variable, value=value), {value: [1, 2, 3]})
        step(raw.AssignAdd(ref=variable, value=value), {value: [1, -0.0]})
        step(raw.AssignSub(ref=variable, value=value), {value: [0.5, np.inf]}), step(variable)
        step(raw.Assign(ref=variable, value=value, validate_shape=False), {value: [[1, 2, 3]]}), step(variable)
        step(tf.shape(raw.Identity(input=variable)))


@sequence
def control(tf, step):
    raw = tf.raw_ops
    value = raw.Placeholder(dtype=tf.int32, shape=[2])
    default = raw.PlaceholderWithDefault(input=tf.constant([1, 2]) + value, shape=[None])
    step(value), step(value, {value: [1, 2]})
    step(default, {value: [1, 1]}), step(default, {default: [4, 5, 6]})
    condition, data = tf.placeholder(tf.bool), [tf.constant("no"), tf.constant([1, 2])]
    check = raw.Assert(condition=condition, data=data)
    step(check, {condition: True}), step(check, {condition: False}), step(check, {condition: [True, True]})
    step(raw.NoOp()), step(raw.ControlTrigger())
    printed = raw.Print(input=value, data=[value], message="value: ")
    step(raw.Identity(input=printed), {value: [3, 4]}), step(raw.Snapshot(input=printed), {value: [5, 6]})


@sequence
def bundles(tf, step):
    raw = tf.raw_ops
    names = ["a", "b", "c"]
    values = [tf.constant([[1.0, np.nan], [-0.0, np.inf]]), tf.constant(["x", ""]), tf.constant(2**62, tf.int64)]
    types = [value.dtype for value in values]
    whole = step.folder + "/whole"

    def save(prefix, first, last):
        slices = [""] * (last - first)
        step(raw.SaveV2(prefix=prefix, tensor_names=names[first:last], shape_and_slices=slices,
                        tensors=values[first:last]))

    def restore(prefix, names=names, types=types, slices=None):
        step(raw.RestoreV2(prefix=prefix, tensor_names=names, shape_and_slices=slices or [""] * len(names),
                           dtypes=types))

    save(whole, 0, 3), restore(whole)
    restore(whole, ["a"], [tf.float32], ["2 2 1,1:0,2"])
    restore(whole, ["a"], [tf.int32]), restore(whole, ["z"], [tf.float32]), restore(step.folder + "/none")
    save(step.folder + "/one", 0, 1), save(step.folder + "/two", 1, 3)
    parts = [step.folder + "/one", step.folder + "/two"]
    step(raw.MergeV2Checkpoints(checkpoint_prefixes=parts, destination_prefix=step.folder + "/both"))
    restore(step.folder + "/both")



@sequence
def file_names(tf, step):
    for shard, shards in ((0, 1), (3, 100), (123456, 200000)):
        step(tf.raw_ops.ShardedFilename(basename="model", shard=shard, num_shards=shards))
        step(tf.raw_ops.ShardedFilespec(basename="model", num_shards=shards))


@sequence
def random_streams(tf, step):
    """A node's stream goes on from run to run."""
    raw = tf.raw_ops
    shape = tf.placeholder(tf.int32, [None])
    seeds = {"seed": 5, "seed2": 9}
    ops = [raw.RandomUniform(shape=shape, dtype=tf.float32, **seeds),
           raw.RandomUniform(shape=shape, dtype=tf.float64, **seeds),
           raw.RandomStandardNormal(shape=shape, dtype=tf.float32, **seeds),
           raw.TruncatedNormal(shape=shape, dtype=tf.float64, **seeds),
           raw.RandomUniformInt(shape=shape, minval=-3, maxval=100, **seeds)]
    for op in ops:
        for sizes in ([2, 3], [0], [7], [], [-1]):
            step(op, {shape: sizes})
    values = tf.constant(np.arange(12).reshape([6, 2]))
    shuffled = raw.RandomShuffle(value=values, **seeds)
    step(shuffled), step(shuffled)


@sequence
def summaries(tf, step):
    raw = tf.raw_ops
    tag, value = tf.placeholder(tf.string), tf.placeholder(tf.float32)
    scalar, histogram = raw.ScalarSummary(tags=tag, values=value), raw.HistogramSummary(tag=tag, values=value)
    step(scalar, {tag: "loss", value: 0.5}), step(scalar, {tag: ["a", "b"], value: [1, np.nan]})
    step(scalar, {tag: ["a"], value: 1}), step(scalar, {tag: ["a", "b"], value: [1]})
    for values in (0.5, [1, 2, -3, 0, -0.0], [], [np.nan], [np.inf, 1], np.linspace(-5, 5, 40)):
        step(histogram, {tag: "h", value: values})
    step(histogram, {tag: ["h", "i"], value: [1]})
    step(raw.HistogramSummary(tag="d", values=tf.constant([1, 2, 300], tf.int64)))
    parts = tf.placeholder(tf.string), tf.placeholder(tf.string)
    merged = raw.MergeSummary(inputs=parts)
    texts = [b"\n\x08\n\x01a\x15\x00\x00\x80?", b"\n\x08\n\x01b\x15\x00\x00\x00@"]
    step(merged, dict(zip(parts, texts))), step(merged, dict(zip(parts, [texts[0], texts[0]])))
    step(merged, dict(zip(parts, [texts[0], b"\xff"])))


@sequence
def pictures(tf, step):
    """The pictures themselves: a PNG may be packed in many ways."""
    pixels = tf.placeholder(tf.float32)
    summary = tf.raw_ops.ImageSummary(tag="p", tensor=pixels, max_images=2)
    bytes_too = tf.raw_ops.ImageSummary(tag="b", tensor=tf.constant(np.arange(12).reshape([1, 2, 2, 3]), tf.uint8))
    ramp = np.linspace(-1, 3, 12, dtype=np.float32)
    for values in (ramp.reshape([1, 3, 4, 1]), ramp.reshape([3, 2, 2, 1]), ramp.reshape([1, 2, 2, 3]), ramp * 0,
                   np.float32([1, np.nan, 3, np.inf]).reshape([1, 2, 2, 1]), np.abs(ramp).reshape([1, 1, 3, 4])):
        step(summary, {pixels: values}, told=pixels_of)
    step(bytes_too, told=pixels_of)


def pixels_of(summary):
    """Each picture of a serialised Summary as [height, width, channels]."""
    found = []
    for start in [m.start() for m in re.finditer(rb"\x89PNG", summary)]:
        found.append(decoded_png(summary[start:]))
    return found


def decoded_png(png):
    at, packed = 8, b""
    while True:
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        at += 12 + length
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            packed += body
        if kind == b"IEND":
            break
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape([height, 1 + width * channels])
    return unfiltered(rows, channels).reshape([height, width, channels])


def unfiltered(rows, step):
    """PNG's five filters undone: a byte was told as its distance from its neighbours."""
    out = np.zeros([rows.shape[0], rows.shape[1] - 1], int)
    for y, row in enumerate(rows):
        for x, byte in enumerate(row[1:]):
            left, up = out[y, x - step] if x >= step else 0, out[y - 1, x] if y else 0
            corner = out[y - 1, x - step] if y and x >= step else 0
            near = min((left, up, corner), key=lambda v: abs(left + up - corner - v))  # noqa: B023
            out[y, x] = (int(byte) + (0, left, up, (left + up) // 2, near)[row[0]]) % 256
    return out.astype(np.uint8)
