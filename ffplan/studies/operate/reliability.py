"""From a design to its hazards: the reliability profile and its studies. It is light: `design` reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.catalog.ownership import PlainEstimate, ShareEstimate
from ffplan.catalog.reliability import FailureStudy, ReliabilityProfile
from ffplan.design.reliability_schema import Reliability
from ffplan.design.resolved import profiled
from ffplan.inputs.document import Document
from ffplan.inputs.suggest import did_you_mean
from ffplan.reliability.exposure import domain_nodes
from ffplan.reliability.hazards import CountedRate, HazardRate, counted_rate, hazard_rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.catalog.reliability import Counted
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign


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
    drains: dict[str, PlainEstimate]
    """Rates of parts that take a scale-up domain out, by hazard; those that are counted [1/year]."""


def profile_of(design: ResolvedDesign, catalog: Catalog) -> ReliabilityProfile:
    """Return the reliability profile of a design.

    Args:
        catalog: where the profile is looked up.

    Raises:
        InputError: where there is no such profile.
    """
    section = design.reliability or Reliability.model_construct()
    path = ("reliability", "profile") if design.reliability is not None else ()
    return catalog.get(ReliabilityProfile, section.profile, design.document, path)


def hazards_of(design: ResolvedDesign, catalog: Catalog) -> Hazards:
    """Return the hazards of a design.

    Args:
        catalog: where its profile and studies are looked up.

    Raises:
        InputError: where there is no such profile, a hazard counts what its study has not, or the design states
            failures of scale-up domains that it does not have.
    """
    section, profile = design.reliability or Reliability.model_construct(), profile_of(design, catalog)
    entry = catalog.entry(profile.id)
    found: list[HazardRate] = []
    faults: list[Finding] = []
    for name, hazard in profile.hazards.items():
        try:
            counts = hazard.counted
            place = ("hazards", name, "counted")
            study = _study(counts, catalog, entry.document_of(place), place) if counts else None
            found.append(hazard_rate(name, hazard, study))
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
    found += [_drain_rate(name, profile, rate) for name, rate in drains.items()]
    return Hazards(
        section=section, profile=profile, document=entry.document, rates=tuple(found), silent=silent, drains=drains
    )


def hazards_beside(design: ResolvedDesign, catalog: Catalog, own: Hazards) -> Hazards | None:
    """Return the hazards of the profile that a design's own sets beside it; None where it names none but itself.

    What the design states of its fleet is over the rates of its own profile, and does not go with the other.

    Args:
        catalog: where profiles and studies are looked up.
        own: the design's hazards.

    Raises:
        InputError: where there is no such profile, or one of its hazards counts what its study has not.
    """
    name = own.profile.beside
    if name is None or name == own.profile.id:
        return None
    entry = catalog.entry(own.profile.id)
    other = catalog.get(ReliabilityProfile, name, entry.document_of(("beside",)), ("beside",))
    stated = own.section.domain_failures
    kept = {part: rate for part, rate in stated.items() if part in other.domain_parts}
    return hazards_of(profiled(design, name, fleet=None, domain_failures=kept), catalog)


def _drains(design: ResolvedDesign, profile: ReliabilityProfile, section: Reliability) -> dict[str, PlainEstimate]:
    """Return the rates of parts that take a whole scale-up domain out, where the design or the profile has one.

    Raises:
        InputError: at a part that the profile does not have, or of a design without such domains.
    """
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
    return HazardRate(
        name=name,
        label=profile.domain_parts[name].label,
        unit="scale-up-domain",
        rate=CountedRate(per_year=float(rate.value), events=None, exposure_years=None, others=rate.range, basis=basis),
        stops=ShareEstimate(value=1.0),
        removes=ShareEstimate(value=0.0),
        spreads=False,
    )


def _study(counted: Counted, catalog: Catalog, document: Document, path: tuple[str, ...]) -> FailureStudy:
    """Return the study behind counts that a profile names at a path.

    Raises:
        InputError: where it does not exist, or lacks the events or the exposure.
    """
    study = catalog.get(FailureStudy, counted.study, document, (*path, "study"))
    faults = list(_gaps(study, counted, document, path))
    if faults:
        raise InputError(*faults)
    return study


def _gaps(study: FailureStudy, counted: Counted, document: Document, path: tuple[str, ...]) -> Iterator[Finding]:
    """Yield what a study lacks of what is counted."""
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
