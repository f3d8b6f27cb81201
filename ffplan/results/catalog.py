"""JSON output of `catalog list` and `catalog show`, field by field."""

from __future__ import annotations

from typing import Any

from ffplan.base.record import record


@record
class PartRow:
    """A part of the catalogue."""

    id: str
    """Catalogue id."""
    kind: str
    """Kind of part."""
    name: str
    """Name for people."""
    path: str
    """File."""
    calibrated: bool | None
    """True if an accelerator has its own training constants, false if it takes a relative's; null for
    other kinds."""


@record
class OfferRow:
    """An offer of a rent book."""

    offer: str
    """Id of the offer, which `rent.offer` of a design and `cost --rent` take."""
    book: str
    """Catalogue id of the rent book."""
    accelerator: str
    """Catalogue id of the accelerator."""
    provider: str
    """Who rents it out."""
    term: str
    """How long it is paid for."""
    upfront: float
    """Part of the term's rent that is paid at its start [1]."""
    index: bool
    """True of an index or median of the market, which nobody signs."""
    price: float
    """Rent of an accelerator-hour [currency per hour]."""
    currency: str
    """Currency of the price."""
    date: str | None
    """Date of the price; null if unknown."""
    status: str
    """Status of the price."""


@record
class BrokenPart:
    """A file that holds no usable part."""

    id: str
    """Name of the file without its ending."""
    fault: str
    """Every fault, with place and remedy."""


@record
class AuditFinding:
    """A figure that needs a second look."""

    kind: str
    """out-of-range, contradicted, no-part, unpriced, stale, undated, wide-range, recalled or second-hand."""
    part: str
    """Catalogue id."""
    path: str
    """Field within the file; empty for the part as a whole."""
    what: str
    """Its fault."""


@record
class AuditReport:
    """An audit of the catalogue."""

    figures: int
    """Figures looked at."""
    counts: dict[str, int]
    """Findings by kind."""
    findings: tuple[AuditFinding, ...]
    """Findings, worst kind first."""
    broken: tuple[BrokenPart, ...]
    """Files that hold no usable part."""


@record
class PartList:
    """Parts of the catalogue."""

    parts: tuple[PartRow, ...]
    """Parts, by id."""
    broken: tuple[BrokenPart, ...]
    """Files that hold no usable part, by id."""


@record
class FigureRow:
    """A figure of a part with its evidence."""

    path: str
    """Field within the file."""
    value: float
    """The number, in `unit`."""
    low: float
    """Lower end of the known range."""
    high: float
    """Upper end of the known range."""
    unit: str
    """Unit."""
    grade: str
    """measured, datasheet, derived or estimate."""
    status: str
    """Status, how far it was followed to its source: V, VS, DG, D or R."""
    source: str
    """Title of the source."""
    date: str | None
    """Date of a price, or of another figure's source; null if there is none."""
    note: str | None
    """Derivation, conditions, contradictions between sources."""


@record
class PartReport:
    """One part: its figures with evidence, and the file it came from."""

    id: str
    """Catalogue id."""
    kind: str
    """Kind of part."""
    name: str
    """Name for people."""
    vendor: str
    """Maker."""
    note: str | None
    """Anything a planner should know."""
    path: str
    """File."""
    sha256: str
    """SHA-256 of the file."""
    figures: tuple[FigureRow, ...]
    """Every figure."""
    content: Any
    """The file as it was read."""


@record
class PartSheet:
    """A part as people read it: the report, with what its JSON has in other places."""

    report: PartReport
    kind_words: str
    """Kind of part for people."""
    dimensions: tuple[tuple[str, str], ...]
    """Dimensions of a model, by name."""
    sources: tuple[str, ...]
    """Sources with date and note, in the order of the file."""
    source_of: tuple[int, ...]
    """Position of the source of each figure."""
