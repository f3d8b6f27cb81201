"""Records that formulas return and reports print unchanged: one class serves both.

Formula rooms import no contracts, and contracts no formulas, so their shared records are defined here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.base.array_math import Number as Operations
else:
    Operations = float  # what a report prints, and its schema says

DRAWS = 10_000
"""Draws of the uncertain inputs of a cost, where no other number is given [1]."""
IN_TIME = 0.85
"""Chance to be in time, or to meet demand, that is wanted where none is given [1]."""


@record
class Term:
    """One term of a bound."""

    name: str
    """Kind of resource."""
    label: str
    """The resource for people."""
    gbyte_s: float
    """Algorithm bandwidth it allows [GB/s]."""
    low_gbyte_s: float
    """At the low end of the known range; for NICs, with the payload fraction of the line rate [GB/s]."""
    high_gbyte_s: float
    """At the high end of the known range [GB/s]."""
    derivation: str
    """Derivation from the catalogue."""


@record
class LedgerLine:
    """One line of a host-memory ledger."""

    step: str
    """Step of the algorithm."""
    kind: str
    """read or write."""
    operations: Operations
    """Times it touches host memory per byte of message [1]."""


@record
class CostLine:
    """A priced item."""

    category: str
    """servers, storage, switches, endpoint-links or inter-switch-links."""
    part: str
    """Catalogue id."""
    quantity: int
    """Pieces."""
    unit_price: float
    """Price of one [currency]."""
    total: float
    """Price of all [currency]."""
    low: float
    """Price of all at the low end of the known range [currency]."""
    high: float
    """Price of all at the high end of the known range [currency]."""
    grade: str
    """Grade of the unit price."""
    status: str
    """Status of the unit price."""
    date: str | None = None
    """Date of the unit price: year, month or day; null if unknown."""


@record
class BomLine:
    """A line of the bill of materials."""

    kind: str
    """servers, storage, switches, endpoint-links, inter-switch-links, storage-network, in-band, out-of-band, spares,
    racks, cabling, cooling, phases, discount, freight, installation or building."""
    part: str | None
    """Catalogue id; null for lines other than parts."""
    description: str
    """What it is."""
    quantity: float
    """Pieces; for cooling and building, watts; for a share of the hardware, 1."""
    unit_price: float
    """Price of one [currency]."""
    total: float
    """Price of all [currency]."""
    low: float
    """Price of all at the low end of the known range [currency]."""
    high: float
    """Price of all at the high end of the known range [currency]."""
    share: float
    """Part of the total [1]."""
    source: str
    """Origin of the price."""
    date: str | None
    """Date of the price."""
    status: str
    """Status of the price; `given` if the design states it."""
    currency: str
    """Currency of its amounts."""
    scope: str
    """`planned` by the design, `phases` for other prices of later phases, `stood-in` by the ownership profile if the
    design leaves it open, or `building`."""


@record
class MissingPrice:
    """An item of the cost scope that the price book lacks."""

    category: str
    """servers, storage, switches, endpoint-links or inter-switch-links."""
    part: str
    """Catalogue id."""
    quantity: int
    """Pieces."""


@record
class MissingFigure:
    """A figure that the catalogue lacks."""

    part: str
    """Catalogue id."""
    path: str
    """Field within the file."""

    @property
    def words(self) -> str:
        """Its name in a sentence, such as `` `power` of `qm9700` ``."""
        return f"`{self.path}` of `{self.part}`"


def gap_words(missing: Iterable[MissingFigure]) -> tuple[str, ...]:
    """Return the names of missing figures in a sentence, each once."""
    return tuple(dict.fromkeys(gap.words for gap in missing))


@record
class NodePower:
    """Power of one node of a group."""

    role: str
    """Role of the group."""
    server: str
    """Catalogue id."""
    count: int
    """Nodes."""
    training_w: float
    """Power used for the cluster [W]."""
    training_grade: str
    """Grade of a measured power; else the rule, such as `0.75 x rated` or `0.75 x component sum`; `component sum` of
    nodes without accelerators."""
    idle_w: float | None
    """Power without load [W]; null if unknown."""
    component_sum_w: float
    """Sum over the components [W]."""
    maximum_w: float
    """Rated maximum where known, otherwise the larger of the two above [W]."""
    rated: bool
    """True if the maximum is rated, false if it is a component sum."""
    rack_w: float | None
    """Power of a rack at the nodes' maximum, if the design gives nodes per rack [W]."""
    missing: tuple[MissingFigure, ...]
    """Powers that the component sum lacks."""


@record
class InputRow:
    """An input of the account, with its evidence."""

    input: str
    """Name: a field of the ownership profile, `price.<part>`, `rent` or `speed`."""
    label: str
    """For people."""
    unit: str
    """Its unit."""
    likely: float
    """Likely value."""
    low: float
    """Low end; P5 of a normal or lognormal distribution."""
    high: float
    """High end; P95 of a normal or lognormal distribution."""
    distribution: str
    """Shape; `fixed` without width."""
    source: str
    """Where it is from."""
    date: str | None
    """Date of the source."""
    status: str
    """Status of the figure; `given` if the design states it."""
