"""The notation of samples (src/graph/op_def.h): words taken apart, and the arrays that they stand for.

Numbers that a sample does not give are drawn as src/ops/sample.cc draws them.
"""

import re
from dataclasses import dataclass, replace

import numpy as np

WORD = re.compile(r"(\w+)\[([\d,]*)\](?:\{(.*)\}|\((.*)\))?$")
NUMPY = {"float": np.float32, "double": np.float64, "half": np.float16, "string": np.object_}
FLOATS = ("half", "float", "double")


def numpy_type(name):
    return NUMPY.get(name) or np.dtype(name).type


@dataclass(frozen=True)
class Word:
    """One input: `float[2,3](0.5,2)`. Values and bounds stay texts."""

    dtype: str
    shape: tuple
    values: tuple = None
    bounds: tuple = None

    def __str__(self):
        text = "%s[%s]" % (self.dtype, ",".join(map(str, self.shape)))
        if self.values is not None:
            return text + "{%s}" % ",".join(self.values)
        return text + "(%s)" % ",".join(self.bounds) if self.bounds else text

    @property
    def size(self):
        return int(np.prod(self.shape, dtype=int))

    def shaped(self, shape):
        """In another shape; given values are repeated or cut."""
        other = replace(self, shape=tuple(shape))
        if self.values is None:
            return other
        values = self.values or ("1",)
        return replace(other, values=tuple(values[i % len(values)] for i in range(other.size)))


def parts(text):
    return tuple(text.split(",")) if text else ()


def parse(sample):
    """The words of the inputs, and the attrs as texts by name."""
    words, attrs = [], {}
    for text in sample.split():
        if "=" in text and "[" not in text.split("=")[0]:
            name, attrs_text = text.split("=", 1)
            attrs[name] = attrs_text
            continue
        dtype, dims, values, bounds = WORD.match(text).groups()
        shape = tuple(int(d) for d in parts(dims))
        words.append(Word(dtype, shape, None if values is None else parts(values), parts(bounds) if bounds else None))
    return words, attrs


def text_of(words, attrs):
    return " ".join([str(w) for w in words] + ["%s=%s" % item for item in attrs.items()])


class Draws:
    def __init__(self):
        self.state = 88172645463325252

    def next(self, low, high):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return low + (high - low) * float(self.state >> 11) * 2.0**-53


def given(word):
    if word.dtype == "string":
        return [v.encode() for v in word.values]
    if word.dtype in FLOATS or word.dtype == "complex64":
        return [float(v) for v in word.values]
    return [int(v) for v in word.values]


def drawn(word, draws):
    real = word.dtype in FLOATS or word.dtype == "complex64"
    low, high = (-1 if real or word.dtype == "bool" else 0), (1 if real else 5)
    if word.bounds:
        low, high = map(float, word.bounds)
    return [draws.next(low, high) for _ in range(word.size)]


def array(word, draws):
    values = drawn(word, draws) if word.values is None else given(word)
    if word.dtype == "bool":
        values = [v > 0 for v in values]
    elif word.values is None and word.dtype not in FLOATS and word.dtype != "complex64":
        values = [int(v) for v in values]
    with np.errstate(over="ignore"):
        return np.array(values, numpy_type(word.dtype)).reshape(word.shape)


def arrays(words):
    draws = Draws()
    return [array(word, draws) for word in words]
