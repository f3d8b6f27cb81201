"""Tables under headings: how the smaller commands print, in every format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.record import record

if TYPE_CHECKING:
    from rich.console import RenderableType


@record
class Block:
    """A heading with a table; without a header the first column holds labels."""

    title: str
    rows: tuple[tuple[str, ...], ...]
    header: tuple[str, ...] = ()


def blocks_text(head: str, blocks: list[Block], *, terminal: bool) -> str:
    """Return blocks as text."""
    from rich.table import Table
    from rich.text import Text

    from ffplan.report.text import render

    items: list[RenderableType] = [Text(head, style="bold")]
    for block in blocks:
        if block.title:
            items.append(Text(block.title, style="bold cyan"))
        grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(block.header))
        for number, title in enumerate(block.header or block.rows[0] if block.rows else block.header):
            grid.add_column(Text(f"  {title}" if not number else title), overflow="fold", no_wrap=not number,
                            style="dim" if not number and not block.header else "")  # fmt: skip
        for row in block.rows:
            grid.add_row(*[Text(f"  {cell}" if not number else cell) for number, cell in enumerate(row)])
        items.append(grid)
    return render(*items, terminal=terminal)


def blocks_markdown(head: str, blocks: list[Block]) -> str:
    """Return blocks as Markdown."""
    from ffplan.report.markdown import escape, table

    parts = [f"# {escape(head)}"]
    for block in blocks:
        if block.title:
            parts.append(f"## {escape(block.title)}")
        width = len(block.rows[0]) if block.rows else 0
        parts.append(table(block.header or ("",) * width, block.rows))
    return "\n\n".join(parts) + "\n"


def records_csv(rows: list[Any]) -> str:
    """Return records of one kind as CSV, a column for each field; nested fields are joined by dots."""
    from ffplan.report.plain import csv_text, plain

    def flat(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, item in value.items():
            if isinstance(item, dict):
                found |= flat(item, f"{prefix}{key}.")
            else:
                found[f"{prefix}{key}"] = " ".join(map(str, item)) if isinstance(item, list) else item
        return found

    flats = [flat(plain(row)) for row in rows]
    header = list(flats[0]) if flats else []
    return csv_text(header, [[row.get(name) for name in header] for row in flats])
