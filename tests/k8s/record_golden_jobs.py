"""Records what Kubeflow's operator makes of the files in jobs/, and how ours differs.

    python tests/k8s/record_golden_jobs.py [name …]    on a rig (tools/k8s/rig.py build --kubeflow), some seconds each
    python tests/k8s/record_golden_jobs.py --ours      only ours, in memory; what was recorded of Kubeflow's stays

Prints the differences that no line of docs/guide/kubernetes-differences.md explains yet.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "k8s"))

import golden_jobs  # noqa: E402
import job_plays  # noqa: E402
from job_clusters import RigCluster  # noqa: E402
from kubeflow_operator import UNLIMITED, KubeflowOperator  # noqa: E402
from rig import Rig  # noqa: E402

PROGRAM = ROOT / "build" / "dev" / "tests" / "memory_cluster"


def kubeflows(jobs):
    """Each job with its values. The CRD is ours, so that old versions are there too."""
    with Rig(crds=[ROOT / "deploy" / "k8s" / "crd.yaml"], schedule=False) as rig:
        with KubeflowOperator(rig, UNLIMITED):
            for job in jobs:
                yield job, job_plays.Play(job, RigCluster(rig)).to_its_end()


def show_unexplained(name):
    record = golden_jobs.load(name)
    for path in golden_jobs.unexplained(name, record):
        print(f"{name}: {path}: {record['kubeflow'].get(path)!r}, ours {record['capstan'][path]!r}", flush=True)


def main(arguments):
    chosen = [name for name in arguments if not name.startswith("--")]
    jobs = [job for job in job_plays.all_jobs() if not chosen or job.name in chosen]
    known = ((job, golden_jobs.load(job.name)["kubeflow"]) for job in jobs)
    for job, theirs in known if "--ours" in arguments else kubeflows(jobs):
        golden_jobs.save(job.name, theirs, golden_jobs.play_in_memory(job, PROGRAM))
        show_unexplained(job.name)


if __name__ == "__main__":
    main(sys.argv[1:])
