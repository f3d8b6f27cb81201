"""Numbers of many settings, to their last digit; see `commands.py`. `make docs` writes them anew."""

from __future__ import annotations

import pytest

from tests.golden.commands import commands, place, printed

LINES = commands()


@pytest.mark.parametrize("name", sorted(LINES))
def test_numbers(name: str) -> None:
    assert printed(*LINES[name]) == place(name).read_text()


def test_every_kept_output_has_its_line() -> None:
    root = place("x").parent
    assert {str(path.relative_to(root).with_suffix("")) for path in root.rglob("*.txt")} == set(LINES)
