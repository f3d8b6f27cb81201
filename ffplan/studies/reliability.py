"""From a design to its hazards: the reliability profile, its studies, and every uncertain input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.catalog.ownership import Estimate, plain_amount
from ffplan.catalog.reliability import FailureStudy, ReliabilityProfile
from ffplan.cost.inputs import Input
from ffplan.design.reliability_schema import Reliability
from ffplan.inputs.document import Document
from ffplan.reliability.hazards import CountedRate, HazardRate, counted_rate, hazard_rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.catalog.evidence import Figure
    from ffplan.catalog.reliability import Counted, Hazard
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign

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
    "storage_efficiency": ("storage service over its NICs", "1"),
}
"""Inputs of a profile beside its rates: label and unit."""
PARTS = ("hangs", "reschedule", "standby", "together", "storage_efficiency")
"""Inputs that are parts of a whole."""


@record
class Hazards:
    """A design's reliability profile with its rates."""

    section: Reliability
    profile: ReliabilityProfile
    document: Document
    """The profile's file."""
    rates: tuple[HazardRate, ...]
    silent: CountedRate
    """Silent corruptions found, of one accelerator."""


def hazards_of(design: ResolvedDesign, catalog: Catalog) -> Hazards:
    """Return the hazards of a design.

    Args:
        design: the design.
        catalog: where its profile and studies are looked up.

    Raises:
        InputError: where there is no such profile, or a hazard counts what its study has not.
    """
    section = design.reliability or Reliability()
    path = ("reliability", "profile") if design.reliability is not None else ()
    profile = catalog.get(ReliabilityProfile, section.profile, design.document, path)
    document = catalog.entry(profile.id).document
    found: list[HazardRate] = []
    faults: list[Finding] = []
    for name, hazard in profile.hazards.items():
        try:
            found.append(hazard_rate(name, hazard, _study(name, hazard, catalog, document)))
        except InputError as error:
            faults += error.findings
    if faults:
        raise InputError(*faults)
    counted = profile.silent_rate
    study = catalog.get(FailureStudy, counted.study, document, ("silent_rate", "study"))
    gaps = list(_gaps(study, counted, document, ("silent_rate",)))
    if gaps:
        raise InputError(*gaps)
    silent = counted_rate(study, tuple(counted.events), counted.over)
    return Hazards(section=section, profile=profile, document=document, rates=tuple(found), silent=silent)


def _study(name: str, hazard: Hazard, catalog: Catalog, document: Document) -> FailureStudy | None:
    """Return the study that counts a hazard.

    Raises:
        InputError: where it does not exist, or lacks the events or the exposure.
    """
    counted = hazard.counted
    if counted is None:
        return None
    path = ("hazards", name, "counted")
    study = catalog.get(FailureStudy, counted.study, document, (*path, "study"))
    faults = list(_gaps(study, counted, document, path))
    if faults:
        raise InputError(*faults)
    return study


def _gaps(study: FailureStudy, counted: Counted, document: Document, path: tuple[str, ...]) -> Iterator[Finding]:
    """Yield what a study lacks of what is counted."""
    from ffplan.inputs.suggest import did_you_mean

    for position, event in enumerate(counted.events):
        if event not in study.events:
            remedy = did_you_mean(event, study.events, what="class")
            message = f"the study `{study.id}` counts no `{event}`"
            yield document.finding("catalog-reliability", (*path, "events", position), message, remedy)
    if study.days is None or counted.over not in study.fleet:
        message = f"the study `{study.id}` gives no exposure of `{counted.over}`"
        known = ", ".join(f"`{unit}`" for unit in study.fleet) or "nothing"
        remedy = f"count over what it gives ({known}), or give `rate`"
        yield document.finding("catalog-reliability", (*path, "over"), message, remedy)


def estimate_input(
    name: str, label: str, unit: str, found: Estimate, profile: ReliabilityProfile, *, part: bool = False
) -> Input:
    """Return a figure of a profile, or of a design, as an input.

    Args:
        name: its name in formulas.
        label: what it is called.
        unit: its unit.
        found: the figure.
        profile: whose sources it names.
        part: it is a part of a whole, at most 1.
    """
    low, high = (plain_amount(end) for end in found.range)
    source = profile.sources.get(found.source)
    status = _status(found, profile)
    return Input(
        name=name,
        key=f"reliability.{name}",
        label=label,
        unit=unit,
        likely=plain_amount(found.value),
        low=low,
        high=high,
        distribution="fixed" if low == high else found.distribution or "triangular",
        source=source.title if source else "the design",
        status=status,
        date=source.date if source else None,
        most=1.0 if part else float("inf"),
    )


def _status(found: Figure, profile: ReliabilityProfile) -> str:
    source = profile.sources.get(found.source)
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
        gpus: accelerators of the job, which the time of a requeue depends on [1].
    """
    profile = hazards.profile
    found = []
    for rate in hazards.rates:
        hazard = profile.hazards[rate.name]
        found.append(_rate_input(rate, hazard, profile))
        for name, figure in (("stops", rate.stops), ("removes", rate.removes)):
            label = f"{rate.label}: events that {'stop a job' if name == 'stops' else 'take a node out'}"
            found.append(estimate_input(f"{name}.{rate.name}", label, "1", figure, profile, part=True))
    fleet = hazards.section.fleet or profile.fleet
    found.append(estimate_input("fleet", "rates of this fleet over the usual", "1", fleet, profile))
    relative = profile.relative.get(accelerator or "")
    if relative is not None:
        label = f"rates of {accelerator} over those of H100"
        found.append(estimate_input("relative", label, "1", relative, profile))
    else:
        found.append(_fixed("relative", "rates of the accelerator over those of H100", "1", 1.0))
    for name, (label, unit) in TIMES.items():
        found.append(estimate_input(name, label, unit, getattr(profile, name), profile, part=name in PARTS))
    from ffplan.reliability.job import requeue_seconds

    points = tuple((float(row.accelerators), float(row.time.value)) for row in profile.requeue)
    found.append(_fixed("requeue", "requeue of the whole job", "s", float(requeue_seconds(points, gpus))))
    return tuple(found)


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
