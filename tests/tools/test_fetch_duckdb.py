"""tools/fetch_duckdb.py: a library that needs Python loads without it."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "fetch_duckdb.py"
SOURCE = """
#include <stdio.h>
extern void* PyExc_ValueError;
extern int _Py_Something(void);
int answer(void) { return PyExc_ValueError ? _Py_Something() : puts("") > 0 ? 42 : 0; }
"""


def load_tool():
    spec = importlib.util.spec_from_file_location("fetch_duckdb", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def undefined(library):
    lines = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[1].split("@")[0]: line.split()[0] for line in lines.splitlines() if len(line.split()) == 2}


@pytest.mark.skipif(not shutil.which("cc") or not shutil.which("nm"), reason="needs a C compiler")
def test_only_symbols_of_python_become_weak(tmp_path):
    (tmp_path / "a.c").write_text(SOURCE)
    library = tmp_path / "a.so"
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "a.c", "-o", library], check=True)
    before = undefined(library)
    assert before["PyExc_ValueError"] == before["_Py_Something"] == "U"
    elf = bytearray(library.read_bytes())
    load_tool().weaken(elf)
    library.write_bytes(elf)
    after = undefined(library)
    assert after["PyExc_ValueError"] in "wv" and after["_Py_Something"] == "w"
    assert after["puts"] == before["puts"] == "U"
