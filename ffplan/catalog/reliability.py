"""Failures of clusters: studies with counts and exposures, Xid codes, and a profile of rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ffplan.base.errors import did_you_mean
from ffplan.catalog.evidence import BandwidthFigure, CountFigure, Figure, FractionFigure
from ffplan.catalog.ownership import PlainEstimate, SecondsEstimate, ShareEstimate
from ffplan.catalog.parts import Part
from ffplan.inputs.model import Count, Frozen, Identifier, Many, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

    from ffplan.base.errors import Finding
    from ffplan.inputs.document import Document


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
"""Units of a rate; a hazard strikes all units alike."""
PATHS: tuple[Unit, ...] = ("endpoint-link", "leaf-switch")
"""Units whose loss a job survives if every NIC has a port in each of several planes."""
EventCount = Annotated[int, Field(ge=0, le=10_000_000_000)]
EventRate = Annotated[float, Field(ge=0, le=1e9, strict=False)]


class EventFigure(Figure):
    """A number of events with evidence; 0 is allowed."""

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
    """Catalogue id of the fleet's accelerators; left out if mixed or unknown."""
    days: DaysFigure | None = None
    """Days of counting; without days and fleet, counts give shares but no rates."""
    fleet: dict[Unit, CountFigure] = Field(default_factory=dict)
    """Units exposed over these days."""
    events: dict[Identifier, EventFigure] = Field(default_factory=dict)
    """Events by class, in the words of the source."""
    printed: dict[Identifier, EventFigure] = Field(default_factory=dict)
    """Sums printed in the source, by their classes or in its words."""
    sums: dict[Identifier, Many[Identifier]] = Field(default_factory=dict)
    """Classes of a printed sum; all classes if omitted."""
    rates: dict[Identifier, RateFigure] = Field(default_factory=dict)
    """Rates printed without counts [1/year and unit]."""
    shares: dict[Identifier, FractionFigure] = Field(default_factory=dict)
    """Shares printed in the source [1]."""
    factors: dict[Identifier, PlainFigure] = Field(default_factory=dict)
    """Other ratios printed in the source [1]."""


Action = Literal["ignore", "restart-job", "reset-gpu", "reboot-node", "return-part", "follow-other", "link-check"]
XidClass = Literal["application", "hardware", "link", "software", "information"]


class XidMeaning(Frozen):
    """Meaning of an Xid, and the first action."""

    meaning: Text
    """Error reported by the driver."""
    action: Action
    """First action."""
    then: Action | None = None
    """Action if it repeats or follows another Xid."""
    of: XidClass
    """Most frequent cause."""
    count: EventFigure
    """Events in a year of the Fire-Flyer fleet; 0 if it had none."""


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
    """Counted classes of the study."""
    over: Unit
    """Exposed units of the study's fleet."""


class Growth(Frozen):
    """Growth of a rate with job size, by the formula of `ffplan.reliability.hazards.growth`."""

    until: CountFigure
    """Job size, in accelerators, at which the rate is stated and growth ends."""
    exponent: PlainEstimate
    """Exponent of the job size below it [1]."""


