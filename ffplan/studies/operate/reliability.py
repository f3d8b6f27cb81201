"""Hazards of a design, and every uncertain input of its goodput. It is light: `design` reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import InputError, did_you_mean
from ffplan.base.record import record
from ffplan.catalog.ownership import Estimate, PlainEstimate, ShareEstimate, plain_amount
from ffplan.catalog.reliability import PATHS, FailureStudy, Hazard, ReliabilityProfile
from ffplan.cost.inputs import Input
from ffplan.design.reliability_schema import Reliability
from ffplan.design.resolved import profiled
from ffplan.inputs.document import Document
from ffplan.reliability.hazards import CountedRate, HazardRate, counted_rate, domain_nodes, hazard_rate, sized_rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.catalog.evidence import Figure
    from ffplan.catalog.parts import Part
    from ffplan.catalog.reliability import Counted
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign


@record
class Hazards:
    """A design's reliability profile with its rates."""

    section: Reliability
    profile: ReliabilityProfile
    document: Document
    rates: tuple[HazardRate, ...]
    silent: CountedRate
    """Silent corruptions found, of one accelerator."""
    drains: dict[str, PlainEstimate]
    """Counted rates of parts that take a scale-up domain out, by hazard [1/year]."""


def profile_of(design: ResolvedDesign, catalog: Catalog) -> ReliabilityProfile:
    """Return the reliability profile of a design; raise `InputError` if the profile is unknown."""
    section = design.reliability or Reliability.model_construct()
    path = ("reliability", "profile") if design.reliability is not None else ()
    return catalog.get(ReliabilityProfile, section.profile, design.document, path)


def _hazards_of(design: ResolvedDesign, catalog: Catalog) -> Hazards:
    section, profile = design.reliability or Reliability.model_construct(), profile_of(design, catalog)
    entry = catalog.entry(profile.id)
    rates: list[HazardRate] = []
    faults: list[Finding] = []
    for name, hazard in profile.hazards.items():
        try:
            counts = hazard.counted
            place = ("hazards", name, "counted")
            study = _study(counts, catalog, entry.document_of(place), place) if counts else None
            rates.append(hazard_rate(name, hazard, study))
        except InputError as error:
            faults += error.findings
    if faults:
        raise InputError(*faults)
    counted = profile.silent_rate
    silent_study = _study(counted, catalog, entry.document_of(("silent_rate",)), ("silent_rate",))
    silent = counted_rate(silent_study, tuple(counted.events), counted.over)
    if section.path_repair is not None and design.stripes == 1:
        message = "every NIC of the design has one port, and the loss of its path stops a job"
        where = ("reliability", "path_repair")
        raise InputError(design.document.finding("design-reliability", where, message, "leave `path_repair` out"))
    drains = _drains(design, profile, section)
    rates += [_drain_rate(name, profile, rate) for name, rate in drains.items()]
    return Hazards(
        section=section, profile=profile, document=entry.document, rates=tuple(rates), silent=silent, drains=drains
    )


def _hazards_beside(design: ResolvedDesign, catalog: Catalog, hazards: Hazards) -> Hazards | None:
    """Return the hazards of the second profile that a design's profile names; None without one.

    The design's statements on its fleet refer to its own profile, and do not apply to the second.
    """
    name = hazards.profile.beside
    if name is None or name == hazards.profile.id:
        return None
    entry = catalog.entry(hazards.profile.id)
    second_profile = catalog.get(ReliabilityProfile, name, entry.document_of(("beside",)), ("beside",))
    stated = hazards.section.domain_failures
    kept = {part: rate for part, rate in stated.items() if part in second_profile.domain_parts}
    return _hazards_of(profiled(design, name, fleet=None, domain_failures=kept), catalog)


def _drains(design: ResolvedDesign, profile: ReliabilityProfile, section: Reliability) -> dict[str, PlainEstimate]:
    several = domain_nodes(design) > 1
    for name in section.domain_failures:
        path = ("reliability", "domain_failures", name)
        if not several:
            message = "the scale-up domain of the design's nodes is one node or less: its failures are the node's"
            raise InputError(
                design.document.finding("design-reliability", path, message, "leave `domain_failures` out")
            )
        if name not in profile.domain_parts:
            message = f"`{profile.id}` has no part `{name}` that takes a scale-up domain out"
            remedy = did_you_mean(name, profile.domain_parts, what="part")
            raise InputError(design.document.finding("design-reliability", path, message, remedy))
    if not several:
        return {}
    usual = {name: part.rate for name, part in profile.domain_parts.items()}
    both = {name: section.domain_failures.get(name, rate) for name, rate in usual.items()}
    return {name: rate for name, rate in both.items() if rate is not None}


def _drain_rate(name: str, profile: ReliabilityProfile, rate: PlainEstimate) -> HazardRate:
    """Return the rate of a part that takes a domain out; its nodes are counted as a domain's, not one by one."""
    basis = "a rate of the profile" if rate.source in profile.sources else "the design"
    counted = CountedRate(per_year=float(rate.value), events=None, exposure_years=None, others=rate.range, basis=basis)
    hazard = Hazard(
        label=profile.domain_parts[name].label,
        unit="scale-up-domain",
        rate=rate,
        stops=ShareEstimate(value=1.0),
        removes=ShareEstimate(value=0.0),
        spreads=False,
    )
    return HazardRate(name, hazard, counted)


def _study(counted: Counted, catalog: Catalog, document: Document, path: tuple[str, ...]) -> FailureStudy:
    study = catalog.get(FailureStudy, counted.study, document, (*path, "study"))
    faults = list(_gaps(study, counted, document, path))
    if faults:
        raise InputError(*faults)
    return study


