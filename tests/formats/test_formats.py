"""Bundles, records, event files and messages against an installed TensorFlow, with --oracle."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "oracle"))

import live  # noqa: E402


@pytest.mark.oracle
def test_our_files_open_in_tensorflow_and_theirs_open_here(oracle_python, capstan):
    tool = Path(capstan).parents[2] / "tests" / "formats" / "format_tool"
    assert tool.exists(), "the build lacks %s" % tool
    checked = live.run(oracle_python, FOLDER / "check_formats.py", tool)
    assert checked.count("ok  ") == 6


@pytest.mark.oracle
def test_our_messages_have_tensorflows_fields(oracle_python):
    assert "messages and enums agree" in live.run(oracle_python, FOLDER / "check_protos.py")
