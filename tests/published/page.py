"""Pages of computed figures: the tables of a page as rows, so that tests can hold every cell."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.support import ROOT

HEADER = ("quantity", "source", "computed", "remark")


@cache
def page_text(name: str) -> str:
    """Return a page of docs as one line of text."""
    return " ".join((ROOT / "docs" / f"{name}.md").read_text().split())


@cache
def computed_cells(name: str) -> dict[str, dict[str, str]]:
    """Return the column `computed` of every table of a page by section and quantity."""
    found: dict[str, dict[str, str]] = {}
    section = ""
    for line in (ROOT / "docs" / f"{name}.md").read_text().splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        if not line.startswith("|") or set(line) <= set("|- "):
            continue
        cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
        assert len(cells) == len(HEADER), line
        if cells == HEADER:
            continue
        rows = found.setdefault(section, {})
        assert cells[0] not in rows, f"{section}: {cells[0]} stands twice"
        rows[cells[0]] = cells[2]
    return found


def listed(*values: Any, digits: int = 0) -> str:
    """Return values as a page writes them: separated by slashes, a dash for none."""
    return " / ".join("-" if v is None else v if isinstance(v, str) else f"{v:,.{digits}f}" for v in values)


def shortest(*values: float | None) -> str:
    """Return values with the digits that they have."""
    return listed(*(None if value is None else f"{value:,.10g}" for value in values))
