"""What fails in a cluster and how often: studies with counts and exposures, Xid codes, and a profile of rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ffplan.catalog.evidence import BandwidthFigure, CountFigure, Figure, FractionFigure
from ffplan.catalog.ownership import PlainEstimate, SecondsEstimate, ShareEstimate
from ffplan.catalog.parts import Part
from ffplan.inputs.model import Count, Frozen, Identifier, Many, Text

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

Unit = Literal[
    "accelerator",
    "node",
    "nic",
    "endpoint-link",
    "inter-switch-link",
    "leaf-switch",
    "upper-switch",
    "bridge",
    "scale-up-domain",
    "job",
]
"""What a rate is over: a hazard strikes each of them alike."""
PATHS: tuple[Unit, ...] = ("endpoint-link", "leaf-switch")
"""Units whose loss a job survives where every NIC has a port to each of several planes."""
EventCount = Annotated[int, Field(ge=0, le=10_000_000_000)]
EventRate = Annotated[float, Field(ge=0, le=1e9, strict=False)]


class EventFigure(Figure):
    """A number of events with evidence; none is a number too."""

    value: EventCount
    low: EventCount | None = None
    high: EventCount | None = None


class DaysFigure(Figure):
    """A span [day] with evidence."""

    value: Annotated[float, Field(gt=0, le=1e5, strict=False)]
    low: float | None = None
    high: float | None = None


class RateFigure(Figure):
    """Events a year of one unit [1/year] with evidence."""

    value: EventRate
    low: EventRate | None = None
    high: EventRate | None = None


class PlainFigure(Figure):
    """A number of at least 0 with evidence."""

    value: EventRate
    low: EventRate | None = None
    high: EventRate | None = None


class FailureStudy(Part):
    """Failures of a fleet as a source counts them."""

    kind_words: ClassVar[str] = "failure study"

    kind: Literal["failure-study"]
    accelerator: Identifier | None = None
    """Catalogue id of the fleet's accelerators; left out where several kinds, or unknown."""
    days: DaysFigure | None = None
    """Days over which events were counted; without it, and the fleet, counts give parts of a whole and no rate."""
    fleet: dict[Unit, CountFigure] = Field(default_factory=dict)
    """Units exposed over these days."""
    events: dict[Identifier, EventFigure] = Field(default_factory=dict)
    """Events by class, in the words of the source."""
    printed: dict[Identifier, EventFigure] = Field(default_factory=dict)
    """Sums that the source prints, by the classes that they are over, or in its words."""
    sums: dict[Identifier, Many[Identifier]] = Field(default_factory=dict)
    """Classes behind a printed sum; every class if omitted."""
    rates: dict[Identifier, RateFigure] = Field(default_factory=dict)
    """Rates that the source prints without counts [1/year and unit]."""
    shares: dict[Identifier, FractionFigure] = Field(default_factory=dict)
    """Parts of a whole that the source prints [1]."""
    factors: dict[Identifier, PlainFigure] = Field(default_factory=dict)
    """Other ratios that the source prints [1]."""


Action = Literal["ignore", "restart-job", "reset-gpu", "reboot-node", "return-part", "follow-other", "link-check"]
XidClass = Literal["application", "hardware", "link", "software", "information"]


class XidMeaning(Frozen):
    """What an Xid says, and the first thing to do."""

    meaning: Text
    """What the driver reports."""
    action: Action
    """What to do first."""
    then: Action | None = None
    """What to do where it repeats or follows another."""
    of: XidClass
    """Whose fault it mostly is."""
    count: EventFigure
    """Events in a year of the Fire-Flyer fleet; 0 where it had none."""


class XidTable(Part):
    """Xid codes of the NVIDIA driver."""

    kind_words: ClassVar[str] = "Xid table"

    kind: Literal["xid-table"]
    codes: dict[Annotated[str, Field(pattern=r"^[0-9]{1,3}(-[0-9]{1,3})?$")], XidMeaning]
    """Meaning of each code."""


class Counted(Frozen):
    """A rate from counts of a study."""

    study: Identifier
    """Catalogue id of the study."""
    events: Annotated[Many[Identifier], Field(min_length=1)]
    """Classes of it that count."""
    over: Unit
    """Units of its fleet that were exposed."""


class Growth(Frozen):
    """How a rate of jobs grows with their size: `ffplan.reliability.hazards.growth` has the formula."""

    until: CountFigure
    """Accelerators from which on it grows no more; the rate is that of such a job."""
    exponent: PlainEstimate
    """Power of the size with which it grows up to there [1]."""


