"""Fleet files: clusters on sites, when they are ordered and retired, and the demand that they are to meet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from ffplan.base.errors import InputError
from ffplan.catalog.engines import CachePrecision, ServedPrecision
from ffplan.catalog.ownership import Estimate, PerHour, PlainEstimate, YearsEstimate
from ffplan.design.schema import MOST_PUE
from ffplan.inputs.design_files import find_design
from ffplan.inputs.model import Count, Frozen, Identifier, Many, Text
from ffplan.inputs.part_ids import ModelId
from ffplan.inputs.quantities import Duration, EnergyPrice, Power, Share, _fault, describe
from ffplan.inputs.validate import validate
from ffplan.inputs.workloads import parse_rate, parse_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.base.errors import Finding
    from ffplan.inputs.document import Document

MOST_QUARTERS, MOST_CLUSTERS, MOST_DEMANDS = 80, 200, 20
"""Longest horizon [quarter], and most clusters, or sites, and demands of a fleet [1]."""
_OF_SERVING = ("isl", "osl", "at", "engine", "precision", "kv")
"""Fields of a demand that only serving has."""
_MONTH_SHAPE = r"(20\d\d|21\d\d)-(0[1-9]|1[0-2])"
_MONTH = re.compile(_MONTH_SHAPE)


def _parse_month(value: Any) -> int:
    """Return a month such as 2027-04 as months since the year 0."""
    match = _MONTH.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise _fault("unit", f"{describe(value)} is no month", "write year and month, such as 2027-04")
    return int(match[1]) * 12 + int(match[2]) - 1


def month_text(month: int) -> str:
    """Return a month as it is written: 2027-04."""
    return f"{month // 12}-{month % 12 + 1:02}"


Month = Annotated[
    int,
    PlainValidator(_parse_month),
    WithJsonSchema({"type": "string", "pattern": f"^{_MONTH_SHAPE}$", "examples": ["2027-04"]}),
]
"""A month, as months since the year 0 [month]."""


def _or_none(parse: Callable[[Any], float]) -> Callable[[Any], float]:
    """Return a parser that also takes 0, for quarters without a demand."""

    def parse_or_none(value: Any) -> float:
        return 0.0 if value in (0, 0.0, "0") and value is not False else parse(value)

    return parse_or_none


_Tokens = Annotated[float, PlainValidator(_or_none(parse_tokens)), WithJsonSchema({"type": ["number", "string"]})]
_Rate = Annotated[float, PlainValidator(_or_none(parse_rate)), WithJsonSchema({"type": ["number", "string"]})]


class _TokensEstimate(Estimate):
    """A number of tokens [1]."""

    value: _Tokens
    low: _Tokens | None = None
    high: _Tokens | None = None


class _RequestsEstimate(Estimate):
    """A rate of requests [1/s]."""

    value: _Rate
    low: _Rate | None = None
    high: _Rate | None = None


class FleetSite(Frozen):
    """A site, whose figures replace those of the designs that stand on it."""

    power: Power | None = None
    """Largest facility power at the peak [W]."""
    pue: Annotated[float, Field(ge=1.0, le=MOST_PUE)] | None = None
    """Power usage effectiveness."""
    electricity_price: EnergyPrice | None = None
    """Price of electrical energy."""
    grid: PlainEstimate | None = None
    """Carbon intensity of the grid [g CO2e per kWh]."""


class FleetCluster(Frozen):
    """Equal clusters that are ordered together."""

    name: Identifier
    """Name, each once."""
    design: Text
    """Design file, from the folder of the fleet file, or the name of a shipped design."""
    count: Count = 1
    """Clusters of this design."""
    site: Identifier | None = None
    """Name of its site."""
    order: Month
    """Month of the order; orders before the start of the fleet are placed."""
    lead_time: YearsEstimate | None = None
    """From order to delivery, in place of the design's [year]."""
    commissioning: YearsEstimate | None = None
    """From delivery to the first job, in place of the design's [year]."""
    retire: Month | None = None
    """Month in which it is switched off; the end of its life if omitted."""
    use: dict[Identifier, Share] = Field(min_length=1)
    """Share of its node-hours for each demand, by name."""


