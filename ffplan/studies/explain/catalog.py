"""Parts of the catalogue, listed and shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import InputError, UsageError
from ffplan.base.formatting import GIB
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
    date_of,
)
from ffplan.catalog.models import Model, ParameterFigure
from ffplan.catalog.ownership import ESTIMATE_UNITS, PER_WORDS, Estimate, SecondsEstimate, plain_amount
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.prices import PriceBook, RentBook
from ffplan.catalog.reliability import (
    DaysFigure,
    EventFigure,
    FailureStudy,
    PlainFigure,
    RateFigure,
    ReliabilityProfile,
    XidTable,
)
from ffplan.inputs.quantities import Money
from ffplan.reliability.hazards import hazard_rate
from ffplan.results.catalog import BrokenPart, FigureRow, OfferRow, PartList, PartReport, PartRow, PartSheet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.catalog.parts import Part
    from ffplan.catalog.store import Catalog

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
    EventFigure: ("events", 1.0),
    DaysFigure: ("days", 1.0),
    RateFigure: ("a year", 1.0),
    PlainFigure: ("", 1.0),
}


def _unit(part: Part, figure: Figure) -> tuple[str, float]:
    if isinstance(figure, PriceFigure) and isinstance(part, PriceBook | RentBook):
        return f"{part.currency}{'/h' if isinstance(part, RentBook) else ''}", 1.0
    if isinstance(figure, Estimate):
        return _estimate_unit(figure)
    if isinstance(figure, DataFigure) and figure.value % GIB == 0:
        return "GiB", GIB
    return next(unit for kind, unit in _UNITS.items() if isinstance(figure, kind))


def _estimate_unit(figure: Estimate) -> tuple[str, float]:
    if isinstance(figure.value, Money):
        return figure.value.currency + PER_WORDS.get(type(figure), ""), 1.0
    if isinstance(figure, SecondsEstimate):
        return "s", 1.0
    return ESTIMATE_UNITS.get(type(figure), ("", 1.0))


def _figures(part: Part) -> Iterator[FigureRow]:
    for path, figure in part.figures():
        unit, size = _unit(part, figure)
        source = part.sources[figure.source]
        low, high = figure.range
        yield FigureRow(
            path=".".join(str(step) for step in path),
            value=plain_amount(figure.value) / size,
            low=plain_amount(low) / size,
            high=plain_amount(high) / size,
            unit=unit,
            grade=figure.grade or source.grade,
            status=figure.status or source.status,
            source=source.title,
            date=date_of(figure, part.sources),
            note=figure.note,
        )


def _calibrated(part: Part) -> bool | None:
    return part.training is not None if isinstance(part, Accelerator) else None


def part_list(catalog: Catalog, kind: str | None = None) -> PartList:
    """Return the parts of a catalogue.

    Files that are wrong are named with their faults; they hide no other part.
    """
    entries, broken = [], []
    for name in catalog.ids():
        if kind in (None, catalog.kind_of(name)):
            try:
                entries.append(catalog.entry(name))
            except (InputError, UsageError) as error:
                broken.append(BrokenPart(name, str(error)))
    rows = tuple(
        PartRow(id=e.part.id, kind=e.part.kind, name=e.part.name, path=e.document.file, calibrated=_calibrated(e.part))
        for e in entries
    )
    return PartList(rows, tuple(broken))


def offer_list(catalog: Catalog) -> tuple[OfferRow, ...]:
    """Return every offer of every rent book, by accelerator and price."""
    rows = []
    for name in catalog.ids_of("rent-book"):
        book = catalog.entry(name).part
        assert isinstance(book, RentBook)
        rows += [
            OfferRow(
                offer=offer,
                book=book.id,
                accelerator=terms.accelerator,
                provider=terms.provider,
                term=terms.term,
                upfront=terms.upfront,
                index=terms.index,
                price=terms.price.value,
                currency=book.currency,
                date=date_of(terms.price, book.sources),
                status=terms.price.status or book.sources[terms.price.source].status,
            )
            for offer, terms in book.offers.items()
        ]
    return tuple(sorted(rows, key=lambda row: (row.accelerator, row.price, row.offer)))


def _codes(table: XidTable) -> tuple[tuple[str, str], ...]:
    rows = []
    for code, meaning in table.codes.items():
        then = f", then {meaning.then.replace('-', ' ')}" if meaning.then else ""
        rows.append((code, f"{meaning.meaning}: {meaning.action.replace('-', ' ')}{then} ({meaning.of})"))
    return tuple(rows)


def _rates(profile: ReliabilityProfile, catalog: Catalog) -> tuple[tuple[str, str], ...]:
    rows = []
    for name, hazard in profile.hazards.items():
        study = catalog.entry(hazard.counted.study).part if hazard.counted else None
        rate = hazard_rate(name, hazard, study if isinstance(study, FailureStudy) else None).rate
        low, high = rate.ends
        text = f"{rate.per_year:.3g} a year of one {hazard.unit} ({low:.2g} to {high:.2g}): {rate.basis}"
        rows.append((name, text))
    return tuple(rows)


def _dimensions(part: Part, catalog: Catalog) -> tuple[tuple[str, str], ...]:
    if isinstance(part, XidTable):
        return _codes(part)
    if isinstance(part, ReliabilityProfile):
        return _rates(part, catalog)
    if not isinstance(part, Model):
        return ()
    rows = []
    for name, value in (part.transformer.model_dump(exclude_none=True) if part.transformer else {}).items():
        inner = ", ".join(f"{key} {size}" for key, size in value.items()) if isinstance(value, dict) else str(value)
        rows.append((name, inner))
    for layer in part.convolutions:
        text = f"{layer.count} x {layer.inputs} to {layer.outputs}, kernel {layer.kernel}, size {layer.size}"
        rows.append((layer.name, text + (f", pooling {layer.pool}" if layer.pool > 1 else "")))
    return tuple(rows)


def part_sheet(catalog: Catalog, name: str) -> PartSheet:
    """Return one part with the evidence of its figures.

    Raises:
        KeyError: if there is none.
        InputError: if its file is wrong.
    """
    entry = catalog.entry(name)
    part = entry.part
    report = PartReport(
        id=part.id,
        kind=part.kind,
        name=part.name,
        vendor=part.vendor,
        note=part.note,
        path=entry.document.file,
        sha256=entry.document.sha256,
        figures=tuple(_figures(part)),
        content=entry.document.data,
    )
    keys = list(part.sources)
    return PartSheet(
        report=report,
        kind_words=part.kind_words,
        dimensions=_dimensions(part, catalog),
        sources=tuple(
            f"{source.title}, {source.date or f'read {source.read}'}{f' {source.note}' if source.note else ''}"
            for source in part.sources.values()
        ),
        source_of=tuple(keys.index(figure.source) for _, figure in part.figures()),
    )
