"""The graphs of whole programs equal TensorFlow's: names, types, inputs, attrs, devices."""

import json
import sys
from pathlib import Path

import programs
import pytest

GOLDEN = Path(__file__).with_name("golden") / "programs.json"


@pytest.fixture(scope="module")
def golden():
    return json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("name", sorted(programs.PROGRAMS))
def test_graph_equals_tensorflows(name, golden):
    if not programs.PROGRAMS[name][0].exists():
        pytest.skip("the program is not here")
    assert programs.graph_lines(sys.executable, name) == golden[name]


@pytest.mark.oracle
@pytest.mark.parametrize("name", sorted(programs.PROGRAMS))
def test_graph_equals_tensorflows_live_one(name, oracle_python, monkeypatch):
    if not programs.PROGRAMS[name][0].exists():
        pytest.skip("the program is not here")
    ours = programs.graph_lines(sys.executable, name)
    monkeypatch.delenv("PYTHONPATH", raising=False)  # there TensorFlow's name would be found as ours
    assert ours == programs.graph_lines(oracle_python, name)
