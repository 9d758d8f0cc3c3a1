"""Records the nodes that TensorFlow's gradients() appends for small graphs of one op each.

Run with an interpreter that has TensorFlow 2.21: python gradient_nodes.py ../golden/gradients
Each file holds the cases of one op: the forward nodes, what is differentiated, and the nodes that came.
src/ops/gradient_nodes_test.cc builds the same forward nodes and expects the same new ones.
"""

import json
import os
import re
import sys

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import op_def_library, op_def_registry, tensor_util

tf.disable_v2_behavior()

# op: list of samples, written as in src/graph/op_def.h, with "?" for an unknown dimension and
# "float<?>" for an unknown rank; "dy=0,1" differentiates these outputs instead of output 0 alone.
BINARY = ["float[2,3] float[2,3]", "float[2,3] float[3]", "float[] float[2]", "float[?,3] float[3]",
          "float[?,3] float[?,3]", "float<?> float[1]", "float[?,3] float[]"]
UNARY = ["float[2,3]", "float[?,3]", "float<?>"]
REDUCTION = ["float[2,3] int32[2]{0,1}", "float[2,3] int32[1]{1}", "float[2,3] int32[]{0} keep_dims=true",
             "float[?,3] int32[2]{0,1}", "float[?,3] int32[1]{1}", "float[?,3] int32[1]{1} keep_dims=true",
             "float<?> int32[1]{0}", "float[3] int32[?]"]
