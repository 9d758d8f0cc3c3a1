"""Records which public names TensorFlow has, as python/capstan/front/tensorflow_names.py (to be redirected there).

Needs TensorFlow 2.21; run only when the list is to follow another version. A name of this list that is
not here yet fails where it is called, not where it is looked up (python/capstan/front/namespaces.py).
"""

import os
import sys
import textwrap
import types

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# Thousands of names each that no program of this kind uses, or the same names once more.
LEFT_OUT = {"raw_ops", "compat", "keras", "lite", "experimental", "tpu", "mixed_precision"}

HEAD = '''"""The public names of TensorFlow 2.21's compat.v1, recorded by tools/record_names.py."""

NAMES = """\\'''


def walk(module, path, seen):
    if id(module) in seen:
        return
    seen.add(id(module))
    names, modules = [], []
    for name in dir(module):
        if name.startswith("_") or name in LEFT_OUT:
            continue
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            if value.__dict__.get("__name__", "").startswith("tensorflow"):
                modules.append((name, value))
        else:
            names.append(name)
    text = " ".join(names + [name for name, _ in modules])
    if text:
        print(
            "\n".join(textwrap.wrap("%s: %s" % (path or "tf", text), 100, subsequent_indent="  "))
        )
    for name, value in modules:
        walk(value, "%s.%s" % (path, name) if path else name, seen)


def main():
    import tensorflow.compat.v1 as tf

    print(HEAD)
    walk(tf, "", set())
    print('"""')


if __name__ == "__main__":
    sys.exit(main())
