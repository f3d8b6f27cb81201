"""JSON output of `recommend --serve` and `--within`, field by field."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.recommendation import UnsizedAccelerator
from ffplan.results.result import Result
from ffplan.results.serving import Latency, ServePlan, ServePools, ServeTargets, TokenPrice


@record
class FleetHour:
    """An hour of the load."""

    hour: int
    """Hour from the start of the day or week [h]."""
    rate_s: float
    """Requests a second [1/s]."""
    copies: int
    """Copies that serve them within the targets."""
    nodes: int
    """Nodes that these copies take."""


@record
class FreeNodes:
    """Nodes that no copy needs for some hours in a row, spares apart: the block with most node-hours."""

    nodes: int
    """Nodes that are free all that time."""
    from_hour: int
    """Its first hour [h]."""
    hours: int
    """How long it lasts, around the end of the day or week [h]."""


@record
class DayRent:
    """Rent of the nodes for the hours, without spares."""

    way: str
    """`reserved` for a term, `on-demand` by the hour, or `mixed`: each node the cheaper way."""
    reserved_nodes: int
    """Nodes that are rented for a term."""
    reserved_offer: str | None
    """Offer of these; null without any."""
    hourly_offer: str | None
    """Offer of the nodes by the hour; null without any."""
    month: float
    """Rent [currency per month]."""


@record
class FleetDay:
    """A day or week of load on a fleet that is sized for its busiest hour."""

    hours: tuple[FleetHour, ...]
    """Hour by hour."""
    used_share: float
    """Node-hours that copies take, over those bought [1]."""
    free: FreeNodes | None
    """Capacity for other jobs; null if no node is ever free."""
    rents: tuple[DayRent, ...]
    """Ways to rent, the cheapest first; empty without an offer of the accelerator."""


@record
class FleetLoss:
    """What one failure takes at the peak, with everything else up."""

    part: str
    """node, rack, scale-up domain or leaf switch."""
    nodes: int
    """Nodes that it takes at most."""
    copies: int
    """Copies on them."""
    kept: float
    """Requests that the others serve within the targets, spares included, over the peak's requests; at most 1 [1]."""
    requests: float
    """Requests under way that are lost [1]."""


@record
class FleetDesign:
    """A fleet that was sized for a load."""

    name: str
    """Name of its design."""
    accelerator: str
    """Catalogue id of the accelerator."""
    server: str
    """Catalogue id of the server."""
    accelerators: int
    """Accelerators, spares included."""
    nodes: int
    """Compute nodes, spares included."""
    spare_nodes: int
    """Nodes more than the load takes, so that enough are up."""
    engine: str
    """Catalogue id of the engine."""
    plan: ServePlan
    """Plan of a copy; with pools, of one that decodes."""
    pools: ServePools | None
    """Pools of a unit; null where prompts share the copies that decode."""
    copies: int
    """Copies of the model, or units of pools, that the load takes."""
    rate_s: float
    """Largest rate within the targets with the chance that was asked for, of these copies [1/s]."""
    ttft_s: Latency
    """Time to the first token at the peak."""
    tpot_s: Latency
    """Time of a further token at the peak."""
    requests_day: float
    """Requests of a day: as requested, or the copies' peak rate over the peak factor [1]."""
    concurrency: float
    """Requests under way at the peak, on all copies [1]."""
    output_tokens_s: float
    """Output tokens a second at the peak [1/s]."""
    output_tokens_s_gpu: float
    """Output tokens a second and accelerator at the peak, spares included [1/s]."""
    chance: float
    """Chance that the targets hold at the peak [1]."""
    capex: float
    """Median of the purchase over the draws of `ffplan cost` [currency]."""
    capex_p10: float
    """Tenth percentile of it over the draws of `ffplan cost` [currency]."""
    capex_p90: float
    """Ninetieth percentile of it [currency]."""
    tco: float
    """Cost over the life of the hardware [currency]."""
    year: float
    """Cost of a year, capital included [currency per year]."""
    per_million_output_year: float
    """Cost of a year, prompts and idle hours included, over the output tokens of a year at the mean rate [currency per
    million]; `serve` charges a load with the hours in use alone."""
    api_requests_day: float | None
    """Requests of a day above which it costs less than the tokens by API [1]; null without an offer in its currency."""
    facility_peak_kw: float
    """Facility power with everything at its maximum [kW]."""
    racks: int
    """Racks that it fills."""
    floor_m2: float | None
    """Floor of these racks, aisles included [m2]; null if the ownership profile does not say."""
    unrated: tuple[str, ...]
    """Figures of power that the catalogue lacks: the peak is at least as much."""
    output_tokens_s_mw: float | None
    """Output tokens a second at the peak for each megawatt of the facility's peak [1/s]; null if that is partial."""
    recalled_share: float
    """Part of the purchase whose prices are recalled [1]."""
    calibrated: bool
    """True if the engine's constants rest on runs on this accelerator."""
    losses: tuple[FleetLoss, ...]
    """What single failures take, the smallest first."""
    day: FleetDay | None
    """Its hours; null without `--day`."""
    breaks: dict[str, float]
    """Limits that it breaks, each with its figure over the limit [1]."""
    file: str | None
    """File that it was written to; null if none was asked for."""


@record
class FleetReport(Result):
    """Output of `ffplan recommend --serve`."""

    schema_version: str
    """Version of this format."""
    model: str
    """Catalogue id of the model."""
    prompt_tokens: float
    """Tokens of a prompt [1]."""
    output_tokens: float
    """Tokens of an answer [1]."""
    mean_rate_s: float | None
    """Requests a second on average [1/s]; null for as many as the limits allow."""
    peak_rate_s: float | None
    """Requests a second at the peak [1/s]; null likewise."""
    peak_over_mean: float
    """Requests at the peak over those on average [1]."""
    targets: ServeTargets
    """Latency targets."""
    aim: str
    """The aim, to be minimised: capex, tco, power or accelerators."""
    chance: float
    """Chance that fleets are sized for [1]."""
    available: float
    """Fraction of the time that enough nodes are up [1]."""
    price_book: str
    """Catalogue id of the price book."""
    currency: str
    """Its currency."""
    designs: tuple[FleetDesign, ...]
    """Fleets within the limits, the best first."""
    unmeasured: tuple[FleetDesign, ...]
    """Fleets on paper: without a run of the engine on the accelerator, or with prices that are mostly recalled."""
    near: tuple[FleetDesign, ...]
    """Fleets that break a limit, the nearest first; only if none is within the limits."""
    api: TokenPrice | None
    """Tokens of this model by API; null without an offer."""
    left_out: tuple[UnsizedAccelerator, ...]
    """Accelerators that were not sized."""
    assumptions: tuple[str, ...]
    """Assumptions behind the sizes."""


SCHEMAS = {"fleet-recommendation": (FleetReport, "Output of `ffplan recommend --serve --format json`")}
"""Files and outputs of this module, with their titles."""
