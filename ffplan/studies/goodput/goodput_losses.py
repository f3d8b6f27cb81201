"""What the loss of a single switch or link leaves of a fabric, for the timeline of a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.fabric.routing.degraded import ROLE_NUMBERS
from ffplan.studies.fabric.faults import FaultRequest, faults
from ffplan.studies.goodput.goodput_simulation import FabricLosses

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.studies.fabric.wired import WiredDesign

KINDS = ("leaf", "spine", "core")
SAMPLES = 3
"""Draws of each loss [1]."""


def fabric_losses(wired: WiredDesign, step: Callable[[int, int, str], None]) -> FabricLosses:
    """Return what single losses leave of a fabric.

    Args:
        wired: the design, of trees.
        step: called with the number of each draw, the draws, and the loss.
    """
    roles = wired.fabric.network.switches.role
    pools = {kind: np.flatnonzero(roles == ROLE_NUMBERS[kind]) for kind in KINDS}
    names = {kind: tuple(wired.names.switch(int(at)) for at in pool) for kind, pool in pools.items() if len(pool)}
    kinds = [*names, *(["link"] if bool((wired.fabric.network.links.tier > 0).any()) else [])]
    report = faults(wired, FaultRequest(tuple(kinds), "adaptive", SAMPLES, 0), step)
    left = {kind: loss.allreduce_share for kind, loss in zip(kinds, report.losses, strict=True)}
    return FabricLosses(left, names)
