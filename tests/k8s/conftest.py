"""The rig of tools/k8s for the tests here: one per run, with one node; a namespace for each test."""

import itertools
import signal
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "k8s"))

import kubeflow_operator  # noqa: E402
import namespaces  # noqa: E402
from rig_binaries import Unavailable  # noqa: E402
from rigs import started_or_skipped  # noqa: E402
from tf_jobs import Operator  # noqa: E402

numbers = itertools.count()


@pytest.fixture(scope="session")
def rig_without_nodes():
    """The API server with its controllers; pods stay Pending."""
    rig = started_or_skipped()
    yield rig
    rig.stop()


@pytest.fixture(scope="session")
def rig(rig_without_nodes):
    """With a node `node-0` that has one GPU and runs pods of the image `any` as they stand."""
    if reason := namespaces.missing():
        pytest.skip(reason)
    rig_without_nodes.start_node("node-0", {"nvidia.com/gpu": "1"})
    rig_without_nodes.map_image("any")
    return rig_without_nodes


@pytest.fixture(scope="session")
def kubeflow(request):
    """Kubeflow's own operator at work on a rig of its own (`kubeflow.rig`), with its CRD; only with --oracle."""
    if not request.config.getoption("--oracle"):
        pytest.skip("needs --oracle")
    try:
        crds = kubeflow_operator.crds()
    except Unavailable as reason:
        pytest.skip(str(reason))
    if reason := namespaces.missing():
        pytest.skip(reason)
    rig = started_or_skipped(crds)
    with kubeflow_operator.KubeflowOperator(rig) as operator:
        yield operator
    rig.stop()


@pytest.fixture
def new_rig():
    """Makes a rig of the test's own, for what would disturb others: new_rig(node_grace=2)."""
    if reason := namespaces.missing():
        pytest.skip(reason)
    rigs = []

    def make(**options):
        rigs.append(started_or_skipped(**options))
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.stop()


@pytest.fixture
def namespace(rig_without_nodes):
    """The name of a new one."""
    name = f"test-{next(numbers)}"
    rig_without_nodes.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    rig_without_nodes.api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
def new_operator(capstan, tmp_path):
    """Starts one: new_operator(kubeconfig, "--leader-elect"). All are asked to end after the test."""
    all_of_them = []

    def start(kubeconfig, *options):
        log = tmp_path / f"operator-{len(all_of_them)}.log"
        all_of_them.append(Operator(capstan, kubeconfig, log, *options))
        return all_of_them[-1]

    yield start
    codes = [one.end() for one in all_of_them]
    for one in all_of_them:
        print(one.log.read_text())
    assert all(code in (0, -signal.SIGKILL) for code in codes), codes


@pytest.fixture
def operator(rig, namespace, new_operator):
    return new_operator(rig.kubeconfig, "--namespace", namespace)
