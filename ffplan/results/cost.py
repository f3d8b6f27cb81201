"""The contract of `ffplan cost --format json`: the cost of a cluster and a training run, and its uncertainty."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from ffplan.base.outcomes import BomLine, InputRow, MissingFigure, MissingPrice
from ffplan.base.record import record
from ffplan.results.result import CatalogFile, DesignInfo, Result, ToolInfo, UnverifiedFigure
from ffplan.results.run import Band, RunReport

if TYPE_CHECKING:
    from collections.abc import Iterable

RECALLED = "R"
"""Status of a figure that is recalled and unverified."""
_LOOKED_AT = 8
"""Largest drivers of a figure among which recalled ones are named [1]."""


@record
class Bom:
    """Bill of materials: the lines add up to the total, to the cent."""

    currency: str
    """Currency of every amount."""
    price_book: str
    """Catalogue id of the price book."""
    price_date: str
    """Date of its prices."""
    exchange_rate: float | None
    """Value of a unit of the book's currency, if it differs [currency]."""
    lines: tuple[BomLine, ...]
    """Lines, by kind."""
    hardware: float
    """Sum over servers, storage, switches and links that the design plans: the total of `ffplan design` [currency]."""
    total: float
    """Sum of the lines [currency]; partial if `missing` lists an item."""
    total_low: float
    """Every line at the low end of its range [currency]."""
    total_high: float
    """Every line at the high end of its range [currency]."""
    per_accelerator: float | None
    """Total over accelerators [currency]."""
    recalled_share: float | None
    """Part of the total whose prices are recalled and unverified [1]; null of a total of nothing."""
    missing: tuple[MissingPrice, ...]
    """Parts without a price, which the sums leave out."""
    priced_elsewhere: tuple[str, ...]
    """Parts of these that the ownership profile's price book has."""
    excluded: tuple[str, ...]
    """Categories that the design's cost scope leaves out."""


@record
class YearRow:
    """One kind of cost of a year."""

    name: str
    """Stable name."""
    label: str
    """For people."""
    amount: float
    """Cost of it [currency per year]."""
    share: float
    """Part of the year's cost [1]."""


@record
class CashRow:
    """A month of the cash flow."""

    month: int
    """Months since the order; 0 is the month of the order."""
    capex: float
    """Purchases [currency]."""
    opex: float
    """Running costs [currency]."""
    residual: float
    """Proceeds of the sale at the end [currency]."""
    cumulative: float
    """Sum so far [currency]."""
    discounted: float
    """Sum so far, at the cost of capital [currency]."""
    waited: float | None
    """Beside that sum, what the waits for first jobs have cost so far: their stated value, or the rent that bridges
    them [currency]; null if neither is known."""
    rented_months: float
    """Months of rent of the whole cluster so far, if each part of it is rented from its order on [month]."""


@record
class RentRow:
    """Owning against an offer of the rent book."""

    offer: str
    """Offer of the rent book."""
    provider: str
    """Who rents it out."""
    term: str
    """How long it is paid for."""
    price: float
    """Rent of an accelerator-hour [currency]."""
    hour: float
    """Rent of an accelerator-hour in use [currency]."""
    month: float
    """Rent of the whole cluster [currency per month]."""
    owned_hour: float
    """An accelerator-hour in use, owned [currency]."""
    owning_cheaper: float | None
    """Share of draws with an owned hour in use cheaper than a rented one [1]; null without draws."""
    upfront: float
    """Part of the term's rent that is paid at its start [1]."""
    index: bool
    """True of an index or median of the market, which nobody signs."""
    signable: bool
    """Whether somebody can sign it for a term at this size; the cheapest such offer carries the verdict."""
    break_even_months: float | None
    """Months in production after which owning has cost less, the wait, cost of capital and resale left out; null where
    running costs as much as the rent, or after the life of the hardware."""
    break_even_months_from_order: float | None
    """Months from the order after which owning has cost less: until its first job each purchase pays what bridges the
    wait, the other side this rent from its order on; null if that is after the life of the hardware, or the wait has no
    price."""
    break_even_utilisation: float | None
    """Utilisation above which an owned hour is cheaper than this one; null without one."""
    why: str | None
    """Reason why there are no such months."""
    utilisation_why: str | None
    """Reason why there is no such utilisation."""
    date: str | None
    """Date of the offer."""
    status: str
    """Status of the offer."""


@record
class Waiting:
    """Months from the order to the first job, and their cost."""

    lead_months: float
    """From order to delivery [month]."""
    commissioning_months: float
    """From delivery to the first job [month]."""
    months: float
    """Their sum [month]."""
    value: float | None
    """Cost of these months: their stated value, or the rent that bridges them [currency]; null if neither is
    known."""
    basis: str
    """What that rests on."""


