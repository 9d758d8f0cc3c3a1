"""What of each row is compared with TensorFlow: the row's samples, those of op_more_samples.py, and
what follows from both and the row's schema: every type that it allows, corner values, empty inputs,
shapes that clash, and indices that are out of range or of another rank.
"""

import itertools
from dataclasses import replace

import op_more_samples
import op_samples
from capstan import _capstan
from capstan.core import apply

ALL_TYPES = (
    "float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string half complex64"
).split()
# Two of the large ones overflow together, and their inverses do not underflow: TensorFlow flushes to zero.
REALS = "nan inf -inf 0 -0 1 -1 2.5 -0.5 3e9 1e20 -1e20".split()
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
# Draws that hold for whole numbers too.
WHOLE_BOUNDS = ("1", "4")


def corners(dtype):
    if dtype in op_samples.FLOATS or dtype == "complex64":
        return REALS
    if dtype == "bool":
        return ["0", "1"]
    if dtype == "string":
        return ["a", "bc", "d"]
    bits = int(dtype.lstrip("uint"))
    if dtype.startswith("u"):
        return ["0", "1", "2", "7", str(2**bits - 1)]
    return ["0", "1", "-1", "2", "-7", str(-(2 ** (bits - 1))), str(2 ** (bits - 1) - 1)]


def short(dtype):
    """The name in a sample."""
    return {"float32": "float", "float64": "double", "float16": "half"}.get(dtype.name, dtype.name)


class Schema:
    """What of a row the derivation needs."""

    def __init__(self, op):
        self.row = apply.find_row(op)
        self.samples, self.element_wise = _capstan.op_checks(op)

    def arguments(self, words):
        """(argument, numbers of its words): list arguments take what the fixed ones leave."""
        lists = sum(arg.is_list for arg in self.row.inputs)
        at, found = 0, []
        for arg in self.row.inputs:
            count = (len(words) - len(self.row.inputs) + lists) // lists if arg.is_list else 1
            found.append((arg, list(range(at, at + count))))
            at += count
        return found

    def by_attr(self, words):
        """Type attr, or None for fixed types, to the words whose type it says."""
        groups = {}
        for arg, places in self.arguments(words):
            groups.setdefault(arg.type_attr or arg.list_attr or None, []).extend(places)
        return groups

    def types(self, attr):
        allowed = self.row.allowed.get(attr)
        return [short(dtype) for dtype in allowed] if allowed else ALL_TYPES

    def is_value(self, arg):
        """Whether the argument holds values, not indices, axes or sizes."""
        if arg.fixed:
            return short(arg.fixed) not in ("int32", "int64")
        return arg.list_attr != "" or "float" in self.types(arg.type_attr)

    def values(self, words):
        return [i for arg, places in self.arguments(words) if self.is_value(arg) for i in places]

    def indices(self, words):
        return [i for arg, places in self.arguments(words) if not self.is_value(arg) for i in places]

    def free_types(self):
        """Type attrs that no input tells."""
        told = {name for arg in self.row.inputs for name in (arg.type_attr, arg.list_attr) if name}
        return [name for name, (kind, _) in self.row.attrs.items() if kind == "type" and name not in told]


def with_type(word, dtype):
    if word.dtype == dtype:
        return word
    other = replace(word, dtype=dtype)
    if dtype == "string":
        return replace(other, values=("a",) * word.size, bounds=None).shaped(word.shape)
    if word.values is not None and word.dtype != "string":
        return replace(other, values=tuple(in_type(v, dtype) for v in word.values))
    if word.dtype == "string":
        return replace(other, values=None)
    whole = dtype not in op_samples.FLOATS and dtype != "complex64"
    return replace(other, bounds=WHOLE_BOUNDS if whole and word.bounds else word.bounds)


def in_type(text, dtype):
    if dtype in op_samples.FLOATS or dtype == "complex64":
        return text
    value = int(float(text))
    if dtype == "bool":
        return str(int(value > 0))
    return str(abs(value) if dtype.startswith("u") else value)


def of_types(schema, words, attrs):
    """The sample in every type, one type attr after the other; those of Cast in all combinations."""
    groups = {attr: places for attr, places in schema.by_attr(words).items() if attr}
    free = schema.free_types()
    now = {n: words[groups[n][0]].dtype if groups.get(n) else attrs.get(n) for n in [*groups, *free]}
    pairs = [(a, b) for a in groups for b in free if ALL_TYPES == schema.types(a) == schema.types(b)]
    for names in pairs or [(name,) for name in now]:
        for chosen in itertools.product(*map(schema.types, names)):
            yield typed(words, attrs, groups, dict(zip(names, chosen)), now)


