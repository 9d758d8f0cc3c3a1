"""Checkpoints that are written beside training can be read, every one of them, by us and by
TensorFlow."""

import re
import sys
from pathlib import Path

import pytest

SECONDS = 900
PROGRAM = Path(__file__).with_name("save_often.py")

settings = [
    pytest.mark.parametrize("kind", ["supervisor", "monitored"]),
    pytest.mark.parametrize("place", ["in_one_process", "on_a_cluster"]),
    pytest.mark.parametrize("optimizer", ["sgd", "adam", "locking"]),
]


def of_all_settings(test):
    for each in settings:
        test = each(test)
    return test


@pytest.fixture
def bad_bundles(run_job, run_capstan, tmp_path):
    """Runs the program; (how many checkpoints it wrote, how many could not be read, its output)"""

    def in_one_process(*program):
        done = run_capstan("python", "--python", sys.executable, *program, timeout=SECONDS)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def on_a_cluster(*program):
        return run_job("--ps", 1, "--workers", 1, *program, timeout=SECONDS)

    places = {"in_one_process": in_one_process, "on_a_cluster": on_a_cluster}

    def run(kind, place, optimizer, **flags):
        flags = dict(flags, kind=kind, optimizer=optimizer, logdir=tmp_path / "log")
        output = places[place](PROGRAM, *("--%s=%s" % item for item in flags.items()))
        saves, bad = re.search(r"(\d+) saves, (\d+) bad", output).groups()
        return int(saves), int(bad), output

    return run


@of_all_settings
def test_every_checkpoint_that_is_written_beside_training_is_whole(bad_bundles, kind, place, optimizer):
    saves, bad, output = bad_bundles(kind, place, optimizer, megabytes=8, saves=10)
    assert saves >= 10 and bad == 0, output[-3000:]


@pytest.mark.long
@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.oracle
@of_all_settings
@pytest.mark.parametrize("megabytes", [8, 200])
def test_every_checkpoint_that_is_saved_once_a_second_is_whole_for_tensorflow_too(
    bad_bundles, oracle_python, kind, place, optimizer, megabytes
):
    flags = dict(megabytes=megabytes, saves=9, every_secs=1, oracle=oracle_python)
    saves, bad, output = bad_bundles(kind, place, optimizer, **flags)
    assert saves >= 9 and bad == 0, output[-3000:]
