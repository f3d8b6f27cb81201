"""Catalogue parts for a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from ffplan.base.formatting import GIB, number
from ffplan.catalog.evidence import (
    BandwidthFigure,
    ComputeFigure,
    CountFigure,
    DataFigure,
    DurationFigure,
    Figure,
    FractionFigure,
    LengthFigure,
    PowerFigure,
    PriceFigure,
    TransfersFigure,
)
from ffplan.catalog.models import Model, ParameterFigure
from ffplan.catalog.prices import PriceBook
from ffplan.report.plain import to_json
from ffplan.report.text import render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from ffplan.catalog.parts import Part
    from ffplan.catalog.store import Entry

_UNITS: dict[type[Figure], tuple[str, float]] = {
    BandwidthFigure: ("GB/s", 1.0),
    ComputeFigure: ("TFLOP/s", 1.0),
    CountFigure: ("", 1.0),
    DataFigure: ("GB", 1e9),
    FractionFigure: ("%", 0.01),
    LengthFigure: ("m", 1.0),
    ParameterFigure: ("bn", 1e9),
    DurationFigure: ("us", 1e-6),
    PowerFigure: ("W", 1.0),
    TransfersFigure: ("MT/s", 1.0),
}


def _unit(part: Part, figure: Figure) -> tuple[str, float]:
    """Return the unit a figure is shown in, and its size in canonical units."""
    if isinstance(figure, PriceFigure) and isinstance(part, PriceBook):
        return part.currency, 1.0
    if isinstance(figure, DataFigure) and figure.value % GIB == 0:
        return "GiB", GIB
    return next(unit for kind, unit in _UNITS.items() if isinstance(figure, kind))


def _rows(part: Part) -> Iterator[dict[str, Any]]:
    for path, figure in part.figures():
        unit, size = _unit(part, figure)
        source = part.sources[figure.source]
        low, high = figure.range
        yield {
            "path": ".".join(str(step) for step in path),
            "value": figure.value / size,
            "low": low / size,
            "high": high / size,
            "unit": unit,
            "grade": figure.grade or source.grade,
            "status": figure.status or source.status,
            "source": source.title,
            "date": source.date,
            "note": figure.note,
        }


def part_json(entry: Entry) -> str:
    """Return one part as JSON: its figures with evidence, and the file it came from."""
    part = entry.part
    return to_json(
        {
            "id": part.id, "kind": part.kind, "name": part.name, "vendor": part.vendor, "note": part.note,
            "path": entry.document.file, "sha256": entry.document.sha256, "figures": list(_rows(part)),
            "content": entry.document.data,
        }
    )  # fmt: skip


def _dimensions(model: Model) -> Table:
    """Return the dimensions of a model, which share the source of its shape."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    shape = model.transformer
    for name, value in (shape.model_dump(exclude_none=True) if shape else {}).items():
        inner = ", ".join(f"{key} {item}" for key, item in value.items()) if isinstance(value, dict) else str(value)
        grid.add_row(Text(name), Text(inner))
    for layer in model.convolutions:
        words = f"{layer.count} x {layer.inputs} to {layer.outputs}, kernel {layer.kernel}, size {layer.size}"
        words += f", pooling {layer.pool}" if layer.pool > 1 else ""
        grid.add_row(Text(layer.name), Text(words))
    return grid


def part_text(entry: Entry, *, terminal: bool) -> str:
    """Return one part as text."""
    part = entry.part
    items: list[RenderableType] = [
        Text(f"{part.id}  {part.name}", style="bold"),
        Text(f"{part.kind_words} of {part.vendor}, from {entry.document.file}"),
    ]
    if part.note:
        items.append(Text(part.note))
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("figure", "value", "grade, status", "source"):
        grid.add_column(Text(title), overflow="fold")
    keys, notes = list(part.sources), []
    for row, (_, figure) in zip(_rows(part), part.figures(), strict=True):
        value = f"{number(row['value'], 9)} {row['unit']}".strip()
        if row["low"] != row["high"]:
            value += f" ({number(row['low'], 9)} to {number(row['high'], 9)})"
        if isinstance(figure, BandwidthFigure):
            value += f", {number(row['value'] * 8, 9)} Gb/s"
        mark = f"[{keys.index(figure.source) + 1}]"
        grid.add_row(Text(row["path"]), Text(value), Text(f"{row['grade']}, {row['status']}"), Text(mark))
        if row["note"]:
            notes.append(Text(f"{row['path']}: {row['note']}"))
    if isinstance(part, Model):
        items.append(_dimensions(part))
    items += [grid, *notes]
    for position, source in enumerate(part.sources.values(), start=1):
        note = f" {source.note}" if source.note else ""
        items.append(Text(f"[{position}] {source.title}, {source.date}{note}"))
    return render(*items, terminal=terminal)


def parts_text(rows: list[dict[str, str]], *, terminal: bool) -> str:
    """Return the list of parts as text."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("kind", "id", "name"):
        grid.add_column(Text(title), overflow="fold", no_wrap=title != "name")
    overlaid = any(not row["path"].startswith("catalogs/") for row in rows)
    if overlaid:
        grid.add_column(Text("path"), overflow="fold")
    for row in sorted(rows, key=lambda item: (item["kind"], item["id"])):
        cells = [row["kind"], row["id"], row["name"], *([row["path"]] if overlaid else [])]
        grid.add_row(*[Text(cell) for cell in cells])
    return render(grid, terminal=terminal)
