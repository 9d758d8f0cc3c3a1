"""Gradients kept within bounds. The composites are the engine's."""

from capstan import _capstan
from capstan.core import convert
from capstan.core import graph as graphs
from capstan.core.graph import name_scope
from capstan.core.public import public
from capstan.ops import math_ops


@public("clip_by_value")
def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as scope:
        values = convert.convert_to_tensor(t, name="t")
        low = convert.number_or_tensor(clip_value_min, values.dtype)
        high = convert.number_or_tensor(clip_value_max, values.dtype)
        return _capstan.clip_by_value(values, low, high, scope)


@public("clip_by_norm")
def clip_by_norm(t, clip_norm, axes=None, name=None):
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as scope:
        values = convert.convert_to_tensor(t, name="t")
        limit = convert.number_or_tensor(clip_norm, values.dtype)
        return _capstan.clip_by_norm(values, limit, math_ops._axis_list(axes), scope)


def _tensors(t_list):
    return [None if t is None else convert.convert_to_tensor(t) for t in t_list]


@public("global_norm")
def global_norm(t_list, name=None):
    with name_scope(name, "global_norm", [t for t in t_list if t is not None]) as scope:
        tensors = _tensors(t_list)
        return _capstan.global_norm(graphs._graph_of(tensors), tensors, scope)


@public("clip_by_global_norm")
def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """(the tensors, scaled together, and their norm before)."""
    norm = global_norm(t_list, name) if use_norm is None else convert.convert_to_tensor(use_norm)
    given = [t for t in t_list if t is not None] + [clip_norm]
    with name_scope(name, "clip_by_global_norm", given) as scope:
        limit = convert.number_or_tensor(clip_norm, norm.dtype)
        return _capstan.clip_by_global_norm(_tensors(t_list), limit, norm, scope), norm
