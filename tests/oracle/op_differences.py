"""Where a comparison with TensorFlow's ops says nothing, and where we differ on purpose.
One line each, with why; keys are (op, what the sample contains, how the difference begins)."""

# Rows that TensorFlow lacks, or that cannot be run by themselves.
LACKING = {
    "_Arg": "an input of a segment; the session makes it",
    "InitializedValue": "TensorFlow has a cond there, which reads the variable or computes the other value",
    "PlaceholderV2": "TensorFlow has it for graphs older than version 23 only",
}

NO_NUMBER = "what an infinity is as a uint64 is undefined in C++"
UNBROADCAST = "logits and labels do not broadcast here; it says so"
MOVED = "half and complex numbers are only moved here, not computed with"
DELIBERATE = {
    ("Cast", "half", ""): MOVED,
    ("Cast", "complex64", ""): MOVED,
    ("Equal", "half", ""): MOVED,
    ("Equal", "complex64", ""): MOVED,
    ("NotEqual", "half", ""): MOVED,
    ("NotEqual", "complex64", ""): MOVED,
    ("Unique", "half", ""): MOVED,
    ("ListDiff", "half", ""): MOVED,
    ("Equal", "string", ""): "element-wise rows are of numbers; it says so",
    ("NotEqual", "string", ""): "element-wise rows are of numbers; it says so",
    ("Cast", "inf", "outputs: [0] at 1: 0, not 9223372036854775808"): NO_NUMBER,
    ("Cast", "inf", "fed: [0] at 1: 0, not 9223372036854775808"): NO_NUMBER,
    ("Round", "int", ""): "TensorFlow's Round of whole numbers is always 0",
    ("TruncateDiv", "{0,", ""): "TensorFlow's other divisions say InvalidArgumentError",
    ("Relu", "-0", ""): "the sign of a zero depends on the number of elements there",
    ("Relu6", "-0", ""): "the sign of a zero depends on the number of elements there",
    ("Erf", "double", ""): "TensorFlow's double erf of infinity is NaN",
    ("BroadcastGradientArgs", "-", ""): "TensorFlow does not look for negative dimensions",
    ("PlaceholderWithDefault", "shape=", "fed: InvalidArg"): "a default of another shape passes in TensorFlow",
    ("UnsortedSegmentSum", "", "gradients: LookupError"): "has no gradient yet, and says so",
    ("TopKV2", "", "gradients: LookupError"): "has no gradient yet, and says so",
    ("GatherV2", "", "gradients: LookupError"): "has no gradient along other axes yet, and says so",
    ("ConcatV2", "int64", "gradients: ValueError, not TypeError"): "neither has that gradient",
    ("SoftmaxCrossEntropyWithLogits", "", "outputs: ValueError, not ["): UNBROADCAST,
    ("SoftmaxCrossEntropyWithLogits", "", "fed: InvalidArgumentError, not ["): UNBROADCAST,
}

CANCELLED = "the terms cancel: what is left depends on the order of the sum"
DELIBERATE |= {
    ("Sum", "1e20,-1e20,nan", ""): CANCELLED,
    ("Mean", "1e20,-1e20,nan", ""): CANCELLED,
    ("ReverseV2", "float[] int32", "fed: "): "TensorFlow does not look at the axes of a scalar",
}

STRICT = "one number of another rank is refused where it is fed, as it is where its shape is known"
DELIBERATE |= {
    ("Concat", "", "fed: InvalidArgumentError, not ["): STRICT,
    ("ConcatV2", "", "fed: InvalidArgumentError, not ["): STRICT,
    ("SplitV", "", "fed: InvalidArgumentError, not ["): STRICT,
    ("Fill", "", "fed: InvalidArgumentError, not ["): STRICT,
    ("Tile", "4611686018427387904", "fed: InvalidArg"): "a product that overflows is no size",
    ("BiasAddGrad", "float[3,4] data_format=NCHW", "fed: InvalidArg"): "refused as where its shape is known",
}


def reason(op, sample, part):
    """Why a part of the results ("outputs: ...", "fed: ...", "gradients: ...") may differ, or None."""
    for (name, text, what), why in DELIBERATE.items():
        if name == op and text in sample and part.startswith(what):
            return why
    return None


def other_values(op, sample):
    """Why the values themselves may differ, or None."""
    for (name, text, what), why in DELIBERATE.items():
        if name == op and text in sample and what[:7] in ("", "outputs"):
            return why
    return None