@record
class OwnedHour:
    """A rented cluster bought instead."""

    years: float
    """Life that it is written off over, or the years asked for [year]."""
    per_accelerator_hour: Band
    """An owned accelerator-hour in use [currency/h]."""
    owning_cheaper: float | None
    """Probability that it is cheaper than the rented one [1]; None without draws."""


@record
class Tco:
    """Ownership, or rent, over the life of the hardware."""

    currency: str
    """Currency of every amount."""
    partial: tuple[str, ...]
    """Left out of the costs: categories outside the design's scope, and parts without a price. Owning is
    not compared with rent then."""
    facility: str
    """colocation, racks, own, power or rented."""
    years: float
    """Life that the hardware is written off over, or the years asked for [year]."""
    capex: float
    """Purchase, the building included, with every input at its likely value [currency]."""
    purchase: Band
    """Purchase, the building included, with its quantiles over the draws [currency]."""
    year: float
    """Cost of a year, capital included [currency per year]."""
    yearly: tuple[YearRow, ...]
    """That cost by kind, the largest first."""
    network_share: float | None
    """Switches, links and side networks over the bill of materials [1]."""
    total: float
    """Nominal cash over the life: purchase, running costs, less the residual value [currency]."""
    production_months: float
    """Months of all accelerators in production in that time: what a rent of as much is paid for [month]."""
    per_accelerator_hour: Band
    """An accelerator-hour in use [currency/h]."""
    per_accelerator_hour_paid: float
    """An accelerator-hour over all hours, used or not [currency/h]."""
    utilisation: float
    """Hours in use over all hours [1]."""
    waiting: Waiting
    """Time to production; zero of a rented fleet, unless the design states its own."""
    rents: tuple[RentRow, ...]
    """Owning against every offer of the same accelerator; empty of a rented fleet."""
    no_rent: str | None
    """Why owning is set against no rent of a term; null where it is, and of a rented fleet."""
    cash_flow: tuple[CashRow, ...]
    """Month by month."""
    owned: OwnedHour | None = None
    """A rented cluster bought instead; None of an owned one, and where its parts have no price."""


@record
class PowerPart:
    """Power of one kind of thing [kW]."""

    name: str
    """compute, storage, fabric, storage-network, in-band, out-of-band."""
    idle_kw: float
    """Without load [kW]."""
    training_kw: float
    """In training [kW]."""
    rated_kw: float
    """At the rated maximum [kW]."""


@record
class SitePower:
    """Power, cooling, water and carbon of the whole cluster."""

    parts: tuple[PowerPart, ...]
    """Power by kind."""
    it_idle_kw: float
    """IT power without load [kW]."""
    it_training_kw: float
    """IT power in training [kW]."""
    it_rated_kw: float
    """IT power at the rated maximum [kW]."""
    facility_kw: float
    """IT power in training times PUE [kW]."""
    facility_peak_kw: float
    """IT power at the rated maximum times PUE: the load on the feed [kW]."""
    pue: float
    """Power usage effectiveness [1]."""
    racks: int
    """Racks."""
    racks_of: dict[str, int]
    """Racks by content."""
    fullest_rack_kw: float
    """Rated power of the fullest rack of nodes [kW]."""
    rack_limit_kw: float
    """Rated power that a rack takes: the design's limit, or the profile's [kW]."""
    rack_amperes_54v: float
    """Current of that rack at 54 V DC [A]."""
    rack_amperes_800v: float
    """Current of that rack at 800 V DC [A]."""
    rack_area_m2: float | None
    """Floor of a rack with its share of aisles: as stated, by the floor plan, or the profile's [m2]."""
    floor_m2: float | None
    """Floor of all racks, without rooms for power and cooling [m2]."""
    liquid_share: float
    """Part of the rated IT power that liquid takes away [1]."""
    liquid_kw: float
    """Rated IT power that liquid takes away [kW]."""
    coolant_l_min: float
    """Water that carries it at a rise of 10 K [l/min]."""
    energy_mwh_year: float
    """Energy of a year at the meter, at the utilisation [MWh]."""
    peak_energy_mwh_year: float
    """8,760 hours of training [MWh]."""
    carbon_t_year: float
    """Carbon of a year's energy, location-based [t CO2e]."""
    embodied_t: float
    """Carbon of making the hardware [t CO2e]."""
    water_m3_year: float
    """Water that the site evaporates in a year [m3]."""
    missing: tuple[MissingFigure, ...]
    """Powers that the sums lack."""


