"""docs/formats/job-script.md names the functions of Spark that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_lists_the_functions_of_spark():
    rows = re.findall(r'^    \{"(\w+)",', (ROOT / "jobs/duck/spark_functions.cc").read_text(), re.M)
    page = (ROOT / "docs/formats/job-script.md").read_text().split("## SQL")[1]
    listed = [name for cell in re.findall(r"^\| \w+ \| `([^`]*)` \|$", page, re.M) for name in cell.split()]
    assert len(rows) > 50 and listed == rows
