"""A graph as lines of text, one per node, the same under TensorFlow and here."""

import inspect

# Attrs that say nothing about the program, or that TensorFlow added later.
IGNORED = {
    "_output_shapes",
    "_has_manual_control_dependencies",
    "grad_a",
    "grad_b",
    "grad_x",
    "grad_y",
}


def cases(module):
    functions = inspect.getmembers(module, inspect.isfunction)
    return [(name, f) for name, f in functions if f.__module__ == module.__name__]


def _attr_text(op, name):
    return _item_text(op.get_attr(name))


def _item_text(value):
    kind = type(value).__name__
    if kind in ("TensorProto", "ndarray"):
        return "tensor"
    if kind == "TensorShapeProto":
        if value.unknown_rank:
            return "shape ?"
        return "shape %s" % [-1 if d.size < 0 else d.size for d in value.dim]
    if kind == "TensorShape":
        if value.ndims is None:
            return "shape ?"
        return "shape %s" % [-1 if d is None else d for d in value.as_list()]
    if kind == "DType":
        return value.name
    if isinstance(value, float):
        return "%.6g" % value
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(_item_text(item) for item in value)
    return str(value)


def line(op, attr_names):
    attrs = ["%s=%s" % (name, _attr_text(op, name)) for name in sorted(attr_names)]
    inputs = [tensor.name for tensor in op.inputs]
    controls = ["^" + c for c in sorted(c.name for c in op.control_inputs)]
    kind = "AddV2" if op.type == "Add" else op.type
    return "%s = %s(%s) {%s} @%s" % (
        op.name,
        kind,
        ", ".join(inputs + controls),
        ", ".join(attrs),
        op.device,
    )


def lines(graph):
    return [
        line(op, [name for name in op.node_def.attr if name not in IGNORED])
        for op in graph.get_operations()
    ]
