"""Prints lines per room: code, tests, longest file, and the change since a commit (--since); then how files and
functions of C++ are sized."""

import argparse
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import shape_of_code

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".cc", ".h", ".inc", ".py", ".proto", ".js", ".html", ".css"}
LONGEST_ALLOWED = 800


@dataclass
class Size:
    code: int = 0
    tests: int = 0
    longest: tuple = field(default=(0, ""))


def room_of(path):
    parts = Path(path).parts
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def is_test(path):
    name = Path(path).name
    return name.endswith("_test.cc") or name.startswith("test_") or path.startswith("tests/")


def git(*args):
    return subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def listed_files():
    names = git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    wanted = (name for name in names if Path(name).suffix in SUFFIXES or name == "capstan")
    return [name for name in wanted if (ROOT / name).is_file()]


def sizes():
    rooms = defaultdict(Size)
    for name in listed_files():
        lines = (ROOT / name).read_bytes().count(b"\n")
        room = rooms[room_of(name)]
        if is_test(name):
            room.tests += lines
        else:
            room.code += lines
        room.longest = max(room.longest, (lines, name))
    return rooms


def changes(since):
    """Lines added minus removed per room."""
    changed = defaultdict(int)
    for line in git("diff", "--numstat", since).splitlines():
        added, removed, name = line.split("\t", 2)
        if added != "-" and Path(name).suffix in SUFFIXES:
            changed[room_of(name)] += int(added) - int(removed)
    return changed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--since", help="a commit to compare with")
    options = parser.parse_args()
    change = changes(options.since) if options.since else {}
    total = Size()
    print(f"{'room':<20}{'code':>8}{'tests':>8}{'change':>8}  longest file")
    for name, room in sorted(sizes().items()):
        lines, longest = room.longest
        counts = f"{room.code:>8}{room.tests:>8}{change.get(name, 0):>+8}"
        print(f"{name:<20}{counts}  {lines} {longest}")
        total.code += room.code
        total.tests += room.tests
        total.longest = max(total.longest, room.longest)
    print(f"{'all':<20}{total.code:>8}{total.tests:>8}{sum(change.values()):>+8}")
    if total.longest[0] > LONGEST_ALLOWED:
        print(f"{total.longest[1]} is longer than {LONGEST_ALLOWED} lines: cut it")
    for folder in ("src", "jobs"):
        names = [n for n in listed_files() if n.startswith(folder + "/") and Path(n).suffix in (".cc", ".h")]
        texts = [(ROOT / name).read_text(encoding="utf-8") for name in names]
        print(f"{folder}: {shape_of_code.shape(texts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
