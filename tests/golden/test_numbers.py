"""Numbers of many settings, to their last digit; see `commands.py`. `make docs` writes them anew."""

from __future__ import annotations

import pytest

from tests.golden.commands import FOLDER, commands, place, printed

LINES = commands()


@pytest.mark.parametrize("name", sorted(LINES))
def test_numbers(name: str) -> None:
    assert printed(*LINES[name]) == place(name).read_text()


def test_every_kept_output_has_its_line() -> None:
    assert {str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.rglob("*.txt")} == set(LINES)
