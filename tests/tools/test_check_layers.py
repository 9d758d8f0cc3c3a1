"""tools/check_layers.py: includes point only down."""

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
