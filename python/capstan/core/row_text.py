"""The parameters that a row of src/build declares, as text; tools/make_builders.py reads them, too."""

import re

_PARAMETER = re.compile(r"(\w+)(?:: ([^=,]+))?(?:=('[^']*'|[^,]+))?(?:, |$)")


def names_of(python):
    """The public names in what a row says of Python: "losses.log_loss (labels, ...)"."""
    return python.partition("(")[0].split()


def parameters_of(python):
    """[(name, how its value is taken, default or "")]; see src/build/composite.h."""
    return _PARAMETER.findall(python.partition("(")[2].rpartition(")")[0])


def is_engines(name, how):
    """Whether the engine's function has the parameter, too."""
    return name not in ("name", "scope") and how != "collection" and not how.startswith("for ")
