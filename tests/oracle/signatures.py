"""The arguments of TensorFlow's public functions, constructors and methods; run, tells them as JSON."""

import inspect
import json
import os
import sys
import types

MODULES = (
    "|app|errors|gfile|graph_util|initializers|io|logging|losses|math|nn|python_io|random|"
    "strings|summary|train"
).split("|")


def arguments(function):
    """The names that a caller may use, in order; None where nobody can tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = {parameter.kind for parameter in parameters}
    if {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds:
        return None
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in parameters if p.kind in named and p.name not in ("self", "cls")]


def find(root, path):
    """What a dotted name stands for, as a function; None where it is absent."""
    for part in path.split("."):
        if inspect.isclass(root):
            try:
                root = inspect.getattr_static(root, part)
            except AttributeError:
                return None
            root = getattr(root, "__func__", root)
        else:
            root = getattr(root, part, None)
    return root.__init__ if inspect.isclass(root) else root


def paths(tf):
    for path in MODULES:
        module = getattr(tf, path) if path else tf
        for name in dir(module):
            value = getattr(module, name)
            if name.startswith("_") or isinstance(value, types.ModuleType) or not callable(value):
                continue
            full = "%s.%s" % (path, name) if path else name
            yield full
            if inspect.isclass(value):
                yield from ("%s.%s" % (full, m) for m in dir(value) if not m.startswith("_"))


def main():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow.compat.v1 as tf

    found = {path: find(tf, path) for path in paths(tf)}
    told = {path: arguments(value) for path, value in found.items() if callable(value)}
    json.dump({path: names for path, names in told.items() if names is not None}, sys.stdout)


if __name__ == "__main__":
    sys.exit(main())
