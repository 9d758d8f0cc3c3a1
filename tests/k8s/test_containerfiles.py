"""The Containerfiles of deploy/k8s, read as a builder would read them: nothing here can run one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "deploy" / "k8s").glob("*Containerfile"))
KNOWN = {"FROM", "COPY", "WORKDIR", "RUN", "ENV", "USER", "ENTRYPOINT"}


def instructions(path):
    """(word, the rest) of each, lines that go on joined."""
    text = re.sub(r"\\\n\s*", " ", path.read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(line.split(None, 1)) for line in lines]


def stages(path):
    """The instructions of each stage, without its FROM."""
    found = []
    for word, rest in instructions(path):
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_made_of_instructions_that_there_are(path):
    words = [word for word, _ in instructions(path)]
    assert words[0] == "FROM" and words[-1] == "ENTRYPOINT" and set(words) <= KNOWN


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_entry_point_gets_signals(path):
    """As a list: behind a shell a container does not hear that it is to end."""
    assert instructions(path)[-1][1].startswith('["capstan"')


def test_the_image_does_not_run_as_root():
    assert ("USER", "65532:65532") in stages(ROOT / "deploy" / "k8s" / "Containerfile")[-1]


def test_no_list_of_packages_stays_in_the_image():
    (run,) = [rest for word, rest in stages(ROOT / "deploy" / "k8s" / "Containerfile")[-1] if word == "RUN"]
    assert "apt-get update" in run and "rm -rf /var/lib/apt/lists/*" in run and "--no-install-recommends" in run


def test_what_is_copied_between_stages_is_made_there():
    build, last = stages(ROOT / "deploy" / "k8s" / "Containerfile")
    name = re.search(r" AS (\w+)$", build[0][1])[1]
    (source,) = [re.match(rf"--from={name} (\S+)", rest)[1] for word, rest in last if word == "COPY"]
    assert any(f"--prefix {source}" in rest for word, rest in build if word == "RUN")


def test_the_operator_runs_the_image_that_is_built():
    text = (ROOT / "deploy" / "k8s" / "operator.yaml").read_text()
    assert re.search(r"^\s+image: capstan$", text, re.M) and "imagePullPolicy: IfNotPresent" in text
