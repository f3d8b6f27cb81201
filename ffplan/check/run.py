"""From a design to its assessment with the findings of every rule."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.check.rule import Examined
from ffplan.check.rules import RULES
from ffplan.studies.design.design import study_design

if TYPE_CHECKING:
    from datetime import date

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.design import Assessment
    from ffplan.studies.cost.ledger import CostRequest

_MONEY = frozenset({"ownership", "rent", "phases"})
"""Sections of a design about owning or renting it."""


def examine(
    design: ResolvedDesign,
    catalog: Catalog,
    *,
    brief: bool = False,
    today: date | None = None,
    held: ResolvedDesign | None = None,
    money: CostRequest | None = None,
) -> Assessment:
    """Return the assessment of a design, with the findings of every rule.

    Args:
        design: the design.
        catalog: the catalogue of its parts.
        brief: leave out parts of the assessment that no finding needs.
        today: the day for rules about age; None if the report must not depend on it.
        held: the design with the limits of a policy; its own where omitted.
        money: draws and seed of the purchase; the usual if omitted.

    Raises:
        InputError: if the design cannot be assessed, with every fault found.
    """
    without = _omitted(design, catalog) if brief else frozenset()
    if "site" in without and design.accelerators and design.compute.accelerators_per_node:
        _read_site(design, catalog)
    study = study_design(design, catalog, all_scales=not brief, without=without, money=money)
    examined = Examined(study, catalog, today, held)
    if design.spec.model_fields_set & _MONEY:
        _ = examined.ownership  # its faults are the design's
    findings = [finding for rule in RULES for finding in rule.check(examined)]
    return replace(study.assessment, findings=tuple(sorted(findings, key=lambda finding: finding.sort_key)))


def _omitted(design: ResolvedDesign, catalog: Catalog) -> frozenset[str]:
    """Return the parts of a study that findings do not need, or that `Examined` makes on demand.

    Failures are assessed if they can be faulty: the design changes its profile's rates, or uses parts of the user.
    """
    section, stated = design.reliability, design.spec.model_fields_set & {*_MONEY, "workload"}
    shipped = section is None or catalog.kind_of(section.profile) == "reliability"
    more = section is not None and section.model_fields_set - {"profile"}
    sound = shipped and not (more or stated or catalog.overlaid)
    return frozenset({"site", "reliability"} if sound else {"site"})


def _read_site(design: ResolvedDesign, catalog: Catalog) -> None:
    """Read the parts around a design, which findings on recalled figures and announced parts name too."""
    from ffplan.design.ownership import resolve_ownership

    with suppress(InputError):  # then they are not known, and the site neither
        resolve_ownership(design, catalog, offers=design.ownership is not None or catalog.overlaid)
