"""What `ffplan audit` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.report.document import Block, Body, Document, Grid, Remarks

if TYPE_CHECKING:
    from ffplan.results.as_built import AuditCause, DiffReport

SHOWN = 20
"""Most devices told by their wiring that the table lists."""


def _cause(number: int, cause: AuditCause) -> Grid:
    """Return a finding: what, what to do, what it costs."""
    labels = ("do", *("" for _ in cause.do[1:]))
    rows = list(zip(labels, cause.do, strict=True)) + ([("costs", cause.effect)] if cause.effect else [])
    return Grid(f"{number}. {cause.severity}: {cause.what} [{cause.kind}]", tuple(rows))


def _told(report: DiffReport) -> list[Block]:
    """Return the devices that were told by their wiring; the adapters of a node stand in one row."""
    rows: dict[tuple[str, str], list[float]] = {}
    for item in report.by_wiring:
        host, slash, _ = item.designed.partition("/")
        key = (item.found.partition(" ")[0], host) if slash else (item.found, item.designed)
        rows.setdefault(key, []).append(item.confidence)
    if not rows:
        return []
    cells = tuple((*key, f"{min(parts):.0%}") for key, parts in list(rows.items())[:SHOWN])
    found: list[Block] = [Grid("Told by what they are wired to", cells, ("as built", "in the design", "links agree"))]
    more = len(rows) - SHOWN
    return [*found, Remarks((f"and {more:,} more; --format json lists all",))] if more > 0 else found


def differences(report: DiffReport) -> list[dict[str, str]]:
    """Return one row for each difference between a fabric as built and its design."""
    rows = [{"kind": "absent", "port": name, "designed": "", "found": ""} for name in report.absent]
    rows += [{"kind": "unknown", "port": name, "designed": "", "found": ""} for name in report.unknown]
    rows += [{"kind": "missing", "port": a, "designed": b, "found": ""} for a, b in report.missing]
    rows += [{"kind": "extra", "port": a, "designed": "", "found": b} for a, b in report.extra]
    rows += [
        {"kind": "miswired", "port": item.port, "designed": item.designed, "found": item.found}
        for item in report.miswired
    ]
    return rows + [
        {
            "kind": "slow",
            "port": item.a,
            "designed": f"{item.designed_gbit_s:g} Gb/s to {item.b}",
            "found": f"{item.found_gbit_s:g} Gb/s" if item.found_gbit_s else f"{item.lanes}x",
        }
        for item in report.slow
    ]


def audit_document(report: DiffReport) -> Document:
    """Return what `ffplan audit` prints."""
    found = plural(len(report.causes), "finding")
    head = f"{report.design}: {report.same:,} links as designed, {found}"
    told = f"{report.by_name:,} devices told by name, {len(report.by_wiring):,} by wiring, from {report.form}"
    blocks: list[Block] = [
        *(_cause(number, cause) for number, cause in enumerate(report.causes, start=1)),
        *([Remarks((f"Together: {report.effect}.",))] if report.effect else []),
        *_told(report),
        Remarks((told, *report.remarks)),
    ]
    return Document(report, lambda _: Body(head, blocks), lambda: differences(report))
