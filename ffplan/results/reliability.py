"""The contract of `goodput --format json`, and the failures that a design expects."""

from __future__ import annotations

from ffplan.base.outcomes import InputRow
from ffplan.base.record import record
from ffplan.results.cost import SwingRow
from ffplan.results.result import CatalogFile, DesignInfo, Result, ToolInfo, UnverifiedFigure
from ffplan.results.run import Band


@record
class HazardRow:
    """A kind of failure with its effect on the job."""

    hazard: str
    """Its name in the profile."""
    label: str
    """For people."""
    unit: str
    """The failing unit."""
    units: float
    """Units that the job uses [1]."""
    per_unit_year: float
    """Events a year of one unit, of this fleet and accelerator [1/year]."""
    low: float
    """Lower end of the rate: of the counts' 95 % interval, or of other sources [1/year]."""
    high: float
    """Upper end [1/year]."""
    events: int | None
    """Events behind the rate; null of a rate printed without counts."""
    exposure_years: float | None
    """Unit-years over which they were counted [year]."""
    basis: str
    """Where the rate is from."""
    interruptions_per_day: float
    """Interruptions of the job by it [1/day]."""
    share: float
    """Of all interruptions [1]."""
    survives: str | None
    """Why it slows the job and does not stop it; null if it stops it."""


@record
class CheckpointReport:
    """A checkpoint of the job."""

    parameters: float
    """Parameters of the model [1]."""
    bytes: float
    """Its size [byte]."""
    mode: str
    """asynchronous, synchronous or in-memory."""
    stop_s: float
    """Time that it stops the job [s]."""
    save_s: float
    """Until storage has it [s]."""
    load_s: float
    """Time to read it [s]."""
    binds: str
    """Bottleneck of saving."""
    node_gbyte_s: float
    """Write rate of each node meanwhile [GB/s]."""
    nic_share: float
    """Part of a node's NICs that saving takes while it lasts [1]."""
    memory_restart_s: float | None
    """From an interruption that leaves a copy in another node's memory to the first new step [s]; null where
    checkpoints are in storage alone."""
    storage_every: float | None
    """Checkpoints in memory for one that goes to storage too [1]; null as above."""


@record
class IntervalRow:
    """Checkpoints at one interval."""

    rule: str
    """given, usual, young, daly or best."""
    interval_s: float
    """Work between two checkpoints [s]."""
    goodput: float
    """Goodput with it [1]."""
    feasible: bool
    """Whether a save ends before the next begins; otherwise goodput is taken at an interval of one save."""


@record
class SizeRow:
    """A job of one size."""

    gpus: int
    """Accelerators."""
    beyond: bool
    """Whether it is larger than one job can be on the design, whose parts are then taken in proportion."""
    mtbf_hours: float
    """Mean time between interruptions [h]."""
    interval_s: float
    """Work between two checkpoints [s]."""
    ettr: Band
    """Effective training time over time [1]."""
    goodput: Band
    """ETTR times the rates that missing nodes, lost paths and stragglers leave [1]."""


@record
class LeverRow:
    """One thing changed."""

    lever: str
    """Its name."""
    label: str
    """The change."""
    goodput: float
    """Goodput with it [1]."""
    tokens: float
    """Tokens over those without it, less one [1]."""
    worth_year: float | None
    """That share of the yearly cost of the job's accelerators [currency per year]; null if the design has no cost."""
    price: float | None
    """Price of its parts in the design's price book, with freight and installation, after discount [currency]; null
    if they have none. Power, racks and labour are left out."""
    price_year: float | None
    """What it costs a year: write-off, cost of capital and support [currency per year]; null without a price."""
    net_year: float | None
    """Worth less price [currency per year]; null if either is unknown."""
    unpriced: str | None
    """Why it has no price; null if it has one."""


@record
class DomainPartRow:
    """A part whose failure takes a whole scale-up domain out."""

    part: str
    """Its name in the profile."""
    label: str
    """For people."""
    repair_s: float
    """Until the domain is back, likely [s]."""
    repair_low_s: float
    """Shortest published [s]."""
    repair_high_s: float
    """Longest published [s]."""
    per_year: float | None
    """Failures a year of one domain [1/year]; null if no source and no design states it: it is not counted."""


@record
class DomainReport:
    """Scale-up domains of several nodes, such as racks: what one failure can take at once."""

    nodes: int
    """Nodes of a domain."""
    accelerators: int
    """Accelerators of a domain: the blast radius of its parts."""
    domains: int
    """Domains that the job spans."""
    parts: tuple[DomainPartRow, ...]
    """Parts that take a domain out."""
    in_repair: float
    """Domains in repair at any time, of the parts that are counted [1]."""
    spares: int
    """Whole domains among the spare nodes [1]."""
    lacking: float
    """Domains that the job lacks on average [1]."""
    swap_s: float | None
    """Until a spare node is in the place of a lost one [s]; null if a whole domain is spare, or no node is."""


@record
class Lost:
    """Where the time goes, to first order."""

    checkpoints: float
    """Stops for checkpoints [1]."""
    lost_work: float
    """Work behind the last checkpoint [1]."""
    restarts: float
    """Detection, restart, load, and work behind a save in flight [1]."""
    missing_nodes: float
    """Rate that missing nodes take [1]."""
    lost_paths: float
    """Rate that lost links and leaf switches take which the job survives, until they are back [1]."""
    stragglers: float
    """Rate lost to slow workers, beyond their share of the step time [1]."""


