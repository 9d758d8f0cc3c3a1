"""Calls by position and by keyword mean here what they mean in TensorFlow, and leave out the same."""

import inspect

import live
import pytest
import signatures
import tensorflow as tf
from capstan import _names
from capstan.front import namespaces

# Younger than the programs that run here.
YOUNGER = {
    "index_type",
    "layout",
    "skip_gradients_aggregation",
    "use_own_namescope_for_non_slot_vars",
    "use_pybind11_proto",
}
OTHERWISE = {
    "matmul": "has three more arguments in the middle since",
    "linalg.matmul": "has three more arguments in the middle since",
    "lin_space": "takes an axis since",
    "linspace": "takes an axis since",
    "Variable.SaveSliceInfo": "of variables in parts, which are not made here",
    "DType": "made by nobody but us",
    "Operation": "made by nobody but us",
    "Tensor": "made by nobody but us",
    "dtypes.DType": "made by nobody but us",
    "VariableScope.get_variable": "there is one store of variables, which nobody has to name",
    "test.TestCase.fail": "unittest's",
    "make_tensor_proto": "never checks a shape against the values: it fills, as tf.constant does",
}
# What TensorFlow requires and may be left out here: 0.x calls it otherwise, or does without.
MAY_BE_LEFT_OUT = {
    "concat": {"axis"},
    "split": {"num_or_size_splits"},
    "strided_slice": {"end"},
    "name_scope": {"name"},
    "SparseTensor": {"dense_shape"},
    "OpError": {"error_code"},
    "errors.OpError": {"error_code"},
}
RECORD = "run tests/oracle/signatures.py > tests/golden/signatures.json with a Python that has TensorFlow"


def without_younger(names):
    return [name for name in names if name.partition("=")[0] not in YOUNGER]


def as_here(path, name):
    """A parameter of TensorFlow's as it is to be here."""
    if "flags.DEFINE_" in path:  # 0.x does without a help, and programs without a default
        optional = {"help": "help=''"} if path.endswith("_enum") else {"help": "help=''", "default": "default=None"}
        return optional.get(name, name)
    return name + "=None" if name in MAY_BE_LEFT_OUT.get(path, ()) else name


def differences(theirs):
    """What of TensorFlow's {path: parameters} is otherwise here, and how much was compared."""
    compared, wrong = 0, []
    for path, names in theirs.items():
        ours = signatures.find(tf, path)
        if names is None or not callable(ours) or path in OTHERWISE or isinstance(ours, namespaces.Namespace):
            continue
        compared += 1
        ours = signatures.parameters(ours)
        names = [as_here(path, name) for name in without_younger(names)]
        if ours is None or ours[: len(names)] != names:
            wrong.append("%s: %s is %s" % (path, names, ours))
    return wrong, compared


def test_parameters_have_tensorflows_names_order_and_defaults():
    wrong, compared = differences(live.recorded("signatures.json"))
    assert not wrong, "\n".join(wrong)
    assert compared > 900


def can_be_told(function):
    """Whether TensorFlow's recorder would have told its parameters."""
    return inspect.isfunction(function) or inspect.isclass(function) and not hasattr(function, "DESCRIPTOR")


def test_every_name_that_tensorflow_has_too_is_recorded():
    theirs, missing = live.recorded("signatures.json"), []
    for module, names in namespaces._tensorflows().items():
        for name in sorted(names.intersection(_names.TABLE.get(module, ()))):
            path = "%s.%s" % (module, name) if module else name
            if path not in theirs and can_be_told(namespaces.find(module, name)):
                missing.append(path)
    assert not missing, "%s: %s" % (RECORD, missing)


@pytest.mark.oracle
def test_what_is_recorded_is_what_tensorflow_has(oracle_python):
    assert live.told(oracle_python, "signatures.py") == live.recorded("signatures.json"), RECORD