class Hazard(Frozen):
    """A kind of failure: how often it strikes a unit, what it stops, and what it takes away."""

    label: Text
    """Its name for people."""
    unit: Unit
    """What it strikes."""
    counted: Counted | None = None
    """Counts that its rate is from."""
    rate: PlainEstimate | None = None
    """Its rate where no study counts it [1/year]."""
    others: PlainEstimate | None = None
    """What other sources give, with `counted`: its ends widen the interval of the counts [1/year]."""
    stops: ShareEstimate
    """Part of these events that stops a job that uses the unit [1]."""
    removes: ShareEstimate
    """Part of these events that takes a node out for repair, where they stop a job [1]."""
    path_repair: SecondsEstimate | None = None
    """From the event until the path is back, in the mean, where every NIC has another and the job goes on at part of
    its rate [s]; not counted if omitted."""
    growth: Growth | None = None
    """How the rate of one job grows with its accelerators; a job of any size has it if omitted."""
    spreads: bool = True
    """Whether fleets differ in it by the profile's `fleet` factor."""

    @model_validator(mode="after")
    def _has_rate(self) -> Hazard:
        if self.counted is None and self.rate is None:
            rule = {"rule": "schema-missing-field", "message": "the hazard has neither `counted` nor `rate`"}
            remedy = {"remedy": "name a study and its events, or give a rate a year"}
            raise PydanticCustomError("rule", "{message}", {**rule, **remedy})
        if self.path_repair is not None and self.unit not in PATHS:
            words = f"`path_repair` is of endpoint links and leaf switches, and not of a {self.unit}"
            rule = {"rule": "catalog-reliability", "message": words, "field": "path_repair"}
            raise PydanticCustomError("rule", "{message}", {**rule, "remedy": "leave it out"})
        if self.growth is not None and self.unit != "job":
            words = f"`growth` is of jobs, and not of a {self.unit}, which a larger job has more of"
            rule = {"rule": "catalog-reliability", "message": words, "field": "growth"}
            raise PydanticCustomError("rule", "{message}", {**rule, "remedy": "leave it out"})
        return self


class Requeue(Frozen):
    """Time from a detected failure to the first step, at one size."""

    accelerators: Count
    """Accelerators of the job."""
    time: SecondsEstimate
    """Time to queue the whole job again, place it, start it and join its ranks [s]."""


class GrantedRequests(Frozen):
    """How a client grants requests to send, so that servers do not wait behind each other."""

    window: PlainEstimate
    """Transfers that a client grants at once [1]."""
    transfer: PlainEstimate
    """Size of one transfer [byte]."""
    gap: SecondsEstimate
    """From the end of a transfer to the first byte of the next, over an idle fabric [s]."""


class StorageTier(Frozen):
    """A vendor's guidance for the storage of so many accelerators."""

    label: Text
    """Its name for people."""
    use: Text
    """What it is for."""
    accelerators: CountFigure
    """Accelerators that it serves."""
    read: BandwidthFigure
    """Read rate for them together [GB/s]."""
    write: BandwidthFigure
    """Write rate for them together [GB/s]."""


class DomainPart(Frozen):
    """A part whose failure takes every node of a scale-up domain out, such as a switch tray of its rack."""

    label: Text
    """Its name for people."""
    repair: SecondsEstimate
    """Until the domain is back [s]."""
    rate: PlainEstimate | None = None
    """Events a year of one domain [1/year]; not counted where neither this nor the design has it."""


