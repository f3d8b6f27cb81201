"""Exposure of a job to failures, and their rates by part: from counts and exposures, summed over a job's units."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, ceil_div
from ffplan.base.record import record
from ffplan.catalog.parts import Server
from ffplan.catalog.reliability import PATHS, Hazard

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from ffplan.catalog.reliability import FailureStudy, Unit
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan

ACCESS_TIERS = ("endpoint",)
"""Tiers of a fabric's endpoint links."""
EDGE_ROLES = ("leaf", "router")
"""Roles of switches with endpoints."""


@record
class JobUnits:
    """Units in use by jobs; every count has the shape of the jobs."""

    counts: dict[str, Number]
    """Units by kind [1]."""
    survives: dict[str, str]
    """Units whose loss slows a job without stopping it, with the reason."""


def _bridges_per_node(design: ResolvedDesign) -> int:
    server = design.compute.server
    if not isinstance(server, Server) or server.nvlink is None:
        return 0
    return len(getattr(server.nvlink, "pairs", None) or ())


def domain_nodes(design: ResolvedDesign) -> int:
    """Return the nodes of a scale-up domain [1]; 1 if it stays within a node."""
    server = design.compute.server
    return server.domain_nodes if isinstance(server, Server) else 1


def job_units(design: ResolvedDesign, plan: FabricPlan, nodes: Number) -> JobUnits:
    """Return the units in use by jobs.

    Args:
        nodes: compute nodes of each job [1]; jobs above the design's size get its fabric in proportion.

    Equation:
        accelerators, NICs, bridges and endpoint links by node; of the switches and the links between them the job's
        part of all endpoints, leaves rounded up; scale-up domains of several nodes, rounded up

    Source:
        Counts of the design.
    """
    group, domain = design.compute, domain_nodes(design)
    nics = len(group.fabric_nics)
    # nodes of other kinds and storage servers have their part of the fabric; above the design's size it grows
    own, every = nodes * nics, sum(other.group.count * len(other.fabric_nics) for other in design.groups)
    part = own / every if every else 0.0 * nodes
    leaves = sum(plan.switches_by_role.get(role, 0) for role in EDGE_ROLES)
    upper = plan.switches - leaves
    inter = sum(count for tier, count in plan.links_by_tier.items() if tier not in ACCESS_TIERS)
    counts: dict[str, Number] = {
        "accelerator": nodes * group.accelerators_per_node,
        "node": nodes,
        "nic": nodes * nics,
        "endpoint-link": nodes * nics * design.stripes,
        # the smallest job still hangs on one leaf
        "leaf-switch": ceil_div(own * leaves, every) if every else 0.0 * nodes,
        "upper-switch": part * upper,
        "inter-switch-link": part * inter,
        "bridge": nodes * _bridges_per_node(design),
        "scale-up-domain": ceil_div(nodes, domain) if domain > 1 else 0.0 * nodes,
        "job": 0.0 * nodes + 1.0,
    }
    survives: dict[str, str] = {}
    if design.stripes > 1:
        reason = f"every NIC has {design.stripes} ports on as many planes: a job goes on at part of the rate"
        survives |= dict.fromkeys(PATHS, reason)
    return JobUnits(counts=counts, survives=survives)


OF_NODES = ("accelerator", "node", "nic", "bridge")
"""Units inside a node, whose rate depends on its accelerator."""


DAY_S = 86_400.0
"""Seconds of a day [s]."""
YEAR_DAYS = 365.0
YEAR_S = YEAR_DAYS * DAY_S
"""Seconds of a year [s]."""


@record
class CountedRate:
    """A rate with the counts behind it."""

    per_year: float
    """Rate of one unit [1/year]."""
    events: int | None
    """Events counted; None for a rate printed without counts."""
    exposure_years: float | None
    """Unit-years of counting [year]."""
    others: tuple[float, float] | None
    """Range from other sources, or from the source itself if it gives no counts [1/year]."""
    basis: str
    """Origin, in words."""
    factor: float = 1.0
    """Share of the counted rate for a job smaller than the counted ones [1]."""

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end: the counts' 95 % interval, widened by other sources [1/year]."""
        low, high = self.others or (self.per_year, self.per_year)
        if self.events is not None and self.exposure_years:
            from ffplan.reliability.poisson import interval

            least, most = interval(self.events, self.exposure_years)
            low, high = (min(low, least), max(high, most)) if self.others else (least, most)
        # `per_year` already has the factor
        return min(low * self.factor, self.per_year), max(high * self.factor, self.per_year)


def _exposure_years(study: FailureStudy, unit: Unit) -> float | None:
    """Return the exposure of a study.

    Args:
        unit: exposed unit.

    Returns:
        Unit-years [year]; None if unknown.

    Equation:
        units * days / 365

    Source:
        Definition.
    """
    if study.days is None or unit not in study.fleet:
        return None
    return study.fleet[unit].value * study.days.value / YEAR_DAYS


