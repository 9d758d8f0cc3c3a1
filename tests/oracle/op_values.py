"""Records what TensorFlow's kernels compute for small samples, one op each.

Run with an interpreter that has TensorFlow 2.21: python op_values.py ../golden/op_values.json
The samples are written as in src/graph/op_def.h, and numbers that they do not give are drawn as
src/ops/sample.cc draws them, so that src/ops/op_values_test.cc can run our kernels on the same inputs.
"""

import json
import sys

import gradient_nodes as common
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import op_def_library, op_def_registry

tf.disable_v2_behavior()

WHOLE = "int32[6]{7,-7,8,-8,9,-9} int32[6]{3,3,-3,-3,4,4}"
REAL = "float[6]{7.5,-7.5,8,-8,0.3,-0.3} float[6]{2,2,-3,-3,0.7,0.7}"
UNARY = ["float[2,9](-3,3)", "float[6]{0,-0.5,0.5,1.5,2.5,-2.5}", "double[5](-3,3)"]
POSITIVE = ["float[2,9](0.01,9)", "double[5](0.01,9)"]
REDUCED = ["float[3,4,5] int32[1]{1}", "float[3,4,5] int32[2]{0,2} keep_dims=true", "float[3,33] int32[1]{-1}",
           "float[37] int32[]{0}", "int32[3,4] int64[1]{0}", "float[2,3] int32[0]{}", "double[2,3] int32[2]{0,1}",
           "float[2,1,3] int32[1]{1}"]
