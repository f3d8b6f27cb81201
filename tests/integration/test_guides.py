"""Every command of README and of the guides runs, as printed, in a folder of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import ROOT
from tests.tutorials import GUIDES, fences, run_through

if TYPE_CHECKING:
    from pathlib import Path

PLAYED = (ROOT / "README.md", ROOT / "docs" / "tutorial.md", ROOT / "docs" / "purchase.md")
"""Pages whose output stands in them, too, which `make docs` writes."""
PAGES = tuple(dict.fromkeys((*PLAYED, *GUIDES)))


def test_commands_stand_in_blocks_that_are_run() -> None:
    """A block of another kind would be passed over in silence."""
    shown = [(page.name, fence) for page in PAGES for fence in fences(page) if fence.commands]
    assert len(shown) > 20
    assert [name for name, fence in shown if fence.kind not in ("console", "sh") and not fence.unrun] == []
    assert sum(bool(fence.unrun) for _, fence in shown) <= 3


@pytest.mark.integration
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_run_as_printed(page: Path, tmp_path: Path) -> None:
    blocks = [fence for fence in fences(page) if fence.commands and not fence.unrun]
    assert run_through(page, tmp_path) == len(blocks)


@pytest.mark.integration
def test_a_command_that_fails_fails_its_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\nffplan design no-such-design\n```\n")
    with pytest.raises(RuntimeError, match="exit code 2"):
        run_through(page, tmp_path)
