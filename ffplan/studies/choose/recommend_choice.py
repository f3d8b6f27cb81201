"""Which of many designs a recommendation names: the best, those near it that differ most, one of each accelerator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import listed, number, plural
from ffplan.studies.choose.recommend_target import aim_of

if TYPE_CHECKING:
    from ffplan.studies.choose.recommend import Recommendation
    from ffplan.studies.choose.recommend_target import SizedCluster, Target

WEIGHTS = (8, 4, 2, 1, 1)
"""How much a difference counts: accelerator, protocol, NICs, kind of fabric, switch [1]."""


def _features(item: SizedCluster) -> tuple[tuple[object, str], ...]:
    """Return what tells a design from others, each with words."""
    design = item.built.design
    spec, nics = design.spec.fabric, len(design.compute.fabric_nics)
    words = "rails that are networks of their own" if spec.family == "rail-only" else "one tier of switches"
    if spec.tiers > 1:
        ratio = item.built.assessment.fabric.oversubscription
        words = f"{spec.tiers} tiers at {number(ratio or 1.0)}:1"
    return (
        (item.accelerator, item.accelerator),
        (design.switch.fabric, "InfiniBand" if design.switch.fabric == "infiniband" else "Ethernet"),
        (nics, f"{plural(nics, 'NIC')} a node"),
        (words, words),
        (design.switch.id, design.switch.id),
    )


def distance(one: SizedCluster, two: SizedCluster) -> int:
    """Return how much two designs differ, each feature by its weight [1]."""
    pairs = zip(_features(one), _features(two), WEIGHTS, strict=True)
    return sum(weight for (mine, _), (theirs, _), weight in pairs if mine != theirs)


def differs(item: SizedCluster, best: SizedCluster) -> str:
    """Return what a design has in place of the best one's, in words; an empty text for the best itself."""
    pairs = zip(_features(item), _features(best), strict=True)
    return listed([words for (mine, words), (theirs, _) in pairs if mine != theirs])


def kept(found: Recommendation, target: Target, most: int) -> list[SizedCluster]:
    """Return the designs that are reported, the best first.

    After the best come those within the slack, up to half of the number wanted, each the one that differs most from all
    before it; then the best of each accelerator that is not there yet, and more of the first kind where there is room.

    Args:
        found: what was found.
        target: what was wanted.
        most: designs wanted [1].
    """
    chosen = found.meet[:1]
    if not chosen:
        return []
    bound = aim_of(chosen[0], target) * (1 + target.slack)
    near = [item for item in found.meet[1:] if aim_of(item, target) <= bound]
    _add_apart(chosen, near, (most + 1) // 2)
    for item in found.meet:
        if len(chosen) < most and item.accelerator not in {other.accelerator for other in chosen}:
            chosen.append(item)
    _add_apart(chosen, [item for item in near if not any(item is other for other in chosen)], most)
    return [item for item in found.meet if any(item is other for other in chosen)]


def _add_apart(chosen: list[SizedCluster], near: list[SizedCluster], most: int) -> None:
    """Add to the designs that are chosen, up to a number, each time the one that differs most from all of them."""
    while near and len(chosen) < most:
        apart = [min(distance(item, other) for other in chosen) for item in near]
        if max(apart) == 0:
            return
        chosen.append(near.pop(apart.index(max(apart))))
