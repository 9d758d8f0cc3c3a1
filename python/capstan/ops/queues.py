"""Queues and accumulators: values that one step puts and another takes."""

from capstan.core import convert, dtypes
from capstan.core import graph as graphs
from capstan.core.apply import apply_op
from capstan.core.public import public
from capstan.core.shapes import TensorShape
from capstan.ops import math_ops


def _types(types):
    return [
        dtypes.as_dtype(t).base_dtype
        for t in (types if isinstance(types, (list, tuple)) else [types])
    ]


def _shapes(shapes, types):
    if shapes is None:
        return None
    if (
        isinstance(shapes, TensorShape)
        or not isinstance(shapes, (list, tuple))
        or (not shapes or not isinstance(shapes[0], (list, tuple, TensorShape)))
    ):
        shapes = [shapes]
    if len(shapes) != len(types):
        raise ValueError(
            "Queue shapes must have the same length as dtypes, received len(shapes)=%d, "
            "len(dtypes)=%d" % (len(shapes), len(types))
        )
    return [TensorShape(shape) for shape in shapes]


@public("QueueBase")
class QueueBase:
    def __init__(self, dtypes, shapes, names, queue_ref):
        self._dtypes, self._names, self._queue_ref = dtypes, names, queue_ref
        self._shapes = shapes if shapes is not None else [TensorShape(None)] * len(dtypes)
        self._name = queue_ref.op.name.split("/")[-1]

    queue_ref = property(lambda self: self._queue_ref)
    name = property(lambda self: self._queue_ref.op.name)
    dtypes = property(lambda self: self._dtypes)
    shapes = property(lambda self: self._shapes)
    names = property(lambda self: self._names)

    def _values(self, vals):
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            vals = [vals[name] for name in self._names]
        vals = list(vals) if isinstance(vals, (list, tuple)) else [vals]
        if len(vals) != len(self._dtypes):
            raise ValueError(
                "the queue '%s' takes %d components, not %d"
                % (self._name, len(self._dtypes), len(vals))
            )
        return [
            convert.convert_to_tensor(val, dtype=dtype, name="component_%d" % i)
            for i, (val, dtype) in enumerate(zip(vals, self._dtypes))
        ]

    def _put(self, op_type, vals, suffix, name, check):
        with graphs.name_scope(name, "%s_%s" % (self._name, suffix)) as scope:
            values = self._values(vals)
            check([value.shape for value in values])
            return apply_op(op_type, handle=self._queue_ref, components=values, name=scope)

    def _check(self, shapes):
        for shape, own in zip(shapes, self._shapes):
            shape.assert_is_compatible_with(own)

    def _check_batch(self, shapes):
        shapes = [shape.with_rank_at_least(1) for shape in shapes]
        count = shapes[0][:1]
        for shape in shapes[1:]:
            count = count.merge_with(shape[:1])
        self._check([shape[1:] for shape in shapes])

    def enqueue(self, vals, name=None):
        return self._put("QueueEnqueueV2", vals, "enqueue", name, self._check)

    def enqueue_many(self, vals, name=None):
        return self._put("QueueEnqueueManyV2", vals, "EnqueueMany", name, self._check_batch)

    def _taken(self, values, shapes):
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        for value, shape in zip(values, shapes):
            value.set_shape(shape)
        if self._names:
            return dict(zip(self._names, values))
        return values[0] if len(values) == 1 else values

    def dequeue(self, name=None):
        taken = apply_op(
            "QueueDequeueV2",
            handle=self._queue_ref,
            component_types=self._dtypes,
            name=name or "%s_Dequeue" % self._name,
        )
        return self._taken(taken, self._shapes)

    def _take_many(self, op_type, n, suffix, name):
        taken = apply_op(
            op_type,
            handle=self._queue_ref,
            n=n,
            component_types=self._dtypes,
            name=name or "%s_%s" % (self._name, suffix),
        )
        count = None if convert.is_tensor(n) or suffix == "DequeueUpTo" else n
        return self._taken(taken, [TensorShape([count]).concatenate(s) for s in self._shapes])

    def dequeue_many(self, n, name=None):
        return self._take_many("QueueDequeueManyV2", n, "DequeueMany", name)

    def dequeue_up_to(self, n, name=None):
        return self._take_many("QueueDequeueUpToV2", n, "DequeueUpTo", name)

    def close(self, cancel_pending_enqueues=False, name=None):
        return apply_op(
            "QueueCloseV2",
            handle=self._queue_ref,
            name=name or "%s_Close" % self._name,
            cancel_pending_enqueues=cancel_pending_enqueues,
        )

    def size(self, name=None):
        return apply_op("QueueSizeV2", handle=self._queue_ref, name=name or "%s_Size" % self._name)

    def is_closed(self, name=None):
        return apply_op(
            "QueueIsClosedV2", handle=self._queue_ref, name=name or "%s_Is_Closed" % self._name
        )


