"""docs/api.md is what the build makes of the names that the sources declare."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_names_is_what_the_sources_declare(tmp_path):
    made = tmp_path / "api.md"
    subprocess.run([sys.executable, ROOT / "tools" / "make_api.py", ROOT, made], check=True)
    again = "run tools/make_api.py . docs/api.md"
    assert made.read_text() == (ROOT / "docs" / "api.md").read_text(), again


def test_the_readme_links_the_page():
    assert "docs/api.md" in (ROOT / "README.md").read_text()
