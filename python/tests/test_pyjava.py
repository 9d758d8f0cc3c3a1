"""pyjava's context reads what MLSQL's engine writes."""

import json
import struct
import subprocess
import sys


def encode(parameters):
    def text(value):
        if value is None:
            return struct.pack("!i", -5)
        return struct.pack("!i", len(value.encode())) + value.encode()

    return struct.pack("!i", len(parameters)) + b"".join(
        text(key) + text(value) for key, value in parameters.items()
    )


CODE = """
import json
from pyjava.api.mlsql import PythonProjectContext
context = PythonProjectContext()
context.read_params_once()
context.read_params_once()
print(json.dumps([context.conf, context.input_data_dir(), context.output_model_dir()]))
"""


def run(data, code=CODE):
    return subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, timeout=60)


def test_parameters_come_from_standard_input():
    given = {
        "roleSpec": '{"jobName": "wörker"}',
        "tempDataLocalPath": "/d",
        "tempModelLocalPath": "/m",
        "empty": "",
        "none": None,
    }
    conf, data, model = json.loads(run(encode(given)).stdout)
    assert (conf, data, model) == (given, "/d", "/m")


def test_truncated_parameters_are_an_error():
    done = run(encode({"a": "b"})[:-1])
    assert done.returncode != 0 and b"EOFError" in done.stderr


NEWER = """
from pyjava.api.mlsql import PythonProjectContext
context = PythonProjectContext()
context.log_client.log_to_driver("epochs: " + context.conf["epochs"])
context.input_data_dir()
"""


def test_a_script_that_never_reads_its_parameters_has_them_and_logs_to_its_output():
    done = run(encode({"epochs": "3"}), NEWER)
    assert done.stdout == b"epochs: 3\n"
    assert b"KeyError: 'tempDataLocalPath'" in done.stderr  # as on a parameter server
