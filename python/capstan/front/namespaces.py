"""The modules that old programs import, made when they are asked for; see modules.py.

A name of TensorFlow that does not exist here fails where it is used, with its name and the program's
line; a name that TensorFlow does not have either is no attribute, and a slip is told the name meant.
"""

import importlib
import importlib.machinery
import sys
import types

import capstan
from capstan import _names
from capstan.front import modules


class MissingName(AttributeError):
    """A name of TensorFlow that is not here."""


def _table(path):
    """{name: "file:attribute", or "file" for a module} of a module of TensorFlow. Functions that are
    derived from rows are "core.derived:<public name>" (ops) or "ops.composites:<public name>"."""
    return _names.TABLE.get(path, {})


def _shows_module(path):
    """Whether a module of TensorFlow is one of ours, as it is."""
    parent, _, last = path.rpartition(".")
    return ":" not in _table(parent).get(last, ":")


def _real_path(path):
    """`path` with second names replaced: "compat.v1.nn" is "nn"."""
    for alias, target in modules.ALIASES.items():
        if path == alias or path.startswith(alias + "."):
            rest = path[len(alias) :]
            return (target + rest).strip(".")
    return path


def _below(path, tops):
    return path.split(".")[0] in tops


def _tensorflows():
    """{path: names} of all that TensorFlow has."""
    from capstan.front.tensorflow_names import NAMES  # late: long

    if not _recorded:
        lines = [line.partition(": ") for line in NAMES.replace("\n ", "").splitlines()]
        # At once, for other threads.
        _recorded.update(
            {"" if path == "tf" else path: set(words.split()) for path, _, words in lines}
        )
    return _recorded


_recorded = {}


def _known(path):
    real = _real_path(path)
    return (
        real in _names.TABLE
        or real == modules.RAW
        or real in _tensorflows()
        or path in modules.ALIASES
        or _below(real, modules.OPEN)
        or _shows_module(real)
        or any(key.startswith(path + ".") for key in _named())
    )


def _named():
    """The modules that have names of ours, or second names."""
    return (*_names.TABLE, *modules.ALIASES)


def _fetch(path, name):
    module, _, attribute = _table(path)[name].partition(":")
    loaded = importlib.import_module("capstan." + module)
    _give_operators()
    if module in ("core.derived", "ops.composites"):
        return loaded.function_called(attribute)
    if attribute:
        return getattr(loaded, attribute)
    full = _public_name(module) or ("%s.%s" % (path, name) if path else name)
    loaded.__dict__.setdefault("__getattr__", lambda missed: lookup(loaded, full, missed))
    return loaded


def _give_operators():
    """Tensors get their operators with the first graph: a program that makes none, such as that of a
    parameter server, does without."""
    graphs = sys.modules.get("capstan.core.graph")
    if graphs is not None and graphs.Graph.before_first is not _load_operators:
        graphs.Graph.before_first = staticmethod(_load_operators)


def _load_operators():
    importlib.import_module("capstan.ops.array_ops")


def _public_name(module):
    """What `tf.<name>` is this module, if any: it is one object under all its names, and what it lacks
    must not depend on which of them a program imports first."""
    return next((name for name, shown in _table("").items() if shown == module), None)


def _raw(op):
    from capstan.core import derived  # late: loads numpy

    return derived.raw_function(op)


def find(path, name):
    """What `tensorflow.<path>.<name>` is, or None."""
    if name in _table(path):
        return _fetch(path, name)
    if path == modules.RAW:
        return _raw(name)
    if _below(path, modules.INNER):
        for other in modules.SEARCHED:
            if name in _table(other):
                return _fetch(other, name)
    return _message(name) if path.endswith("_pb2") else None


def _message(name):
    """A message, an enum or a value of one that no public module shows."""
    from capstan.core import protos  # late: loads protobuf

    return getattr(protos, name) if protos.has(name) else None


def program_line():
    from capstan import _capstan

    return _capstan.program_line(capstan.OUR_FOLDERS)


def _spelled(path, name):
    return ".".join(part for part in ("tf", path, name) if part)


def _exists(path, name):
    if _shows_module(path):
        parent, _, last = path.rpartition(".")
        return name in _fetch(parent, last).__dict__
    return find(path, name) is not None


def _meant(path, name):
    """The name that somebody who wrote this one may have meant, or None: the same in another module,
    or a slip of the pen. What TensorFlow has is no slip of another name, nor meant by mistake."""
    from capstan import _capstan

    elsewhere = [other for other in _names.TABLE if name in _table(other)]
    if elsewhere:
        return _spelled(min(elsewhere, key=lambda other: (other.count("."), other)), name)
    theirs = _tensorflows().get(path, set())
    if name in theirs:
        return None
    near = _capstan.nearest(name, sorted(theirs.union(_table(path))))
    return _spelled(path, near) if near and _exists(path, near) else None


