"""What all tests share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

settings.register_profile("ffplan", deadline=None, derandomize=True, max_examples=150)
settings.load_profile("ffplan")


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test from the root of the project, without the user's environment for output."""
    monkeypatch.chdir(ROOT)
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "FFPLAN_DEBUG"):
        monkeypatch.delenv(name, raising=False)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, None]:
    """Where FFPLAN_NO_SKIP is set, as in CI, a skipped test is a failed one."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("FFPLAN_NO_SKIP"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may skip: {report.longrepr}"


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    """An empty folder for a catalogue of the test's own."""
    folder = tmp_path / "parts"
    folder.mkdir()
    return folder