class FleetDemand(Frozen):
    """A demand: tokens to train on in a quarter, or requests a second to serve at its peak."""

    name: Identifier
    """Name, each once."""
    train: ModelId | None = None
    """Model that is trained; needs `tokens`."""
    tokens: Many[_TokensEstimate] = ()
    """Tokens of each quarter; one value holds for all [1]."""
    serve: ModelId | None = None
    """Model that is served; needs `rate`, and `ttft` or `tpot`."""
    rate: Many[_RequestsEstimate] = ()
    """Requests at the peak of each quarter; one value holds for all [1/s]."""
    isl: Count = 1024
    """Tokens of a prompt [1]."""
    osl: Count = 1024
    """Tokens of an answer [1]."""
    ttft: Duration | None = None
    """Most time to the first token [s]."""
    tpot: Duration | None = None
    """Most time of a further token [s]."""
    at: Literal["mean", "p50", "p90", "p99"] = "p99"
    """Statistic that is held to these."""
    engine: Text = "vllm"
    """Serving engine, such as `vllm@0.12`."""
    precision: ServedPrecision | None = None
    """Precision of the weights; as published if omitted."""
    kv: CachePrecision | None = None
    """Precision of keys and values; the engine's if omitted."""

    @property
    def estimates(self) -> tuple[_TokensEstimate | _RequestsEstimate, ...]:
        """What is demanded of each quarter."""
        return self.tokens or self.rate

    @model_validator(mode="before")
    @classmethod
    def _one_value(cls, data: Any) -> Any:
        """Take one value for a list of one."""
        if not isinstance(data, dict):
            return data
        single = {name for name in ("tokens", "rate") if name in data and not isinstance(data[name], list)}
        return {name: [value] if name in single else value for name, value in data.items()}

    @model_validator(mode="after")
    def _one_kind(self) -> FleetDemand:
        served = [name for name in ("rate", "ttft", "tpot") if getattr(self, name)]
        if (self.train is None) == (self.serve is None):
            raise _rule("name", "a demand trains a model or serves one", "write `train: MODEL` or `serve: MODEL`")
        of_serving = [name for name in _OF_SERVING if name in self.model_fields_set]
        if self.train is not None and of_serving:
            raise _rule(of_serving[0], f"`{of_serving[0]}` belongs to `serve`", "leave it out")
        if self.train is not None and (not self.tokens or served):
            message = f"`{served[0]}` belongs to `serve`" if served else "`train` has no tokens"
            raise _rule(served[0] if served else "train", message, "write `tokens: 2T`, of a quarter")
        if self.serve is not None and self.tokens:
            raise _rule("tokens", "`tokens` belong to `train`", "write `rate`, such as 300/s at the peak")
        if self.serve is not None and (not self.rate or len(served) < 2):
            raise _rule("serve", "`serve` needs a rate and a target", "write `rate: 300/s`, and `ttft: 2 s` or `tpot`")
        return self


def _rule(field: str, message: str, remedy: str) -> PydanticCustomError:
    context = {"rule": "design-fleet", "message": message, "remedy": remedy, "field": field}
    return PydanticCustomError("rule", "{message}", context)


class FleetFile(Frozen):
    """A file with a fleet."""

    kind: Literal["fleet"]
    """Kind of file."""
    schema_version: Literal[1] = 1
    """Version of this format."""
    name: Identifier
    """Name of the fleet."""
    start: Month
    """First month of the first quarter."""
    quarters: Annotated[int, Field(ge=1, le=MOST_QUARTERS)]
    """Quarters that are planned."""
    sites: dict[Identifier, FleetSite] = Field(default_factory=dict, max_length=MOST_CLUSTERS)
    """Sites by name."""
    clusters: Many[FleetCluster] = Field(min_length=1, max_length=MOST_CLUSTERS)
    """Clusters in any order."""
    demand: Many[FleetDemand] = Field(min_length=1, max_length=MOST_DEMANDS)
    """What the fleet is for."""
    shortfall: PerHour | None = None
    """Cost of an accelerator-hour that is missing; the cheapest rent by the hour of the accelerator if omitted."""


