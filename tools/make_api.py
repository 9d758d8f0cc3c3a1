"""Makes docs/api.md: every name of TensorFlow that Capstan has, what differs, and which are absent.

    make_api.py <repository> docs/api.md

The names come from where they are declared (make_names.py); TensorFlow's own are those that
tools/record_names.py recorded.
"""

import ast
import sys
import textwrap
from pathlib import Path

import make_names

HEAD = """# The names of TensorFlow 1 that Capstan has

Made by `tools/make_api.py` from what the sources declare; a test holds that this page is what it makes. Names
are those of TensorFlow 2.21's `compat.v1`, and those of 0.x and 1.x that are gone since. Below `tf.raw_ops` there
is every op of the catalog, by its own name. An absent name can be imported, and fails where it is used.

| module | here | absent |
|---|---|---|
"""
TENSORFLOWS = Path("python") / "capstan" / "front" / "tensorflow_names.py"


def tensorflows_names(root):
    """{module: names} of what is recorded of TensorFlow."""
    tree = ast.parse((root / TENSORFLOWS).read_text(encoding="utf-8"))
    text = next(node.value.value for node in tree.body if isinstance(node, ast.Assign))
    lines = (line.partition(": ") for line in text.replace("\n ", "").splitlines())
    return {"" if module == "tf" else module: set(words.split()) for module, _, words in lines}


def defined_in(path):
    """The public names of a module of ours that is one of TensorFlow's as it is."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = [node.name] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        yield from (name for name in names if not name.startswith("_"))


def our_names(root):
    """{module: names}, with those of whole modules."""
    table = make_names.names_of(root)
    ours = {module: set(names) for module, names in table.items()}
    for module, names in table.items():
        for name, where in names.items():
            if ":" not in where:
                path = root / "python" / "capstan" / (where.replace(".", "/") + ".py")
                ours.setdefault(f"{module}.{name}".strip("."), set()).update(defined_in(path))
    return ours


def modules_of(root):
    """{module: (our names, TensorFlow's names)}, sorted; what is a module itself is no name."""
    both = our_names(root), tensorflows_names(root)
    modules = sorted(set().union(*both))

    def names_in(module, names):
        return {name for name in names.get(module, ()) if f"{module}.{name}".strip(".") not in modules}

    return {module: tuple(names_in(module, names) for names in both) for module in modules}


def listed(names):
    return textwrap.fill(" ".join(f"`{name}`" for name in sorted(names)), 118, break_on_hyphens=False)


def section(module, ours, theirs, differences):
    dotted = f"tf.{module}" if module else "tf"
    parts = [f"\n## {dotted}\n"]
    if ours:
        parts.append(listed(ours) + "\n")
    told = {name: differences.get(f"{module}.{name}" if module else name) for name in sorted(ours)}
    lines = [f"- `{name}`: {why}" for name, why in told.items() if why]
    if lines:
        parts.append("What differs:\n\n" + "\n".join(lines) + "\n")
    if theirs - ours:
        parts.append(f"Absent ({len(theirs - ours)}):\n\n" + listed(theirs - ours) + "\n")
    return "\n".join(parts)


def page(root):
    modules = modules_of(root)
    differences = make_names.differences_in(root / "python" / "capstan")
    rows = [
        f"| `{'tf.' + module if module else 'tf'}` | {len(ours)} | {len(theirs - ours)} |\n"
        for module, (ours, theirs) in modules.items()
        if ours or theirs
    ]
    sections = [section(module, *names, differences) for module, names in modules.items() if any(names)]
    return HEAD + "".join(rows) + "".join(sections)


def main(root, out):
    Path(out).write_text(page(Path(root)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