def typed(words, attrs, groups, chosen, now):
    words, attrs = list(words), dict(attrs)
    for name, dtype in chosen.items():
        if name not in groups:
            if dtype != now[name]:
                attrs[name] = dtype
        for i in groups.get(name, ()):
            words[i] = with_type(words[i], dtype)
    return words, attrs


def cycled(word, offset):
    values = corners(word.dtype)
    return replace(word, bounds=None, values=tuple(values[(i + offset) % len(values)] for i in range(word.size)))


def replaced(words, changes):
    return [changes.get(i, word) for i, word in enumerate(words)]


def with_corners(schema, words):
    """Corner values in the place of the sample's: for element-wise rows each with each."""
    places = schema.values(words)
    if not schema.element_wise or len(places) != len(words) or len(words) > 2:
        yield replaced(words, {i: cycled(words[i], 5 * k) for k, i in enumerate(places)})
        yield replaced(words, {i: cycled(words[i], 3 + 4 * k) for k, i in enumerate(places)})
        return
    yield crossed(words, corners(words[0].dtype))
    if words[0].dtype not in op_samples.FLOATS:  # a division by 0 would leave nothing to compare
        yield crossed(words, [v for v in corners(words[0].dtype) if v != "0"])


def crossed(words, values):
    count, dtype = len(values), words[0].dtype
    if len(words) == 1:
        return [op_samples.Word(dtype, (count,), tuple(values))]
    if words[0].shape != words[1].shape:  # it broadcasts
        return [op_samples.Word(dtype, (count, 1), tuple(values)), op_samples.Word(dtype, (count,), tuple(values))]
    pairs = list(zip(*itertools.product(values, values)))
    return [op_samples.Word(dtype, (count * count,), tuple(v)) for v in pairs]


def emptied(schema, words):
    places = [i for i in schema.values(words) if words[i].shape]
    for axis in (0, -1):
        changes = {}
        for i in places:
            shape = list(words[i].shape)
            shape[axis] = 0
            changes[i] = words[i].shaped(shape)
        yield replaced(words, changes)


def clashing(schema, words):
    for i in schema.values(words):
        shape = words[i].shape
        for other in [shape + (2,), (), shape[:-1] + (shape[-1] + 1,) if shape else (1,), shape[1:]]:
            yield replaced(words, {i: words[i].shaped(other)})


def out_of_range(schema, words):
    for i in schema.indices(words):
        word = words[i]
        for value in ("9", "-9", "-1", "0"):
            yield replaced(words, {i: replace(word, values=(value,) * word.size, bounds=None)})
        shape = word.shape
        for other in [shape + (2,), (), (0,), shape[:-1] + (shape[-1] + 1,) if shape else (1,)]:
            yield replaced(words, {i: word.shaped(other)})


def derived(schema, sample):
    words, attrs = op_samples.parse(sample)
    yield words, attrs
    for other, other_attrs in of_types(schema, words, attrs):
        yield other, other_attrs
        for cornered in with_corners(schema, other):
            yield cornered, other_attrs
    for change in (emptied, clashing, out_of_range):
        for other in change(schema, words):
            yield other, attrs


def samples(op):
    """All samples of a row, as texts, each once."""
    schema = Schema(op)
    plain = op_more_samples.SAMPLES.get(op, [])
    written = list(schema.samples)
    if op in op_more_samples.NOT_DERIVED:
        plain, written = written + plain, []
    made = [op_samples.text_of(*case) for sample in written for case in derived(schema, sample)]
    return list(dict.fromkeys(made + plain))


def case(op, sample):
    """For a runner without a catalog: [argument, numbers of its words or one, is a ref], [attr, kind, text]."""
    schema = Schema(op)
    words, attrs = op_samples.parse(sample)
    args = [[arg.name, places if arg.is_list else places[0], arg.is_ref] for arg, places in schema.arguments(words)]
    kinds = {name: kind for name, (kind, _) in schema.row.attrs.items()}
    return {"op": op, "sample": sample, "args": args, "attrs": [[n, kinds[n], t] for n, t in attrs.items()]}


def all_cases():
    return [case(op, sample) for op in _capstan.op_names() for sample in samples(op)]
