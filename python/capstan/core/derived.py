"""Python functions derived from the rows of the catalog, with the parameters that TensorFlow shows.

A row says in `python` what its function is called, and what of its parameters is not the row's own
(src/graph/op_def.h). The functions are real ones, made of text: `help` and `inspect` see their
parameters and defaults, and a wrong call fails as any other does.
"""

import ast

from capstan import _capstan
from capstan.core import dtypes
from capstan.core.apply import apply_op, find_row

_ops, _functions = {}, {}


def public_ops():
    """{public name: op} of all functions that are derived from rows."""
    if not _ops:
        functions = _capstan.python_functions()
        names = {op: text.partition("(")[0].split() for op, text in functions.items()}
        # At once, for other threads.
        _ops.update({name: op for op in names for name in names[op]})
    return _ops


def function_called(name):
    """The function of a public name, or None; one object under all its names."""
    op = public_ops().get(name)
    if op is None:
        return None
    if op not in _functions:
        row = find_row(op)
        names, _, parameters = row.python.partition("(")
        _functions[op] = _function(row, names.split()[0].rpartition(".")[2], parameters.rstrip(")"))
    return _functions[op]


def raw_function(op):
    """The function of an op in tf.raw_ops, or None."""
    row = find_row(op)
    return None if row is None else _function(row, op, "")


class _Parameter:
    """`text`: "axis", "axis=0", or "name:argument" where the row calls its argument otherwise."""

    def __init__(self, row, text):
        named, given, default = text.partition("=")
        self.name, _, argument = named.partition(":")
        self.argument = argument or self.name
        kind_and_value = row.attrs.get(self.argument, ("", None))[1]
        self.has_default = bool(given) or kind_and_value is not None
        if given:
            self.default = ast.literal_eval(default)
        elif self.has_default:
            self.default = _plain(*kind_and_value)

    def declared(self):
        return "%s=_defaults['%s']" % (self.name, self.name) if self.has_default else self.name

    def passed(self):
        return "%s=%s" % (self.argument, self.name)


def _plain(kind, value):
    """The default of an attr as programs write it."""
    if kind == "type":
        return dtypes.from_number(value)
    if kind == "list(type)":
        return [dtypes.from_number(number) for number in value]
    return value.decode() if isinstance(value, bytes) else value


def _function(row, name, parameters):
    texts = parameters.split(", ") if parameters else row.parameters
    given = [_Parameter(row, text) for text in texts]
    code = "def %s(%s, name=None):\n    return apply_op(%r, name=name, %s)\n" % (
        name,
        ", ".join(parameter.declared() for parameter in given),
        row.name,
        ", ".join(parameter.passed() for parameter in given),
    )
    if not given:
        code = "def %s(name=None):\n    return apply_op(%r, name=name)\n" % (name, row.name)
    defaults = {parameter.name: parameter.default for parameter in given if parameter.has_default}
    scope = {"apply_op": apply_op, "_defaults": defaults, "__name__": __name__}
    exec(compile(code, "<row of %s>" % row.name, "exec"), scope)  # noqa: S102
    scope[name].__doc__ = row.doc
    return scope[name]