CASES = {
    "Add": BINARY, "AddV2": BINARY, "Sub": BINARY, "Mul": BINARY + ["double[2] double[2]"],
    "Div": BINARY, "RealDiv": BINARY, "FloorDiv": BINARY[:2], "FloorMod": BINARY, "Pow": BINARY,
    "Maximum": BINARY, "Minimum": BINARY, "SquaredDifference": BINARY, "TruncateDiv": ["float[2] float[2]"],
    "DivNoNan": BINARY, "Tan": UNARY, "Asin": UNARY, "Acos": UNARY, "Atan": UNARY, "Sinh": UNARY, "Cosh": UNARY,
    "Erf": UNARY, "Selu": UNARY, "SeluGrad": ["float[2] float[2]"],
    "ReverseV2": ["float[2,3] int32[1]{0}"], "PadV2": ["float[2,3] int32[2,2]{0,1,1,0} float[]"],
    "Cumsum": ["float[2,3] int32[]{1}", "float[2,3] int32[]{1} exclusive=true reverse=true"],
    "Cumprod": ["float[2,3] int32[]{1}", "float[2,3] int32[]{1} exclusive=true reverse=true"],
    "DynamicStitch": ["int32[2]{0,2} int32[1]{1} float[2,3] float[1,3]"],
    "AddN": ["float[2] float[2] float[2]"],
    "Neg": UNARY, "Abs": UNARY, "Sign": UNARY, "Square": UNARY + ["double[2]"], "Sqrt": UNARY,
    "Rsqrt": UNARY, "Reciprocal": UNARY, "Inv": UNARY, "Exp": UNARY, "Expm1": UNARY, "Log": UNARY,
    "Log1p": UNARY, "Floor": UNARY[:1], "Ceil": UNARY[:1], "Round": UNARY[:1], "Rint": UNARY[:1],
    "Sin": UNARY, "Cos": UNARY, "Sigmoid": UNARY, "Tanh": UNARY, "Relu": UNARY, "Relu6": UNARY,
    "Elu": UNARY, "Softplus": UNARY, "Softsign": UNARY, "LeakyRelu": UNARY + ["float[2] alpha=0.5"],
    "Softmax": ["float[2,3]", "float[?,3]"], "LogSoftmax": ["float[2,3]", "float[?,3]"],
    "SigmoidGrad": ["float[2] float[2]"], "TanhGrad": ["float[2] float[2]"],
    "SqrtGrad": ["float[2] float[2]"], "RsqrtGrad": ["float[2] float[2]"],
    "ReciprocalGrad": ["float[2] float[2]"],
    "ReluGrad": ["float[2] float[2]", "float[?] float[?]"], "Relu6Grad": ["float[2] float[2]"],
    "EluGrad": ["float[2] float[2]"], "LeakyReluGrad": ["float[2] float[2]"],
    "SoftplusGrad": ["float[2] float[2]"],
    "Cast": ["float[2] DstT=double", "float[2] DstT=int32", "float[?] DstT=float"],
    "Select": ["bool[2] float[2] float[2]", "bool[?] float[?] float[?]"],
    "SelectV2": ["bool[2] float[2] float[2]", "bool[2,3] float[3] float[]", "bool[?] float[?] float[?]"],
    "Sum": REDUCTION, "Mean": REDUCTION, "Max": REDUCTION, "Min": REDUCTION,
    # With all constants TensorFlow runs ListDiff to infer a shape, which here stays unknown.
    "Prod": REDUCTION[3:],
    "L2Loss": UNARY,
    "MatMul": ["float[2,3] float[3,4]", "float[3,2] float[3,4] transpose_a=true",
               "float[2,3] float[4,3] transpose_b=true",
               "float[3,2] float[4,3] transpose_a=true transpose_b=true", "float[?,3] float[3,4]"],
    "BatchMatMulV2": ["float[2,3,4] float[2,4,5]", "float[2,3,4] float[4,5]",
                      "float[2,4,3] float[2,4,5] adj_x=true", "float[2,3,4] float[2,5,4] adj_y=true",
                      "float[2,4,3] float[2,5,4] adj_x=true adj_y=true", "float[?,3,4] float[?,4,5]"],
    "BiasAdd": ["float[2,3] float[3]", "float[?,3] float[3]"],
    "BiasAddGrad": ["float[2,3]", "float[?,3]"],
    "SoftmaxCrossEntropyWithLogits": ["float[2,3] float[2,3]", "float[?,3] float[?,3]",
                                      "float[2,3] float[2,3] dy=0,1"],
    "SparseSoftmaxCrossEntropyWithLogits": ["float[2,3] int32[2]", "float[?,3] int64[?]",
                                            "float[2,3] int32[2] dy=0,1"],
    "Identity": UNARY, "IdentityN": ["float[2] float[3] dy=0,1", "float[2] float[3]"],
    "StopGradient": UNARY[:1],
    "Reshape": ["float[2,3] int32[1]{6}", "float[?,3] int32[1]{-1}", "float[?,?] int32[1]{-1}", "float<?> int32[2]"],
    "Fill": ["int32[2]{2,3} float[]", "int32[2] float[]", "int32[?] float[]"],
    "ExpandDims": ["float[2,3] int32[]{1}", "float[?,3] int32[]{1}"],
    "Squeeze": ["float[2,1,3]", "float[?,1,3] squeeze_dims=[1]"],
    "Transpose": ["float[2,3] int32[2]{1,0}", "float[?,3] int32[2]{1,0}"],
    "ConcatV2": ["float[2,3] float[2,4] int32[]{1}", "float[?,3] float[?,4] int32[]{1}",
                 "float[2,3] float[?,3] int32[]{0}", "float[2,3] float[1,3] float[4,3] int32[]{0}"],
    "Concat": ["int32[]{1} float[2,3] float[2,4]", "int32[]{1} float[?,3] float[?,4]"],
    "Split": ["int32[]{1} float[2,4] num_split=2 dy=0,1", "int32[]{1} float[2,4] num_split=2"],
    "SplitV": ["float[2,5] int32[2]{2,3} int32[]{1} num_split=2 dy=0,1"],
    "Pack": ["float[2] float[2]", "float[2] float[2] axis=1"],
    "Unpack": ["float[2,3] num=2 dy=0,1", "float[3,2] num=2 axis=1"],
    "Slice": ["float[4,3] int32[2]{1,0} int32[2]{2,3}", "float[?,3] int32[2]{1,0} int32[2]{2,3}",
              "float[4] int64[1]{1} int64[1]{2}"],
    "StridedSlice": ["float[4,3] int32[2]{1,0} int32[2]{3,3} int32[2]{1,1}",
                     "float[?,3] int32[1]{0} int32[1]{1} int32[1]{1} shrink_axis_mask=1",
                     "float[4,3] int32[2] int32[2] int32[2]{1,1} begin_mask=1"],
    "StridedSliceGrad": ["int32[2]{4,3} int32[2]{1,0} int32[2]{3,3} int32[2]{1,1} float[2,3]"],
    "Tile": ["float[2,3] int32[2]{2,1}", "float[?,3] int32[2]{2,1}"],
    "Pad": ["float[2,3] int32[2,2]{0,1,1,0}", "float[?,3] int32[2,2]{0,1,1,0}"],
    "BroadcastTo": ["float[3] int32[2]{2,3}", "float[?,3] int32[2]{2,3}"],
    "PlaceholderWithDefault": ["float[2] shape=[2]"],
}

ARG = re.compile(r"^(\w+)(<\?>|\[([^\]]*)\])(?:\{([^}]*)\})?$")
TYPES = {"float": tf.float32, "double": tf.float64, "int": tf.int32}


def dtype_of(text):
    return TYPES.get(text) or tf.as_dtype(text)


def argument(text, index):
    kind, shape, dims, values = ARG.match(text).groups()
    dtype = dtype_of(kind)
    if shape == "<?>":
        return tf.placeholder(dtype, None, name="x%d" % index)
    dims = [None if d == "?" else int(d) for d in dims.split(",") if d]
    if values is None:
        return tf.placeholder(dtype, dims, name="x%d" % index)
    values = [float(v) if dtype.is_floating else int(v) for v in values.split(",") if v]
    return tf.constant(values, dtype, dims, name="x%d" % index)


