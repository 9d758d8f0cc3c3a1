"""The parameters of TensorFlow's public functions, constructors and methods, with their defaults.

    python tests/oracle/signatures.py > tests/golden/signatures.json    (a Python that has TensorFlow)

records those of every name that Capstan has, too; test_signatures.py compares.
"""

import enum
import inspect
import json
import os
import re
import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import make_names  # noqa: E402

PLAIN = (type(None), bool, int, float, str, bytes)


def shown(default):
    """A default as text that does not depend on whose object it is."""
    if isinstance(default, enum.Enum):
        return default.name
    if isinstance(default, PLAIN):
        return repr(default)
    if isinstance(default, (list, tuple)):
        return "[%s]" % ", ".join(shown(item) for item in default)
    if type(default).__name__ == "DType":
        return default.name
    return getattr(default, "__name__", "an object")


def _readable(function):
    """A function that `inspect` can read: the extension's own tell their parameters as text."""
    told = getattr(function, "__nb_signature__", None)
    if not told:
        return function
    scope = {"_defaults": told[0][2]}
    text = re.sub(r":[^,)=]*", "", told[0][0].rpartition(" ->")[0])
    exec(re.sub(r"\\(\d+)", r"_defaults[\1]", text) + ": pass", scope)
    return scope[function.__name__]


def parameters(function):
    """["x", "axis=0"]: what a caller may give, in order; None where nobody can tell."""
    if function is object.__init__:
        return []
    try:
        found = inspect.signature(_readable(function)).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = {parameter.kind for parameter in found}
    if {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds:
        return None
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [
        p.name if p.default is p.empty else "%s=%s" % (p.name, shown(p.default))
        for p in found
        if p.kind in named and p.name not in ("self", "cls")
    ]


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


def members(value):
    """The public names in a module or a class."""
    return [name for name in dir(value) if not name.startswith("_")]


def paths(tf):
    """The callables of TensorFlow that Capstan may have, too."""
    for module, names in make_names.names_of(ROOT).items():
        for name in names:
            path = "%s.%s" % (module, name) if module else name
            value = tf
            for part in path.split("."):
                value = getattr(value, part, None)
            if hasattr(value, "DESCRIPTOR"):
                continue  # a message: protobuf's, here and there
            if isinstance(value, types.ModuleType) or inspect.isclass(value):
                yield from ("%s.%s" % (path, member) for member in members(value))
            if callable(value):
                yield path


def main():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow.compat.v1 as tf

    found = {path: find(tf, path) for path in sorted(set(paths(tf)))}
    told = {path: parameters(value) for path, value in found.items() if callable(value)}
    lines = ("%s: %s" % (json.dumps(path), json.dumps(names)) for path, names in told.items())
    print("{\n%s\n}" % ",\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
