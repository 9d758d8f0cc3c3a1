"""A folder for job scripts."""

import pytest
from job_scripts import Scripts


@pytest.fixture
def scripts(capstan, tmp_path):
    made = Scripts(capstan, tmp_path)
    if "libduckdb" in made.run("-e", "select 1 as a as t;")[2]:
        pytest.skip("needs DuckDB")
    yield made
    made.kill_all()
