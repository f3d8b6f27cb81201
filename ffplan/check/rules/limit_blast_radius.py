"""limit-blast-radius."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold what the loss of one switch cuts off against `limits.blast_radius`."""
    limit = examined.design.spec.limits.blast_radius
    if limit is None or not examined.assessment.accelerators:
        return
    loss = examined.switch_loss
    yield from hold(
        examined.design,
        "blast_radius",
        100 * loss.cut_off / examined.assessment.accelerators,
        100 * limit,
        "% of the accelerators",
        what=f"what the loss of one switch cuts off ({loss.cut_off:,} accelerators)",
        remedy="join each node to several leaf switches (planes, rails), or use smaller ones",
    )


RULE = Rule(
    id="limit-blast-radius",
    title="The loss of one switch cuts off more accelerators than `limits.blast_radius`",
    why="A node whose ports all hang on one switch is lost with it, and so is every job that runs on it.",
    example="limits: {blast_radius: 1 %}  # fire-flyer-2 loses 152 accelerators, 1.52 % of them",
    good="limits: {blast_radius: 2 %}",
    fix="Join each node to several leaf switches, use smaller switches, or raise the limit.",
    check=check,
)