def design_file(name: str, fleet: str) -> tuple[Path, str]:
    """Return the file of a design that the file of a fleet names, and its name in messages."""
    path, label = find_design(name)
    if str(path) == name and not path.is_absolute():
        path = Path(fleet).parent / name
        label = str(path)
    return path, label


def read_fleet(document: Document) -> FleetFile:
    """Return the fleet of a file.

    Raises:
        InputError: with every fault: of a field, or of names, shares, dates and quarters that contradict each other.
    """
    data = document.data
    if not (isinstance(data, dict) and data.get("kind") == "fleet"):
        finding = document.finding("design-fleet", (), "this is not a fleet file", "name a file with `kind: fleet`")
        raise InputError(finding)
    fleet = validate(FleetFile, document)
    faults = list(_contradictions(fleet, document))
    if faults:
        raise InputError(*faults)
    return fleet


def _contradictions(fleet: FleetFile, document: Document) -> Iterator[Finding]:
    known = [demand.name for demand in fleet.demand]

    def fault(path: tuple[str | int, ...], message: str, remedy: str) -> Finding:
        return document.finding("design-fleet", path, message, remedy)

    for name, names in (("demand", known), ("clusters", [cluster.name for cluster in fleet.clusters])):
        for place, entry in enumerate(names):
            if entry in names[:place]:
                yield fault((name, place, "name"), f"two of `{name}` are called `{entry}`", "give each its own name")
    for place, demand in enumerate(fleet.demand):
        field, count = "tokens" if demand.tokens else "rate", len(demand.estimates)
        if count not in (1, fleet.quarters):
            message = f"{count} values for {fleet.quarters} quarters"
            yield fault(("demand", place, field), message, "write one value for each quarter, or one for all")
        if not any(estimate.range[1] for estimate in demand.estimates):
            yield fault(("demand", place, field), "nothing is demanded in any quarter", "leave the demand out")
        if not any(demand.name in cluster.use for cluster in fleet.clusters):
            yield fault(
                ("demand", place, "name"), f"no cluster is used for `{demand.name}`", "name it in `use` of a cluster"
            )
    for name, site in fleet.sites.items():
        if site.power == 0:
            yield fault(("sites", name, "power"), "no power", "write the largest facility power, or leave it out")
    for place, cluster in enumerate(fleet.clusters):
        path = ("clusters", place)
        for name in sorted(set(cluster.use) - set(known)):
            yield fault(
                (*path, "use", name), f"no demand is called `{name}`", f"write one of {', '.join(dict.fromkeys(known))}"
            )
        if sum(cluster.use.values()) > 1 + 1e-9:
            yield fault(
                (*path, "use"), f"the shares add up to {100 * sum(cluster.use.values()):.3g} %", "at most 100 %"
            )
        if cluster.site is not None and cluster.site not in fleet.sites:
            remedy = f"write one of {', '.join(fleet.sites)}" if fleet.sites else "add it under `sites`"
            yield fault((*path, "site"), f"no site is called `{cluster.site}`", remedy)
        if cluster.retire is not None and cluster.retire <= cluster.order:
            yield fault((*path, "retire"), "it retires in the month of its order, or before", "write a later month")
        elif cluster.retire is not None and cluster.retire <= fleet.start:
            yield fault((*path, "retire"), "it retires before the fleet starts", "leave the cluster out")
        end = fleet.start + 3 * fleet.quarters
        if cluster.order >= end:
            message = f"it is ordered after the last quarter, which ends with {month_text(end - 1)}"
            yield fault((*path, "order"), message, "write an earlier month, or more quarters")
        for name in sorted(name for name, share in cluster.use.items() if not share):
            yield fault((*path, "use", name), "a share of 0 %", "write more, or leave it out")


SCHEMAS = {"fleet": (FleetFile, "A fleet of clusters and the demand on it")}
"""Files and outputs of this module, with their titles."""