class Hazard(Frozen):
    """A kind of failure: its rate, and the shares that stop a job or remove a node."""

    label: Text
    """Name for people."""
    unit: Unit
    """Unit it strikes."""
    counted: Counted | None = None
    """Counts behind its rate."""
    rate: PlainEstimate | None = None
    """Its rate if no study counts it [1/year]."""
    others: PlainEstimate | None = None
    """Range of other sources, with `counted`: it widens the interval of the counts [1/year]."""
    stops: ShareEstimate
    """Share of events that stop a job using the unit [1]."""
    removes: ShareEstimate
    """Share of job-stopping events that take a node out for repair [1]."""
    path_repair: SecondsEstimate | None = None
    """Mean time until the path is back, if every NIC has another path and the job goes on at a reduced
    rate [s]; not counted if omitted."""
    growth: Growth | None = None
    """Growth of a job's rate with its accelerators; the same rate for any size if omitted."""
    spreads: bool = True
    """Whether the profile's `fleet` factor applies."""

    @model_validator(mode="after")
    def _has_rate(self) -> Hazard:
        if self.counted is None and self.rate is None:
            rule = {"rule": "schema-missing-field", "message": "the hazard has neither `counted` nor `rate`"}
            remedy = {"remedy": "name a study and its events, or give a rate a year"}
            raise PydanticCustomError("rule", "{message}", {**rule, **remedy})
        if self.path_repair is not None and self.unit not in PATHS:
            fault = f"`path_repair` is of endpoint links and leaf switches, and not of a {self.unit}"
            rule = {"rule": "catalog-reliability", "message": fault, "field": "path_repair"}
            raise PydanticCustomError("rule", "{message}", {**rule, "remedy": "leave it out"})
        if self.growth is not None and self.unit != "job":
            fault = f"`growth` is of jobs, and not of a {self.unit}, which a larger job has more of"
            rule = {"rule": "catalog-reliability", "message": fault, "field": "growth"}
            raise PydanticCustomError("rule", "{message}", {**rule, "remedy": "leave it out"})
        return self


class Requeue(Frozen):
    """Time from a detected failure to the first step, for one job size."""

    accelerators: Count
    """Accelerators of the job."""
    time: SecondsEstimate
    """Time to requeue the whole job, place it, start it and connect its ranks [s]."""


class GrantedRequests(Frozen):
    """Grants of a client to send, which keep servers from blocking each other."""

    window: PlainEstimate
    """Transfers granted by a client at once [1]."""
    transfer: PlainEstimate
    """Size of one transfer [byte]."""
    gap: SecondsEstimate
    """From the end of a transfer to the first byte of the next, over an idle fabric [s]."""


class StorageTier(Frozen):
    """A vendor's guidance for storage, by number of accelerators."""

    label: Text
    """Name for people."""
    use: Text
    """Purpose."""
    accelerators: CountFigure
    """Accelerators served."""
    read: BandwidthFigure
    """Read rate of all together [GB/s]."""
    write: BandwidthFigure
    """Write rate of all together [GB/s]."""


class DomainPart(Frozen):
    """A part whose failure removes every node of a scale-up domain, such as a switch tray of its rack."""

    label: Text
    """Name for people."""
    repair: SecondsEstimate
    """Until the domain is back [s]."""
    rate: PlainEstimate | None = None
    """Events a year of one domain [1/year]; not counted if the design gives no rate either."""


