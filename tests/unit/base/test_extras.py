"""A missing package is named with the line that brings it to the Python that runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from ffplan.base.extras import lacking

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("here/.venv/bin/python", "`.venv/bin/python -m pip install scipy`"),
        ("else where/python", "`'{}/else where/python' -m pip install scipy`"),
    ],
)
def test_the_line_installs_beside_this_ffplan(
    place: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(sys, "executable", str(tmp_path / place))
    assert lacking("fitting", "SciPy", "scipy") == f"fitting needs SciPy: {line.format(tmp_path)}"
