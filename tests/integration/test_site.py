"""The documentation site builds, and no link of it is broken."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT

pytestmark = pytest.mark.integration


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    mkdocs = Path(sys.executable).parent / "mkdocs"
    command = [str(mkdocs), "build", "--strict", "--site-dir", str(tmp_path / "site")]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*.html")}
    search = (tmp_path / "site" / "search" / "search_index.json").read_text()
    assert '"location":"paths.html' in search.replace(" ", "")
    assert "tco.rents[].hour" in search
    assert {
        "paths.html",
        "index.html",
        "tutorial.html",
        "purchase.html",
        "ci.html",
        "rules.html",
        "model/cost.html",
    } <= pages