def counted_rate(study: FailureStudy, events: tuple[str, ...], unit: Unit) -> CountedRate:
    """Return the rate of classes of events.

    Args:
        events: counted classes.
        unit: exposed unit.

    Raises:
        KeyError: if the study has no such class.
        ValueError: if the study gives no exposure.

    Equation:
        sum of events / exposure [1/year]

    Source:
        Maximum likelihood of a Poisson process.
    """
    total = sum(study.events[name].value for name in events)
    years = _exposure_years(study, unit)
    if years is None:
        raise ValueError(f"the study `{study.id}` gives no exposure of {unit}")
    basis = f"{total:,} events in {years:,.0f} {unit}-years of `{study.id}`"
    return CountedRate(per_year=total / years, events=total, exposure_years=years, others=None, basis=basis)


@record
class HazardRate:
    """A hazard of a profile with its rate."""

    name: str
    hazard: Hazard
    rate: CountedRate


def hazard_rate(name: str, hazard: Hazard, study: FailureStudy | None) -> HazardRate:
    """Return a hazard with its numeric rate.

    Args:
        study: the study that counts it; None if the profile gives the rate.

    Raises:
        KeyError: if the study has no such class.
        ValueError: if the study gives no exposure.
    """
    if hazard.counted is not None:
        assert study is not None
        rate = counted_rate(study, tuple(hazard.counted.events), hazard.counted.over)
        if hazard.others is not None:
            low, high = hazard.others.range
            basis = f"{rate.basis}; other sources {low:.3g} to {high:.3g} a year"
            rate = replace(rate, others=(low, high), basis=basis)
    else:
        assert hazard.rate is not None
        value, ends = float(hazard.rate.value), hazard.rate.range
        rate = CountedRate(per_year=value, events=None, exposure_years=None, others=ends, basis="a rate of the profile")
    return HazardRate(name, hazard, rate)


def growth(gpus: float, until: float, exponent: float) -> float:
    """Return a job's rate relative to a large job's.

    Args:
        gpus: accelerators of the job [1].
        until: accelerators at which growth ends [1].
        exponent: exponent of the size below it [1].

    Returns:
        Factor, at most 1 [1].

    Equation:
        (min(n, n0) / n0)^p

    Source:
        Kokolis et al., arXiv 2410.21680, the study that publishes several sizes: a job of 8 accelerators fails every
        47.7 days, one of 1,024 every 7.9 h. Less 6.50 failures of hardware in 1,000 node-days, 5.28 and 805 stops a
        year are left, which grow with the power 1.036 from the one size to the other. Beyond it others show no growth:
        OPT has 265 a year at 1,024, ByteRobust 1,022 at 1,000, Llama 3 426 at 16,384, FT-HSDP 541 at 32,000.
    """
    return float((min(gpus, until) / until) ** exponent)


def sized_rate(rate: HazardRate, gpus: float) -> HazardRate:
    """Return a hazard scaled to the size of a job.

    Args:
        gpus: accelerators of the job [1].
    """
    grows = rate.hazard.growth
    if grows is None:
        return rate
    factor = growth(gpus, float(grows.until.value), float(grows.exponent.value))
    counted = rate.rate
    return replace(rate, rate=replace(counted, per_year=counted.per_year * factor, factor=counted.factor * factor))


def event_rates(
    rates: Mapping[str, Number], *, fleet: Number, relative: Number, spreads: Container[str], of_nodes: Container[str]
) -> dict[str, Number]:
    """Return the events a year of one unit, for every hazard [1/year].

    Args:
        rates: rates of the profile, by hazard [1/year].
        fleet: factor of the fleet on the profile's rates [1].
        relative: factor of the accelerator and its node on the profile's rates [1].
        spreads: hazards with the fleet's factor.
        of_nodes: hazards of units inside a node.

    Equation:
        rate * fleet * relative, each factor if it applies

    Source:
        Definition.
    """
    return {
        name: rate * (fleet if name in spreads else 1.0) * (relative if name in of_nodes else 1.0)
        for name, rate in rates.items()
    }


def interruptions(units: Mapping[str, Number], rates: Mapping[str, Number], stops: Mapping[str, Number]) -> Number:
    """Return the interruptions of a job [1/s].

    Args:
        units: units in use by the job, by hazard [1].
        rates: events a year of a unit, by hazard [1/year].
        stops: share of events that stop the job, by hazard [1].

    Equation:
        sum of n_i * rate_i * stops_i

    Source:
        Superposition of independent Poisson processes. Llama 3: 419 in 54 days on 16,384 accelerators are 3.09 h.
    """
    total: Number = 0.0
    for name, count in units.items():
        # rates of independent Poisson processes add
        total = total + count * rates[name] * stops[name]
    return total / YEAR_S
