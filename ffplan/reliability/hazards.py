"""Rates of failures by part: from counts and exposures, summed over what a job uses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.catalog.ownership import Estimate
from ffplan.catalog.reliability import Unit

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from ffplan.base.array_math import Number
    from ffplan.catalog.reliability import FailureStudy, Hazard

DAY_S = 86_400.0
"""Seconds of a day [s]."""
YEAR_DAYS = 365.0
YEAR_S = YEAR_DAYS * DAY_S
"""Seconds of a year [s]."""


@record
class CountedRate:
    """A rate with the counts behind it."""

    per_year: float
    """[1/year and unit]"""
    events: int | None
    """Events counted; None of a rate printed without counts."""
    exposure_years: float | None
    """Unit-years over which they were counted [year]."""
    others: tuple[float, float] | None
    """Ends that other sources give, or the source itself where it gives no counts [1/year]."""
    basis: str
    """Where it is from, in words."""
    factor: float = 1.0
    """Part of the counted rate that this one is, of a job smaller than the counts' [1]."""

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end: of the counts' 95 % interval, or of other sources where these reach further [1/year]."""
        low, high = self.others or (self.per_year, self.per_year)
        if self.events is not None and self.exposure_years:
            from ffplan.reliability.poisson import interval

            least, most = interval(self.events, self.exposure_years)
            low, high = (min(low, least), max(high, most)) if self.others else (least, most)
        return min(low * self.factor, self.per_year), max(high * self.factor, self.per_year)


def exposure_years(study: FailureStudy, unit: Unit) -> float | None:
    """Return the exposure of a study.

    Args:
        unit: what the rate is over.

    Returns:
        Unit-years [year]; None where the study does not give it.

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
        events: classes that count.
        unit: what the rate is over.

    Raises:
        KeyError: if the study has no such class.
        ValueError: if the study gives no exposure.

    Equation:
        sum of events / exposure [1/year]

    Source:
        Maximum likelihood of a Poisson process.
    """
    total = sum(study.events[name].value for name in events)
    years = exposure_years(study, unit)
    if years is None:
        raise ValueError(f"the study `{study.id}` gives no exposure of {unit}")
    words = f"{total:,} events in {years:,.0f} {unit}-years of `{study.id}`"
    return CountedRate(per_year=total / years, events=total, exposure_years=years, others=None, basis=words)


@record
class HazardRate:
    """A hazard in numbers."""

    name: str
    label: str
    unit: Unit
    rate: CountedRate
    stops: Estimate
    removes: Estimate
    spreads: bool
    path_repair: Estimate | None = None
    """Until a lost path is back, where a job goes on beside it [s]; None of what is no path."""
    growth: tuple[float, float] | None = None
    """Accelerators up to which the rate of a job grows [1], and the power with which it does [1]; None of a rate that
    is the same for any size."""


def hazard_rate(name: str, hazard: Hazard, study: FailureStudy | None) -> HazardRate:
    """Return a hazard with its rate.

    Args:
        name: its name in the profile.
        hazard: what the profile says of it.
        study: the study that counts it; None where the profile gives the rate.

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
    return HazardRate(
        name=name,
        label=hazard.label,
        unit=hazard.unit,
        rate=rate,
        stops=hazard.stops,
        removes=hazard.removes,
        spreads=hazard.spreads,
        path_repair=hazard.path_repair,
        growth=(float(grows.until.value), float(grows.exponent.value)) if (grows := hazard.growth) else None,
    )


def growth(gpus: float, until: float, exponent: float) -> float:
    """Return the part of the rate of a large job that a job of a size has.

    Args:
        gpus: accelerators of the job [1].
        until: accelerators from which on the rate grows no more [1].
        exponent: power of the size with which it grows up to there [1].

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
    """Return a hazard as a job of a size has it: its rate less what such a job does not reach.

    Args:
        gpus: accelerators of the job [1].
    """
    if rate.growth is None:
        return rate
    factor = growth(gpus, *rate.growth)
    own = rate.rate
    return replace(rate, rate=replace(own, per_year=own.per_year * factor, factor=own.factor * factor))


def event_rates(
    rates: Mapping[str, Number], *, fleet: Number, relative: Number, spreads: Container[str], of_nodes: Container[str]
) -> dict[str, Number]:
    """Return events a year of one unit of every hazard.

    Args:
        rates: rates of the profile, by hazard [1/year].
        fleet: rates of the fleet over the profile's [1].
        relative: rates of the accelerator and its node over the profile's [1].
        spreads: hazards that fleets differ in.
        of_nodes: hazards of units inside a node.

    Returns:
        Rates by hazard [1/year], broadcast shape.

    Equation:
        rate * fleet * relative, each factor where it applies

    Source:
        Definition.
    """
    return {
        name: rate * (fleet if name in spreads else 1.0) * (relative if name in of_nodes else 1.0)
        for name, rate in rates.items()
    }


def interruptions(units: Mapping[str, Number], rates: Mapping[str, Number], stops: Mapping[str, Number]) -> Number:
    """Return the interruptions of a job.

    Args:
        units: units that the job uses, by hazard [1].
        rates: events a year of a unit, by hazard [1/year].
        stops: part of the events that stops the job, by hazard [1].

    Returns:
        Interruptions a second [1/s], broadcast shape.

    Equation:
        sum of n_i * rate_i * stops_i

    Source:
        Superposition of independent Poisson processes. Llama 3: 419 in 54 days on 16,384 accelerators are 3.09 h.
    """
    total: Number = 0.0
    for name, count in units.items():
        total = total + count * rates[name] * stops[name]
    return total / YEAR_S