class ReliabilityProfile(Part):
    """Rates of failures, and the times of what follows."""

    kind_words: ClassVar[str] = "reliability profile"

    kind: Literal["reliability"]
    extends: Identifier | None = None
    """Profile whose figures it has where it states none of its own: a hazard is stated whole, and any part of it may be
    left out. It may have its own id in a later folder."""
    without: Many[Identifier] = ()
    """Hazards of the profile it extends that it leaves out, since its source counts them under others."""
    beside: Identifier | None = None
    """Profile whose mean time between interruptions reports set beside its own."""
    hazards: Annotated[dict[Identifier, Hazard], Field(min_length=1)]
    """Kinds of failure."""
    domain_parts: dict[Identifier, DomainPart] = Field(default_factory=dict)
    """Parts that take a scale-up domain of several nodes out."""
    tray_swap: SecondsEstimate | None = None
    """Until a spare stands in for a node of such a domain, where no whole domain is spare [s]; at once if omitted."""
    fleet: PlainEstimate
    """Rates of a fleet over those of the hazards: how well it is run, how old it is [1]."""
    relative: dict[Identifier, PlainEstimate] = Field(default_factory=dict)
    """Rates of an accelerator and its node over those of the hazards, by catalogue id [1]; 1 if omitted."""
    detect: SecondsEstimate
    """From a failure that shows itself to a decision to restart [s]."""
    hang: SecondsEstimate
    """The same of a job that hangs [s]."""
    hangs: ShareEstimate
    """Part of the interruptions that hang [1]."""
    requeue: Annotated[Many[Requeue], Field(min_length=1)]
    """Time to restart by size of the job, in rising order; between two sizes along the logarithm."""
    reschedule: ShareEstimate
    """Time of a restart that replaces lost nodes alone, over that of a requeue [1]."""
    standby: ShareEstimate
    """Time of a restart onto warm standby nodes, over that of a requeue [1]."""
    repair: SecondsEstimate
    """Until a node taken out is back [s]."""
    together: ShareEstimate
    """Part of the interruptions that take several nodes at once, and so copies in the memory of others [1]."""
    pause: SecondsEstimate
    """What every checkpoint stops a job for, beyond the copy into host memory and a synchronous save [s]."""
    checkpoint_bytes: PlainEstimate
    """Size of a checkpoint for each parameter [byte]."""
    usual_interval: SecondsEstimate
    """Interval of checkpoints that reports set beside the best [s]."""
    silent_rate: Counted
    """Silent corruptions that were found."""
    silent: ShareEstimate
    """Part of silent corruptions that a stress test finds [1]."""
    storage_efficiency: ShareEstimate | None = None
    """Rate that storage reaches over what its NICs carry, where the server's file gives none, in place of the file
    system's [1]."""
    storage_tiers: dict[Identifier, StorageTier] = Field(default_factory=dict)
    """Guidance for storage, the least first."""
    requests: GrantedRequests
    """How clients of a storage service grant requests to send."""
    token_bytes: PlainEstimate
    """Bytes that a token of training text takes in storage [byte]."""
    image_bytes: PlainEstimate | None = None
    """Bytes that an image of a data set takes in storage [byte]; images are not told of if omitted."""
    checkpoints_kept: PlainEstimate | None = None
    """Checkpoints that storage keeps at a time [1]; their capacity is not told of if omitted."""
    stragglers: ShareEstimate | None = None
    """Rate that slow workers take of a job, beyond what the step times of published runs already have of them [1]; not
    counted if omitted."""
    stragglers_from: CountFigure | None = None
    """Accelerators of the smallest job that the source of `stragglers` has; smaller jobs lose none; any job if
    omitted."""

    @model_validator(mode="after")
    def _leaves_out_of_another(self) -> ReliabilityProfile:
        if self.without and self.extends is None:
            words = "`without` leaves out hazards of the profile that it extends, and it extends none"
            rule = {"rule": "catalog-reliability", "message": words, "field": "without"}
            raise PydanticCustomError("rule", "{message}", {**rule, "remedy": "name the profile under `extends`"})
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> dict[str, Any]:
        """Return the schema of a profile, which must have every field unless it extends another."""
        found = handler(core_schema)
        fields = handler.resolve_ref_schema(found)
        whole = fields["required"]
        fields["required"] = ["kind", "id", "name", "vendor"]
        fields |= {"if": {"required": ["extends"]}, "else": {"required": whole}}
        return found


class JobMix(Part):
    """Jobs of a cluster as a scheduler saw them: sizes, run times, and how long they waited."""

    kind_words: ClassVar[str] = "job mix"

    kind: Literal["job-mix"]
    run_mean: PlainFigure
    """Mean run time of a job [s]."""
    run_median: PlainFigure
    """Median run time [s]."""
    run_max: PlainFigure
    """Longest run time [s]."""
    gpus_mean: PlainFigure
    """Mean accelerators of a job [1]."""
    gpus_median: PlainFigure
    """Median accelerators [1]."""
    gpus_max: PlainFigure
    """Most accelerators [1]."""
    queue_mean: PlainFigure | None = None
    """Mean time that jobs waited in that cluster [s]."""
    queue_median: PlainFigure | None = None
    """Median time that they waited [s]."""