class ReliabilityProfile(Part):
    """Rates of failures, and times of detection, restart and repair."""

    kind_words: ClassVar[str] = "reliability profile"

    kind: Literal["reliability"]
    extends: Identifier | None = None
    """Profile that provides omitted figures; a hazard is replaced as a whole, and parts of it may be omitted.
    Its id may be the same in a later folder."""
    without: Many[Identifier] = ()
    """Hazards of the extended profile to drop, since this source counts them under others."""
    beside: Identifier | None = None
    """Profile whose mean time between interruptions reports show for comparison."""
    hazards: Annotated[dict[Identifier, Hazard], Field(min_length=1)]
    """Kinds of failure."""
    domain_parts: dict[Identifier, DomainPart] = Field(default_factory=dict)
    """Parts whose failure removes a scale-up domain of several nodes."""
    tray_swap: SecondsEstimate | None = None
    """Time until a spare replaces a node of such a domain, if no whole domain is spare [s]; at once if omitted."""
    fleet: PlainEstimate
    """Factor of a fleet on the hazards' rates, for its operation and age [1]."""
    relative: dict[Identifier, PlainEstimate] = Field(default_factory=dict)
    """Factor of an accelerator and its node on the hazards' rates, by catalogue id [1]; 1 if omitted."""
    detect: SecondsEstimate
    """From a visible failure to the decision to restart [s]."""
    hang: SecondsEstimate
    """From a hang to the decision to restart [s]."""
    hangs: ShareEstimate
    """Share of interruptions that are hangs [1]."""
    requeue: Annotated[Many[Requeue], Field(min_length=1)]
    """Time to restart by job size, rising; interpolated along the logarithm."""
    reschedule: ShareEstimate
    """Restart time with only lost nodes replaced, over the requeue time [1]."""
    standby: ShareEstimate
    """Restart time onto warm standby nodes, over the requeue time [1]."""
    repair: SecondsEstimate
    """Repair time of a node [s]."""
    together: ShareEstimate
    """Share of interruptions that take several nodes at once, and with them the copies in other nodes' memory [1]."""
    pause: SecondsEstimate
    """Stop of a job at each checkpoint, besides the copy into host memory and a synchronous save [s]."""
    checkpoint_bytes: PlainEstimate
    """Checkpoint size per parameter [byte]."""
    usual_interval: SecondsEstimate
    """Checkpoint interval that reports compare with the best [s]."""
    silent_rate: Counted
    """Silent corruptions found."""
    silent: ShareEstimate
    """Share of silent corruptions that a stress test finds [1]."""
    storage_efficiency: ShareEstimate | None = None
    """Achieved storage rate over its NICs' rate, if the server's file gives none, in place of the file
    system's [1]."""
    storage_tiers: dict[Identifier, StorageTier] = Field(default_factory=dict)
    """Guidance for storage, in rising order."""
    requests: GrantedRequests
    """How clients of a storage service grant requests to send."""
    token_bytes: PlainEstimate
    """Storage per token of training text [byte]."""
    image_bytes: PlainEstimate | None = None
    """Storage per image of a data set [byte]; images are not reported if omitted."""
    checkpoints_kept: PlainEstimate | None = None
    """Checkpoints kept in storage at a time [1]; their capacity is not reported if omitted."""
    stragglers: ShareEstimate | None = None
    """Loss of a job's rate to slow workers, beyond their effect on published step times [1]; not
    counted if omitted."""
    stragglers_from: CountFigure | None = None
    """Smallest job that `stragglers` applies to, in accelerators, as in its source; every job if
    omitted."""

    @model_validator(mode="after")
    def _leaves_out_of_another(self) -> ReliabilityProfile:
        if self.without and self.extends is None:
            fault = "`without` leaves out hazards of the profile that it extends, and it extends none"
            rule = {"rule": "catalog-reliability", "message": fault, "field": "without"}
            raise PydanticCustomError("rule", "{message}", {**rule, "remedy": "name the profile under `extends`"})
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> dict[str, Any]:
        """Return the schema of a profile, whose fields are all required unless it extends another."""
        schema = handler(core_schema)
        fields = handler.resolve_ref_schema(schema)
        whole = fields["required"]
        fields["required"] = ["kind", "id", "name", "vendor"]
        fields |= {"if": {"required": ["extends"]}, "else": {"required": whole}}
        return schema


class JobMix(Part):
    """Job statistics of a cluster from its scheduler: sizes, run times and waits."""

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
    """Mean wait of jobs in that cluster [s]."""
    queue_median: PlainFigure | None = None
    """Median wait [s]."""


def _sum_faults(study: Part, document: Document) -> Iterator[Finding]:
    """Yield printed sums of a failure study that its classes do not add up to."""
    assert isinstance(study, FailureStudy)
    for name, printed in study.printed.items():
        classes = study.sums.get(name, tuple(study.events))
        unknown = [event for event in classes if event not in study.events]
        for event in unknown:
            remedy = did_you_mean(event, study.events, what="class")
            yield document.finding("catalog-reliability", ("sums", name), f"the study counts no `{event}`", remedy)
        total = sum(study.events[event].value for event in classes if event in study.events)
        if classes and not unknown and total != printed.value:
            yield document.finding(
                "catalog-reliability",
                ("printed", name),
                f"the classes sum to {total:,}, where the source prints {printed.value:,}",
                "correct a count, or write under `sums` which classes it is over; none if it is not a sum of them",
            )
