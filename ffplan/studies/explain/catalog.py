"""Parts as tables and sheets, and what is dated, recalled or missing in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import InputError, UsageError
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
    date_of,
    months_of,
)
from ffplan.catalog.models import Model, ParameterFigure
from ffplan.catalog.ownership import ESTIMATE_UNITS, PER_WORDS, Estimate, SecondsEstimate, plain_amount
from ffplan.catalog.parts import Accelerator, Nic, Server, StorageServer, Switch
from ffplan.catalog.prices import PriceBook, RentBook, TokenBook
from ffplan.catalog.read import holds
from ffplan.catalog.references import SOLD, whole_entry
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
from ffplan.results.catalog import (
    AuditFinding,
    AuditReport,
    BrokenPart,
    FigureRow,
    OfferRow,
    PartList,
    PartReport,
    PartRow,
    PartSheet,
)
from ffplan.studies.explain.remarks import CONTRADICTED, NO_PART, OUT_OF_RANGE, remarks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from ffplan.catalog.evidence import Figure
    from ffplan.catalog.parts import Part
    from ffplan.catalog.read import Entry
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.document import Document as Located


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


_PRICED_PER = {"rent-book": "/h", "token-book": " a million"}
"""What a price of a book is for, if not a piece."""


def _unit(part: Part, figure: Figure) -> tuple[str, float]:
    if isinstance(figure, PriceFigure) and isinstance(part, PriceBook | RentBook | TokenBook):
        return part.currency + _PRICED_PER.get(part.kind, ""), 1.0
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


def _rates(profile: ReliabilityProfile, catalog: Catalog, document: Located) -> tuple[tuple[str, str], ...]:
    rows = []
    for name, hazard in profile.hazards.items():
        place = ("hazards", name, "counted", "study")
        study = catalog.get(FailureStudy, hazard.counted.study, document, place) if hazard.counted else None
        rate = hazard_rate(name, hazard, study).rate
        low, high = rate.ends
        text = f"{rate.per_year:.3g} a year of one {hazard.unit} ({low:.2g} to {high:.2g}): {rate.basis}"
        rows.append((name, text))
    return tuple(rows)


def _counted(model: Model) -> Iterator[tuple[str, str]]:
    """Yield the parameters that the file does not state, as results count them."""
    from ffplan.studies.operate.goodput_job import model_parameters
    from ffplan.training.model_flops import parameters

    if model.parameters is None:
        yield "parameters", f"{model_parameters(model) / 1e9:.4g} bn, counted from the dimensions"
    if model.active is None and model.transformer is not None and model.transformer.experts is not None:
        active = float(parameters(model.transformer, active=True))
        yield "active", f"{active / 1e9:.4g} bn, counted from the dimensions"


def _dimensions(part: Part, catalog: Catalog, document: Located) -> tuple[tuple[str, str], ...]:
    if isinstance(part, XidTable):
        return _codes(part)
    if isinstance(part, ReliabilityProfile):
        return _rates(part, catalog, document)
    if not isinstance(part, Model):
        return ()
    rows = list(_counted(part))
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
        dimensions=_dimensions(part, catalog, entry.document),
        sources=tuple(
            f"{source.title}, {source.date or f'read {source.read}'}{f' {source.note}' if source.note else ''}"
            for source in part.sources.values()
        ),
        source_of=tuple(keys.index(figure.source) for _, figure in part.figures()),
    )


_MONTHS = 24
"""Age of a price from which it is stale [month]."""
_WIDE = 2.0
"""Highest over lowest known value from which a range is wide [1]."""
_PRICED_BY = ("price-book", "rent-book", "token-book")
"""Kinds of files whose figures grow old."""


def _finding(kind: str, part: Part, path: str, what: str) -> AuditFinding:
    return AuditFinding(kind=kind, part=part.id, path=path, what=what)


def _figure_findings(part: Part, path: str, figure: Figure, newest: int, months: int) -> Iterator[AuditFinding]:
    source = part.sources[figure.source]
    status = figure.status or source.status
    if status == "R":
        yield _finding("recalled", part, path, "recalled, unverified")
    elif status == "VS":
        yield _finding("second-hand", part, path, source.title)
    if part.kind in _PRICED_BY:
        yield from _age_findings(part, path, figure, newest, months)
    low, high = (plain_amount(value) for value in figure.range)
    if low > 0 and high / low >= _WIDE:
        ends = f"{number(low)} to {number(high)}"
        yield _finding("wide-range", part, path, f"known values from {ends}, a factor of {number(high / low, 2)}")


def _age_findings(part: Part, path: str, figure: Figure, newest: int, months: int) -> Iterator[AuditFinding]:
    date = date_of(figure, part.sources)
    if date is None:
        yield _finding("undated", part, path, f"of an unknown date, read {part.sources[figure.source].read}")
    elif (age := newest - months_of(date)) >= months:
        yield _finding("stale", part, path, f"of {date}, {age} months before the newest source")


def _price_findings(books: list[PriceBook], parts: list[Part]) -> Iterator[AuditFinding]:
    for part in parts:
        if part.kind in SOLD and not any(part.id in book.items for book in books):
            why = next((book.unpriced[part.id] for book in books if part.id in book.unpriced), "")
            text = "announced, and in no price book" if part.announced else "in no price book"
            text += f": {why}" if why else ""
            yield _finding("unpriced", part, "", text)
    for index, one in enumerate(books):
        for two in books[index + 1 :]:
            if one.currency != two.currency:
                continue
            for name in sorted(set(one.items) & set(two.items)):
                a, b = one.items[name], two.items[name]
                if a.range[1] < b.range[0] or b.range[1] < a.range[0]:
                    text = f"{number(a.value)} here, {number(b.value)} in {two.id}: their ranges do not meet"
                    yield _finding("contradicted", one, f"items.{name}", text)


def _remarks(entry: Entry, catalog: Catalog, today: date) -> Iterator[AuditFinding]:
    """Yield the remarks of `ffplan check` on a part; of a price book, the faults in its file."""
    for remark in remarks(entry.part, catalog, today):
        if remark.path[:1] != ("items",) or holds(entry.document.data, remark.path[:2]):
            hint = f"; {remark.remedy}" if remark.remedy.startswith("did you mean") else ""
            yield _finding(remark.kind, entry.part, ".".join(map(str, remark.path)), remark.what + hint)


def audit(catalog: Catalog, today: date, kind: str | None = None, months: int = _MONTHS) -> AuditReport:
    """Return figures of the catalogue that need a second look.

    Ages are counted from the newest source of the catalogue, so that the same files and day give the same report.

    Args:
        today: the day after which no source can be.
        kind: kind of the parts; all if omitted.
        months: age of a price from which it is stale [month].
    """
    entries, broken = [], []
    for name in catalog.ids():
        try:
            entries.append(whole_entry(catalog, name))
        except (InputError, UsageError) as error:
            broken.append(BrokenPart(name, str(error)))
    parts = [entry.part for entry in entries]
    newest = max((months_of(source.known_at) for part in parts for source in part.sources.values()), default=0)
    findings: list[AuditFinding] = []
    figures = 0
    for entry in entries:
        part = entry.part
        if kind not in (None, part.kind):
            continue
        for path, figure in part.figures():
            figures += 1
            findings += _figure_findings(part, ".".join(map(str, path)), figure, newest, months)
        findings += _remarks(entry, catalog, today)
    books = [part for part in parts if isinstance(part, PriceBook)]
    audited = [part for part in parts if kind in (None, part.kind) and not _not_sold(part)]
    findings += [
        finding for finding in _price_findings(books, audited) if kind in (None, "price-book") or finding.path == ""
    ]
    order = {name: index for index, name in enumerate(_KINDS_OF_FINDING)}
    findings.sort(key=lambda item: (order[item.kind], item.part, item.path))
    counts = {name: sum(1 for finding in findings if finding.kind == name) for name in _KINDS_OF_FINDING}
    return AuditReport(figures=figures, counts=counts, findings=tuple(findings), broken=tuple(broken))


def _not_sold(part: Part) -> bool:
    """Return whether a part has no separate price: it is rented out, or sold inside another one."""
    if (isinstance(part, Nic) and part.built_in) or (isinstance(part, Switch) and part.fabric == "nvlink"):
        return True
    if not isinstance(part, Server | StorageServer) and part.kind != "nic":
        return False
    return part.vendor.split()[0] in _CLOUDS


_CLOUDS = ("AWS", "Google", "Amazon", "Microsoft", "Oracle")
_KINDS_OF_FINDING = (
    OUT_OF_RANGE,
    CONTRADICTED,
    NO_PART,
    "unpriced",
    "stale",
    "undated",
    "wide-range",
    "recalled",
    "second-hand",
)
