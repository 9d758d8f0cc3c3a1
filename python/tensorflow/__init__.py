"""TensorFlow's names, as Capstan has them; see capstan/front."""

import sys as _sys

from capstan.front import namespaces as _namespaces

_namespaces.install()


def __getattr__(name):
    return _namespaces.lookup(_sys.modules[__name__], "", name)


def __dir__():
    return sorted(set(_namespaces._table("")) | set(globals()))