@record
class SwingRow:
    """What one input does to a figure, all others at their likely value."""

    input: str
    """Name of the input."""
    label: str
    """For people."""
    unit: str
    """Its unit."""
    low: float
    """P10 of the input."""
    high: float
    """P90 of the input."""
    at_low: float
    """The figure with the input at P10."""
    at_high: float
    """The figure with the input at P90."""


@record
class FlipRow:
    """The value of one input at which the verdict flips."""

    input: str
    """Name of the input."""
    label: str
    """For people."""
    unit: str
    """Its unit."""
    likely: float
    """Its likely value."""
    break_even: float | None
    """The value at which both cost the same, all else likely; null without one."""
    why: str | None
    """Reason for a null."""


@record
class Uncertainty:
    """How sure the figures are."""

    draws: int
    """Draws; 0 without any, and quantiles then are the likely value."""
    seed: int
    """Seed of the draws."""
    of: str
    """Figure that the tornado and the break-evens are about."""
    tornado: tuple[SwingRow, ...]
    """What drives that figure, the largest first."""
    against: str | None
    """Offer that the break-evens are against; null if the rent book has none for the accelerator."""
    break_even: tuple[FlipRow, ...]
    """Value of each input at which owning costs as much as that offer."""
    inputs: tuple[InputRow, ...]
    """Every input."""

    @property
    def per_token(self) -> bool:
        """Return whether they are about a token's cost rather than an hour's."""
        return self.of == "run.cost_per_million_tokens"


@record
class PhaseReport:
    """A phase of the purchase."""

    name: str
    """Name of the phase."""
    order_month: float
    """Month of its order, since the first."""
    ready_month: float
    """Month of its first job."""
    nodes: dict[str, int]
    """Nodes installed after it, by role."""
    accelerators: int
    """Accelerators installed after it."""
    lines: tuple[BomLine, ...]
    """Its purchase."""
    capex: float
    """Price of it, with its part of discount, freight, installation, racks and building [currency]."""
    switches: int
    """Switches of the fabric installed after it."""
    spare_ports: int
    """Free ports for endpoints on the installed leaf switches."""
    racks: int
    """Racks installed after it."""
    it_rated_kw: float
    """Rated IT power installed after it, storage and side networks included [kW]."""
    reserve: tuple[str, ...]
    """Space and ports to leave free for later phases."""


@record
class CostStudy(Result):
    """Output of `ffplan cost`."""

    schema_version: str
    """Version of this format."""
    tool: ToolInfo
    """The program behind the report."""
    design: DesignInfo
    """The design."""
    catalog: tuple[CatalogFile, ...]
    """Catalogue files read, by id."""
    currency: str
    """Currency of every amount."""
    accelerators: int
    """Accelerators of the cluster."""
    headline: tuple[str, ...]
    """The answer, a sentence each."""
    bom: Bom | None
    """Bill of materials; null for a rented fleet, and if the design names no price book."""
    tco: Tco | None
    """Ownership or rent; null if the design has neither prices nor rent."""
    power: SitePower
    """Power and cooling."""
    run: RunReport | None
    """The training run; null unless asked for."""
    uncertainty: Uncertainty | None
    """How sure the figures are; null without a tco."""
    phases: tuple[PhaseReport, ...]
    """Phases of the purchase; empty if the design has none."""
    assumptions: tuple[str, ...]
    """Assumptions behind the figures."""
    unverified: tuple[UnverifiedFigure, ...]
    """Recalled figures in the files read."""


def rented(row: RentRow, tco: Tco) -> float:
    """Return what an offer costs for as long as an owned cluster is in production [currency]."""
    return row.month * tco.production_months


def benchmark(rows: Iterable[RentRow]) -> RentRow | None:
    """Return the rent that owning is judged by: the cheapest that somebody can sign for a term at this size.

    None without one; hourly rent, spot, indices and market medians are listed separately.

    Args:
        rows: owning against every offer, the cheapest hour in use first.
    """
    return next((row for row in rows if row.signable), None)


def cheaper_index(rows: Iterable[RentRow]) -> RentRow | None:
    """Return a market index below the cost of owning; None if there is none."""
    return next((row for row in rows if row.index and row.hour < row.owned_hour), None)


def recalled_drivers(tornado: Iterable[SwingRow], inputs: Iterable[InputRow]) -> list[str]:
    """Return which of the inputs that move a figure most are recalled, in the order of their effects."""
    status = {row.label: row.status for row in inputs}
    return [row.label for row in islice(tornado, _LOOKED_AT) if status.get(row.label) == RECALLED]


SCHEMAS = {
    "cost": (CostStudy, "Output of `ffplan cost --format json`"),
}
"""Files and outputs of this module, with their titles."""
