"""Speed and size of wired fabrics, as ratios within one run. Printed, not asserted.

networkx builds the same fabric edge by edge, as a plain script would; it stands for 1. Memory is that of all arrays.
"""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from ffplan.fabric.routing.degraded import DegradedJob
from ffplan.fabric.routing.tree_routing import TreeRouting, all_to_all_loads
from ffplan.fabric.sizing.fat_tree import Tree, _build_tree, _TreeRule
from tests.fabrics import wire_tree

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = ((64, 8_192), (48, 27_648), (64, 65_536), (256, 1_048_576))
"""Radix and endpoints; all of three tiers."""


def best(run: Callable[[], object], rounds: int) -> float:
    """Return the best time of some rounds [s]."""
    times = []
    gc.collect()
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def plain(tree: Tree) -> nx.Graph[tuple[str, int]]:
    """Build the same three-tier tree with networkx, link by link."""
    graph: nx.Graph[tuple[str, int]] = nx.MultiGraph()
    half, down = tree.rule.uplinks, tree.rule.downlinks
    for endpoint in range(tree.endpoints):
        graph.add_edge(("endpoint", endpoint), ("leaf", endpoint // down), tier=0)
    for leaf in range(tree.leaf):
        for up in range(half):
            graph.add_edge(("leaf", leaf), ("spine", leaf // half * half + up), tier=1)
    for spine in range(tree.spine):
        for up in range(half):
            graph.add_edge(("spine", spine), ("core", (spine % half * half + up) * tree.core // half**2), tier=2)
    return graph


def main() -> None:
    """Time every size and print the table."""
    print(
        f"\n{'three tiers, endpoints':24} {'links':>10} {'build':>9} {'a link':>8} {'bytes a link':>13} {'networkx':>9}"
    )
    each = []
    for radix, endpoints in SIZES:
        tree = _build_tree(
            _TreeRule(tiers=3, radix=radix, uplinks=radix // 2, rails=1, core_policy="equal-stripe"), endpoints
        )
        rounds = 5 if endpoints > 1e6 else 50
        seconds = best(lambda tree=tree: wire_tree(tree, tree.endpoints), rounds)  # type: ignore[misc]
        network = wire_tree(tree, endpoints).network
        links = len(network.links)
        each.append(seconds / links)
        ratio = ""
        if endpoints <= 65_536:
            ratio = f"1/{best(lambda tree=tree: plain(tree), 1) / seconds:.0f}"  # type: ignore[misc]
        print(
            f"{endpoints:24,} {links:10,} {seconds * 1e3:7.1f}ms {seconds / links * 1e9:6.1f}ns "
            f"{network.nbytes / links:13.1f} {ratio:>9}"
        )
    spread = (max(each) - min(each)) / (max(each) + min(each))
    print(f"time a link from 8k to 1M: within {spread:.0%} of their middle, aim 30 %")
    print("aims at 65,536: 1/20 of networkx, 40 bytes a link")
    tree = _build_tree(_TreeRule(tiers=3, radix=64, uplinks=32, rails=1, core_policy="equal-stripe"), 65_536)
    build = best(lambda: wire_tree(tree, tree.endpoints), 7)
    fabric = wire_tree(tree, tree.endpoints)
    everyone = np.ones(tree.endpoints, bool)
    load = best(lambda: all_to_all_loads(TreeRouting(fabric), everyone, 1.0), 5)
    words = "all-to-all load under static routing at 65,536 endpoints"
    print(f"{words}: {load * 1e3:.1f}ms, {load / build:.1f}x the build, aim 10x")
    job, none = DegradedJob(fabric, np.arange(tree.endpoints)[:, None]), np.zeros(0, np.int64)
    draws = iter(np.random.default_rng(0).permutation(len(fabric.network.links))[: 7 * 300].reshape(7, 300))
    loss = best(lambda: job.remaining(none, next(draws)), 7)
    print(f"a draw of `faults`, 300 links lost of the same: {loss * 1e3:.1f}ms, {loss / build:.1f}x the build")
    closed = best(
        lambda: _build_tree(_TreeRule(tiers=3, radix=64, uplinks=32, rails=1, core_policy="equal-stripe"), 65_536), 50
    )
    print(f"closed-form sizing of the same: {closed * 1e6:.0f}us, no graph built")


if __name__ == "__main__":
    main()
