"""The programs whose graphs are compared with TensorFlow's, and how each is started."""

import json
import os
import struct
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "programs"
FLAGS = ["--ps_hosts=a:1,b:1", "--worker_hosts=c:1,d:1", "--job_name=worker", "--task_index=1"]


def _config(chief):
    cluster = {"ps": ["a:1", "b:1"], chief: ["c:1"], "worker": ["d:1"]}
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": chief, "index": 0}})}


def _mlsql_parameters(folder):
    (folder / "data").write_text("{}\n")
    parameters = {
        "roleSpec": json.dumps({"jobName": "worker", "taskIndex": "0"}),
        "clusterSpec": json.dumps({"ps": ["a:1"], "worker": ["b:1"]}),
        "tempDataLocalPath": str(folder / "data"),
        "tempModelLocalPath": str(folder / "model"),
    }
    out = struct.pack("!i", len(parameters))
    for text in (part for pair in parameters.items() for part in pair):
        out += struct.pack("!i", len(text.encode())) + text.encode()
    return out


# name: (path, arguments, environment)
PROGRAMS = {
    "examples/linear_regression": (ROOT / "examples" / "linear_regression.py", FLAGS, {}),
    "examples/mnist": (ROOT / "examples" / "mnist.py", FLAGS, {}),
    "examples/sync_replicas": (ROOT / "examples" / "sync_replicas.py", FLAGS, {}),
    "examples/written_hosts": (ROOT / "examples" / "written_hosts.py", FLAGS[2:], {}),
    "examples/tf_config": (ROOT / "examples" / "tf_config.py", [], _config("master")),
    "flags/distribute": (SHARED / "flags" / "distribute.py", FLAGS, {}),
    "flags/example": (SHARED / "flags" / "example.py", FLAGS[2:], {}),
    "tfjob/main": (SHARED / "tfjob" / "main.py", [], _config("master")),
    "dtf/py_train": (SHARED / "dtf" / "demo" / "tf" / "py_train.mlsql", [], {}),
}


def graph_lines(python, name):
    """The nodes that `python` builds for a program."""
    path, arguments, env = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as folder:
        folder, given = Path(folder), None
        if path.suffix == ".mlsql":
            script = folder / "script.py"
            script.write_text(path.read_text().split("'''")[1])
            path, given = script, _mlsql_parameters(folder)
        tool = Path(__file__).with_name("program_graph.py")
        done = subprocess.run([python, str(tool), str(path), *arguments], cwd=folder, input=given,
                              env={**os.environ, **env}, capture_output=True, timeout=120)
        lines = done.stdout.decode().splitlines()
        if done.returncode or not lines:
            raise RuntimeError("%s: %s" % (name, done.stderr.decode()[-2000:]))
        return json.loads(lines[-1])


