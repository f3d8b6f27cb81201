"""The output contracts of `recommend` and of `init`."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.result import Result, ToolInfo

MOST_RECALLED = 0.5
"""Part of a bill that may be recalled for a design to be recommended unasked [1]."""


@record
class RecommendedPurchase:
    """One purchase of a cluster that grows."""

    order_month: float
    """Month of its order, since the first."""
    ready_month: float | None
    """Month of its first job; null if an earlier purchase serves already."""
    days_wanted: float
    """Days that the run may take from then on."""
    days: float
    """Days of the run, interruptions included."""
    nodes: int
    """Compute nodes installed after it."""
    accelerators: int
    """Accelerators installed after it."""
    capex: float
    """Its bill at likely prices; 0 if an earlier purchase serves already [currency]."""
    alone: float
    """Bill of a cluster of this size at likely prices, without later growth [currency]."""


@record
class RecommendedDesign:
    """A design that was sized for the target."""

    name: str
    """Its name."""
    idea: str
    """How its fabric is built, in words."""
    accelerator: str
    """Catalogue id of the accelerator."""
    server: str
    """Catalogue id of the server."""
    switch: str
    """Catalogue id of the switch."""
    accelerators: int
    """Accelerators."""
    nodes: int
    """Compute nodes."""
    switches: int
    """Switches of the fabric."""
    nics: int
    """NICs of a node on the fabric."""
    racks: int
    """Racks that it fills."""
    floor_m2: float | None
    """Floor of these racks, aisles included [m2]; null if the ownership profile does not say."""
    differs: str
    """Its differences from the best design; empty for the best, and for designs that break a limit."""
    days: float
    """Days of the run, interruptions included, with every input at its likely value."""
    days_at_chance: float
    """Days within which it ends with the requested chance; compared with the target."""
    days_p10: float
    """Tenth percentile of them, by the error of the model over published runs."""
    days_p90: float
    """Ninetieth percentile."""
    mfu: float
    """Model FLOP/s over the dense peak [1]."""
    plan: str
    """Parallel plan of the run, in words."""
    memory_words: str | None
    """Why its memory is at the edge; null if it fits."""
    capex: float
    """Median of the purchase over the draws of `ffplan cost` [currency]."""
    capex_low: float
    """At the low end of the known prices [currency]."""
    capex_high: float
    """At the high end of the known prices [currency]."""
    estimated_from: str | None
    """Accelerator whose training constants it takes, without its own."""
    recalled_share: float
    """Part of the bill of materials whose prices are recalled, with no source that was seen [1]."""
    tco: float
    """Cost over the life of the hardware [currency]."""
    cost_per_million_tokens: float
    """Cost of a million tokens of the run, ownership included [currency]."""
    sustained_pflops: float
    """Model operations that it keeps up, interruptions included [PFLOP/s]."""
    facility_peak_kw: float
    """Facility power with everything at its maximum [kW]."""
    missing_power: tuple[str, ...]
    """Parts whose power is not known: the peak is at least that, and no recommendation rests on it."""
    breaks: dict[str, float]
    """The limits that it breaks, each with its figure over the limit [1]."""
    best_share: float | None
    """Share of draws of prices and speeds that make it the best of these designs, each resized to its drawn speed
    [1]; null for designs that break a limit."""
    in_time_share: float | None
    """Share of draws with it in time at its size [1]; null for designs that break a limit."""
    purchases: tuple[RecommendedPurchase, ...]
    """Purchases by date; empty if all is bought at once, and for designs that are too slow."""
    file: str | None
    """The design file, if one was written."""


@record
class LimitPrice:
    """The price of a limit."""

    limit: str
    """days, capex, tco, power, racks or floor."""
    address: str | None
    """Address of the figure that it bounds; null of the floor."""
    unit: str
    """Its unit."""
    most: float
    """The limit."""
    looser: float
    """The limit, looser by a tenth; racks are whole."""
    name: str | None
    """The best design under the looser limit; null if no design meets the target even so."""
    aim: float | None
    """Its figure of the aim."""
    saving: float | None
    """Share of the best design's aim that the looser limit saves [1]; null without one."""


@record
class UnsizedAccelerator:
    """An accelerator that was not sized to the end."""

    accelerator: str
    """Catalogue id."""
    reason: str
    """Why."""


