"""A plugin of pytest that tells coverage.py which test runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from coverage import Coverage

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None]:
    """Note the lines of a test under its name."""
    if (current := Coverage.current()) is not None:
        current.switch_context(item.nodeid)
    yield
    if current is not None:
        current.switch_context("")