@record
class ReliabilityReport:
    """Failures, checkpoints and goodput of a job."""

    profile: str
    """Catalogue id of the reliability profile."""
    model: str
    """Catalogue id of the model."""
    gpus: int
    """Accelerators of the job."""
    nodes: int
    """Nodes of the job."""
    restart: str
    """requeue, reschedule or standby, as the design asks."""
    standby_free: float | None
    """Share of interruptions that find a spare free and restart onto it; the others requeue the job. Null unless
    restarts are onto standby nodes [1]."""
    short_of_nodes: str
    """shrink or wait."""
    hazards: tuple[HazardRow, ...]
    """Kinds of failure, the largest first."""
    mtbf_hours: Band
    """Mean time between interruptions [h]."""
    beside: str | None
    """Catalogue id of another reliability profile, of another fleet; null if the first names none."""
    beside_mtbf_hours: float | None
    """Mean time between interruptions by that one, likely [h]; null as above."""
    interruptions_per_day: Band
    """[1/day]"""
    checkpoint: CheckpointReport
    """A checkpoint."""
    restart_s: Band
    """From an interruption to the first new step, mean [s]."""
    interval_s: float
    """Work between two checkpoints [s]."""
    intervals: tuple[IntervalRow, ...]
    """Goodput by rule for the interval."""
    ettr: Band
    """Effective training time over time, of a job with all its nodes [1]."""
    path_lost: float | None
    """Part of its rate that the job keeps while a NIC lacks one of its ports [1]; null if a lost path stops it."""
    stragglers: Band
    """Rate lost to slow workers, beyond their share of the step time [1]."""
    goodput: Band
    """ETTR times the rates that missing nodes, lost paths and stragglers leave [1]."""
    lost: Lost
    """Where the rest goes."""
    nodes_in_repair: float
    """Nodes in repair at any time [1]."""
    spares: int
    """Spare nodes [1]."""
    domain: DomainReport | None
    """Scale-up domains; null if one is a node or less."""
    short_chance: float
    """Share of time with a node missing [1]."""
    spares_for_99: int
    """Spares with which no node is lacking 99 % of the time [1]."""
    silent_per_year: float
    """Silent corruptions a year of the job's accelerators that stress tests find [1/year]."""
    silent_undetected_per_year: float
    """Silent corruptions a year of the job's accelerators that stress tests do not find [1/year]."""
    unit: str
    """Unit of work: tokens, or images of a convolutional network."""
    tokens_s: float | None
    """Tokens or images a second at the step time; null if the job was not timed [1/s]."""
    tokens_s_kept: float | None
    """Tokens or images a second times goodput [1/s]; null if the job was not timed."""
    currency: str | None
    """Currency of amounts; null if the design has no cost."""
    levers: tuple[LeverRow, ...]
    """What changes would give, the largest first."""


@record
class SimulatedEvent:
    """An interruption of the simulated year."""

    at_hours: float
    """Since the start [h]."""
    hazard: str
    """What failed."""
    part: str
    """Which one."""
    lost_work_s: float
    """Work lost [s]."""
    down_s: float
    """Until the job ran again [s]."""
    nodes_missing: int
    """Nodes that it then lacked [1]."""
    rate_left: float | None
    """Allreduce rate that is left until repair [1]; null of what takes no part of the fabric."""


@record
class SimulationReport:
    """Simulated years of the job."""

    days: float
    """Days simulated, each time."""
    runs: int
    """Times it was simulated."""
    seed: int
    """Seed of the first."""
    goodput: float
    """Mean goodput [1]."""
    goodput_low: float | None
    """Lower end of the mean's 95 % confidence interval [1]; null of one run."""
    goodput_high: float | None
    """Upper end [1]."""
    expected: float
    """Goodput of the formulas [1]."""
    agrees: bool | None
    """Whether the mean lies within three standard errors of the formulas' goodput; null below five runs."""
    interruptions: float
    """Mean interruptions of a run [1]."""
    interruptions_expected: float
    """Days over the mean time between interruptions [1]."""
    stopped: bool
    """Whether it was interrupted before its end."""
    timeline: tuple[SimulatedEvent, ...]
    """Interruptions of the first run, and events of each kind that stop nothing, at most a thousand of each."""


@record
class GoodputReport(Result):
    """Goodput of a job on a design."""

    schema_version: str
    """Version of this format."""
    tool: ToolInfo
    """Program that wrote it."""
    design: DesignInfo
    """The design."""
    catalog: tuple[CatalogFile, ...]
    """Catalogue files read."""
    headline: tuple[str, ...]
    """The answer in words."""
    reliability: ReliabilityReport
    """Failures, checkpoints and goodput."""
    sizes: tuple[SizeRow, ...]
    """Goodput by size of the job."""
    tornado: tuple[SwingRow, ...]
    """Main drivers of goodput."""
    inputs: tuple[InputRow, ...]
    """Uncertain inputs."""
    simulation: SimulationReport | None
    """Simulated years; null unless asked for."""
    assumptions: tuple[str, ...]
    """Assumptions behind the result."""
    unverified: tuple[UnverifiedFigure, ...]
    """Figures recalled and not verified."""


SCHEMAS = {
    "goodput": (GoodputReport, "JSON output of `ffplan operate goodput`"),
}
"""Files and outputs of this module, with their titles."""
