"""`cmake --install`: the C++ program of README.md, as somebody else's, built as docs/guide/cpp.md says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def block(page, language, holding=""):
    """The first block of a page in this language that holds a text."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"^```%s\n(.*?)^```$" % language, text, re.M | re.S)
    return next(code for code in found if holding in code)


PROGRAM = block("README.md", "cpp")
GUIDE = "docs/guide/cpp.md"
PROJECT = "cmake_minimum_required(VERSION 3.22)\nproject(Elsewhere CXX)\n" + block(GUIDE, "cmake")
WITH_CMAKE = block(GUIDE, "bash", "cmake -B")
WITH_PKG_CONFIG = block(GUIDE, "bash", "pkg-config")

SCRIPT = "import tensorflow as tf; print(tf.Session().run(tf.constant(2.0) * 3.0))"


# The archive is large: the linker of the build, where it is there, is ten times as quick.
LINKER = {"LDFLAGS": "-fuse-ld=mold"} if shutil.which("mold") else {}


def run(*command, cwd=None, env=None):
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env={**os.environ, **LINKER, **(env or {})},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def prefix(capstan, tmp_path_factory):
    build = Path(capstan).resolve().parents[2]
    if not (build / "CapstanConfig.cmake").exists():
        pytest.skip("configured without CAPSTAN_INSTALL")
    prefix = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", build, "--prefix", prefix)
    return prefix


def test_the_installed_program_runs(prefix):
    assert run(prefix / "bin" / "capstan", "--version").startswith("capstan ")


def test_manual_pages_and_completion_are_installed(prefix):
    share = prefix / "share"
    if not (share / "man").exists():
        pytest.skip("configured without CAPSTAN_PYTHON")
    assert "capstan run" in (share / "man" / "man1" / "capstan-run.1").read_text()
    for path in ("bash-completion/completions/capstan", "zsh/site-functions/_capstan",
                 "fish/vendor_completions.d/capstan.fish"):  # fmt: skip
        assert "capstan complete" in (share / path).read_text()


def test_find_package_leads_to_a_program_that_runs(prefix, tmp_path):
    (tmp_path / "train.cc").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    run("bash", "-euc", WITH_CMAKE.replace("~/capstan", str(prefix)), cwd=tmp_path)
    assert run(tmp_path / "build" / "train") == "[3 6]\n"


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config")
def test_pkg_config_leads_to_a_program_that_runs(prefix, tmp_path):
    (tmp_path / "train.cc").write_text(PROGRAM)
    script = WITH_PKG_CONFIG.replace("~/capstan", str(prefix))
    script = script.replace("c++ ", "c++ %s " % LINKER.get("LDFLAGS", ""))
    run("bash", "-euc", script, cwd=tmp_path)
    assert run(tmp_path / "train") == "[3 6]\n"


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_wheel_brings_the_program_with_it(tmp_path):
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", venv)
    run(venv / "bin" / "pip", "install", "-q", ROOT)
    # The tests themselves run with the build's own packages in their path.
    elsewhere = {"PYTHONPATH": ""}
    done = run(venv / "bin" / "capstan", "python", "-c", SCRIPT, cwd=tmp_path, env=elsewhere)
    assert done.splitlines()[-1] == "6.0"
