"""Every uncertain input of what failures leave of a job, with range and source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.catalog.ownership import Estimate, plain_amount
from ffplan.catalog.reliability import PATHS
from ffplan.cost.inputs import Input
from ffplan.reliability.hazards import sized_rate
from ffplan.reliability.job import requeue_seconds

if TYPE_CHECKING:
    from ffplan.catalog.evidence import Figure
    from ffplan.catalog.parts import Part
    from ffplan.catalog.reliability import Hazard, ReliabilityProfile
    from ffplan.reliability.hazards import HazardRate
    from ffplan.studies.operate.reliability import Hazards

TIMES: dict[str, tuple[str, str]] = {
    "detect": ("time to detect a failure", "s"),
    "hang": ("time to detect a hang", "s"),
    "hangs": ("interruptions that hang", "1"),
    "reschedule": ("restart by rescheduling over a requeue", "1"),
    "standby": ("restart onto standby over a requeue", "1"),
    "repair": ("repair of a node", "s"),
    "together": ("interruptions of several nodes at once", "1"),
    "pause": ("stop of an asynchronous checkpoint", "s"),
    "checkpoint_bytes": ("checkpoint for a parameter", "byte"),
}
"""Inputs of a profile beside its rates: label and unit."""
A_YEAR = "events a year of one scale-up domain"
PARTS = ("hangs", "reschedule", "standby", "together")
"""Inputs that are parts of a whole."""


def estimate_input(name: str, label: str, unit: str, found: Figure, owner: Part, *, part: bool = False) -> Input:
    """Return a figure of a profile, of another part, or of a design, as an input.

    Args:
        label: what it is called.
        owner: the part whose sources it names.
        part: it is a part of a whole, at most 1.
    """
    low, high = (plain_amount(end) for end in found.range)
    source = owner.sources.get(found.source)
    status = _status(found, owner)
    shape = found.distribution if isinstance(found, Estimate) else None
    return Input(
        name=name,
        key=f"reliability.{name}",
        label=label,
        unit=unit,
        likely=plain_amount(found.value),
        low=low,
        high=high,
        distribution="fixed" if low == high else shape or "triangular",
        source=source.title if source else "the design",
        status=status,
        date=source.date if source else None,
        most=1.0 if part else float("inf"),
    )


def _status(found: Figure, owner: Part) -> str:
    source = owner.sources.get(found.source)
    return (found.status or source.status) if source else "given"


def _rate_input(rate: HazardRate, hazard: Hazard, profile: ReliabilityProfile) -> Input:
    figure = hazard.rate or hazard.stops
    source = profile.sources[figure.source]
    (low, high), likely = rate.rate.ends, rate.rate.per_year
    return Input(
        name=f"rate.{rate.name}",
        key=f"reliability.rate.{rate.name}",
        label=f"rate of {rate.label}",
        unit=f"events a year of one {rate.unit}",
        likely=likely,
        low=low,
        high=high,
        distribution="fixed" if low == high else ("lognormal" if 0 < low < likely < high else "triangular"),
        source=rate.rate.basis if rate.rate.events is not None else source.title,
        status="D" if rate.rate.events is not None else (figure.status or source.status),
        date=source.date,
    )


def reliability_inputs(hazards: Hazards, accelerator: str | None, gpus: float) -> tuple[Input, ...]:
    """Return every input of a job's outcome.

    Args:
        hazards: the profile with its rates.
        accelerator: catalogue id of the accelerator; None where unknown.
        gpus: accelerators of the job, which rates of jobs and the time of a requeue depend on [1].
    """
    profile = hazards.profile
    found = []
    for name, drain in hazards.drains.items():
        part = profile.domain_parts[name]
        found.append(estimate_input(f"rate.{name}", f"rate of {part.label}", A_YEAR, drain, profile))
        found.append(estimate_input(f"drain.{name}", f"repair: {part.label}", "s", part.repair, profile))
        found += [_fixed(f"stops.{name}", part.label, "1", 1.0), _fixed(f"removes.{name}", part.label, "1", 0.0)]
    if profile.tray_swap is not None:
        label = "until a spare is in the place of a node of a scale-up domain"
        found.append(estimate_input("tray_swap", label, "s", profile.tray_swap, profile))
    for rate in hazards.rates:
        if rate.name in hazards.drains:
            continue
        hazard = profile.hazards[rate.name]
        found.append(_rate_input(sized_rate(rate, gpus), hazard, profile))
        for name, figure in (("stops", rate.stops), ("removes", rate.removes)):
            label = f"{rate.label}: events that {'stop a job' if name == 'stops' else 'take a node out'}"
            found.append(estimate_input(f"{name}.{rate.name}", label, "1", figure, profile, part=True))
        found.append(_path(rate, hazards))
    fleet = hazards.section.fleet or profile.fleet
    found.append(estimate_input("fleet", "rates of this fleet over the usual", "1", fleet, profile))
    relative = profile.relative.get(accelerator or "")
    if relative is not None:
        label = f"rates of {accelerator} over the profile's"
        found.append(estimate_input("relative", label, "1", relative, profile))
    else:
        found.append(_fixed("relative", "rates of the accelerator over the profile's", "1", 1.0))
    for name, (label, unit) in TIMES.items():
        found.append(estimate_input(name, label, unit, getattr(profile, name), profile, part=name in PARTS))
    found.append(_stragglers(hazards, gpus))
    points = tuple((float(row.accelerators), float(row.time.value)) for row in profile.requeue)
    found.append(_fixed("requeue", "requeue of the whole job", "s", float(requeue_seconds(points, gpus))))
    return tuple(found)


def _path(rate: HazardRate, hazards: Hazards) -> Input:
    """Return the time until a lost path is back; 0 of what is none."""
    label = f"{rate.label}: until the path is back"
    figure = (hazards.section.path_repair or rate.path_repair) if rate.unit in PATHS else None
    if figure is None:
        return _fixed(f"path.{rate.name}", label, "s", 0.0)
    return estimate_input(f"path.{rate.name}", label, "s", figure, hazards.profile)


def _stragglers(hazards: Hazards, gpus: float) -> Input:
    profile, own = hazards.profile, hazards.section.stragglers
    least = profile.stragglers_from.value if profile.stragglers_from else 0
    usual = profile.stragglers if gpus >= least else None
    label = "rate that stragglers take"
    if own is None and usual is None:
        return _fixed("stragglers", label, "1", 0.0)
    figure = own if own is not None else usual
    assert figure is not None
    return estimate_input("stragglers", label, "1", figure, profile, part=True)


def _fixed(name: str, label: str, unit: str, value: float) -> Input:
    return Input(
        name=name,
        key=f"reliability.{name}",
        label=label,
        unit=unit,
        likely=value,
        low=value,
        high=value,
        distribution="fixed",
        source="the reliability profile",
        status="D",
    )
