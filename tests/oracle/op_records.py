"""Runs op_values.py to its end, whatever ends it, and compares what two of its runs told.

Records TensorFlow's answers in tests/golden/op_values, of all rows or those that are named:
capstan python tests/oracle/op_records.py <python with TensorFlow 2.21> [op or sequence ...]
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import live
import numpy as np

TOOL = live.FOLDER / "op_values.py"


def run(python, cases, environment=None):
    """The results of all cases; one that ends the interpreter has the outputs "crash"."""
    with tempfile.TemporaryDirectory() as folder:
        asked, told = Path(folder) / "cases.json", Path(folder) / "results.jsonl"
        asked.write_text(json.dumps(cases))
        told.touch()
        while len(results := told.read_text().splitlines()) < len(cases):
            command = [python, str(TOOL), str(asked), str(told), str(len(results))]
            done = subprocess.run(command, cwd=live.FOLDER, env=environment, capture_output=True, text=True)
            now = told.read_text().splitlines()
            if done.returncode < 0:
                now.append(json.dumps(crashed(cases[len(now)])))
                told.write_text("".join(line + "\n" for line in now))
            elif len(now) < len(cases):
                raise AssertionError(done.stdout[-2000:] + done.stderr[-4000:])
        return [json.loads(line) for line in results]


def crashed(case):
    if isinstance(case, str):
        return {"sequence": case, "ops": [], "steps": "crash"}
    return {"op": case["op"], "sample": case["sample"], "outputs": "crash"}


# --- Comparison ---------------------------------------------------------------------------------

# While a node is added clashes are ValueErrors, in a step InvalidArgumentErrors; when they are found may differ.
EARLY = {"ValueError": "InvalidArgumentError"}
# (relative, absolute): the absolute part is for sums, whose terms may cancel.
TOLERANCES = {"float16": (2e-3, 2e-3), "float32": (4e-6, 2e-6), "float64": (1e-11, 1e-12), "complex64": (4e-6, 2e-6)}
TINY = 1.2e-38  # below, TensorFlow flushes to zero


def difference(ours, theirs, sums=True):
    """What differs between two results of one thing, as a text, or None."""
    if isinstance(theirs, str) or isinstance(ours, str):
        same = EARLY.get(ours, ours) == EARLY.get(theirs, theirs) if type(ours) is type(theirs) else False
        return None if same else "%s, not %s" % (brief(ours), brief(theirs))
    if ours is None or theirs is None:
        return None if ours is theirs else "%s, not %s" % (brief(ours), brief(theirs))
    if len(ours) != len(theirs):
        return "%d tensors, not %d" % (len(ours), len(theirs))
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if found := tensor_difference(a, b, sums):
            return "[%d] %s" % (i, found)
    return None


def tensor_difference(ours, theirs, sums):
    if ours is None or theirs is None:
        return None if ours is theirs else "%s, not %s" % (brief(ours), brief(theirs))
    for key in ("dtype", "shape"):
        if ours[key] != theirs[key]:
            return "%s %s, not %s" % (key, ours[key], theirs[key])
    tolerance = TOLERANCES.get(ours["dtype"])
    for i, (a, b) in enumerate(zip(ours["values"], theirs["values"])):
        if a != b or tolerance and str(a) != str(b):
            if not tolerance or not near(np.ravel(a), np.ravel(b), *tolerance, sums):
                return "at %d: %r, not %r" % (i, a, b)
    return None


def near(ours, theirs, relative, absolute, sums):
    return all(near_number(float(a), float(b), relative, absolute if sums else TINY) for a, b in zip(ours, theirs))


def near_number(a, b, relative, absolute):
    if np.isnan(a) or np.isnan(b):
        return np.isnan(a) and np.isnan(b)
    if a == 0 and b == 0:
        return np.signbit(a) == np.signbit(b)
    if np.isinf(a) or np.isinf(b):
        return a == b
    return abs(a - b) <= max(relative * abs(b), absolute)


def brief(value):
    if isinstance(value, list):
        value = [t and "%s%s%s" % (t["dtype"], t["shape"], t["values"][:6]) for t in value]
    return str(value)[:160]


def differences(ours, theirs, element_wise=False):
    """Of two results of a case or a sequence."""
    if "sequence" in theirs:
        return step_differences(ours["steps"], theirs["steps"])
    if theirs["outputs"] in ("lacks", "crash"):  # TensorFlow has no such kernel, or did not survive it
        return []
    parts = ["outputs", "fed"]
    if isinstance(ours["outputs"], list) and isinstance(theirs["outputs"], list):
        parts.append("gradients")
    texts = [(p, difference(found(ours, p), found(theirs, p), p == "gradients" or not element_wise)) for p in parts]
    return ["%s: %s" % (part, text) for part, text in texts if text]


def step_differences(ours, theirs):
    if len(ours) != len(theirs):
        return ["%d steps, not %d" % (len(ours), len(theirs))]
    texts = [(i, difference(a, b)) for i, (a, b) in enumerate(zip(ours, theirs))]
    return ["step %d: %s" % item for item in texts if item[1]]


def found(result, key):
    """Fed inputs give what constants do, unless it is told otherwise."""
    return result.get(key, result["outputs"] if key == "fed" else None)


# --- Recording ----------------------------------------------------------------------------------


def record(python, names):
    import op_cases
    import op_differences
    import op_sequences

    rows = [case for case in op_cases.all_cases() if case["op"] not in op_differences.LACKING]
    cases = [case for case in rows if not names or case["op"] in names]
    cases += [name for name in op_sequences.SEQUENCES if not names or name in names]
    write(run(python, cases, live.clean_environment()))


def write(results):
    """A file per op, a line per sample."""
    import op_differences

    by_file = {}
    for result in results:
        if "op" in result and (why := op_differences.other_values(result["op"], result["sample"])):
            result["differs"] = why  # for src/ops/op_values_test.cc
        by_file.setdefault(result.get("op") or result["sequence"], []).append(result)
    folder = live.GOLDEN / "op_values"
    folder.mkdir(exist_ok=True)
    for name, found in by_file.items():
        lines = [json.dumps({k: v for k, v in r.items() if k != "op"}, separators=(",", ":")) for r in found]
        (folder / (name + ".json")).write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    record(sys.argv[1], sys.argv[2:])
