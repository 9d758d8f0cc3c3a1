"""Gradients kept within bounds."""

from capstan import array_ops, convert, math_ops
from capstan.apply import apply_op
from capstan.graph import colocate_with, name_scope


def clip_by_norm(t, clip_norm, axes=None, name=None):
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as scope:
        values = convert.convert_to_tensor(t, name="t")
        squares = math_ops.reduce_sum(values * values, axes, keepdims=True)
        positive = squares > 0
        safe = array_ops.where(positive, squares, array_ops.ones_like(squares))
        norm = array_ops.where(positive, apply_op("Sqrt", x=safe), squares)
        clipped = values * clip_norm
        values.shape.assert_is_compatible_with(clipped.shape)
        return array_ops.identity(clipped / apply_op("Maximum", x=norm, y=clip_norm), name=scope)


def global_norm(t_list, name=None):
    with name_scope(name, "global_norm", [t for t in t_list if t is not None]):
        halves = []
        for tensor in t_list:
            if tensor is not None:
                tensor = convert.convert_to_tensor(tensor)
                with colocate_with(tensor.op):
                    halves.append(apply_op("L2Loss", t=tensor))
        half = math_ops.reduce_sum(array_ops.stack(halves))
        two = convert.constant(2.0, dtype=half.dtype)
        return apply_op("Sqrt", x=half * two, name="global_norm")


def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """(the tensors, scaled together, and their norm before)."""
    norm = global_norm(t_list, name) if use_norm is None else use_norm
    with name_scope(
        name, "clip_by_global_norm", [t for t in t_list if t is not None] + [clip_norm]
    ) as scope:
        one = convert.constant(1.0, dtype=norm.dtype)
        scale = clip_norm * apply_op("Minimum", x=1.0 / norm, y=one / clip_norm)
        clipped = []
        for i, tensor in enumerate(t_list):
            if tensor is None:
                clipped.append(None)
                continue
            tensor = convert.convert_to_tensor(tensor)
            with colocate_with(tensor.op):
                clipped.append(
                    array_ops.identity(
                        tensor * scale, name="%s_%d" % (scope.rstrip("/").split("/")[-1], i)
                    )
                )
        return clipped, norm
