"""Which switches and links to lose: chosen by name, drawn by role, or a whole plane."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ffplan.fabric.arrays import Ints
from ffplan.fabric.degrade import ROLE_NUMBERS, what_is_left
from ffplan.fabric.network import INTERZONE
from ffplan.inputs.suggest import did_you_mean
from ffplan.record import record
from ffplan.results import LossReport

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.fabric.degrade import Left
    from ffplan.fabric.names import Names
    from ffplan.fabric.wiring import Fabric


_SPEC = re.compile(r"(leaf|spine|core|interzone|link)(?::([0-9]{1,6}))?")


class LossError(Exception):
    """A loss names something that the fabric does not have."""


@record
class Loss:
    """Something to lose."""

    title: str
    kind: str
    """A role, `link`, `chosen` or `plane`."""
    count: int
    pool: Ints
    """Numbers to draw from; all of them are lost where count equals their number."""


def usual_losses(fabric: Fabric) -> list[Loss]:
    """Return the losses that a planner asks about first: one switch of each role, all between zones, a plane, 1 % of
    links.

    Args:
        fabric: the wired fabric.
    """
    s, k = fabric.network.switches, fabric.network.links
    found = []
    for role, number in ROLE_NUMBERS.items():
        pool = np.flatnonzero(s.role == number)
        if len(pool):
            found.append(Loss(f"one {role} switch", role, 1, pool))
    between = np.flatnonzero(s.role == INTERZONE)
    if len(between) > 1:
        found.append(Loss(f"all {len(between)} interzone switches", "interzone", len(between), between))
    if fabric.planes > 1:
        found.append(Loss("one plane", "plane", 1, np.arange(fabric.planes)))
    inner = np.flatnonzero(k.tier > 0)
    if len(inner):
        count = max(1, round(len(inner) / 100))
        words = f"{count:,} links" if count > 1 else "one link"
        found.append(Loss(f"{words} between switches", "link", count, inner))
    return found


def parse_loss(text: str, fabric: Fabric, names: Names) -> Loss:
    """Return a loss written as `spine`, `leaf:2`, `link:16`, `plane`, or as names of switches joined by commas.

    Args:
        text: what was written.
        fabric: the wired fabric.
        names: names of its devices.

    Raises:
        LossError: where the fabric has nothing of that kind, or too little.
    """
    if text == "plane":
        if fabric.planes < 2:
            raise LossError("the fabric has one plane only")
        return Loss("one plane", "plane", 1, np.arange(fabric.planes))
    match = _SPEC.fullmatch(text)
    if match:
        kind, count = match.group(1), int(match.group(2) or 1)
        if kind == "link":
            pool = np.flatnonzero(fabric.network.links.tier > 0)
        else:
            pool = np.flatnonzero(fabric.network.switches.role == ROLE_NUMBERS[kind])
        if not 1 <= count <= len(pool):
            raise LossError(f"`{text}`: between 1 and {len(pool):,} of that kind can be lost")
        words = "links between switches" if kind == "link" else f"{kind} switches"
        one = "one link between switches" if kind == "link" else f"one {kind} switch"
        return Loss(f"{count:,} {words}" if count > 1 else one, kind, count, pool)
    known = {name: number for number, name in enumerate(names.switches())}
    wanted = text.split(",")
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known, what="switch")
            raise LossError(f"`{name}` is no switch of this fabric, and no role; {hint}")
    return Loss(text, "chosen", len(wanted), np.array([known[name] for name in wanted]))


def _draw(loss: Loss, fabric: Fabric, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the switches and links that one draw loses."""
    nothing = np.zeros(0, np.int64)
    chosen = random.choice(loss.pool, loss.count, replace=False)
    if loss.kind == "plane":
        return np.flatnonzero(np.isin(fabric.network.switches.plane, chosen)), nothing
    return (nothing, chosen) if loss.kind == "link" else (chosen, nothing)


def assess_loss(
    fabric: Fabric, every: Ints, healthy: Left, loss: Loss, routing: str, samples: int, seed: int,
    step: Callable[[int], None],
) -> LossReport:  # fmt: skip
    """Return what a loss costs, over some draws.

    Args:
        fabric: the wired fabric.
        every: endpoints of the job's nodes, shape (nodes, rails).
        healthy: what the whole fabric has.
        loss: what is lost.
        routing: of the allreduce, as in `what_is_left`.
        samples: draws; one where there is nothing to choose.
        seed: seed of the draws.
        step: told the number of each draw.
    """
    random = np.random.default_rng(seed)
    draws = 1 if loss.count >= len(loss.pool) else samples
    left = []
    for number in range(draws):
        step(number)
        left.append(what_is_left(fabric, every, *_draw(loss, fabric, random), routing))
    inside = [
        min(now / before for now, before in zip(item.zone_gbyte_s, healthy.zone_gbyte_s, strict=True)) for item in left
    ]
    whole = healthy.bisection_gbyte_s
    bisection = [item.bisection_gbyte_s / whole for item in left] if whole else []
    rate = [min(1.0, item.allreduce_gbyte_s / max(healthy.allreduce_gbyte_s, 1e-12)) for item in left]
    return LossReport(
        lost=loss.title, samples=draws,
        endpoints_lost=_mean([item.endpoints_lost for item in left]),
        endpoints_cut_off=_mean([item.endpoints_cut_off for item in left]),
        nodes_lost=_mean([healthy.nodes_left - item.nodes_left for item in left]),
        zone_share=_mean(inside), zone_share_worst=min(inside),
        bisection_share=_mean(bisection) if bisection else None,
        bisection_share_worst=min(bisection) if bisection else None,
        allreduce_share=_mean(rate), allreduce_share_worst=min(rate),
    )  # fmt: skip


def _mean(values: list[float] | list[int]) -> float:
    return float(sum(values) / len(values))
