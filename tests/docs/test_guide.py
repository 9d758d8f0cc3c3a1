"""Runs the snippets of README.md and docs/guide/*.md, as docs/guide/README.md explains."""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r"((?:^<!-- \w+: [^\n]*? -->\n)*)^```(\w+)\n(.*?)^```$", re.M | re.S)
COMMENT = re.compile(r"<!-- (\w+): (.*?) -->")
KNOWN = {"skip", "file", "expect", "code"}


@dataclass
class Block:
    language: str
    text: str
    line: int
    notes: dict = field(default_factory=dict)


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        notes = dict(COMMENT.findall(match[1]))
        assert set(notes) <= KNOWN, f"{page.name}: unknown comment in {notes}"
        yield Block(match[2], match[3], text.count("\n", 0, match.start(2)) + 1, notes)


def runnable(page):
    blocks = (block for block in blocks_of(page) if "skip" not in block.notes)
    return [b for b in blocks if b.language in ("bash", "python") or "file" in b.notes]


def run(block, folder):
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "XDG_STATE_HOME": f"{folder}/state"}
    command = ["bash", "-euo", "pipefail", "-c", block.text]
    if block.language == "python":
        command = ["capstan", "python", "-c", block.text]
    done = subprocess.run(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == int(block.notes.get("code", 0)), done.stdout
    assert block.notes.get("expect", "") in done.stdout


@pytest.mark.parametrize("page", [p for p in PAGES if runnable(p)], ids=lambda page: page.stem)
def test_the_snippets_of_a_page_work(page, capstan, tmp_path):
    (tmp_path / "capstan").symlink_to(capstan)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for block in runnable(page):
        if "file" in block.notes:
            (tmp_path / block.notes["file"]).write_text(block.text)
            continue
        try:
            run(block, tmp_path)
        except AssertionError as error:
            pytest.fail(f"{page.relative_to(ROOT)}:{block.line}: {error}")


def test_links_between_pages_lead_somewhere():
    pages = [*PAGES, *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"