CASES = {
    "Add": [WHOLE, REAL], "AddV2": [WHOLE, "float[2,1,3] float[4,1]"], "Sub": [WHOLE, REAL, "uint8[2]{1,2} uint8[2]{3,1}"],
    "Mul": [WHOLE, REAL], "Div": [WHOLE, REAL], "RealDiv": [REAL], "TruncateDiv": [WHOLE],
    "FloorDiv": [WHOLE, REAL], "FloorMod": [WHOLE, REAL], "Mod": [WHOLE, REAL],
    "Maximum": [WHOLE, REAL], "Minimum": [WHOLE, REAL], "SquaredDifference": [WHOLE, REAL],
    "Pow": ["float[5](0.1,3) float[5](-2,2)", "float[3]{-2,-2,0} float[3]{3,2,0}", "int32[3]{2,-3,5} int32[3]{5,3,0}"],
    "AddN": ["float[2,3] float[2,3] float[2,3]", "int64[2]{1,2} int64[2]{3,4}"],
    "Neg": UNARY, "Abs": UNARY, "Sign": UNARY, "Square": UNARY, "Sqrt": POSITIVE, "Rsqrt": POSITIVE,
    "Reciprocal": POSITIVE, "Inv": POSITIVE, "Exp": UNARY + ["float[4]{-100,-88,88,100}"], "Expm1": UNARY,
    "Log": POSITIVE + ["float[2]{0,1e-30}"], "Log1p": POSITIVE + ["float[2]{1e-6,-0.5}"],
    "Floor": UNARY, "Ceil": UNARY, "Round": UNARY, "Rint": UNARY, "Sin": UNARY, "Cos": UNARY,
    "Sigmoid": UNARY + ["float[4]{-100,-20,20,100}"], "Tanh": UNARY + ["float[4]{-100,-9,9,100}"],
    "Relu": UNARY + ["int32[3]{-1,0,2}"], "Relu6": ["float[9](-3,9)"], "Elu": UNARY,
    "Softplus": UNARY + ["float[4]{-100,-20,20,100}"], "Softsign": UNARY, "LeakyRelu": UNARY,
    "SigmoidGrad": ["float[5](0,1) float[5]"], "TanhGrad": ["float[5] float[5]"],
    "SqrtGrad": ["float[5](0.5,2) float[5]"], "RsqrtGrad": ["float[5](0.5,2) float[5]"],
    "ReciprocalGrad": ["float[5] float[5]"], "ReluGrad": ["float[5] float[5]"],
    "Relu6Grad": ["float[5] float[5](-3,9)"], "EluGrad": ["float[5] float[5]"],
    "SoftplusGrad": ["float[5] float[5]"], "SoftsignGrad": ["float[5] float[5]"],
    "LeakyReluGrad": ["float[5] float[5] alpha=0.1"],
    "IsNan": UNARY, "IsInf": UNARY, "IsFinite": UNARY,
    "Equal": [WHOLE, "float[2,3] float[3]", "bool[2]{0,1} bool[2]{1,1}"], "NotEqual": [WHOLE],
    "Less": [WHOLE, REAL], "LessEqual": [WHOLE, REAL], "Greater": [WHOLE, REAL], "GreaterEqual": [WHOLE, REAL],
    "LogicalAnd": ["bool[4]{0,0,1,1} bool[4]{0,1,0,1}"], "LogicalOr": ["bool[4]{0,0,1,1} bool[4]{0,1,0,1}"],
    "LogicalNot": ["bool[2]{0,1}"],
    "Select": ["bool[2]{0,1} float[2,3] float[2,3]", "bool[]{0} int32[2]{1,2} int32[2]{3,4}"],
    "SelectV2": ["bool[2,1]{0,1} float[3] float[]", "bool[2]{0,1} int64[2]{1,2} int64[2]{3,4}"],
    "Cast": ["float[5](-3,3) DstT=int32", "int32[3]{-1,0,300} DstT=uint8", "float[3]{0,0.5,-2} DstT=bool",
             "bool[2]{0,1} DstT=float", "int64[2]{5,-7} DstT=double", "double[3] DstT=float"],
    "Sum": REDUCED, "Mean": REDUCED, "Prod": REDUCED, "Max": REDUCED, "Min": REDUCED,
    "All": ["bool[2,2]{0,1,1,1} int32[1]{1}", "bool[2,2]{0,1,1,1} int32[2]{0,1}"],
    "Any": ["bool[2,2]{0,0,1,0} int32[1]{1} keep_dims=true"],
    "ArgMax": ["float[3,4] int32[]{1}", "float[3,4] int32[]{0} output_type=int32", "int32[4]{2,5,5,1} int32[]{-1}"],
    "ArgMin": ["float[3,4,2] int32[]{1}", "float[4]{3,1,1,2} int64[]{0}"],
    "L2Loss": ["float[7,5]", "double[3]"],
    "MatMul": ["float[5,7] float[7,3]", "float[7,5] float[7,3] transpose_a=true", "double[5,7] double[3,7] transpose_b=true",
               "float[7,5] float[3,7] transpose_a=true transpose_b=true", "int32[2,2]{1,2,3,4} int32[2,2]{5,6,7,8}",
               "float[33,65] float[65,17]", "float[1,9] float[9,40]"],
    "BatchMatMulV2": ["float[2,3,4] float[2,4,5]", "float[3,1,2,4] float[2,4,2]", "float[2,4,3] float[2,5,4] adj_x=true adj_y=true"],
    "BiasAdd": ["float[4,3] float[3]", "float[2,3,4] float[3] data_format=NCHW"],
    "BiasAddGrad": ["float[9,3]", "float[2,3,2,2] data_format=NCHW"],
    "Reshape": ["float[2,6] int32[2]{3,-1}"], "ExpandDims": ["float[2,3] int32[]{-1}"],
    "Squeeze": ["float[1,2,1,3]", "float[1,2,1,3] squeeze_dims=[-2]"],
    "Shape": ["float[2,3] out_type=int64"], "ShapeN": ["float[2,3] float[4]"], "Size": ["float[2,3]"], "Rank": ["float[2,3]"],
    "Fill": ["int32[2]{2,3} float[]", "int64[1]{3} bool[]{1}"], "ZerosLike": ["float[2,3]"], "OnesLike": ["int32[2]{4,5}"],
    "Range": ["int32[]{3} int32[]{18} int32[]{4}", "float[]{1} float[]{0} float[]{-0.3}", "int64[]{5} int64[]{-4} int64[]{-3}"],
    "LinSpace": ["float[]{1} float[]{3} int32[]{6}", "float[]{1} float[]{3} int32[]{1}"],
    "OneHot": ["int32[2,2]{0,2,-1,1} int32[]{3} float[]{1} float[]{0}", "int64[3]{0,2,7} int32[]{3} float[]{5} float[]{-1} axis=0",
               "int32[2,2]{0,1,1,0} int32[]{2} int32[]{1} int32[]{0} axis=1"],
    "BroadcastTo": ["float[3,1] int32[3]{2,3,2}", "float[] int32[2]{2,2}", "float[2,1,3] int32[3]{2,2,3}"],
    "BroadcastGradientArgs": ["int32[3]{2,3,1} int32[1]{4}", "int32[2]{1,3} int32[2]{1,1}", "int32[2]{2,3} int32[2]{2,3}",
                              "int32[0]{} int32[2]{2,1}", "int32[3]{5,1,4} int32[2]{3,1}"],
    "ConcatV2": ["float[2,3] float[2,1] int32[]{1}", "float[2,3] float[1,3] float[2,3] int32[]{-2}"],
    "Concat": ["int32[]{0} int32[2]{1,2} int32[1]{3}"], "ConcatOffset": ["int32[]{1} int32[2]{2,3} int32[2]{2,4}"],
    "Split": ["int32[]{1} float[2,6] num_split=3"], "SplitV": ["float[2,6] int32[3]{1,-1,2} int32[]{1} num_split=3"],
    "Pack": ["float[2,3] float[2,3] axis=1", "int32[]{1} int32[]{2}"], "Unpack": ["float[3,2] num=2 axis=-1", "float[2,3] num=2"],
    "Tile": ["float[2,3] int32[2]{2,3}", "float[2,1,2] int32[3]{1,3,2}", "float[2] int32[1]{0}"],
    "Transpose": ["float[2,3] int32[2]{1,0}", "float[2,3,4] int32[3]{2,0,1}", "float[2,3,4,2] int32[4]{0,2,1,3}"],
    "Slice": ["float[4,5] int32[2]{1,2} int32[2]{2,-1}", "float[4] int64[1]{4} int64[1]{0}"],
    "Pad": ["float[2,3] int32[2,2]{0,1,2,0}"], "PadV2": ["float[2,3] int32[2,2]{1,1,0,2} float[]{7}"],
    "StridedSlice": ["float[4,5] int32[2]{1,4} int32[2]{4,-9} int32[2]{2,-2}",
                     "float[4,3,2] int32[2]{-1,0} int32[2]{0,1} int32[2]{-1,1} shrink_axis_mask=2 end_mask=1",
                     "float[2,3,4] int32[3]{0,0,1} int32[3]{0,0,3} int32[3]{1,1,1} ellipsis_mask=1 new_axis_mask=2",
                     "int32[3]{1,2,3} int32[1]{-1} int32[1]{0} int32[1]{1} shrink_axis_mask=1",
                     "float[5] int32[1]{7} int32[1]{9} int32[1]{1}", "float[5] int32[1]{3} int32[1]{1} int32[1]{1}",
                     "float[5] int32[1]{0} int32[1]{0} int32[1]{-1} begin_mask=1 end_mask=1"],
    "StridedSliceGrad": ["int32[2]{4,5} int32[2]{1,4} int32[2]{4,0} int32[2]{2,-2} float[2,2]"],
    "Gather": ["float[4,3] int32[2]{3,1}"], "GatherV2": ["float[4,3] int32[2,2]{3,1,0,1} int32[]{0}", "float[2,3,2] int64[2]{2,0} int32[]{1}",
               "float[2,3] int32[2,2]{2,0,1,1} int32[]{1} batch_dims=1"],
    "UnsortedSegmentSum": ["float[4,2] int32[4]{1,-1,1,0} int32[]{3}"],
    "DynamicStitch": ["int32[2]{0,2} int32[1]{1} float[2,3] float[1,3]", "int32[2]{0,1} int32[1]{1} int32[2]{4,5} int32[1]{9}"],
    "InvertPermutation": ["int32[4]{3,0,2,1}"], "Where": ["bool[2,3]{1,0,0,1,0,1}", "float[3]{0,2,3}"],
    "ListDiff": ["int32[5]{1,2,3,4,2} int32[2]{2,4}"], "Unique": ["int32[5]{4,2,4,1,2}"],
    "Cumsum": ["float[2,3] int32[]{1}", "float[2,3] int32[]{0} exclusive=true reverse=true", "float[4] int32[]{0} reverse=true"],
    "Cumprod": ["float[2,3] int32[]{1} exclusive=true", "float[2,3] int32[]{-1} reverse=true"],
    "DivNoNan": [REAL, "float[3]{1,0,-2} float[3]{0,0,4}"], "Selu": UNARY, "SeluGrad": ["float[5] float[5]"],
    "Tan": UNARY, "Asin": ["float[5]"], "Acos": ["float[5]"], "Atan": UNARY, "Sinh": UNARY, "Cosh": UNARY, "Erf": UNARY,
    "ReverseV2": ["float[2,3] int32[1]{1}", "float[2,3,2] int32[2]{0,-1}"],
    "Softmax": ["float[3,10](-5,5)", "float[2,2,3]", "double[2,5]", "float[1,4]{1000,1000,-1000,999}"],
    "LogSoftmax": ["float[3,10](-5,5)", "double[2,5]", "float[1,4]{1000,1000,-1000,999}"],
    "SoftmaxCrossEntropyWithLogits": ["float[4,10](-5,5) float[4,10](0,1)", "double[2,3] double[2,3]{0,1,0,0.5,0.5,0}"],
    "SparseSoftmaxCrossEntropyWithLogits": ["float[4,10](-5,5) int32[4]{0,9,5,3}", "double[2,3] int64[2]{1,2}"],
    "InTopK": ["float[4,5] int32[4]{0,1,2,4} k=2"], "InTopKV2": ["float[4,5] int64[4]{0,1,2,4} int64[]{3}"],
    "TopKV2": ["float[3,7] int32[]{3}", "int32[5]{3,9,9,1,9} int32[]{4}"],
}


