"""`cmake --install`: a C++ program of somebody else finds Capstan by CMake and by pkg-config."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAM = """
#include <capstan/capstan.h>

#include <cstdio>

int main() {
  capstan::Graph graph(capstan::standard_catalog());
  std::printf("%zu ops\\n", graph.catalog().all().size());
}
"""

PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(Elsewhere CXX)
find_package(Capstan REQUIRED)
add_executable(elsewhere main.cc)
target_link_libraries(elsewhere PRIVATE Capstan::capstan)
"""


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


def test_find_package_leads_to_a_program_that_runs(prefix, tmp_path):
    (tmp_path / "main.cc").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    where = f"-DCMAKE_PREFIX_PATH={prefix}"
    run("cmake", "-S", ".", "-B", "build", "-G", "Ninja", where, cwd=tmp_path)
    run("cmake", "--build", "build", cwd=tmp_path)
    assert run(tmp_path / "build" / "elsewhere").endswith(" ops\n")


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config")
def test_pkg_config_leads_to_a_program_that_runs(prefix, tmp_path):
    (tmp_path / "main.cc").write_text(PROGRAM)
    env = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "capstan", env=env).split()
    run("c++", "main.cc", "-o", "elsewhere", *LINKER.values(), *flags, cwd=tmp_path)
    assert run(tmp_path / "elsewhere").endswith(" ops\n")
