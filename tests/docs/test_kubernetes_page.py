"""docs/guide/kubernetes.md: what it names is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guide" / "kubernetes.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| (.*?) \| (.*?) \| (.*?) ?\|$", re.M)


def rows():
    return {int(number): (here, tests) for number, _, here, tests in ROW.findall(PAGE)}


def sources():
    paths = [*(ROOT / "jobs" / "k8s").glob("*_test.cc"), *(ROOT / "tests" / "k8s").glob("*.py")]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def test_every_wish_has_a_test_or_a_reason():
    assert sorted(rows()) == list(range(1, 24))
    for number, (here, tests) in rows().items():
        assert tests or len(here.split()) > 10, f"row {number} has neither"


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:[A-Z]\w+\.[A-Z]|test_)\w+)`", PAGE))))
def test_every_test_that_is_named_is_there(name):
    suite, _, case = name.partition(".")
    pattern = rf"TEST(_F|_P)?\(\s*{suite},\s*{case}\)" if case else rf"^def {name}\("
    assert re.search(pattern, sources(), re.M), name


def test_the_four_lines_are_those_of_the_repository():
    (block,) = re.findall(r"```dockerfile\n(.*?)```", PAGE, re.S)
    assert block == (ROOT / "deploy" / "k8s" / "program.Containerfile").read_text()
    assert len(block.splitlines()) == 4


def test_the_files_that_are_named_are_there():
    for path in re.findall(r"\b((?:deploy|examples|tests|tools)/[\w./-]+\w)", PAGE):
        assert (ROOT / path).exists(), path
