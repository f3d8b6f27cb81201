"""The accelerators that the loss of one switch cuts off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.fabric.family import wire
from ffplan.fabric.routing.single_points import cut_off

if TYPE_CHECKING:
    from ffplan.base.array_math import Ints
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan
    from ffplan.fabric.wiring.network import _EndpointTable


def worst_switch_loss(design: ResolvedDesign, plan: FabricPlan) -> int:
    """Return the accelerators that the loss of the worst switch cuts off: all outside the largest part left [1].

    A node joins its switches: what one rail has lost goes over another. Nodes without accelerators join nothing.

    Equation:
        accelerators that a switch joins - of the largest part without it, for each switch

    Source:
        Definition; `ffplan.fabric.routing.single_points`.
    """
    network = wire(design, plan).network
    switches, links = len(network.switches), network.links
    alone, held, members = _nodes_on(design, network.endpoints, switches)
    between = links.tier > 0
    joins = np.unique(np.column_stack([links.a[between], links.b[between]]).astype(np.int64), axis=0)
    lost = cut_off(np.concatenate([alone, held]), np.concatenate([joins, members]))
    return int(lost[:switches].max())


def _nodes_on(design: ResolvedDesign, ends: _EndpointTable, switches: int) -> tuple[Ints, Ints, Ints]:
    """Return the accelerators of nodes that hang on each switch alone, and those of nodes on the same several switches.

    Returns:
        Accelerators by switch; by set of switches; and which switches are in which set, as (number of switches + set,
        switch).
    """
    per_node = np.array([group.accelerators_per_node for group in design.groups])
    first = np.cumsum([0, *(group.group.count for group in design.groups)])
    computes = per_node[ends.group] > 0
    pairs = np.unique((first[ends.group] + ends.node)[computes].astype(np.int64) * switches + ends.leaf[computes])
    nodes, leaves = pairs // switches, pairs % switches
    node, start, count = np.unique(nodes, return_index=True, return_counts=True)
    accelerators = np.repeat(per_node, np.diff(first))[node]
    alone = np.bincount(leaves[start], weights=accelerators * (count == 1), minlength=switches).astype(np.int64)
    several = count > 1
    sets = np.full((len(node), int(count.max(initial=1))), -1, np.int64)
    sets[np.repeat(np.arange(len(node)), count), np.arange(len(leaves)) - np.repeat(start, count)] = leaves
    alike, which = np.unique(sets[several], axis=0, return_inverse=True)
    held = np.bincount(which.ravel(), weights=accelerators[several], minlength=len(alike)).astype(np.int64)
    row, place = np.nonzero(alike >= 0)
    return alone, held, np.column_stack([switches + row, alike[row, place]])