def attribute(op, name, text):
    kind = {a.name: a.type for a in op_def_registry.get(op).attr}[name]
    if kind == "type":
        return dtype_of(text)
    if kind.startswith("list") or kind == "shape":
        return [int(v) for v in text.strip("[]").split(",") if v]
    return {"bool": lambda t: t == "true", "int": int, "float": float, "string": str}[kind](text)


def default_of(attr):
    kind = attr.default_value.WhichOneof("value")
    if kind == "list":
        return list(attr.default_value.list.i)
    value = getattr(attr.default_value, kind)
    return tf.as_dtype(value) if kind == "type" else value


def add_defaults(op_def, keywords):
    inferred = {name for a in op_def.input_arg for name in (a.type_attr, a.number_attr, a.type_list_attr)}
    for attr in op_def.attr:
        if attr.HasField("default_value") and attr.name not in keywords and attr.name not in inferred:
            keywords[attr.name] = default_of(attr)


def flat_arguments(op_def, args):
    """The keyword arguments by name: list arguments take what the fixed ones leave."""
    lists = [a for a in op_def.input_arg if a.number_attr or a.type_list_attr]
    keywords, at = {}, 0
    for arg in op_def.input_arg:
        if arg in lists:
            count = (len(args) - (len(op_def.input_arg) - len(lists))) // len(lists)
            keywords[arg.name] = args[at:at + count]
            at += count
        else:
            keywords[arg.name] = args[at]
            at += 1
    return keywords


def build(op, sample):
    op_def = op_def_registry.get(op)
    words = sample.split()
    attrs = dict(w.split("=", 1) for w in words if "=" in w)
    ys = [int(i) for i in attrs.pop("dy", "0").split(",")]
    args = [argument(w, i) for i, w in enumerate(w for w in words if "=" not in w)]
    keywords = flat_arguments(op_def, args)
    for name, text in attrs.items():
        keywords[name] = attribute(op, name, text)
    add_defaults(op_def, keywords)
    op_def_library.apply_op(op, name="op", **keywords)
    node = tf.get_default_graph().get_operation_by_name("op")
    floats = [a for a in args if a.dtype in (tf.float32, tf.float64) and a.op.type == "Placeholder"]
    return [node.outputs[i] for i in ys], floats


def json_attr(value):
    kind = value.WhichOneof("value")
    if kind == "type":
        return {"type": tf.as_dtype(value.type).name}
    if kind == "shape":
        return {"shape": None if value.shape.unknown_rank else [d.size for d in value.shape.dim]}
    if kind == "tensor":
        array = tensor_util.MakeNdarray(value.tensor)
        return {"tensor": {"dtype": tf.as_dtype(value.tensor.dtype).name, "shape": list(array.shape),
                           "values": [v.item() for v in array.reshape(-1)]}}
    if kind == "s":
        return {"string": value.s.decode()}
    if kind == "list":
        for field, name in (("i", "int"), ("type", "type"), ("s", "string"), ("f", "float")):
            items = list(getattr(value.list, field))
            if items:
                items = [tf.as_dtype(i).name for i in items] if field == "type" else items
                items = [i.decode() for i in items] if field == "s" else items
                return {"list(%s)" % name: items}
        return {"list": []}
    return {{"i": "int", "f": "float", "b": "bool"}[kind]: getattr(value, kind)}


def json_node(node):
    attrs = {k: json_attr(v) for k, v in sorted(node.attr.items()) if not k.startswith("_")}
    return {"name": node.name, "op": node.op, "inputs": list(node.input), "attrs": attrs}


def record(op, sample):
    with tf.Graph().as_default() as graph:
        ys, xs = build(op, sample)
        forward = [json_node(n) for n in graph.as_graph_def().node]
        grads = tf.gradients(ys, xs)
        nodes = [json_node(n) for n in graph.as_graph_def().node[len(forward):]]
        return {"sample": sample, "forward": forward, "ys": [y.name for y in ys], "xs": [x.name for x in xs],
                "nodes": nodes, "grads": [None if g is None else g.name for g in grads]}


def dump(case):
    """One node per line, so that a difference reads well."""
    parts = []
    for key, value in case.items():
        if key in ("forward", "nodes"):
            rows = ",\n   ".join(json.dumps(n, separators=(",", ":")) for n in value)
            parts.append('  "%s": [\n   %s]' % (key, rows))
        else:
            parts.append('  "%s": %s' % (key, json.dumps(value)))
    return " {\n%s}" % ",\n".join(parts)


def main(folder):
    os.makedirs(folder, exist_ok=True)
    for op, samples in CASES.items():
        cases = [record(op, s) for s in samples]
        with open(os.path.join(folder, op + ".json"), "w") as out:
            out.write("[\n" + ",\n".join(dump(c) for c in cases) + "\n]\n")


if __name__ == "__main__":
    main(sys.argv[1])