def missing(path, name):
    """The error for a name that is not here."""
    meant, place = _meant(path, name), program_line()
    return MissingName(
        "%s does not exist in Capstan%s%s"
        % (
            _spelled(path, name),
            " (%s)" % place if place else "",
            "; did you mean %s?" % meant if meant else "",
        ),
        name=name,
    )


class _Absent:
    """Stands for a name of TensorFlow that is not here; fails when it is used. Nothing is an instance
    of it."""

    def __init__(self, path, name):
        self.__dict__.update(_path=path, _name=name)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent("%s.%s" % (self._path, self._name) if self._path else self._name, name)

    def __repr__(self):
        return "<%s, which does not exist in Capstan>" % _spelled(self._path, self._name)

    def _fail(self, *unused, **kwargs):
        raise missing(self._path, self._name)

    def __instancecheck__(self, instance):
        return False

    def __subclasscheck__(self, subclass):
        return False


# All that can be done with a class, a function or a number.
for _use in (
    "call mro_entries bool iter len enter getitem setitem setattr delattr contains int float index "
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow and rand or ror "
    "neg lt le gt ge"
).split():
    setattr(_Absent, "__%s__" % _use, _Absent._fail)


def _way():
    """How the program asks for an attribute: "import" (from module import name), "look" (an
    attribute), or "test" (hasattr and getattr, which may go another way); called by lookup() only."""
    import opcode

    frame = sys._getframe(3)
    code, at = frame.f_code.co_code, frame.f_lasti
    name = opcode.opname[code[at]] if 0 <= at < len(code) else ""
    if name == "IMPORT_FROM" or frame.f_code.co_filename.startswith("<frozen importlib"):
        return "import"
    return "look" if name.startswith(("LOAD_ATTR", "LOAD_METHOD")) else "test"


def lookup(module, path, name):
    """`__getattr__` of the module that shows `path`; finds are kept in the module."""
    if name.startswith("__") and name not in _table(path):
        raise AttributeError("module '%s' has no attribute '%s'" % (module.__name__, name))
    found = find(path, name)
    if found is None and name in _table(path):
        setattr(module, name, None)  # tf.newaxis
        return None
    full = "%s.%s" % (path, name) if path else name
    if found is None and _known(full) and (path == "" or not _below(full, modules.OPEN)):
        found = importlib.import_module("tensorflow." + full)
    if found is None and _opened(full):
        found = importlib.import_module("tensorflow." + full)
    if found is None:
        way = _way()
        awaited = _below(path, modules.OPEN) or name in _tensorflows().get(path, ())
        if way == "import" or (way == "look" and awaited):
            return _Absent(path, name)
        raise missing(path, name)
    setattr(module, name, found)
    return found


def _opened(full):
    """Whether an attribute is a module of contrib or its kin: a longer name of ours has it."""
    parts = full.split(".")
    if parts[0] == modules.PRIVATE and len(parts) in (2, 3) and parts[1] in modules.PRIVATE_PARTS:
        return True
    if parts[0] == "core" and (len(parts) == 2 or parts[-1].endswith("_pb2")):
        return True
    return any(key == full or key.startswith(full + ".") for key in _named())


class Namespace(types.ModuleType):
    """A module of TensorFlow, its names found as they are asked for."""

    def __getattr__(self, name):
        return lookup(self, self.__dict__["_path"], name)

    def __dir__(self):
        return sorted(set(_table(self._path)) | set(self.__dict__))

    def __call__(self, *unused, **kwargs):
        parent, _, name = self._path.rpartition(".")
        raise missing(parent, name)


class _Finder:
    """Finder and loader of the modules (importlib.abc would cost more than all of this)."""

    def find_spec(self, fullname, path=None, target=None):
        top, _, rest = fullname.partition(".")
        if top != "tensorflow" or not rest or not _known(rest):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        path = _real_path(spec.name.partition(".")[2])
        if _shows_module(path):
            parent, _, last = path.rpartition(".")
            return _shown(spec.name, _fetch(parent, last))
        made = Namespace(spec.name)
        made.__dict__["_path"] = path
        return made

    def exec_module(self, module):
        pass


def _shown(name, module):
    """A module of capstan under TensorFlow's name."""
    made = types.ModuleType(name, module.__doc__)
    made.__dict__.update(
        {
            k: v
            for k, v in module.__dict__.items()
            if k not in ("__name__", "__loader__", "__spec__", "__package__", "__path__")
        }
    )
    return made


def install():
    """Lets `import tensorflow.…` find the modules above."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
