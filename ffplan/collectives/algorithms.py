"""Every algorithm between accelerators that NCCL may run: the one place where they are registered."""

from __future__ import annotations

from ffplan.collectives.exchanges import DIRECT, RAIL, SEND
from ffplan.collectives.pat import PAT
from ffplan.collectives.rings import HIERARCHICAL, RING
from ffplan.collectives.switch_reduction import NVLS, NVLS_TREE, SHARP
from ffplan.collectives.trees import TREE

ALGORITHMS = {item.name: item for item in (RING, TREE, NVLS, NVLS_TREE, SHARP, HIERARCHICAL, RAIL, DIRECT, SEND, PAT)}
"""Algorithms by name, in the order in which the first of equals wins."""
OF_TOKENS = ("node-limited", "straight")
"""Ways of sending tokens to experts, see `expert_dispatch`."""
NAMES = (*ALGORITHMS, *OF_TOKENS)
"""Algorithms that can be forced."""
