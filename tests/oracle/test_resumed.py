"""Checkpoints with slots: written there and trained on here, and the other way round."""

import json

import live
import numpy as np
import pytest
import resumed
import tensorflow as tf

RECORDED = live.GOLDEN / "resumed"


def assert_equal_losses(losses, expected):
    assert len(losses) == len(expected) == resumed.STEPS
    np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("optimizer", ["Adam", "Momentum"])
def test_training_goes_on_from_a_checkpoint_that_tensorflow_wrote(optimizer):
    before, after = json.loads((RECORDED / (optimizer + ".json")).read_text())
    assert before[0] != after[0]
    assert_equal_losses(resumed.restore(tf, optimizer, str(RECORDED / optimizer)), after)


@pytest.mark.parametrize("optimizer", resumed.OPTIMIZERS)
def test_training_goes_on_from_a_checkpoint_of_ours_bit_for_bit(optimizer, tmp_path):
    _, after = resumed.save(tf, optimizer, str(tmp_path / "model"))
    assert resumed.restore(tf, optimizer, str(tmp_path / "model")) == after


@pytest.mark.oracle
@pytest.mark.parametrize("optimizer", resumed.OPTIMIZERS)
def test_tensorflow_restores_our_checkpoint_and_trains_on_equally(oracle_python, optimizer, tmp_path):
    _, after = resumed.save(tf, optimizer, str(tmp_path / "model"))
    assert_equal_losses(live.told(oracle_python, "resumed.py", "restore", optimizer, tmp_path / "model"), after)


@pytest.mark.oracle
@pytest.mark.parametrize("optimizer", resumed.OPTIMIZERS)
def test_we_restore_tensorflows_checkpoint_and_train_on_equally(oracle_python, optimizer, tmp_path):
    _, after = live.told(oracle_python, "resumed.py", "save", optimizer, tmp_path / "model")
    assert_equal_losses(resumed.restore(tf, optimizer, str(tmp_path / "model")), after)