class Draws:
    def __init__(self):
        self.state = 88172645463325252

    def next(self, low, high):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return low + (high - low) * float(self.state >> 11) * 2.0**-53


def tensor(word, draws):
    name, dims, rest = word.split("[")[0], word.split("[")[1].split("]")[0], word.split("]", 1)[1]
    dtype = common.dtype_of(name)
    shape = [int(d) for d in dims.split(",") if d]
    if rest.startswith("{"):
        values = [float(v) for v in rest.strip("{}").split(",") if v]
    else:
        low, high = (-1, 1) if dtype.is_floating else (0, 5)
        if rest.startswith("("):
            low, high = (float(v) for v in rest.strip("()").split(","))
        values = [draws.next(low, high) for _ in range(int(np.prod(shape)))]
    if dtype == tf.bool:
        values = [v > 0 for v in values]
    return np.array(values).astype(dtype.as_numpy_dtype).reshape(shape)


def number(value):
    value = value.item()
    return value if np.isfinite(value) else str(value)


def record(op, sample):
    op_def = op_def_registry.get(op)
    words, draws = sample.split(), Draws()
    with tf.Graph().as_default():
        args = [tf.constant(tensor(w, draws)) for w in words if "=" not in w]
        keywords = common.flat_arguments(op_def, args)
        for word in words:
            if "=" in word:
                name, text = word.split("=", 1)
                keywords[name] = common.attribute(op, name, text)
        common.add_defaults(op_def, keywords)
        op_def_library.apply_op(op, name="op", **keywords)
        node = tf.get_default_graph().get_operation_by_name("op")
        with tf.Session() as session:
            outputs = session.run(list(node.outputs))
    outputs = [{"dtype": tf.as_dtype(o.dtype).name, "shape": list(o.shape),
                "values": [number(v) for v in o.reshape(-1)]} for o in map(np.asarray, outputs)]
    return {"op": op, "sample": sample, "outputs": outputs}


def main(path):
    cases = [record(op, sample) for op, samples in CASES.items() for sample in samples]
    with open(path, "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")


if __name__ == "__main__":
    main(sys.argv[1])
