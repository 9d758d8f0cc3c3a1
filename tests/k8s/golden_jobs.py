"""What Kubeflow's operator makes of the files in jobs/, recorded, and how ours differs.

A file of tests/golden/tfjob has under `kubeflow` every value by its path (job_plays.py), and under `capstan`
those that are others here, or null for those that are not there. Each such path stands in the table of
docs/guide/kubernetes-differences.md, with the reason. record_golden_jobs.py writes them.
"""

import fnmatch
import json
from dataclasses import dataclass
from pathlib import Path

from job_clusters import MemoryCluster
from job_plays import Play

ROOT = Path(__file__).resolve().parent.parent.parent
GOLDEN = ROOT / "tests" / "golden" / "tfjob"
PAGE = ROOT / "docs" / "guide" / "kubernetes-differences.md"


@dataclass
class Row:
    """A line of the table. jobs, where: patterns; of several one has to match."""

    what: str
    jobs: list
    where: list

    def covers(self, job, path):
        return matches(job, self.jobs) and matches(path, self.where)


def matches(text, patterns):
    return any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns)


def rows():
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and line.count("`") >= 4]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [Row(one[0], patterns_of(one[-1]), patterns_of(one[-2])) for one in cells]


def patterns_of(cell):
    return cell.replace("`", "").split()


def load(name):
    return json.loads((GOLDEN / f"{name}.json").read_text())


def save(name, theirs, ours):
    GOLDEN.mkdir(parents=True, exist_ok=True)
    record = {"kubeflow": dict(sorted(theirs.items())), "capstan": differences(theirs, ours)}
    (GOLDEN / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")


def differences(theirs, ours):
    paths = sorted(path for path in theirs.keys() | ours.keys() if theirs.get(path) != ours.get(path))
    return {path: ours.get(path) for path in paths}


def ours_of(record):
    """All values that ours is to have."""
    values = {**record["kubeflow"], **record["capstan"]}
    return {path: value for path, value in values.items() if value is not None}


def unexplained(name, record):
    table = rows()
    return [path for path in record["capstan"] if not any(row.covers(name, path) for row in table)]


def play_in_memory(job, program):
    cluster = MemoryCluster(program)
    try:
        return Play(job, cluster).to_its_end()
    finally:
        cluster.close()
