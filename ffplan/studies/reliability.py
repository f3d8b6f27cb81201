"""From a design to its hazards: the reliability profile and its studies. It is light: `design` reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.catalog.reliability import FailureStudy, ReliabilityProfile
from ffplan.design.reliability_schema import Reliability
from ffplan.inputs.document import Document
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
            counts = hazard.counted
            study = _study(counts, catalog, document, ("hazards", name, "counted")) if counts else None
            found.append(hazard_rate(name, hazard, study))
        except InputError as error:
            faults += error.findings
    if faults:
        raise InputError(*faults)
    counted = profile.silent_rate
    silent_study = _study(counted, catalog, document, ("silent_rate",))
    silent = counted_rate(silent_study, tuple(counted.events), counted.over)
    return Hazards(section=section, profile=profile, document=document, rates=tuple(found), silent=silent)


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