def _gaps(study: FailureStudy, counted: Counted, document: Document, path: tuple[str, ...]) -> Iterator[Finding]:
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


_TIMES: dict[str, tuple[str, str]] = {
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
_A_YEAR = "events a year of one scale-up domain"
_PARTS = ("hangs", "reschedule", "standby", "together")


def _estimate_input(name: str, label: str, unit: str, figure: Figure, owner: Part, *, part: bool = False) -> Input:
    low, high = (plain_amount(end) for end in figure.range)
    source = owner.sources.get(figure.source)
    shape = figure.distribution if isinstance(figure, Estimate) else None
    return Input(
        input=name,
        key=f"reliability.{name}",
        label=label,
        unit=unit,
        likely=plain_amount(figure.value),
        low=low,
        high=high,
        distribution="fixed" if low == high else shape or "triangular",
        source=source.title if source else "the design",
        status=(figure.status or source.status) if source else "given",
        date=source.date if source else None,
        most=1.0 if part else float("inf"),
    )


def _rate_input(rate: HazardRate, profile: ReliabilityProfile) -> Input:
    figure = rate.hazard.rate or rate.hazard.stops
    source = profile.sources[figure.source]
    (low, high), likely = rate.rate.ends, rate.rate.per_year
    return Input(
        input=f"rate.{rate.name}",
        key=f"reliability.rate.{rate.name}",
        label=f"rate of {rate.hazard.label}",
        unit=f"events a year of one {rate.hazard.unit}",
        likely=likely,
        low=low,
        high=high,
        distribution="fixed" if low == high else ("lognormal" if 0 < low < likely < high else "triangular"),
        source=rate.rate.basis if rate.rate.events is not None else source.title,
        status="D" if rate.rate.events is not None else (figure.status or source.status),
        date=source.date,
    )


def _reliability_inputs(hazards: Hazards, accelerator: str | None, gpus: float) -> tuple[Input, ...]:
    from ffplan.reliability.job import requeue_seconds

    profile = hazards.profile
    inputs = []
    for name, drain in hazards.drains.items():
        part = profile.domain_parts[name]
        inputs.append(_estimate_input(f"rate.{name}", f"rate of {part.label}", _A_YEAR, drain, profile))
        inputs.append(_estimate_input(f"drain.{name}", f"repair: {part.label}", "s", part.repair, profile))
        inputs += [_fixed(f"stops.{name}", part.label, "1", 1.0), _fixed(f"removes.{name}", part.label, "1", 0.0)]
    if profile.tray_swap is not None:
        label = "until a spare is in the place of a node of a scale-up domain"
        inputs.append(_estimate_input("tray_swap", label, "s", profile.tray_swap, profile))
    for rate in hazards.rates:
        if rate.name in hazards.drains:
            continue
        hazard = rate.hazard
        inputs.append(_rate_input(sized_rate(rate, gpus), profile))
        for name, figure in (("stops", hazard.stops), ("removes", hazard.removes)):
            label = f"{hazard.label}: events that {'stop a job' if name == 'stops' else 'take a node out'}"
            inputs.append(_estimate_input(f"{name}.{rate.name}", label, "1", figure, profile, part=True))
        inputs.append(_path(rate, hazards))
    fleet = hazards.section.fleet or profile.fleet
    inputs.append(_estimate_input("fleet", "rates of this fleet over the usual", "1", fleet, profile))
    relative = profile.relative.get(accelerator or "")
    if relative is not None:
        label = f"rates of {accelerator} over the profile's"
        inputs.append(_estimate_input("relative", label, "1", relative, profile))
    else:
        inputs.append(_fixed("relative", "rates of the accelerator over the profile's", "1", 1.0))
    for name, (label, unit) in _TIMES.items():
        inputs.append(_estimate_input(name, label, unit, getattr(profile, name), profile, part=name in _PARTS))
    inputs.append(_stragglers(hazards, gpus))
    points = tuple((float(row.accelerators), float(row.time.value)) for row in profile.requeue)
    inputs.append(_fixed("requeue", "requeue of the whole job", "s", float(requeue_seconds(points, gpus))))
    return tuple(inputs)


def _path(rate: HazardRate, hazards: Hazards) -> Input:
    """Return the time until a lost path is back; 0 of what is none."""
    label = f"{rate.hazard.label}: until the path is back"
    figure = (hazards.section.path_repair or rate.hazard.path_repair) if rate.hazard.unit in PATHS else None
    if figure is None:
        return _fixed(f"path.{rate.name}", label, "s", 0.0)
    return _estimate_input(f"path.{rate.name}", label, "s", figure, hazards.profile)


def _stragglers(hazards: Hazards, gpus: float) -> Input:
    profile, stated = hazards.profile, hazards.section.stragglers
    least = profile.stragglers_from.value if profile.stragglers_from else 0
    usual = profile.stragglers if gpus >= least else None
    label = "rate that stragglers take"
    if stated is None and usual is None:
        return _fixed("stragglers", label, "1", 0.0)
    figure = stated if stated is not None else usual
    assert figure is not None
    return _estimate_input("stragglers", label, "1", figure, profile, part=True)


def _fixed(name: str, label: str, unit: str, value: float) -> Input:
    return Input(
        input=name,
        key=f"reliability.{name}",
        label=label,
        unit=unit,
        likely=value,
        low=value,
        high=value,
        distribution="fixed",
        source="the reliability profile",
        status="D",
        date=None,
    )
