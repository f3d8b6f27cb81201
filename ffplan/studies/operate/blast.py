"""What the loss of one switch cuts off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.fabric.family import wire

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan


@record
class SwitchLoss:
    """The switch whose loss cuts off most."""

    cut_off: int
    """Accelerators of nodes that have no other switch [1]."""
    slowed: int
    """Most accelerators of nodes that lose a part of their ports to one switch [1]."""


def worst_switch_loss(design: ResolvedDesign, plan: FabricPlan) -> SwitchLoss:
    """Return what the loss of the worst switch takes from the compute nodes.

    Only switches that endpoints join can cut a node off: a tree keeps other ways past any spine or core.

    Args:
        plan: its fabric, sized.
    """
    network = wire(design, plan).network
    each = np.array([group.accelerators_per_node for group in design.groups])
    first = np.cumsum([0, *(group.group.count for group in design.groups)])
    ends = network.endpoints
    node = first[ends.group] + ends.node
    pairs = np.unique(node.astype(np.int64) * len(network.switches) + ends.leaf)
    nodes, leaves = pairs // len(network.switches), pairs % len(network.switches)
    joined = np.bincount(nodes, minlength=int(first[-1]))
    accelerators = np.repeat(each, np.diff(first))
    held = {
        alone: np.bincount(leaves, weights=accelerators[nodes] * ((joined[nodes] == 1) == alone))
        for alone in (True, False)
    }
    return SwitchLoss(cut_off=int(held[True].max()), slowed=int(held[False].max()))
