"""tf.gradients."""

import enum

from capstan.core import convert
from capstan.core import graph as graphs
from capstan.core.public import public
from capstan.ops import array_ops


@public("UnconnectedGradients")
class UnconnectedGradients(enum.Enum):
    NONE, ZERO = "none", "zero"


@public("AggregationMethod")
class AggregationMethod:
    ADD_N = 0
    DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def _list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


@public("gradients")
def gradients(
    ys,
    xs,
    grad_ys=None,
    name="gradients",
    colocate_gradients_with_ops=False,
    gate_gradients=False,
    aggregation_method=None,
    stop_gradients=None,
    unconnected_gradients=UnconnectedGradients.NONE,
):
    """d(sum of ys)/dx for each x; None, or zeros, where ys do not depend on x."""
    unconnected = UnconnectedGradients(unconnected_gradients)
    xs, ys = _list(xs), [convert.convert_to_tensor(y) for y in _list(ys)]
    graph = graphs._graph_of(ys)
    # A variable is differentiated by its reference: all its readings count.
    targets = [
        x._as_tensor(True) if hasattr(x, "_as_tensor") else convert.convert_to_tensor(x) for x in xs
    ]
    given = [] if grad_ys is None else _list(grad_ys)
    if given and len(given) != len(ys):
        raise ValueError("Passed %d grad_ys for %d ys" % (len(given), len(ys)))
    with graph.as_default():
        given = [
            g if g is None else convert.convert_to_tensor(g, dtype=y.dtype.base_dtype)
            for g, y in zip(given, ys)
        ]
        stop = [convert.convert_to_tensor(t) for t in _list(stop_gradients or [])]
        made = graph._gradients(
            ys,
            targets,
            given,
            name or "gradients",
            bool(colocate_gradients_with_ops),
            bool(gate_gradients),
            aggregation_method == AggregationMethod.EXPERIMENTAL_TREE,
            stop,
        )
        if unconnected is UnconnectedGradients.NONE:
            return made
        return [array_ops.zeros_like(x) if dx is None else dx for x, dx in zip(xs, made)]
