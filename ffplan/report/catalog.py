"""Parts of the catalogue for a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import number, plural
from ffplan.report.document import Document, Grid, Remarks, _Body

if TYPE_CHECKING:
    from ffplan.results.catalog import AuditReport, FigureRow, OfferRow, PartList, PartSheet


def _figure(row: FigureRow, source: int) -> tuple[str, str, str, str]:
    value = f"{number(row.value, 9)} {row.unit}".strip()
    if row.low != row.high:
        value += f" ({number(row.low, 9)} to {number(row.high, 9)})"
    if row.unit == "GB/s":
        value += f", {number(row.value * 8, 9)} Gb/s"
    return row.path, value, f"{row.grade}, {row.status}", f"[{source + 1}]"


def _sheet(sheet: PartSheet) -> _Body:
    part = sheet.report
    origin = [f"{sheet.kind_words} of {part.vendor}, from {part.path}", *([part.note] if part.note else [])]
    rows = tuple(_figure(row, source) for row, source in zip(part.figures, sheet.source_of, strict=True))
    notes = [f"{row.path}: {row.note}" for row in part.figures if row.note]
    notes += [f"[{position}] {text}" for position, text in enumerate(sheet.sources, start=1)]
    dimensions = [Grid("", sheet.dimensions, style="plain")] if sheet.dimensions else []
    figures = [Grid("", rows, ("figure", "value", "grade, status", "source"), style="plain")] if rows else []
    return _Body(f"{part.id}  {part.name}", (Remarks(tuple(origin)), *dimensions, *figures, Remarks(tuple(notes))))


def part_document(sheet: PartSheet) -> Document:
    """Return the report of `ffplan catalog show`."""
    return Document(sheet.report, lambda _: _sheet(sheet), lambda: sheet.report.figures)


def _list(parts: PartList) -> _Body:
    overlaid = any(not row.path.startswith("catalogs/") for row in parts.parts)
    alone = {row.kind for row in parts.parts} == {"accelerator"}
    labels = {True: "calibrated", False: "estimated", None: ""}
    header = ("kind", "id", "name", *(("training",) if alone else ()), *(("path",) if overlaid else ()))
    rows = tuple(
        (
            *(row.kind, row.id, row.name),
            *((labels[row.calibrated],) if alone else ()),
            *((row.path,) if overlaid else ()),
        )
        for row in sorted(parts.parts, key=lambda part: (part.kind, part.id))
    )
    return _Body("", (Grid("", rows, header, style="list"),))


def offers_document(offers: tuple[OfferRow, ...]) -> Document:
    """Return the report of `ffplan catalog list rents`."""
    rows = tuple(
        (
            row.accelerator,
            row.offer,
            "index" if row.index else row.term,
            f"{number(row.price)} {row.currency}",
            row.date or "undated",
        )
        for row in offers
    )
    header = ("accelerator", "offer", "term", "an hour", "date")
    return Document(offers, lambda _: _Body("", (Grid("", rows, header, style="list"),)), lambda: offers)


_WIDTH = 48
"""Letters of the examples of a kind [1]."""


def _kinds(parts: PartList) -> _Body:
    kinds: dict[str, list[str]] = {}
    for row in sorted(parts.parts, key=lambda part: (part.kind, part.id)):
        kinds.setdefault(row.kind, []).append(row.id)
    rows = []
    for kind, ids in kinds.items():
        named = ids[:1]
        for name in ids[1:]:
            if len(", ".join((*named, name))) > _WIDTH:
                break
            named.append(name)
        rows.append((kind, f"{len(ids):,}", ", ".join(named) + (" …" if len(ids) > len(named) else "")))
    more = f"{plural(len(parts.parts), 'part')}. More: ffplan catalog list KIND, or rents; catalog show ID; --full"
    return _Body("", (Grid("", tuple(rows), ("kind", "parts", "such as"), style="list"), Remarks((more,))))


def parts_document(parts: PartList, *, by_kind: bool = False) -> Document:
    """Return the report of `ffplan catalog list`.

    Args:
        by_kind: show the kinds of parts in place of every part, in texts for people.
    """
    return Document(parts, lambda _: _kinds(parts) if by_kind else _list(parts), lambda: parts.parts)


_MANY = ("undated", "recalled", "second-hand")
"""Findings that most parts have many of: text counts them by part; JSON and CSV have each."""


def _audit_rows(report: AuditReport) -> tuple[tuple[str, ...], ...]:
    rows = [
        (finding.kind, finding.part, finding.path, finding.what)
        for finding in report.findings
        if finding.kind not in _MANY
    ]
    for kind in _MANY:
        counts: dict[str, int] = {}
        for entry in report.findings:
            if entry.kind == kind:
                counts[entry.part] = counts.get(entry.part, 0) + 1
        rows += [(kind, part, plural(count, "figure"), "JSON and CSV list them") for part, count in counts.items()]
    return tuple(rows)


def _audit(report: AuditReport) -> _Body:
    counts = ", ".join(f"{count:,} {kind}" for kind, count in report.counts.items() if count) or "no findings"
    rows = _audit_rows(report)
    table = [Grid("", rows, ("kind", "part", "figure", "why"), style="list")] if rows else []
    return _Body(f"{report.figures:,} figures: {counts}", tuple(table))


def audit_document(report: AuditReport) -> Document:
    """Return the report of `ffplan catalog audit`."""
    return Document(report, lambda _: _audit(report), lambda: report.findings)
