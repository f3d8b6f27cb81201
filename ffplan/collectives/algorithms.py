"""The registry of NCCL's algorithms between accelerators."""

from __future__ import annotations

from ffplan.collectives.exchanges import DIRECT, RAIL, SEND, STAR
from ffplan.collectives.pat import PAT
from ffplan.collectives.rings import HIERARCHICAL, RING
from ffplan.collectives.switch_reduction import NVLS, NVLS_TREE, SHARP
from ffplan.collectives.trees import TREE

_REGISTERED = (RING, TREE, NVLS, NVLS_TREE, SHARP, HIERARCHICAL, RAIL, DIRECT, STAR, SEND, PAT)
ALGORITHMS = {algorithm.name: algorithm for algorithm in _REGISTERED}
"""Algorithms by name; the first of equals wins."""
OF_TOKENS = ("node-limited", "straight")
"""Ways of sending tokens to experts, see `expert_dispatch`."""
NAMES = (*ALGORITHMS, *OF_TOKENS)
"""Algorithms that can be forced."""
