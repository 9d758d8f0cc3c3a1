"""Holds the includes to the layers of ARCHITECTURE.md: they point only down.

A room may include itself and rooms of lower layers; rooms on one layer do not see each other. A
`*_test.cc` may also include `ops`. Prints each include that breaks this and exits with 1. The imports
of `python/capstan` are held to its rooms by `python_layers.py`.
"""

import argparse
import re
import sys
from pathlib import Path

import python_layers

LAYERS = {
    "proto": 0,
    "base": 0,
    "tensor": 1,
    "graph": 2,
    "io": 2,
    "math": 2,
    "build": 3,
    "kernel": 3,
    "ops": 4,
    "plan": 4,
    "exec": 5,
    "net": 5,
    "cluster": 6,
    "session": 7,
    "train": 8,
    "jobs": 9,
    "console": 9,
    "main": 9,
    "python": 9,
    "tests": 10,
    "examples": 10,
    "bench": 10,
}
# The doors stand on one layer; `main` opens the way to the others.
ALSO_SEES = {"main": {"jobs", "console"}}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
SUFFIXES = {".h", ".cc", ".inc"}


def room_of(path):
    """The room that holds a source file, given relative to the repository."""
    return path.parts[1] if path.parts[0] == "src" else path.parts[0]


def room_of_include(target):
    """The room that an include names, or None for one of a library or the same folder."""
    parts = target.split("/")
    if len(parts) == 1:
        return "proto" if target.endswith(".pb.h") else None
    if parts[0] == "python" or parts[0] not in LAYERS:
        return None
    return parts[0]


def may_include(room, target, is_test):
    if target in (room, "proto") or target in ALSO_SEES.get(room, ()):
        return True
    if is_test and target == "ops":
        return True
    return LAYERS[target] < LAYERS[room] if target != "base" else True


def errors_in(path, relative):
    room = room_of(relative)
    if room not in LAYERS:
        return [f"{relative}: room {room} is not in tools/check_layers.py"]
    found = []
    is_test = path.name.endswith("_test.cc")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        target = room_of_include(match.group(1)) if match else None
        if target and not may_include(room, target, is_test):
            found.append(
                f"{relative}:{number}: {room} (layer {LAYERS[room]}) may not include "
                f"{match.group(1)} ({target}, layer {LAYERS[target]})"
            )
    return found


def check(root):
    errors = []
    for folder in ("src", "jobs", "console", "python/binding", "tests", "examples", "bench"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                errors += errors_in(path, path.relative_to(root))
            if folder == "src" and len(path.relative_to(root).parts) > 3:
                errors.append(f"{path.relative_to(root)}: deeper than src/<room>/<file>")
    return errors + python_layers.check(root)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parent.parent)
    errors = check(parser.parse_args().root.resolve())
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
