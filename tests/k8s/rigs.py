"""Rigs as the tests here want them."""

from pathlib import Path

import pytest
from rig import Rig
from rig_binaries import Unavailable

ROOT = Path(__file__).resolve().parent.parent.parent
CRDS = [ROOT / "deploy" / "k8s" / "crd.yaml"]


def started_or_skipped(crds=CRDS, **options):
    try:
        rig = Rig(crds=crds, **options)
    except Unavailable as reason:
        pytest.skip(str(reason))
    rig.start()
    return rig
