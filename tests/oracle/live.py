"""Runs a tool of this folder, or of another, with an interpreter that has TensorFlow."""

import json
import os
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
GOLDEN = FOLDER.parent / "golden"


def clean_environment():
    """Without what `capstan python` adds, or TensorFlow's name would be found as ours."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def run(python, path, *args):
    """What the tool printed."""
    done = subprocess.run([python, str(path), *map(str, args)], cwd=Path(path).parent, env=clean_environment(),
                          capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def told(python, name, *args):
    """The JSON that a recording tool of this folder tells."""
    return json.loads(run(python, FOLDER / name, *args))


def recorded(name):
    return json.loads((GOLDEN / name).read_text())
