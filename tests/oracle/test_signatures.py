"""Calls by position and by keyword mean here what they mean in TensorFlow."""

import live
import pytest
import signatures
import tensorflow as tf

# Younger than the programs that run here.
YOUNGER = {
    "layout",
    "skip_gradients_aggregation",
    "use_own_namescope_for_non_slot_vars",
    "use_pybind11_proto",
}
OTHERWISE = {
    "matmul": "has three more arguments in the middle since",
    "Variable.SaveSliceInfo": "of variables in parts, which are not made here",
    "DType": "made by nobody but us",
    "VariableScope.get_variable": "there is one store of variables, which nobody has to name",
    "make_tensor_proto": "never checks a shape against the values: it fills, as tf.constant does",
}


@pytest.mark.oracle
def test_arguments_have_tensorflows_names_and_order(oracle_python):
    theirs = live.told(oracle_python, "signatures.py")
    compared, wrong = 0, []
    for path, names in theirs.items():
        ours = signatures.find(tf, path)
        ours = signatures.arguments(ours) if callable(ours) else None
        if ours is None or path in OTHERWISE:
            continue
        compared += 1
        names = [name for name in names if name not in YOUNGER]
        if ours[: len(names)] != names:
            wrong.append("%s: %s is %s" % (path, names, ours))
    assert not wrong, "\n".join(wrong)
    assert compared > 700
