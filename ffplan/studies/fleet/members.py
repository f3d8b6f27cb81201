"""Clusters of a fleet file over the draws: when they are ready, what they do for each demand, and what they cost."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ffplan.base.array_math import Number
from ffplan.base.errors import InputError, UsageError
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.catalog.models import Model
from ffplan.catalog.store import Catalog
from ffplan.cost.account import YearAccount, account_year
from ffplan.cost.draws import P95, drawn, sample
from ffplan.cost.horizon import QUARTER
from ffplan.cost.inputs import INFINITE, Input, rent_input
from ffplan.cost.power import HOURS_PER_YEAR, facility_power
from ffplan.cost.rent import MONTHS
from ffplan.cost.run import HOUR, run_seconds
from ffplan.cost.sensitivity import likely
from ffplan.cost.yearly import YEARLY
from ffplan.design.fleet_file import FleetCluster, design_file, month_text
from ffplan.design.ownership_schema import Ownership
from ffplan.design.resolve import resolve
from ffplan.design.resolved import ResolvedDesign
from ffplan.design.training import PlanFields
from ffplan.fabric.sizing.plan import reachable_nodes
from ffplan.inputs.document import parse_document, read_document
from ffplan.inputs.workloads import PoolPlan
from ffplan.reliability.spare_count import enough
from ffplan.results.serving import ServeTargets
from ffplan.serving.requests import Requests
from ffplan.studies.cost.cost import inputs_for, ledger_for
from ffplan.studies.cost.parts import hourly_rent
from ffplan.studies.fleet.capacity import AVAILABLE, _best_copy, _ServedTarget, _stretch_of, _ways
from ffplan.studies.operate.goodput_basis import goodput_basis, reliability_summary
from ffplan.studies.serve.links import ServeError
from ffplan.studies.serve.loads import Load
from ffplan.studies.serve.serve import plan_row
from ffplan.studies.serve.setup import PlanRequest, engine_of
from ffplan.studies.train.default_job import timed_on
from ffplan.training.accelerator_rates import UncalibratedError
from ffplan.training.constraints import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from ffplan.base.array_math import Floats
    from ffplan.catalog.engines import Engine
    from ffplan.design.fleet_file import FleetDemand, FleetFile, FleetSite
    from ffplan.inputs.document import Document
    from ffplan.studies.cost.ledger import CostRequest, Ledger
    from ffplan.studies.train.default_job import TimedJob

T = TypeVar("T")

_CHANCES = (0.1, 0.5, 0.9)
"""Chances of meeting the targets between which rates are interpolated [1]."""
_MOST_KEPT = 256
"""Designs, jobs and served demands that are kept for other points of a sweep [1]."""
_FAR = 6.0
"""Normal deviates beyond which none is drawn [1]."""
QUARTER_S = HOURS_PER_YEAR * HOUR * QUARTER / MONTHS
"""Seconds of a quarter [s]."""


@record
class Work:
    """What one cluster does for one demand with all of its nodes."""

    rate: Number
    """Tokens of a quarter, or requests a second at the peak, over the draws."""
    plan: str
    paid: float
    """Part of the hours that a rent by the hour is paid for: those with jobs, and all where it serves [1]."""


@record
class _Member:
    cluster: FleetCluster
    design: ResolvedDesign
    catalog: Catalog
    order: float
    """Month of the order from the first quarter; negative if it was placed before [month]."""
    delivered: Number
    """Months from the order to the delivery [month]."""
    waits: Number
    """Months from the order to the first job [month]."""
    retired: float | None
    """Month in which it is switched off, from the first quarter; None for the end of its life [month]."""
    life: Number
    """Life of the hardware [month]."""
    building_life: Number
    """Life of an own building [month]."""
    year: YearAccount
    paid: Number
    """What one pays in a year beside its purchase: rent paid upfront is spread over its term, without interest
    [currency per year]."""
    residual: Number
    """Value of the hardware at the end of its life, over its price [1]."""
    peak_kw: float
    """Facility power of one with everything at its maximum, without the unrated parts [kW]."""
    unrated: tuple[str, ...]
    """Figures of power that the catalogue lacks: power and energy are at least as much."""
    left_out: tuple[str, ...]
    """What the purchase lacks, in categories and parts; empty of a rent."""
    rented: bool
    accelerators: int
    currency: str
    accelerator: str
    hourly: Number | None
    """Cheapest rent of its accelerator by the hour [currency per hour]; None without an offer."""
    offer: str
    """Name of that offer; empty without one."""
    term: float | None
    """Term of its rent [month]; None for a purchase, or a rent by the hour."""
    work: dict[str, Work]

    @property
    def capital(self) -> Number:
        """Write-off and cost of capital of all that is bought [currency per year]."""
        if self.rented:
            return 0.0
        return self.cluster.count * sum(cost for name, cost in self.year.yearly.items() if YEARLY[name].capital)

    @property
    def running(self) -> Number:
        """What all of them pay in a year beside their purchase, without interest [currency per year]."""
        return self.cluster.count * self.paid

    @property
    def running_cost(self) -> Number:
        """The same with the cost of capital of rent paid upfront [currency per year]."""
        return self.cluster.count * self.year.year - self.capital

    @property
    def price(self) -> Number:
        """What all of them cost to buy [currency]."""
        return self.cluster.count * (self.year.capex + self.year.building)

    def rate(self, demand: str) -> Number:
        """Return what all of them do for a demand: tokens of a quarter, or requests a second at the peak."""
        work = self.work.get(demand)
        return 0.0 if work is None else self.cluster.count * self.cluster.use[demand] * work.rate


class _FleetDesigns:
    """Designs that fleets of one file name, and what each does; a sweep keeps them from point to point."""

    def __init__(
        self, catalog: Catalog, request: CostRequest, file: str, texts: Mapping[str, tuple[str, str]] | None = None
    ) -> None:
        """Read designs from the folder of `file`, or take label and text by name from `texts`."""
        self.catalog, self.request, self.file, self._texts = catalog, request, file, texts or {}
        self._kept: dict[Hashable, Any] = {}

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a result, made at the first request."""
        if key not in self._kept:
            made = make()
            if len(self._kept) >= _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = made
        value: T = self._kept[key]
        return value

    def design(self, name: str) -> tuple[ResolvedDesign, Catalog]:
        """Return a design with the catalogue that it reads."""
        return self.kept(name, lambda: self._resolved(name))

    def _resolved(self, name: str) -> tuple[ResolvedDesign, Catalog]:
        catalog = self.catalog.fresh()
        if name not in self._texts:
            return resolve(read_document(*design_file(name, self.file)), catalog), catalog
        label, text = self._texts[name]
        return resolve(parse_document(text.encode(), label), catalog), catalog


