"""What `ffplan reproduce` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.report.document import Body, Document, Grid, Lines
from ffplan.results.reproduction import Difference

if TYPE_CHECKING:
    from ffplan.results.reproduction import Reproduction

MOST = 40
"""Differences shown to people; JSON and CSV have all."""


def _change(change: float | None) -> str:
    return "" if change is None else f"{change:+.3g}" if abs(change) >= 10 else f"{change:+.2%}"


def _causes(report: Reproduction) -> list[Lines | Grid]:
    if not report.causes:
        words = "nothing that the report names has changed: program, format, designs and catalogue files are the same"
        return [Lines("Causes", (("", words),))]
    rows = tuple((item.what, item.then or "not read", item.now or "not read") for item in report.causes)
    return [Grid("What the report rests on and is no longer the same", rows, ("", "then", "now"), style="plain")]


def _as_rows(report: Reproduction) -> list[Difference]:
    """Return the causes as rows of the table of differences."""
    return [Difference(item.what, item.then, item.now, None) for item in report.causes]


def reproduction_document(report: Reproduction) -> Document:
    """Return what `ffplan reproduce` prints."""
    found = len(report.differences)
    head = f"{report.report}: {report.values:,} values of a {report.kind}, "
    head += f"{plural(found, 'difference')}" if found else "all as before"

    def body(_: object) -> Body:
        blocks: list[Lines | Grid] = []
        if found:
            shown = report.differences[:MOST]
            rows = tuple((i.path, i.then or "absent", i.now or "absent", _change(i.change)) for i in shown)
            blocks.append(Grid("Values that differ", rows, ("path", "then", "now", "change"), style="plain"))
            if found > MOST:
                blocks.append(Lines("", (("", f"and {found - MOST:,} more; `--format csv` lists all"),)))
        blocks += _causes(report) if found or report.causes else []
        if report.left_out:
            words = f"not made again, since the report does not hold its options: {', '.join(report.left_out)}"
            blocks.append(Lines("Left out", (("", words),)))
        return Body(head, blocks)

    return Document(report, body, lambda: [*report.differences, *_as_rows(report)])
