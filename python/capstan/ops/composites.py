"""Functions derived from the rows of src/build, with the parameters that TensorFlow shows.

A row says what its function is called and what of its arguments becomes a tensor, of which type and in
which order (src/build/composite.h). The functions are real ones, made of text, as those of
core/derived.py are.
"""

import ast

import numpy as np

from capstan import _capstan
from capstan.core import convert, dtypes, row_text
from capstan.core import graph as graphs
from capstan.core.shapes import TensorShape
from capstan.ops import math_ops

_rows, _functions = {}, {}


def function_called(name):
    """The function of a public name; one object under all its names."""
    if not _rows:
        declared = _capstan.composite_functions()
        # At once, for other threads.
        _rows.update({n: row for row in declared for n in row_text.names_of(declared[row])})
    row = _rows[name]
    if row not in _functions:
        _functions[row] = _Composite(row).function()
    return _functions[row]


class _Parameter:
    def __init__(self, name, how, default):
        self.name, self.how, self.text = name, how, default
        self.kind = self.constant = None

    @property
    def default(self):
        """The default as programs write it; element types are called by their names."""
        is_type = self.kind == "type" and self.text != "None"
        return dtypes.as_dtype(self.text) if is_type else ast.literal_eval(self.text)

    def take(self, value, others):
        """What the engine gets; `others` are the parameters taken before."""
        take = _TAKES.get(self.kind)
        return take(self, value, others) if take else value

    def type_among(self, others):
        """The type that is wanted, or None."""
        for start in ("type of ", "as "):
            if self.how.startswith(start):
                other = others[self.how[len(start) :]]
                return getattr(other, "dtype", other).base_dtype
        return dtypes.as_dtype(self.how) if self.how not in ("", "floating") else None


def _tensor(parameter, value, others):
    if value is None:
        if parameter.text:
            return None
        raise ValueError("Argument '%s' is None: a tensor is needed." % parameter.name)
    if parameter.how == "sizes":
        return sizes_tensor(value, parameter.constant)
    wanted = parameter.type_among(others)
    if wanted is not None and not parameter.how.startswith("as "):
        return math_ops.cast(value, wanted)
    tensor = convert.convert_to_tensor(value, wanted, name=parameter.constant)
    if parameter.how == "floating" and not tensor.dtype.is_floating:
        raise TypeError("%s is a fraction, not a %s" % (parameter.name, tensor.dtype.name))
    return tensor


def sizes_tensor(shape, name):
    """Whole numbers even where the list is empty."""
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    if isinstance(shape, (list, tuple)) and not any(convert.is_tensor(dim) for dim in shape):
        sizes = convert.static_or_tensor_shape(shape)
        wide = any(size > np.iinfo(np.int32).max for size in sizes)
        return convert.convert_to_tensor(np.array(sizes, np.int64 if wide else np.int32), name=name)
    return convert.convert_to_tensor(shape, name=name)


def _tensors(parameter, values, others):
    wanted = parameter.type_among(others)
    if wanted is not None:
        return [math_ops.cast(value, wanted) for value in values]
    return [None if value is None else convert.convert_to_tensor(value) for value in values]


_TAKES = {
    "tensor": _tensor,
    "tensors": _tensors,
    "number": lambda parameter, value, others: convert.number_or_tensor(value, parameter.type_among(others)),
    "float": lambda parameter, value, others: float(value),
    "bool": lambda parameter, value, others: bool(value),
    "type": lambda parameter, value, others: dtypes.as_dtype(value).base_dtype,
    "axes": lambda parameter, value, others: math_ops._axis_list(value),
}


class _Composite:
    """A row, as Python needs it."""

    def __init__(self, name):
        self._name, python, self._doc, self._scope, order, constants, kinds = _capstan.composite_row(name)
        self._names = row_text.names_of(python)
        self._all = [_Parameter(*declared) for declared in row_text.parameters_of(python)]
        self._passed = [p for p in self._all if row_text.is_engines(p.name, p.how)]
        self._takes_graph = kinds[0] == "graph"
        renamed = dict(pair.split("=") for pair in constants.split())
        for parameter, kind in zip(self._passed, kinds[self._takes_graph :]):
            parameter.kind = kind
            parameter.constant = renamed.get(parameter.name, parameter.name)
        first = order.split()
        self._order = sorted(self._passed, key=lambda p: first.index(p.name) if p.name in first else len(first))
        self._older = {p.name: p.how[len("for ") :] for p in self._all if p.how.startswith("for ")}
        self._collection = next((p.name for p in self._all if p.how == "collection"), None)

    def call(self, **given):
        """Adds the nodes."""
        for older, name in self._older.items():
            given[name] = math_ops._either(given[name], given[older], name, older)
        own = given["name"] if "name" in given else given["scope"]
        values = [v for p in self._passed if p.kind != "text" for v in _leaves(given[p.name])]
        with graphs.name_scope(own, self._scope, values) as scope:
            taken = {}
            for parameter in self._order:
                taken[parameter.name] = parameter.take(given[parameter.name], taken)
            graph = [graphs._graph_of(values)] if self._takes_graph else []
            made = _capstan.build(self._name, *graph, *(taken[p.name] for p in self._passed), scope)
        if self._collection and given[self._collection]:
            graphs.add_to_collection(given[self._collection], made)
        return made

    def function(self):
        """The Python function, with TensorFlow's parameters and defaults."""
        name = self._names[0].rpartition(".")[2]
        declared = ", ".join("%s=_defaults[%r]" % (p.name, p.name) if p.text else p.name for p in self._all)
        passed = ", ".join("%s=%s" % (p.name, p.name) for p in self._all)
        code = "def %s(%s):\n    return _call(%s)\n" % (name, declared, passed)
        defaults = {p.name: p.default for p in self._all if p.text}
        scope = {"_call": self.call, "_defaults": defaults, "__name__": __name__}
        exec(compile(code, "<row of %s>" % name, "exec"), scope)  # noqa: S102
        scope[name].__doc__ = self._doc
        return scope[name]


def _leaves(value):
    return value if isinstance(value, (list, tuple)) else (value,)
