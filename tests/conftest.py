"""What all tests share."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.support import ROOT, examples, parts_read_once

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}  # as `ffplan.__main__` sets them
gc.set_threshold(100_000, 50, 50)  # collections cost a tenth of the time of the tests
settings.register_profile("ffplan", examples(150), derandomize=True)
settings.load_profile("ffplan")


@pytest.fixture(autouse=True, scope="session")
def _shared_parts() -> Generator[None, Any, None]:
    """Read every shipped part once in a run of tests."""
    with parts_read_once():
        yield


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
