"""Which switches and links to lose: chosen by name, drawn by role, or a whole plane."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.arrays import Ints
from ffplan.base.record import record
from ffplan.fabric.routing.degraded import ROLE_NUMBERS, what_is_left
from ffplan.inputs.suggest import did_you_mean
from ffplan.results.fabric import LossReport

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.fabric.routing.degraded import Left
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.wiring import Fabric


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


def _pool(kind: str, fabric: Fabric) -> Ints:
    """Return the numbers of everything of a kind: switches of a role, links between switches, or planes."""
    if kind == "plane":
        return np.arange(fabric.planes)
    if kind == "link":
        return np.flatnonzero(fabric.network.links.tier > 0)
    return np.flatnonzero(fabric.network.switches.role == ROLE_NUMBERS[kind])


def _some(kind: str, count: int, pool: Ints) -> Loss:
    """Return the loss of some of a pool."""
    one, many = {"plane": ("plane", "planes"), "link": ("link between switches", "links between switches")}.get(
        kind, (f"{kind} switch", f"{kind} switches")
    )
    return Loss(f"{count:,} {many}" if count > 1 else f"one {one}", kind, count, pool)


def usual_losses(fabric: Fabric) -> list[Loss]:
    """Return what a planner asks about first: one switch of each role, all between zones, a plane, 1 % of links.

    Args:
        fabric: the wired fabric.
    """
    pools = {kind: _pool(kind, fabric) for kind in (*ROLE_NUMBERS, "link")}
    found = [_some(role, 1, pools[role]) for role in ROLE_NUMBERS if len(pools[role])]
    between = pools["interzone"]
    if len(between) > 1:
        found.append(Loss(f"all {len(between)} interzone switches", "interzone", len(between), between))
    if fabric.planes > 1:
        found.append(_some("plane", 1, _pool("plane", fabric)))
    if len(pools["link"]):
        found.append(_some("link", max(1, round(len(pools["link"]) / 100)), pools["link"]))
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
        return _some("plane", 1, _pool("plane", fabric))
    match = _SPEC.fullmatch(text)
    if match:
        kind, count = match.group(1), int(match.group(2) or 1)
        pool = _pool(kind, fabric)
        if not 1 <= count <= len(pool):
            raise LossError(f"`{text}`: between 1 and {len(pool):,} of that kind can be lost")
        return _some(kind, count, pool)
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
