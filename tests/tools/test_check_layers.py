"""tools/check_layers.py: includes and imports point only down."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"


def check(root):
    return subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True)


def tree(root, path, include):
    file = root / path
    file.parent.mkdir(parents=True)
    file.write_text(f'#include "{include}"\n')
    return root


@pytest.mark.parametrize(
    ("path", "include"),
    [
        ("src/plan/cut.cc", "graph/graph.h"),
        ("src/plan/cut.cc", "plan/cut.h"),
        ("src/plan/cut_test.cc", "ops/all.h"),
        ("src/tensor/a.cc", "proto/b.pb.h"),
        ("src/main/a.cc", "jobs/report.h"),
        ("src/net/a.cc", "sys/socket.h"),
        ("python/binding/a.cc", "session/session.h"),
    ],
)
def test_includes_that_point_down_are_fine(tmp_path, path, include):
    done = check(tree(tmp_path, path, include))
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("path", "include"),
    [
        ("src/graph/a.cc", "kernel/context.h"),
        ("src/graph/a.cc", "io/files.h"),
        ("src/plan/cut.cc", "ops/all.h"),
        ("src/exec/a_test.cc", "net/frame.h"),
        ("jobs/local/a.cc", "console/page.h"),
    ],
)
def test_includes_that_point_up_or_aside_are_named(tmp_path, path, include):
    done = check(tree(tmp_path, path, include))
    assert done.returncode == 1
    assert f"{path}:1: " in done.stdout and f"may not include {include}" in done.stdout


def test_deeper_folders_are_named(tmp_path):
    done = check(tree(tmp_path, "src/net/deep/a.cc", "base/error.h"))
    assert "deeper than src/<room>/<file>" in done.stdout


def package(root, files):
    for path, text in files.items():
        file = root / "python" / "capstan" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


@pytest.mark.parametrize(
    "text",
    [
        "from capstan import _capstan\n",
        "from capstan.core import graph\n",
        "from capstan.ops.variables import Variable\n",
        "def later():\n    from capstan.core import graph  # late: few need it\n",
        "def later():\n    import re\n",
    ],
)
def test_imports_that_point_down_are_fine(tmp_path, text):
    done = check(package(tmp_path, {"train/hooks.py": text}))
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("core/graph.py", "from capstan.ops import array_ops\n", "may not import ops.array_ops"),
        ("core/graph.py", "import capstan.train.hooks\n", "may not import train.hooks"),
        ("losses/a.py", "from capstan.layers.layers import Dense\n", "may not import layers.layers"),
        ("core/a.py", "def f():\n    from capstan.front import names  # late: x\n", "may not import front"),
        ("train/a.py", "def f():\n    from capstan.core import graph\n", "says why: # late"),
        ("attic/a.py", "", "not python/capstan/<room>/<file>"),
        ("core/deep/a.py", "", "not python/capstan/<room>/<file>"),
    ],
)
def test_imports_that_point_up_or_hide_are_named(tmp_path, path, text, said):
    done = check(package(tmp_path, {path: text}))
    assert done.returncode == 1
    assert f"python/capstan/{path}" in done.stdout and said in done.stdout


def test_a_circle_within_a_room_is_named_even_where_an_import_is_late(tmp_path):
    files = {
        "core/a.py": "from capstan.core import b\n",
        "core/b.py": "def f():\n    from capstan.core.a import x  # late: to break the circle\n",
    }
    done = check(package(tmp_path, files))
    assert "a circle of imports: core.a -> core.b -> core.a" in done.stdout
