"""Figures of many settings, as numbers; see `commands.py`. `make docs` writes them anew."""

from __future__ import annotations

import pytest

from tests.golden.commands import FOLDER, commands, found, place
from tests.golden.pages import differences, sections


@pytest.mark.deep
@pytest.mark.parametrize("name", sorted(commands()))
def test_numbers(name: str) -> None:
    assert not differences(found(name), sections(place(name))[name])


def test_every_kept_table_has_its_line() -> None:
    assert {name for path in FOLDER.iterdir() for name in sections(path)} == set(commands())


@pytest.mark.parametrize("change", ["step_s=1.00000002", "step_s=2", "step_s=1 more=1", "stop_s=1"])
def test_a_figure_that_moves_is_seen(change: str) -> None:
    assert differences("rows[0] step_s=1\n", "rows[0] step_s=1.000000001\n") == []
    assert differences(f"rows[0] {change}\n", "rows[0] step_s=1\n")
