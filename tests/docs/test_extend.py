"""The examples of docs/extend.md are whole: each is one file, and what it declares is found."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import make_builders  # noqa: E402
import make_names  # noqa: E402

EXAMPLE = re.compile(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", re.M | re.S)
NAMES = {
    "src/ops/cube.cc": ("math", "cube", "core.derived:math.cube"),
    "src/ops/rotate.cc": ("", "rotate_rows", "core.derived:rotate_rows"),
    "src/build/fourth_power.cc": ("losses", "fourth_power", "ops.composites:losses.fourth_power"),
    "src/build/sign_descent.cc": ("train", "SignDescentOptimizer", "train.optimizers:SignDescentOptimizer"),
    "python/capstan/train/stop_below_hook.py": ("train", "StopBelowHook", "train.stop_below_hook:StopBelowHook"),
}
PYTHON = """
import tensorflow as tf
w = tf.Variable([3.0, -2.0])
loss = tf.losses.fourth_power(tf.zeros([2]), w, weights=0.5)
assert tf.losses.get_losses() == [loss] and loss.op.name == "fourth_power/value", loss
train = tf.train.SignDescentOptimizer(0.5).minimize(loss, tf.train.get_or_create_global_step())
with tf.train.MonitoredSession(hooks=[tf.train.StopBelowHook(loss, 0.1)]) as session:
    steps = 0
    while not session.should_stop():
        session.run(train)
        steps += 1
assert steps == 6, steps
rotated = tf.math.cube(tf.rotate_rows(tf.constant([1.0, 2.0, 3.0])))
with tf.Session() as session:
    assert session.run(rotated).tolist() == [8.0, 27.0, 1.0]
    assert session.run(tf.gradients(tf.math.cube(w.initial_value), w.initial_value)[0]).tolist() == [27.0, 12.0]
"""
CPP = """
#include <gtest/gtest.h>

#include "build/composites.h"
#include "build/operators.h"
#include "build/optimizers.h"
#include "ops/catalog.h"

TEST(Extend, ExamplesAreUsedFromCpp) {
  using namespace capstan;
  Graph g(standard_catalog());
  VariableOptions options;
  std::vector<VariableRef> w = {make_variable(g, filled(DType::kFloat, {2}, 3), options)};
  Output loss = fourth_power(zeros(g, {2}, DType::kFloat), w[0].read, 0.5);
  EXPECT_EQ(loss.name(), "fourth_power/value:0");
  auto optimizer = sign_descent(0.1);
  EXPECT_EQ(minimize(g, *optimizer, loss, w).name(), "SignDescent");
  Output rows = g.constant(Tensor::of<float>({2}, {1, 2}));
  EXPECT_EQ(g.add("Cube", {g.add("RotateRows", {rows})}).shape(), Shape{2});
}
"""


def examples():
    """{file: text} of the page's examples."""
    return dict(EXAMPLE.findall((ROOT / "docs" / "extend.md").read_text(encoding="utf-8")))


def put_into(root):
    for path, text in examples().items():
        (root / path).write_text(text, encoding="utf-8")


@pytest.fixture
def tree(tmp_path):
    """What names and declarations are made of, with the examples."""
    for folder in ("src/ops", "src/build", "python/capstan", "proto"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    put_into(tmp_path)
    return tmp_path


def test_each_example_is_one_new_file():
    assert set(examples()) == set(NAMES)
    assert not [path for path in examples() if (ROOT / path).exists()]


def test_the_names_that_examples_declare_are_found(tree):
    before, table = make_names.names_of(ROOT), make_names.names_of(tree)
    for module, name, where in NAMES.values():
        assert name not in before[module] and table[module][name] == where


def test_the_functions_that_examples_declare_are_in_the_headers(tree, tmp_path):
    made = tmp_path / "made"
    made.mkdir()
    make_builders.main(tree / "src" / "build", made)
    assert (
        "Output fourth_power(Output labels, Output predictions, const Hyper& weights = 1.0,"
        in (made / "composites.h").read_text()
    )
    assert "sign_descent(Hyper learning_rate = 0.01," in (made / "optimizers.h").read_text()
    families = (made / "families.cc").read_text()
    assert "fourth_power_composites()" in families and "sign_descent_optimizers()" in families


def test_the_families_of_rows_that_examples_declare_are_found(tree, tmp_path):
    out = tmp_path / "families.cc"
    script = ROOT / "cmake" / "families.cmake"
    subprocess.run(["cmake", f"-DFOLDER={tree}/src/ops", f"-DOUT={out}", "-P", script], check=True)
    assert "cube_ops()" in out.read_text() and "rotate_ops()" in out.read_text()


@pytest.mark.long
def test_examples_are_built_and_used_from_both_languages(tmp_path):
    copy = tmp_path / "copy"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    put_into(copy)
    (copy / "src" / "build" / "extend_test.cc").write_text(CPP)
    (copy / ".venv").symlink_to(ROOT / ".venv")
    subprocess.run(["cmake", "--preset", "dev"], cwd=copy, check=True)
    build = copy / "build" / "dev"
    subprocess.run(["ninja", "-C", build, "build_test", "_capstan", "python_names"], check=True)
    subprocess.run([build / "build_test", "--gtest_filter=Extend.*"], check=True)
    env = {**os.environ, "PYTHONPATH": str(build / "python")}
    subprocess.run([sys.executable, "-c", PYTHON], env=env, check=True)
