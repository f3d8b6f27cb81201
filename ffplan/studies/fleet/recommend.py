"""The least purchase that serves a load within latency targets: accelerators, plans of a copy, copies and spares."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from ffplan.base.formatting import listed
from ffplan.base.record import record
from ffplan.catalog.prices import PriceBook
from ffplan.reliability.spare_count import enough
from ffplan.results.recommendation import MOST_RECALLED
from ffplan.studies.choose.candidates import IDEAS, Built, Draft, Idea, Wishes
from ffplan.studies.choose.cluster_search import with_nics
from ffplan.studies.choose.first_designs import MOST_NODES, Builder, priced_accelerators
from ffplan.studies.choose.recommend_target import WORTH
from ffplan.studies.cost.parts import bom_report
from ffplan.studies.fleet.capacity import _copy_on, _copy_setup, _stretch_of, _Way, _ways, _worth_trying
from ffplan.studies.serve.links import ServeError
from ffplan.studies.serve.serve import plan_row
from ffplan.studies.serve.setup import ServeSetup

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.store import Catalog
    from ffplan.results.serving import ServePlan
    from ffplan.studies.fleet.capacity import FleetTarget

_SIZED = {True: 4, False: 2}
"""Accelerators that are sized in any case: possible winners, and paper-only parts [1]."""
_LEAST_NODES = 2
"""Nodes of a fleet: one is no fabric, and serves nothing while it is repaired [1]."""
_RACK_UNITS = 42
_PROBE = 64
"""Accelerators of the design on which plans are sought: as many as the widest copy has [1]."""


@record
class _SizedFleet:
    accelerator: str
    built: Built
    setup: ServeSetup
    """A copy on this design."""
    held: float
    """Accelerators of a copy, with its part of those that no copy uses where there are many [1]."""
    copies: int
    """Copies that the load takes [1]."""
    spares: int
    """Nodes more than they take [1]."""
    rate: float
    """Largest rate of a copy within the targets, with the chance wanted [1/s]."""
    peak: float
    """Requests a second at the peak of all copies: what is to be served, or as many as they serve [1/s]."""

    @property
    def recalled_share(self) -> float:
        bill = self.built.bom
        return (bill.recalled_share or 0.0) if bill is not None else 0.0

    @property
    def trusted(self) -> bool:
        return self.setup.speed.runs > 0 and self.recalled_share <= MOST_RECALLED

    @property
    def figures(self) -> dict[str, float | None]:
        return _figures_of(self.built)


def _figures_of(built: Built) -> dict[str, float | None]:
    """Return the figures that limits bound and aims minimise: money, power [kW], accelerators, racks, floor [m2]."""
    study = built.study
    assert study.tco is not None
    return {
        "capex": built.purchase,
        "tco": study.tco.total,
        "power": study.power.facility_peak_kw,
        "accelerators": float(built.assessment.accelerators),
        "racks": float(study.power.racks),
        "floor": study.power.floor_m2,
    }


@record
class _Recommended:
    fleets: list[_SizedFleet]
    left_out: dict[str, str]


@record
class _Candidate:
    name: str
    label: str
    """The accelerator, and whether pools are on it."""
    builder: Builder
    idea: Idea
    probe: Draft
    """The design on which the ways were sought."""
    ways: list[_Way]
    estimate: float
    """The aim as mean latencies have it."""
    trusted: bool
    """True if the engine ran on it, and most of its price was seen."""


def _builder(target: FleetTarget, catalog: Catalog, accelerator: str, *, apart: bool) -> Builder:
    limits = dict(target.limits)
    wishes = Wishes(
        accelerator=accelerator,
        budget=limits.get("capex"),
        watts=1e3 * limits["power"] if "power" in limits else None,
        powered=target.aim == "power",
        book=target.book,
        pue=target.pue,
        excluded=target.excluded,
        switches=target.switches,
        rack_area=target.rack_area,
    )
    return Builder(wishes, catalog, f"{target.model.id}-{accelerator}{'-pools' * apart}")


def _candidate(target: FleetTarget, catalog: Catalog, name: str, *, apart: bool) -> _Candidate | str:
    builder = _builder(target, catalog, name, apart=apart)
    per_node = len(builder.server.accelerators)
    reason, found = "no switch and cable hold it", list[_Candidate]()
    for idea, wide in ((with_nics(IDEAS[0], 1), False), (IDEAS[0], True)):
        draft = builder.near(idea, ceil(_PROBE / per_node / builder.step) * builder.step)
        if draft is None:
            continue
        if "power" in (target.aim, *dict(target.limits)) and draft.ledger.unrated:
            return f"its power is unknown: {listed(draft.ledger.unrated)}"
        try:
            ways, measured = _ways(target, catalog, draft.design, wide=wide or apart, apart=apart)
        except ServeError as error:
            reason = str(error)
            continue
        bill = bom_report(draft.ledger)
        assert bill is not None, "the builder takes parts with prices"
        candidate = _Candidate(
            name=name,
            label=f"{name} with pools" if apart else name,
            builder=builder,
            idea=idea,
            probe=draft,
            ways=ways,
            estimate=_estimate(target, draft, max(way.tokens_s_gpu for way in ways)),
            trusted=measured and (bill.recalled_share or 0.0) <= MOST_RECALLED,
        )
        if not apart:
            return candidate  # a copy within a domain needs no more NICs; pools move keys and values over them
        found.append(candidate)
    return min(found, key=lambda candidate: candidate.estimate) if found else reason


def _estimate(target: FleetTarget, probe: Draft, tokens_s: float) -> float:
    """Return the aim as a probe has it for each accelerator; without a load, seconds for a token within the limits."""
    count = float(probe.design.accelerators)
    each = {"accelerators": 1.0, "power": probe.drawn("facility-peak") / 1e3 / count, "capex": probe.purchase / count}
    if target.rate is None:
        most = min((limit / each[name] for name, limit in target.limits if name in each), default=float(_PROBE))
        return 1 / (most * tokens_s)
    gpus = target.rate * float(target.load.requests.output) / tokens_s
    return gpus * each.get(target.aim, each["capex"])


def _fleet(
    target: FleetTarget, catalog: Catalog, one: _Candidate, way: _Way, best: _SizedFleet | None
) -> _SizedFleet | None:
    """Return the fleet of a way; None if it never meets the targets, cannot be built, or is no better than the best."""
    copy = _copy_on(target, catalog, one.probe.design, way)
    setup = copy.setup
    most = _within(target, one, setup) if target.rate is None else None
    if target.rate is None and most is None:
        return None
    # as many copies at no higher rate serve no more than the best, nor does an accelerator at no more of its own
    above = 0.0 if best is None else best.rate / best.held * way.held
    if best is not None and most is not None:
        above = max(above, best.peak / most[1])
    rate = copy.largest_rate(_stretch_of(setup.speed.band, target.chance), above)
    if rate <= 0:
        return None
    sized = most if most is not None else _for_load(target, one, setup, rate)
    if sized is None:
        return None
    built, copies, spares = sized
    peak = target.rate or rate * copies
    return _SizedFleet(
        accelerator=one.name,
        built=built.with_text(_with_load(built.text, target, way, plan_row(setup), peak)),
        setup=_copy_setup(target, catalog, built.design, way),
        held=way.held,
        copies=copies,
        spares=spares,
        rate=rate,
        peak=peak,
    )


def _spares(built: Built, target: FleetTarget) -> int:
    """Return the nodes in repair with which enough are up [1]."""
    summary = built.assessment.reliability
    return enough(summary.nodes_in_repair if summary is not None else 0.0, target.available)


def _for_load(target: FleetTarget, one: _Candidate, setup: ServeSetup, rate: float) -> tuple[Built, int, int] | None:
    """Return the fewest nodes that serve the load, with copies and spare nodes; None if no fabric holds them."""
    assert target.rate is not None
    builder = one.builder
    copies = ceil(target.rate / rate - 1e-9)

    def built_with(needed: int) -> tuple[Built | None, int]:
        nodes = max(ceil(needed / builder.step) * builder.step, _LEAST_NODES)
        return builder.build(one.idea, nodes), nodes

    built, nodes = built_with(setup.least_nodes(copies))
    if built is None:
        return None
    needed = setup.least_nodes(copies, _spares(built, target))
    if needed > nodes:
        built, nodes = built_with(needed)
        if built is None:
            return None
    return built, copies, nodes - setup.nodes_held(copies, nodes)


def _within(target: FleetTarget, one: _Candidate, setup: ServeSetup) -> tuple[Built, int, int] | None:
    """Return the most nodes within the limits, with copies and spare nodes; None if not even a copy is."""
    builder = one.builder
    racks = dict(target.limits).get("racks")
    built = builder.largest(one.idea, most=min(int(racks) * _RACK_UNITS, MOST_NODES) if racks else MOST_NODES)
    while built is not None:
        nodes = int(built.assessment.nodes["compute"])
        figures = _figures_of(built)
        ratio = max((figures[name] or 0.0) / most for name, most in target.limits)
        if ratio <= 1:
            break
        fewer = min(int(nodes / ratio), nodes - 1) // builder.step * builder.step
        built = builder.build(one.idea, fewer) if fewer >= _LEAST_NODES else None
    if built is None:
        return None
    copies = setup.copies_on(nodes, _spares(built, target))
    return (built, copies, nodes - setup.nodes_held(copies, nodes)) if copies > 0 else None


def _with_load(text: str, target: FleetTarget, way: _Way, plan: ServePlan, peak: float) -> str:
    """Return a design file with the load at its peak [1/s], and with targets of the 99th percentile as limits."""
    requests, targets = target.load.requests, target.targets
    pairs = (("ttft_p99", targets.ttft_s, 1.0, "s"), ("tpot_p99", targets.tpot_s, 1e3, "ms"))
    limits = [f"  {name}: {most * scale:.15g} {unit}" for name, most, scale, unit in pairs if most is not None]
    ways = {"tp": plan.tensor, "pp": plan.pipeline, "ep": plan.expert, "dp": plan.data}
    spread = [f"  {name}: {ranks}" for name, ranks in ways.items() if ranks > 1 or name == "tp"]
    if way.pools is not None:
        spread = [f"  prefill: {way.pools.prefill}", f"  decode: {way.pools.decode}"]
    lines = ["", "limits:"] if limits and targets.at == "p99" and "\nlimits:\n" not in text else []
    lines += limits if targets.at == "p99" else []
    lines += [
        "",
        "serving:",
        f"  model: {target.model.id}",
        f"  rate: {peak:.15g}/s  # the peak",
        f"  isl: {requests.prompt:.15g}",
        f"  osl: {requests.output:.15g}",
        f"  engine: {target.engine.id}",
        f"  precision: {plan.precision}",
        f"  kv: {plan.kv}",
        *spread,
        f"  chunk: {plan.chunk}",
    ]
    return text.rstrip() + "\n" + "\n".join(lines) + "\n"


def _best_way(target: FleetTarget, catalog: Catalog, one: _Candidate) -> _SizedFleet | None:
    best: _SizedFleet | None = None
    chosen: _Way | None = None

    def so_far() -> tuple[_Way | None, float]:
        return chosen, best.rate * float(target.load.requests.output) / best.held if best is not None else 0.0

    for way in _worth_trying(target, one.ways, so_far):
        fleet = _fleet(target, catalog, one, way, best)
        if fleet is not None and (best is None or _aim_of(fleet, target) < _aim_of(best, target)):
            best, chosen = fleet, way
    return best


def _aim_of(fleet: _SizedFleet, target: FleetTarget) -> float:
    """Return the figure that is to be least, in the unit of the aim; without a load, seconds for a request."""
    if target.rate is None:
        return 1 / fleet.peak
    return fleet.figures[target.aim] or 0.0


def broken(fleet: _SizedFleet, target: FleetTarget) -> dict[str, float]:
    """Return the limits that a fleet breaks, by name, each with its figure over the limit [1]."""
    ratios = {name: (fleet.figures[name] or 0.0) / most for name, most in target.limits}
    return {name: ratio for name, ratio in ratios.items() if ratio > 1}


def recommend_fleet(target: FleetTarget, catalog: Catalog, tell: Callable[[str], None]) -> _Recommended:
    """Return fleets that serve a load, each accelerator's best, in the order of the aim.

    For each accelerator the plans with most tokens of an accelerator are sought whose means meet the targets; from
    them follows a first estimate of the fleet. In its order, plans are run with arrivals at random, for the largest
    rate at which the percentiles meet the targets with the chance wanted. Copies follow from the peak, and spare nodes
    from the nodes in repair. Accelerators are left out whose estimate lies far above what was sized.
    """
    left_out: dict[str, str] = {}
    candidates = []
    book = catalog.entry(target.book).part
    assert isinstance(book, PriceBook)
    for part, _ in priced_accelerators(catalog, book, target.allowed, target.excluded, left_out):
        tell(part.id)
        for apart in (False, True)[: 1 + target.apart]:
            one = _candidate(target, catalog, part.id, apart=apart)
            if not isinstance(one, str):
                candidates.append(one)
            elif not apart:
                left_out[part.id] = one
    fleets: list[_SizedFleet] = []
    for one in sorted(candidates, key=lambda one: (one.estimate, one.name)):
        same = [_aim_of(fleet, target) for fleet in fleets if fleet.trusted == one.trusted]
        if len(same) >= _SIZED[one.trusted] and one.estimate > min(same) * (1 + WORTH):
            left_out[one.label] = "a first estimate lies far above the best"
            continue
        tell(f"{one.label}, {one.ways[0].gpus} GPUs a copy")
        sized = _best_way(target, catalog, one)
        if sized is not None:
            fleets.append(sized)
        else:
            left_out[one.label] = "its percentiles miss the targets at every load, or no fabric holds the nodes"
    return _Recommended(sorted(fleets, key=lambda fleet: (_aim_of(fleet, target), fleet.accelerator)), left_out)
