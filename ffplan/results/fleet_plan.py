"""JSON output of `ffplan fleet`, field by field."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.result import CatalogFile, Result, ToolInfo, UnverifiedFigure


@record
class Spread:
    """A figure over the draws."""

    mean: float
    """Average."""
    p10: float
    """Tenth percentile."""
    p50: float
    """Median."""
    p90: float
    """Ninetieth percentile."""


@record
class QuarterDemand:
    """A demand in a quarter, and what the fleet does of it."""

    needed: Spread
    """Tokens of the quarter, or requests a second at its peak [1, 1/s]."""
    capacity: Spread
    """What all clusters that stand do: tokens of the quarter, or requests a second in its worst month [1, 1/s]."""
    short: float
    """Chance that it is more than the clusters do [1]."""
    missing: float
    """Part of the demand that is not met, on average over the draws [1]."""


@record
class FleetQuarter:
    """A quarter of the plan."""

    quarter: str
    """Its first month, such as 2027-04."""
    accelerators: float
    """Accelerators in production, on average over the quarter and the draws."""
    purchase: Spread
    """Deliveries of the quarter [currency]."""
    running: Spread
    """Running costs and rent, without interest [currency]."""
    book_value: Spread
    """Book value of clusters that retire; no cash [currency]."""
    shortfall: Spread | None
    """Rent of what is missing [currency]; null without a price."""
    facility_peak_kw: Spread
    """Facility power with every cluster that stands at its maximum [kW]."""
    energy_mwh: Spread
    """Energy at the meter [MWh]."""
    carbon_t: Spread
    """Carbon of that energy [t CO2e]."""
    embodied_t: Spread
    """Embodied carbon of its deliveries [t CO2e]."""
    demand: dict[str, QuarterDemand]
    """Each demand by name."""


@record
class OrderChoice:
    """A cluster ordered at another time."""

    shift: int | None
    """Quarters later than planned, negative for earlier; null for no order at all [quarter]."""
    cost: float
    """Cost of the fleet to the end of the plan, write-off and cost of capital in place of purchases, with the rent of
    what is missing, on average over the draws [currency]."""
    regret: float
    """Its average excess over the best of these choices in hindsight [currency]."""


@record
class PlannedCluster:
    """Clusters that are ordered together."""

    name: str
    """Name in the fleet file."""
    design: str
    """Name of the design."""
    site: str | None
    """Name of the site."""
    count: int
    """Equal clusters."""
    accelerators: int
    """Accelerators of all of them."""
    order: str
    """Month of the order."""
    placed: bool
    """True if it was ordered before the start of the plan."""
    ready_months: Spread
    """Months from the order to the first job [month]."""
    ready: str
    """Month of the first job, in the median."""
    retire: str
    """Month in which it is switched off: that of the file, or the end of its life in the median."""
    rented: bool
    """True if it is rented."""
    purchase: Spread
    """What it costs to buy; 0 of a rented one [currency]."""
    year: Spread
    """Cost of a year, capital included [currency per year]."""
    facility_peak_kw: float
    """Facility power with everything at its maximum, without the unrated parts [kW]."""
    unrated: tuple[str, ...]
    """Figures of power that its files lack: power, energy and carbon are at least as much."""
    left_out: tuple[str, ...]
    """What its purchase leaves out, in categories and parts: it costs at least as much; empty of a rent."""
    use: dict[str, float]
    """Share of its node-hours for each demand [1]."""
    capacity: dict[str, Spread]
    """What this share does of each demand in production: tokens of a quarter, or requests a second at the peak."""
    plan: dict[str, str]
    """Plan of each job or copy."""
    needed: str | None
    """First month of the quarter from which, without it, a demand that it serves is short with more than the chance
    allowed; null where none is."""
    late: float | None
    """Chance that it is not ready by then, and a demand that it serves is short in that quarter [1]; null where it is
    not needed."""
    unused: float
    """Chance that it is ready only after it retires, and never works [1]."""
    order_by: str | None
    """Last month of an order that is ready by then with the chance wanted; null likewise, or if it was placed."""
    choices: tuple[OrderChoice, ...]
    """Other dates of the order; empty if it was placed, its purchase leaves parts out, or what is missing
    has no price."""


@record
class FleetSiteRow:
    """A site with what stands on it."""

    site: str
    """Name of the site."""
    limit_kw: float | None
    """Largest facility power [kW]; null where the file states none."""
    facility_peak_kw: float
    """Largest peak of a quarter, in the ninetieth percentile [kW]."""
    quarter: str
    """First month of that quarter."""
    over: float
    """Chance that a quarter exceeds the limit, without the unrated parts [1]."""
    unrated: tuple[str, ...]
    """Figures of power that the files of what stands there lack: the peak is at least as much, and the limit cannot be
    checked."""

    @property
    def unchecked(self) -> bool:
        """Whether the limit holds what is rated alone, and cannot be checked."""
        return self.limit_kw is not None and bool(self.unrated)


@record
class FleetTotals:
    """The whole plan."""

    purchase: Spread
    """Deliveries within the plan [currency]."""
    running: Spread
    """Running costs and rent, without interest [currency]."""
    book_value: Spread
    """Book value of clusters that retire within it; no cash [currency]."""
    shortfall: Spread | None
    """Rent of what is missing [currency]; null without a price."""
    cash: Spread
    """Purchases and running costs, without the rent of what is missing [currency]."""
    energy_mwh: Spread
    """Energy at the meter [MWh]."""
    carbon_t: Spread
    """Carbon of that energy [t CO2e]."""
    embodied_t: Spread
    """Embodied carbon of what is delivered [t CO2e]."""
    met: float
    """Chance that every demand is met in every quarter [1]."""


@record
class FleetPlan(Result):
    """Output of `ffplan fleet`."""

    schema_version: str
    """Version of this format."""
    tool: ToolInfo
    """Program that made it."""
    name: str
    """Name of the fleet."""
    file: str
    """File as the user named it."""
    sha256: str
    """SHA-256 of the file."""
    currency: str
    """Currency of all amounts."""
    start: str
    """First month of the plan."""
    chance: float
    """Chance wanted that demand is met and orders are in time [1]."""
    draws: int
    """Draws of the uncertain inputs."""
    seed: int
    """Seed of the draws."""
    totals: FleetTotals
    """The whole plan."""
    quarters: tuple[FleetQuarter, ...]
    """Quarter by quarter."""
    clusters: tuple[PlannedCluster, ...]
    """Orders, the first one first."""
    sites: tuple[FleetSiteRow, ...]
    """Sites in the order of the file."""
    models: dict[str, str]
    """Model of each demand."""
    units: dict[str, str]
    """Unit of each demand: tokens a quarter, or requests/s."""
    shortfall_hour: dict[str, float]
    """Price of an accelerator-hour that is missing, by demand [currency per hour]; without those that have none."""
    shortfall_offer: dict[str, str]
    """Offer of that rent; the accelerator where the fleet states a price."""
    assumptions: tuple[str, ...]
    """What the plan rests on."""
    catalog: tuple[CatalogFile, ...]
    """Files read."""
    unverified: tuple[UnverifiedFigure, ...]
    """Recalled figures among those read."""


SCHEMAS = {"fleet-plan": (FleetPlan, "Output of `ffplan fleet --format json`")}
"""Files and outputs of this module, with their titles."""