class _Members:
    """Reads the clusters of a fleet; what equal designs share is studied once."""

    def __init__(
        self, fleet: FleetFile, document: Document, designs: _FleetDesigns, tell: Callable[[str], None]
    ) -> None:
        self.fleet, self.document, self.designs, self.tell = fleet, document, designs, tell
        self.request, self._design = designs.request, designs.design
        self._demands = {demand.name: (place, demand) for place, demand in enumerate(fleet.demand)}

    def read(self) -> list[_Member]:
        members = [self._member(place, cluster) for place, cluster in enumerate(self.fleet.clusters)]
        for place, member in enumerate(members):
            if member.currency != members[0].currency:
                message = f"its costs are in {member.currency}, those of the first cluster in {members[0].currency}"
                raise self._fault(place, "design", message, "give the design `site: {currency: …, exchange: …}`")
        stated = self.fleet.shortfall
        if stated is not None and stated.currency != members[0].currency:
            remedy = f"write it in {members[0].currency}"
            message = f"an amount in {stated.currency}"
            raise InputError(self.document.finding("design-fleet", ("shortfall",), message, remedy))
        return members

    def _fault(self, place: int, field: str, message: str, remedy: str) -> InputError:
        return InputError(self.document.finding("design-fleet", ("clusters", place, field), message, remedy))

    def check(self) -> None:
        for place, cluster in enumerate(self.fleet.clusters):
            self._written(place, cluster)
        for demand in self.fleet.demand:
            self._model(self.designs.catalog, demand)
            if demand.serve:
                self._engine(self.designs.catalog, demand)

    def _written(self, place: int, cluster: FleetCluster) -> tuple[ResolvedDesign, Catalog]:
        try:
            written, catalog = self._design(cluster.design)
        except UsageError as error:
            what, _, remedy = str(error).removeprefix("ffplan: ").partition("; ")
            raise self._fault(place, "design", what, remedy) from None
        if written.spec.phases:
            raise self._fault(place, "design", "the design has phases", "write each phase as a cluster of its own")
        return written, catalog

    def _model(self, catalog: Catalog, demand: FleetDemand) -> Model:
        field = "train" if demand.train else "serve"
        model = catalog.get(Model, getattr(demand, field), self.document, self._path(demand, field))
        if model.transformer is None:
            what, remedy = f"{model.id} is no transformer, and tokens need one", "choose a language model"
            raise InputError(self.document.finding("design-fleet", self._path(demand, field), what, remedy))
        return model

    def _member(self, place: int, cluster: FleetCluster) -> _Member:
        self.tell(cluster.name)
        written, catalog = self._written(place, cluster)
        design = _on_site(written, self.fleet.sites.get(cluster.site or ""), cluster)
        ledger = self._ledger(design, catalog, cluster)
        if not ledger.costed:
            raise self._fault(place, "design", "the design has no prices", "add `cost: {price_book: usd-2026}` to it")
        self._refuse_early(place, cluster, ledger)
        v = self._drawn(ledger.inputs)
        lead, commissioning = ledger.to_production(v)
        work = {name: self._work(place, cluster.design, ledger, self._demands[name][1]) for name in cluster.use}
        rent, year = hourly_rent(ledger), account_year(ledger.account, v)
        rented = ledger.owned.rent is not None
        return _Member(
            cluster=cluster,
            design=design,
            catalog=catalog,
            order=float(cluster.order - self.fleet.start),
            delivered=lead,
            waits=lead + commissioning,
            retired=None if cluster.retire is None else float(cluster.retire - self.fleet.start),
            life=MONTHS * v["life"],
            building_life=MONTHS * v.get("building_life", v["life"]),
            year=year,
            paid=_paid_year(ledger, v),
            residual=v["residual"],
            peak_kw=float(facility_power(ledger.account.rated_w, likely(ledger.inputs)["pue"])) / 1e3,
            unrated=ledger.unrated,
            left_out=ledger.left_out,
            rented=rented,
            accelerators=design.accelerators,
            currency=ledger.owned.currency,
            accelerator=design.compute.accelerator.id if design.compute.accelerator else "",
            hourly=self._drawn((rent_input(*rent),))["rent"] if rent is not None else None,
            offer=rent[1] if rent is not None else "",
            term=years * MONTHS if rented and (years := ledger.account.term.years) else None,
            work=work,
        )

    def _ledger(self, design: ResolvedDesign, catalog: Catalog, cluster: FleetCluster) -> Ledger:
        """Return a cluster with its account; a wrong price of the site's energy is told of the site."""
        site = self.fleet.sites.get(cluster.site or "")
        try:
            return ledger_for(design, catalog, self.request)
        except InputError as error:
            first = error.findings[0]
            if first.path == "site.electricity_price" and site is not None and site.electricity_price is not None:
                place = ("sites", cluster.site or "", "electricity_price")
                remedy = f"write it in the currency of `{cluster.design}`"
                raise InputError(self.document.finding("design-fleet", place, first.message, remedy)) from None
            raise

    def _refuse_early(self, place: int, cluster: FleetCluster, ledger: Ledger) -> None:
        v = likely(ledger.inputs)
        ready = cluster.order + float(sum(ledger.to_production(v)))
        if cluster.retire is None and ready + MONTHS * float(v["life"]) <= self.fleet.start:
            raise self._fault(place, "order", "its life ends before the fleet starts", "leave the cluster out")
        if cluster.retire is not None and cluster.retire <= ready:
            when = month_text(int(ready))
            raise self._fault(place, "retire", f"the cluster is ready in {when} only", "write a month after it")

    def _work(self, place: int, name: str, ledger: Ledger, demand: FleetDemand) -> Work:
        try:
            return self._training(name, ledger, demand) if demand.train else self._serving(name, demand)
        except (RefusedError, UncalibratedError, ServeError, UsageError) as error:
            remedy, text = "take it out of `use`, or change design or demand", str(error).removeprefix("ffplan: ")
            raise self._fault(place, "use", f"`{demand.name}`: {text}", remedy) from None

    def _training(self, name: str, ledger: Ledger, demand: FleetDemand) -> Work:
        """Return tokens of a quarter: of the fastest plan, with the model's errors, failures, effort and idle hours."""
        design, catalog = self._design(name)
        model = self._model(catalog, demand)
        tokens = max(float(estimate.range[1]) for estimate in demand.tokens)  # what is likely may be none
        timed = self.designs.kept(
            (name, model.id, tokens),
            lambda: timed_on(design, catalog, model, PlanFields(), None, tokens, searching=True),
        )
        v = self._drawn(inputs_for(ledger, timed, catalog))
        speed = timed.job.tokens_s * v["speed"] * v["speed_own"]
        seconds = run_seconds(1.0, speed, v["effective"], v.get("effort", 1.0))
        return Work(
            rate=QUARTER_S * v["utilisation"] / seconds, plan=_job_plan(timed), paid=float(np.mean(v["utilisation"]))
        )

    def _path(self, demand: FleetDemand, field: str) -> tuple[str | int, ...]:
        return "demand", self._demands[demand.name][0], field

    def _engine(self, catalog: Catalog, demand: FleetDemand) -> Engine:
        try:
            return engine_of(catalog, demand.engine)
        except ServeError as error:
            what, _, remedy = str(error).removeprefix("--engine: ").partition("; ")
            finding = self.document.finding("design-fleet", self._path(demand, "engine"), what, remedy)
            raise InputError(finding) from None

    def _drawn(self, inputs: tuple[Input, ...]) -> dict[str, Number]:
        return sample(inputs, self.request.draws, self.request.seed)

    def _serving(self, name: str, demand: FleetDemand) -> Work:
        """Return requests a second within the targets on all nodes but those in repair, with the engine's errors."""
        alike = demand.model_copy(update={"name": "", "rate": ()})
        return self.designs.kept((name, alike), lambda: self._served(name, demand))

    def _served(self, name: str, demand: FleetDemand) -> Work:
        design, catalog = self._design(name)
        model, engine = self._model(catalog, demand), self._engine(catalog, demand)
        target = _ServedTarget(
            model=model,
            engine=engine,
            load=Load(requests=Requests(prompt=demand.isl, output=demand.osl, chunk=float(engine.chunk.value))),
            targets=ServeTargets(ttft_s=demand.ttft, tpot_s=demand.tpot, at=demand.at),
            request=PlanRequest(precision=demand.precision, kv=demand.kv),
        )
        ways, _ = _ways(target, catalog, design)
        copy = _best_copy(target, catalog, design, ways, 1.0)
        rates = [copy.largest_rate(_stretch_of(copy.setup.speed.band, chance)) for chance in _CHANCES]
        per_node = design.compute.accelerators_per_node
        # as many of each node as the largest job has
        nodes, every = copy.setup.fleet.gpus // per_node, reachable_nodes(design)
        repaired = reliability_summary(goodput_basis(design, catalog)).nodes_in_repair * nodes / every
        spares = enough(repaired, AVAILABLE)
        count = copy.setup.copies_on(nodes, spares)
        accelerator = copy.setup.fleet.accelerator.id
        if not count * rates[1]:
            reason = (
                "its percentiles miss the targets at every load"
                if count
                else f"no copy fits beside {plural(spares, 'spare')}"
            )
            raise ServeError(f"{model.id} on {nodes:,} nodes: {reason}", infeasible=True)
        rate = count * self._between(f"serving.{engine.id}.{accelerator}", rates)
        plan = plan_row(copy.setup)
        ways_text = PoolPlan.of(plan).ways(" ")
        return Work(rate=rate, plan=f"{count:,} x {ways_text}, {plan.precision}", paid=1.0)

    def _between(self, key: str, rates: list[float]) -> Number:
        """Return the rate of a copy over the draws of the engine's error: linear between the chances and beyond."""
        deviates = drawn(_deviate(key), self.request.draws, self.request.seed)
        ends = [-_FAR, *(NormalDist().inv_cdf(chance) for chance in _CHANCES), _FAR]
        slopes = [(rates[i + 1] - rates[i]) / (ends[i + 2] - ends[i + 1]) for i in (0, 1)]
        outer = [rates[0] + slopes[0] * (ends[0] - ends[1]), rates[2] + slopes[1] * (ends[4] - ends[3])]
        reached = np.interp(deviates, ends, [outer[0], *rates, outer[1]])
        rate: Floats = np.maximum(reached, 0.0)
        return rate


