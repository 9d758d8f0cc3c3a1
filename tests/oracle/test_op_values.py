"""Every row of the catalog computes what TensorFlow's op does: values, gradients, shapes, classes of errors.

TensorFlow's answers lie in tests/golden/op_values, a file per op; with --oracle they are asked for anew.
"""

import json
import os
import sys

import live
import op_cases
import op_differences
import op_records
import op_sequences
import pytest
from capstan import _capstan

RECORD = "record them: ./capstan python tests/oracle/op_records.py .venv-bench/bin/python [op ...]"
FOLDER = live.GOLDEN / "op_values"
# The first test waits for all cases to be run.
pytestmark = pytest.mark.timeout(900)


def recorded(name):
    path = FOLDER / (name + ".json")
    assert path.exists(), "nothing is recorded of %s: %s" % (name, RECORD)
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def ours():
    """What we compute: results by (op, sample), and of sequences by name."""
    cases = op_cases.all_cases() + list(op_sequences.SEQUENCES)
    return by_key(op_records.run(sys.executable, cases, dict(os.environ)))


def by_key(results):
    return {(r["op"], r["sample"]) if "op" in r else r["sequence"]: r for r in results}


def compare(ours, theirs):
    """The differences that have no reason, as lines."""
    lines = []
    for key, result in theirs.items():
        op, sample = key if isinstance(key, tuple) else ("", key)
        element_wise = bool(op) and _capstan.op_checks(op)[1]
        for text in op_records.differences(ours[key], result, element_wise):
            if not op_differences.reason(op, sample, text):
                lines.append("%s %s: %s" % (op, sample, text))
    return lines


ROWS = [op for op in _capstan.op_names() if op not in op_differences.LACKING]


def in_sequences():
    return {op for name in op_sequences.SEQUENCES for op in recorded(name)[0]["ops"]}


def test_every_row_is_compared_with_tensorflow():
    sequences = in_sequences()
    missing = [op for op in ROWS if op not in sequences and not op_cases.samples(op)]
    assert not missing, "rows without a sample, a sequence (op_sequences.py) or a reason (op_differences.py)"
    recorded_files = {path.stem for path in FOLDER.glob("*.json")}
    wanted = {op for op in ROWS if op_cases.samples(op)} | set(op_sequences.SEQUENCES)
    assert recorded_files == wanted, RECORD


@pytest.mark.parametrize("op", [op for op in ROWS if op_cases.samples(op)])
def test_a_row_computes_what_tensorflow_recorded(op, ours):
    theirs = {(op, result["sample"]): result for result in recorded(op)}
    assert list(theirs) == [(op, sample) for sample in op_cases.samples(op)], RECORD
    lines = compare(ours, theirs)
    assert not lines, "\n".join(lines[:40])


@pytest.mark.parametrize("name", op_sequences.SEQUENCES)
def test_a_sequence_does_what_tensorflow_recorded(name, ours):
    lines = compare(ours, {name: recorded(name)[0]})
    assert not lines, "\n".join(lines)


@pytest.mark.oracle
def test_rows_compute_what_tensorflow_does(oracle_python, ours, capsys):
    keys = [key for key in ours if key[0] in ROWS or isinstance(key, str)]
    cases = [op_cases.case(*key) if isinstance(key, tuple) else key for key in keys]
    theirs = by_key(op_records.run(oracle_python, cases, live.clean_environment()))
    checked = {key[0] for key in keys if isinstance(key, tuple)} | in_sequences()
    with capsys.disabled():
        print("\n%d ops, %d checked" % (len(ROWS), len(checked & set(ROWS))))
    lines = compare(ours, theirs)
    assert not lines, "\n".join(lines)
    assert checked >= set(ROWS)