@public("FIFOQueue")
class FIFOQueue(QueueBase):
    _op = "FIFOQueueV2"

    def __init__(
        self,
        capacity,
        dtypes,
        shapes=None,
        names=None,
        shared_name=None,
        name="fifo_queue",
        **attrs,
    ):
        types = _types(dtypes)
        dims = _shapes(shapes, types)
        ref = apply_op(
            self._op,
            component_types=types,
            shapes=dims,
            capacity=capacity,
            shared_name=shared_name,
            name=name,
            **attrs,
        )
        super().__init__(types, dims, names, ref)


@public("PaddingFIFOQueue")
class PaddingFIFOQueue(FIFOQueue):
    _op = "PaddingFIFOQueueV2"

    def __init__(
        self, capacity, dtypes, shapes, names=None, shared_name=None, name="padding_fifo_queue"
    ):
        super().__init__(capacity, dtypes, shapes, names, shared_name, name)


@public("RandomShuffleQueue")
class RandomShuffleQueue(FIFOQueue):
    _op = "RandomShuffleQueueV2"

    def __init__(
        self,
        capacity,
        min_after_dequeue,
        dtypes,
        shapes=None,
        names=None,
        seed=None,
        shared_name=None,
        name="random_shuffle_queue",
    ):
        seed1, seed2 = graphs.get_seed(seed)
        if seed1 == 0 and seed2 == 0 and seed is not None:
            seed2 = seed
        super().__init__(
            capacity,
            dtypes,
            shapes,
            names,
            shared_name,
            name,
            seed=seed1,
            seed2=seed2,
            min_after_dequeue=min_after_dequeue,
        )


@public("ConditionalAccumulator")
class ConditionalAccumulator:
    """Sums gradients of one variable; gives their mean once enough have come."""

    def __init__(
        self,
        dtype,
        shape=None,
        shared_name=None,
        name="conditional_accumulator",
        reduction_type="MEAN",
    ):
        self._dtype, self._shape = dtypes.as_dtype(dtype).base_dtype, TensorShape(shape)
        self._ref = apply_op(
            "ResourceConditionalAccumulator",
            dtype=self._dtype,
            shape=self._shape,
            shared_name=shared_name,
            reduction_type=reduction_type,
            name=name,
        )

    accumulator_ref = property(lambda self: self._ref)
    name = property(lambda self: self._ref.op.name)
    dtype = property(lambda self: self._dtype)

    def apply_grad(self, grad, local_step=0, name=None):
        grad = convert.convert_to_tensor(grad, self._dtype)
        grad.shape.assert_is_compatible_with(self._shape)
        local_step = math_ops.cast(convert.convert_to_tensor(local_step), dtypes.int64)
        return apply_op(
            "ResourceAccumulatorApplyGradient",
            handle=self._ref,
            local_step=local_step,
            gradient=grad,
            name=name,
        )

    def take_grad(self, num_required, name=None):
        out = apply_op(
            "ResourceAccumulatorTakeGradient",
            handle=self._ref,
            num_required=num_required,
            dtype=self._dtype,
            name=name,
        )
        out.set_shape(self._shape)
        return out

    def num_accumulated(self, name=None):
        return apply_op("ResourceAccumulatorNumAccumulated", handle=self._ref, name=name)

    def set_global_step(self, new_global_step, name=None):
        step = math_ops.cast(convert.convert_to_tensor(new_global_step), dtypes.int64)
        return apply_op(
            "ResourceAccumulatorSetGlobalStep", handle=self._ref, new_global_step=step, name=name
        )
