"""docs/step.md walks through functions that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STEP = (ROOT / "docs" / "step.md").read_text()
WALK = re.findall(r"^\| `([^`]+)` `(\w+)` \|", STEP, re.M)


def test_the_walk_goes_through_every_room_of_a_step():
    rooms = [Path(path).parts[1] for path, _ in WALK]
    assert {"binding", "session", "plan", "cluster", "net", "exec", "kernel"} <= set(rooms)


@pytest.mark.parametrize("path, function", WALK, ids=[f"{path}:{name}" for path, name in WALK])
def test_a_stop_of_the_walk_is_a_function_of_its_file(path, function):
    text = (ROOT / path).read_text()
    definition = rf"^(?:\w[\w:<>,&* ]*[ &*])?(?:\w+::)*{function}\("
    member = rf"^  \w[\w:<>,&* ]*[ &*]{function}\([^;]*$"
    assert re.search(f"{definition}|{member}", text, re.M), f"{path} defines no {function}()"


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:src|python|tests)/[\w/.]+)`", STEP))))
def test_what_is_named_exists(path):
    assert (ROOT / path).exists()
