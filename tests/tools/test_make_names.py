"""tools/make_names.py: the table of names is what sources, rows and messages declare."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "make_names.py"


def make(root, **files):
    """The table that is made of a repository with these files, or the tool's words."""
    paths = {
        "python": "python/capstan/ops/a.py",
        "row": "src/ops/a.cc",
        "build": "src/build/a.cc",
        "test": "src/build/a_test.cc",
        "message": "proto/a.proto",
    }
    for name, text in files.items():
        (root / paths[name]).parent.mkdir(parents=True, exist_ok=True)
        (root / paths[name]).write_text(text)
    out = root / "_names.py"
    done = subprocess.run([sys.executable, TOOL, root, out], capture_output=True, text=True)
    if done.returncode:
        return done.stderr
    made = {}
    exec(out.read_text(), made)
    return made["TABLE"]


def test_functions_classes_values_and_modules_are_found(tmp_path):
    python = """
public_module("whole")
public_values(three="three math.three")

@other
@public("f", "math.g")
def f(): pass

@public("C")
class C: pass

made = public("made")(make(1))
"""
    assert make(tmp_path, python=python) == {
        "": {"whole": "ops.a", "three": "ops.a:three", "f": "ops.a:f", "C": "ops.a:C", "made": "ops.a:made"},
        "math": {"three": "ops.a:three", "g": "ops.a:f"},
    }


def test_rows_and_messages_are_found(tmp_path):
    row = '{.name = "A",\n .python = "a math.a "\n "(x, y=1)"};\n unary("B").in_python("b");'
    message = "// Names: tf.M, tf.train.M\n// What it is.\nmessage M {\n}\nmessage Unnamed {\n}\n"
    assert make(tmp_path, row=row, message=message) == {
        "": {"a": "core.derived:a", "b": "core.derived:b", "M": "core.protos:M"},
        "math": {"a": "core.derived:math.a"},
        "train": {"M": "core.protos:M"},
    }


def test_composites_and_optimizers_are_found(tmp_path):
    build = '{.name = "a", .python = "losses.a (x, y=1)"}, {.name = "b", .python_class = "train.B (rate)"}'
    test = '{.name = "c", .python_class = "train.C (rate)"}'
    assert make(tmp_path, build=build, test=test) == {
        "losses": {"a": "ops.composites:losses.a"},
        "train": {"B": "train.optimizers:B"},
    }


def test_a_name_that_is_declared_twice_is_refused(tmp_path):
    assert "tf.f is declared twice" in make(tmp_path, python='@public("f")\ndef f(): pass\n', row='.in_python("f")')


def test_a_name_that_is_not_written_out_is_refused(tmp_path):
    assert "written out" in make(tmp_path, python="@public(NAME)\ndef f(): pass\n")