def _deviate(key: str) -> Input:
    return Input(
        input=key,
        key=key,
        label=key,
        unit="1",
        likely=0.0,
        low=-P95,
        high=P95,
        distribution="normal",
        source="the engine's band",
        date=None,
        status="D",
        least=-INFINITE,
    )


def _on_site(design: ResolvedDesign, site: FleetSite | None, cluster: FleetCluster) -> ResolvedDesign:
    owned = design.ownership or Ownership()
    changed = {name: getattr(cluster, name) for name in ("lead_time", "commissioning")}
    place = dict[str, object]()
    if site is not None:
        changed["grid"] = site.grid
        if site.pue is not None:
            owned, place = owned.model_copy(update={"pue": None}), {"pue": site.pue, "cooling": None}
        if site.electricity_price is not None:
            owned = owned.model_copy(update={"electricity": None})
            place["electricity_price"] = site.electricity_price
    owned = owned.model_copy(update={name: value for name, value in changed.items() if value is not None})
    spec = design.spec.model_copy(update={"site": design.spec.site.model_copy(update=place)})
    return replace(design, spec=spec, ownership=owned)


def _paid_year(ledger: Ledger, v: Mapping[str, Number]) -> Number:
    """Return the payments of a year beside the purchase, without interest [currency per year]."""
    # without a cost of capital, a share of a rent that is paid upfront is that share of every month
    free = account_year(ledger.account, {**v, "capital": 0.0})
    return sum(cost for name, cost in free.yearly.items() if ledger.account.rented or not YEARLY[name].capital)


def _job_plan(timed: TimedJob) -> str:
    plan = timed.report.rows[0].plan
    sizes = (("TP", plan.tensor), ("PP", plan.pipeline), ("CP", plan.context), ("DP", plan.data), ("EP", plan.expert))
    return " ".join(f"{name}{size}" for name, size in sizes if size > 1)
