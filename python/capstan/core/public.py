"""How a function, a class or a value says what it is called in TensorFlow: where it is defined.

    @public("add", "math.add")
    def add(x, y, name=None): ...

    reduce_sum = public("reduce_sum")(_reduction("Sum"))
    public_values(newaxis="newaxis")      # an attribute of the module, and its names
    public_module("app")                  # the module itself

Nothing happens when a module runs. tools/make_names.py reads these lines out of the sources, when
Capstan is built, and makes the table by which names are found: names must be written out.
"""


def public(*names, differs=""):
    """What is decorated is `tf.<name>` for each of the names. `differs`: how it is not what it is in
    TensorFlow, for docs/api.md."""
    return _unchanged


def public_values(**names):
    """Attributes of the module, each with its names in one string."""


def public_module(*names):
    """The module is `tf.<name>` for each of the names."""


def _unchanged(what):
    return what
