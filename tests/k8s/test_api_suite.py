"""What the operator counts on of an API server, with the tests that the API in memory passes too."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.rig


def test_the_server_behaves_as_the_api_in_memory_does(rig_without_nodes, capstan):
    suite = Path(capstan).parents[2] / "tests" / "kube_api_test"
    if not suite.exists():
        pytest.skip(f"{suite} is not built")
    environment = {**os.environ, "CAPSTAN_TEST_KUBECONFIG": str(rig_without_nodes.kubeconfig)}
    done = subprocess.run(
        [suite, "--gtest_filter=*Server"], env=environment, text=True, capture_output=True, timeout=300
    )
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-2000:]
    assert "SKIPPED" not in done.stdout
