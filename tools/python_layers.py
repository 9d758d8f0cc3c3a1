"""Holds the imports of python/capstan to its rooms; `check_layers.py` calls this.

A file may import its own room and rooms of lower layers, and no file, by whatever way, itself. An
import within a function is for what few programs need: its line says so, as "# late: <why>".
"""

import ast

LAYERS = {
    "core": 0,
    "ops": 1,
    "platform": 1,
    "layers": 2,
    "losses": 2,
    "session": 2,
    "files": 3,
    "train": 4,
    "datasets": 5,
    "front": 6,
}
PACKAGE = "capstan"


def modules_in(node):
    """The dotted names that an import statement may load."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def ours_in(node):
    """[room, file] of what an import statement loads of the package; the file may be absent."""
    parts = [name.split(".") for name in modules_in(node)]
    return [names[1:3] for names in parts if names[0] == PACKAGE and len(names) > 1 and names[1] in LAYERS]


def is_top_level(tree, node):
    return any(node is item for item in tree.body)


def errors_of_import(relative, room, node, line, top_level):
    where = f"{relative}:{node.lineno}"
    for target, *file in ours_in(node):
        if target != room and LAYERS[target] >= LAYERS[room]:
            name = ".".join([target, *file])
            yield (
                f"{where}: {room} (layer {LAYERS[room]}) may not import {name} "
                f"({target}, layer {LAYERS[target]})"
            )
    if not top_level and ours_in(node) and "# late: " not in line:
        yield f"{where}: an import within a function says why: # late: <why>"


def imports_of(path):
    """(the tree's top-level flag, node, its line) of each import."""
    text = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(text), text.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield is_top_level(tree, node), node, lines[node.end_lineno - 1]


def find_circle(graph):
    """A list of files that import each other in turn, or None."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return path[path.index(name) :] + [name]
        if name in done:
            return None
        path.append(name)
        for target in sorted(graph.get(name, ())):
            if found := visit(target):
                return found
        done.add(path.pop())
        return None

    return next((found for name in sorted(graph) if (found := visit(name))), None)


def check(root):
    folder = root / "python" / PACKAGE
    errors, graph = [], {}
    for path in sorted(folder.rglob("*.py")):
        relative, parts = path.relative_to(root), path.relative_to(folder).parts
        if len(parts) == 1:
            continue
        if parts[0] not in LAYERS or len(parts) > 2:
            errors.append(f"{relative}: not python/capstan/<room>/<file> of a room in tools/python_layers.py")
            continue
        own = (parts[0], path.stem)
        for top_level, node, line in imports_of(path):
            errors += errors_of_import(relative, parts[0], node, line, top_level)
            graph.setdefault(own, set()).update(tuple(target) for target in ours_in(node) if len(target) == 2)
    if circle := find_circle(graph):
        errors.append("python/capstan: a circle of imports: " + " -> ".join(".".join(n) for n in circle))
    return errors
