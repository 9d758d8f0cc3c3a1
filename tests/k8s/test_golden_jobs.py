"""Ours beside Kubeflow's operator: what both make of the files in jobs/ agrees, or the difference is explained.

In memory always, on a real API server with --rigs --long, and with --oracle Kubeflow's operator against its own record.
"""

from pathlib import Path

import golden_jobs
import job_plays
import pytest
from job_clusters import RigCluster
from kubeflow_operator import UNLIMITED, KubeflowOperator
from rig_binaries import Unavailable
from rigs import started_or_skipped
from tf_jobs import Operator

JOBS = {job.name: job for job in job_plays.all_jobs()}
every_job = pytest.mark.parametrize("name", JOBS)


def differences_of(name, ours):
    return golden_jobs.differences(golden_jobs.load(name)["kubeflow"], ours)


@pytest.fixture(scope="module")
def memory_cluster(capstan):
    program = Path(capstan).parents[2] / "tests" / "memory_cluster"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    return program


@pytest.fixture(scope="module")
def cluster(capstan, tmp_path_factory):
    """Ours at work on a rig where nobody runs pods."""
    rig = started_or_skipped(schedule=False)
    operator = Operator(capstan, rig.kubeconfig, tmp_path_factory.mktemp("golden") / "log")
    yield RigCluster(rig)
    operator.end()
    rig.stop()


@pytest.fixture(scope="module")
def kubeflow_cluster(request):
    """Kubeflow's at work on another, which knows the same versions of the API."""
    if not request.config.getoption("--oracle"):
        pytest.skip("needs --oracle")
    rig = started_or_skipped(schedule=False)
    try:
        operator = KubeflowOperator(rig, UNLIMITED)
    except Unavailable as reason:
        pytest.skip(str(reason))
    with operator:
        yield RigCluster(rig)
    rig.stop()


@every_job
def test_what_becomes_of_a_job_in_memory_is_what_was_recorded(memory_cluster, name):
    ours = golden_jobs.play_in_memory(JOBS[name], memory_cluster)
    assert differences_of(name, ours) == golden_jobs.load(name)["capstan"]


@pytest.mark.rig
@pytest.mark.long
@every_job
def test_what_becomes_of_a_job_on_a_server_is_what_was_recorded(cluster, name):
    record = golden_jobs.load(name)
    ours = job_plays.Play(JOBS[name], cluster, golden_jobs.ours_of(record)).to_its_end()
    assert differences_of(name, ours) == record["capstan"]


@pytest.mark.rig
@every_job
def test_kubeflows_operator_does_what_was_recorded(kubeflow_cluster, name):
    record = golden_jobs.load(name)
    assert job_plays.Play(JOBS[name], kubeflow_cluster, record["kubeflow"]).to_its_end() == record["kubeflow"]


@every_job
def test_every_difference_stands_in_the_table_with_its_reason(name):
    assert golden_jobs.unexplained(name, golden_jobs.load(name)) == []


def test_every_line_of_the_table_is_of_a_difference_that_there_is():
    found = [(name, path) for name in JOBS for path in golden_jobs.load(name)["capstan"]]
    stale = [row.what for row in golden_jobs.rows() if not any(row.covers(*one) for one in found)]
    assert stale == []


def test_the_files_have_every_version_role_and_policy():
    texts = [job.path.read_text() for job in JOBS.values()]
    words = ["v1beta1", "v1beta2", "kubeflow.org/v1\n", "MASTER", "Master:", "Chief:", "PS:", "Worker:", "Evaluator:"]
    words += [f"restartPolicy: {policy}" for policy in ("Never", "OnFailure", "Always", "ExitCode")]
    words += [f"cleanPodPolicy: {policy}" for policy in ("All", "Running", "None")]
    words += ["backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished", "suspend", "managedBy"]
    words += ["successPolicy: AllWorkers", "enableDynamicWorker", "tfjob-port"]
    assert [word for word in words if not any(word in text for text in texts)] == []
    assert len(JOBS) >= 25
