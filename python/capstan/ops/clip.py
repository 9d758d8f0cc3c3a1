"""Gradients kept within bounds together. The other clips are rows of src/build/clip.cc."""

from capstan import _capstan
from capstan.core import convert
from capstan.core.graph import name_scope
from capstan.core.public import public
from capstan.ops import composites


@public("clip_by_global_norm")
def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """(the tensors, scaled together, and their norm before)."""
    norm = use_norm
    if norm is None:
        norm = composites.function_called("global_norm")(t_list, name)
    norm = convert.convert_to_tensor(norm)
    given = [t for t in t_list if t is not None]
    with name_scope(name, "clip_by_global_norm", [*given, clip_norm]) as scope:
        limit = convert.number_or_tensor(clip_norm, norm.dtype)
        tensors = [None if t is None else convert.convert_to_tensor(t) for t in t_list]
        return _capstan.build("clip_by_global_norm", tensors, limit, norm, scope), norm