@record
class RecommendReport(Result):
    """The best purchases that train a model in a given time."""

    schema_version: str
    """Version of this document's format."""
    tool: ToolInfo
    """The program behind the report."""
    model: str
    """Catalogue id of the model."""
    tokens: float
    """Tokens to train on."""
    days: float
    """Days that it may take."""
    chance: float | None
    """Chance to be in time that every design is sized for [1]; null of a sustained rate."""
    currency: str
    """Currency of every amount."""
    price_book: str
    """Catalogue id of the price book."""
    effort: str
    """How well the run is tuned: tuned, typical or first-run."""
    aim: str
    """The aim, to be minimised: capex, tco, token, power or accelerators."""
    sustained_pflops: float | None
    """Requested rate [PFLOP/s]; null if days and tokens were requested."""
    slack: float
    """How much above the best the alternatives may lie [1]."""
    draws: int
    """Draws behind the shares."""
    designs: tuple[RecommendedDesign, ...]
    """Designs that meet the target, the best first: those near it that differ most, then one of each accelerator."""
    unmeasured: tuple[RecommendedDesign, ...]
    """Designs that meet it on paper, one of each accelerator, at most three: without a measured training run, or with
    prices that are mostly recalled. None of them is recommended unless asked for."""
    near: tuple[RecommendedDesign, ...]
    """Designs that break a limit, the nearest first."""
    left_out: tuple[UnsizedAccelerator, ...]
    """Accelerators that were not sized to the end."""
    limits: tuple[LimitPrice, ...]
    """Price of each limit, the most expensive first."""
    assumptions: tuple[str, ...]
    """Assumptions behind the result."""


@record
class FirstDesign:
    """A design to start from."""

    name: str
    """Name of the design."""
    idea: str
    """Its purpose."""
    file: str | None
    """File that was written; null without one."""
    accelerators: int
    """Accelerators."""
    nodes: int
    """Compute nodes."""
    switches: int
    """Switches."""
    currency: str
    """Currency of the amounts."""
    cost: float
    """Bill of materials: parts, side networks, storage, spares, racks, freight and installation [currency]."""
    cost_per_accelerator: float
    """Bill of materials over accelerators [currency]."""
    facility_peak_kw: float
    """Facility power with everything at its maximum, without the unrated parts [kW]."""
    unrated: tuple[str, ...]
    """Figures of power that its files lack: the power is at least as much."""
    allreduce_gbyte_s: float | None
    """Algorithm bandwidth of an allreduce of 1 GiB over all accelerators [GB/s]."""
    tokens_s: float | None
    """Tokens a second of the model asked for, with the fastest plan; null unless asked for or it cannot run."""
    refused: str | None
    """Reason why the model cannot run."""
    fewer: str | None
    """Reason why it has fewer accelerators than the wishes allow; null if it has the most."""


@record
class WishedDesign:
    """Needs of one way to build the cluster at the requested size."""

    idea: str
    """Name of the idea."""
    accelerators: int
    """Accelerators."""
    nodes: int
    """Compute nodes."""
    currency: str
    """Currency of the amount."""
    cost: float
    """Bill of materials [currency]."""
    node_kw: float
    """Rated maximum of a compute node [kW]."""
    compute_kw: float
    """Compute nodes at their rated maximum [kW]."""
    storage_kw: float
    """Storage at its rated maximum [kW]."""
    network_kw: float
    """Fabric and side networks at their rated maximum [kW]."""
    it_rated_kw: float
    """Their sum: IT power at the rated maximum [kW]."""
    facility_peak_kw: float
    """Facility power at the rated maximum: IT power times PUE [kW]."""
    it_training_kw: float
    """IT power in training [kW]."""
    facility_kw: float
    """Facility power in training: IT power times PUE [kW]."""
    unrated: tuple[str, ...]
    """Figures of power that its files lack: the powers are at least as much."""
    unmet: str
    """Which wishes it does not meet."""


@record
class NearWishes:
    """Other wishes, which designs meet."""

    options: str
    """Options to type in place of those given."""
    keeps: str
    """Wishes that stay as they were."""
    designs: int
    """Designs that meet them."""


@record
class UnmetWishes:
    """Targets that no design meets, their needs, and nearby targets."""

    accelerators: int | None
    """Accelerators that were wished for."""
    budget: float | None
    """Budget that was wished for [currency]."""
    power_kw: float | None
    """Power that was wished for [kW]."""
    power_of: str
    """The bounded power: facility-peak, facility-training, it-peak or it-training."""
    pue: float
    """Power usage effectiveness [1]."""
    designs: tuple[WishedDesign, ...]
    """Each idea at the wished size, or at its smallest."""
    near: tuple[NearWishes, ...]
    """Wishes that can be met, each tried."""


@record
class InitReport(Result):
    """Output of `ffplan init`."""

    schema_version: str
    """Version of this format."""
    designs: tuple[FirstDesign, ...]
    """Designs that meet the wishes; without any, designs of the largest size that meets budget and power."""
    left_out: tuple[str, ...]
    """Designs that do not, with the reason."""
    unmet: UnmetWishes | None
    """Needs of the targets, if no design meets them."""


SCHEMAS = {
    "recommendation": (RecommendReport, "JSON output of `ffplan recommend`"),
    "init": (InitReport, "Output of `ffplan init --format json`"),
}
"""Files and outputs of this module, with their titles."""
