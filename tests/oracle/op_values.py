"""Runs samples of single ops, and the sequences of op_sequences.py, with the TensorFlow that the interpreter has:
the real one or ours. What it finds is told as one JSON line each.

Run by op_records.py: python op_values.py cases.json results.jsonl first
"""

import builtins
import json
import os
import signal
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import op_samples
import op_sequences
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

OURS = "capstan" in sys.modules
LONGEST = 30  # seconds
LACKING = ("No OpKernel was registered", "not in list of allowed values", "not in the list of allowed values")


def number(value):
    if isinstance(value, complex):
        return [number(value.real), number(value.imag)]
    return value if not isinstance(value, float) or np.isfinite(value) else str(value)


def plain(value):
    """A number as JSON has it; floats with no more digits than they need."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, (np.float32, np.float16)):
        return number(float(str(value)))
    return number(value.item() if isinstance(value, np.generic) else value)


def encoded(value):
    value = np.asarray(value)
    name = "string" if value.dtype.kind in "OSU" else value.dtype.name
    return {"dtype": name, "shape": list(value.shape), "values": [plain(v) for v in value.reshape(-1)]}


def error_of(error):
    """The class that a program would catch, or that there is no such kernel."""
    if not OURS and (isinstance(error, tf.errors.UnimplementedError) or any(text in str(error) for text in LACKING)):
        return "lacks"
    names = [kind.__name__ for kind in type(error).__mro__]
    plain = [name for name in names[: names.index("Exception")] if hasattr(builtins, name)]
    return (plain or names)[0]


def attribute(kind, text):
    if kind == "type":
        return tf.as_dtype({"float": "float32", "double": "float64", "half": "float16"}.get(text, text))
    if kind.startswith("list") or kind == "shape":
        items = [v for v in text.strip("[]").split(",") if v]
        return [attribute(kind[5:-1] if kind.startswith("list") else "int", v) for v in items]
    return {"bool": lambda t: t == "true", "int": int, "float": float, "string": lambda t: t.strip("'")}[kind](text)


def make_op(op, keywords):
    """By the names of its arguments in the OpDef, which tf.raw_ops changes for some."""
    if OURS:
        from capstan.core import apply

        apply.apply_op(op, name="op", **keywords)
    else:
        import gradient_nodes
        from tensorflow.python.framework import op_def_library, op_def_registry

        gradient_nodes.add_defaults(op_def_registry.get(op), keywords)
        op_def_library.apply_op(op, name="op", **keywords)


class Scene:
    """A case in a graph of its own; `fed`: its inputs are placeholders of unknown shape."""

    def __init__(self, case, values, fed):
        self.refs, self.feeds, self.tensors = [], {}, []
        refs = {place for _, place, is_ref in case["args"] if is_ref}
        for i, value in enumerate(values):
            self.tensors.append(self._input(value, i in refs, fed))
        keywords = {}
        for name, places, _ in case["args"]:
            keywords[name] = [self.tensors[i] for i in places] if isinstance(places, list) else self.tensors[places]
        keywords.update({name: attribute(kind, text) for name, kind, text in case["attrs"]})
        make_op(case["op"], keywords)
        self.op = tf.get_default_graph().get_operation_by_name("op")
        self.outputs = list(self.op.outputs)

    def _input(self, value, is_ref, fed):
        dtype = tf.string if value.dtype == object else tf.as_dtype(value.dtype)
        if is_ref:
            variable = tf.raw_ops.VariableV2(shape=value.shape, dtype=dtype)
            self.refs.append((variable, value))
            return variable
        if not fed:
            return tf.constant(value, dtype)
        placeholder = tf.placeholder(dtype)
        self.feeds[placeholder] = value
        return placeholder

    def run(self):
        """The outputs, then the variables after them."""
        with session() as sess:
            for variable, value in self.refs:
                sess.run(tf.raw_ops.Assign(ref=variable, value=tf.constant(value, variable.dtype.base_dtype)))
            outputs = [np.array(o) for o in sess.run(self.outputs, self.feeds)] if self.outputs else []
            if not self.outputs:
                sess.run(self.op, self.feeds)
            return outputs + [np.array(v) for v in sess.run([v for v, _ in self.refs])]

    def gradients(self, outputs):
        """Of the weighted sum of the first output, or of all of a list."""
        xs = [t for t in self.tensors if t.dtype in (tf.float32, tf.float64)]
        count = len(self.outputs) if len({o.dtype for o in self.outputs}) == 1 and self._is_list() else 1
        ys = [(y, v) for y, v in list(zip(self.outputs, outputs))[:count] if y.dtype in (tf.float32, tf.float64)]
        if not xs or not ys or self.refs:
            return None
        weights = [tf.constant(0.5 + 0.25 * (np.arange(v.size) % 5).reshape(v.shape), y.dtype) for y, v in ys]
        found = tf.gradients([y for y, _ in ys], xs, weights)
        dense = [tf.convert_to_tensor(g) for g in found if g is not None]
        with session() as sess:
            values = iter([encoded(v) for v in sess.run(dense)] if dense else [])
        return [None if g is None else next(values) for g in found]

    def _is_list(self):
        return self.op.type in ("Split", "SplitV", "Unpack", "IdentityN")


def session():
    options = {}
    if not OURS:  # TensorFlow's own kernels, not what its optimizers make of them
        from tensorflow.core.protobuf import rewriter_config_pb2

        off = rewriter_config_pb2.RewriterConfig(disable_meta_optimizer=True)
        graph = tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=-1), rewrite_options=off)
        options["graph_options"] = graph
    return tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=10000, **options))


def attempt(action):
    """What the action gives, and None; or None, and the class of its error."""
    with tf.Graph().as_default():
        try:
            return action(), None
        except Exception as error:  # noqa: BLE001  (its class is the result)
            return None, error_of(error)


def outputs_of(case, values, fed):
    return attempt(lambda: Scene(case, values, fed).run())


def gradients_of(case, values, outputs):
    found, error = attempt(lambda: Scene(case, values, False).gradients(outputs))
    return error or found


def run_case(case):
    """`outputs`, `fed` (where it differs) and `gradients`: a class of errors, or tensors."""
    values = op_samples.arrays(op_samples.parse(case["sample"])[0])
    outputs, error = outputs_of(case, values, False)
    known = {"op": case["op"], "sample": case["sample"]}
    known["outputs"] = error or [encoded(o) for o in outputs]
    if error == "lacks":
        return known
    fed, fed_error = outputs_of(case, values, True)
    fed = fed_error or [encoded(o) for o in fed]
    if fed != known["outputs"]:
        known["fed"] = fed
    gradients = None if error else gradients_of(case, values, outputs)
    if gradients is not None:
        known["gradients"] = gradients
    return known


class Steps:
    """What a sequence runs, step by step: values or classes of errors."""

    def __init__(self, folder):
        self.folder, self.told = folder, []
        self.session = session()

    def __call__(self, fetches, feeds=None, told=None):
        try:
            values = self.session.run(fetches, feeds)
            values = told(values) if told else values
        except Exception as error:  # noqa: BLE001  (its class is the result)
            self.told.append(error_of(error))
            return
        flat = values if isinstance(values, (list, tuple)) else [values]
        self.told.append([encoded(v) for v in flat if v is not None])


def run_sequence(name):
    with tf.Graph().as_default() as graph, tempfile.TemporaryDirectory() as folder:
        steps = Steps(folder)
        op_sequences.SEQUENCES[name](tf, steps)
        return {"sequence": name, "ops": sorted({op.type for op in graph.get_operations()}), "steps": steps.told}


def main(cases, results, first):
    with open(cases) as file, open(results, "a") as out:
        for case in json.load(file)[int(first):]:
            signal.alarm(LONGEST)  # whoever hangs is ended, as if it had crashed
            found = run_sequence(case) if isinstance(case, str) else run_case(case)
            out.write(json.dumps(found, separators=(",", ":")) + "\n")
            out.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
