"""outside-known-range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find figures of ownership outside the ranges that the profile has from sources."""
    design = examined.design
    if design.ownership is None or design.rent is not None:
        return
    from ffplan.catalog.ownership import OwnershipFields
    from ffplan.design.ownership import assumed
    from ffplan.studies.cost.parts import RECALLED

    owned = examined.ownership
    profile, rates = owned.profile, {owned.currency: 1.0, **owned.exchange}
    if profile.currency not in rates:
        return
    for name in OwnershipFields.model_fields:
        figure, stated = getattr(profile, name), getattr(design.ownership, name)
        if figure is None or stated is None or name not in owned.inputs:
            continue
        known, likely = assumed(figure, rates, profile.sources), owned.inputs[name].likely
        if known.status == RECALLED or known.low <= likely <= known.high:
            continue
        yield design.document.finding(
            RULE.id,
            ("ownership", name),
            f"{likely:g} is {'below' if likely < known.low else 'above'} the {known.low:g} to {known.high:g} of "
            f"`{profile.id}` ({known.status}: {known.source})",
            "check its unit, or accept it",
            severity=Severity.INFO,
        )


RULE = Rule(
    id="outside-known-range",
    title="A figure of ownership is outside the range of its sources",
    why="A slip of a unit, such as t/MWh for g/kWh, changes costs and carbon by a thousand, and stays unseen in a sum.",
    example="ownership: {grid: 2.6}",
    good="ownership: {grid: 369}",
    fix="Check the unit; where the figure is right, accept it knowingly.",
    severity=Severity.INFO,
    check=check,
)
