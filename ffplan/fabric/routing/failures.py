"""Losses of switches and links: chosen by name, drawn by role, or a whole plane."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Ints
from ffplan.base.errors import did_you_mean
from ffplan.base.record import record
from ffplan.fabric.routing.degraded import ROLE_NUMBERS

if TYPE_CHECKING:
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.wiring import WiredFabric


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
    """Numbers to draw from; all are lost if count equals their number."""


def _pool(kind: str, fabric: WiredFabric) -> Ints:
    """Return the numbers of all parts of one kind: a role's switches, links between switches, or planes."""
    if kind == "plane":
        return np.arange(fabric.planes)
    if kind == "link":
        return np.flatnonzero(fabric.network.links.tier > 0)
    return np.flatnonzero(fabric.network.switches.role == ROLE_NUMBERS[kind])


def _some(kind: str, count: int, pool: Ints) -> Loss:
    singular, plural = {"plane": ("plane", "planes"), "link": ("link between switches", "links between switches")}.get(
        kind, (f"{kind} switch", f"{kind} switches")
    )
    return Loss(f"{count:,} {plural}" if count > 1 else f"one {singular}", kind, count, pool)


def default_losses(fabric: WiredFabric) -> list[Loss]:
    """Return the default losses: one switch of each role, all between zones, a plane, 1 % of links."""
    pools = {kind: _pool(kind, fabric) for kind in (*ROLE_NUMBERS, "link")}
    losses = [_some(role, 1, pools[role]) for role in ROLE_NUMBERS if len(pools[role])]
    between = pools["interzone"]
    if len(between) > 1:
        losses.append(Loss(f"all {len(between)} interzone switches", "interzone", len(between), between))
    if fabric.planes > 1:
        losses.append(_some("plane", 1, _pool("plane", fabric)))
    if len(pools["link"]):
        losses.append(_some("link", max(1, round(len(pools["link"]) / 100)), pools["link"]))
    return losses


def parse_loss(text: str, fabric: WiredFabric, names: Names) -> Loss:
    """Return a loss written as `spine`, `leaf:2`, `link:16`, `plane`, or as names of switches joined by commas.

    Raises:
        LossError: if the fabric has no such switches or links, or too few.
    """
    if text == "plane":
        if fabric.planes < 2:
            raise LossError("the fabric has one plane only")
        return _some("plane", 1, _pool("plane", fabric))
    match = _SPEC.fullmatch(text)
    if match:
        kind, count = match.group(1), int(match.group(2) or 1)
        pool = _pool(kind, fabric)
        if not len(pool):
            raise LossError(f"`{text}`: this fabric has no {kind} switch")
        if not 1 <= count <= len(pool):
            raise LossError(f"`{text}`: between 1 and {len(pool):,} of that kind can be lost")
        return _some(kind, count, pool)
    known = {name: number for number, name in enumerate(names.switches())}
    lost = text.split(",")
    for name in lost:
        if name not in known:
            hint = did_you_mean(name, known, what="switch")
            raise LossError(f"`{name[:60]}` is neither a switch of this fabric nor a role; {hint}")
    return Loss(text, "chosen", len(lost), np.array([known[name] for name in lost]))


def draw(loss: Loss, fabric: WiredFabric, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the switches and links that one draw loses."""
    nothing = np.zeros(0, np.int64)
    chosen = random.choice(loss.pool, loss.count, replace=False)
    if loss.kind == "plane":
        return np.flatnonzero(np.isin(fabric.network.switches.plane, chosen)), nothing
    return (nothing, chosen) if loss.kind == "link" else (chosen, nothing)
