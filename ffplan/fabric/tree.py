"""One fat tree: what it is built from, given its endpoints."""

from __future__ import annotations

from ffplan.fabric import formulas
from ffplan.record import record


@record
class TreeRule:
    """What all trees of a fabric share."""

    tiers: int
    radix: int
    uplinks: int
    rails: int
    core_policy: str

    @property
    def downlinks(self) -> int:
        """Downlinks of a leaf switch."""
        return self.radix - self.uplinks

    @property
    def capacity(self) -> int:
        """Most endpoint ports of one tree."""
        return int(formulas.tree_capacity(self.tiers, self.radix, self.downlinks))


@record
class Tree:
    """Switches and links of one fat tree."""

    endpoints: int
    leaf: int
    spine: int
    core: int
    leaf_spine: int
    spine_core: int
    leaf_ports: int
    """Endpoint ports on its leaf switches."""
    spare_spine_ports: int
    spare_core_ports: int
    narrowest_links: int
    """Links of the narrowest tier between switches; with one tier, every endpoint port."""


def _cores(rule: TreeRule, endpoints: int, spines: int, links: int) -> int:
    fewest = int(formulas.core_minimal(links, rule.radix))
    if rule.core_policy == "minimal":
        return fewest
    if rule.core_policy == "equal-stripe":
        return max(fewest, int(formulas.core_equal_stripe(spines, rule.uplinks, rule.radix)))
    cores = formulas.core_per_rail_whole_pods(endpoints, rule.rails, rule.downlinks, rule.uplinks, rule.radix)
    most = rule.radix * rule.uplinks // 2  # one port of each core for each of at most k pods
    return max(fewest, min(most, int(cores)))


def build_tree(rule: TreeRule, endpoints: int) -> Tree:
    """Return the tree that holds `endpoints` endpoint ports.

    Args:
        rule: tiers, radix, leaf uplinks, rails and core policy.
        endpoints: endpoint ports [1], at most `rule.capacity`.
    """
    k, u = rule.radix, rule.uplinks
    if rule.tiers == 1:
        return Tree(endpoints, 1, 0, 0, 0, 0, k, 0, 0, k)
    leaf = int(formulas.leaf_switches(endpoints, rule.downlinks))
    leaf_spine = leaf * u
    leaf_ports = leaf * rule.downlinks
    if rule.tiers == 2:
        spine = int(formulas.two_tier_spines(leaf, u, k))
        return Tree(endpoints, leaf, spine, 0, leaf_spine, 0, leaf_ports, spine * k - leaf_spine, 0, leaf_spine)
    spine = int(formulas.three_tier_spines(leaf, u, k))
    spine_core = leaf_spine
    core = _cores(rule, endpoints, spine, spine_core)
    return Tree(
        endpoints, leaf, spine, core, leaf_spine, spine_core, leaf_ports,
        spine * k - leaf_spine - spine_core, core * k - spine_core, min(leaf_spine, spine_core),
    )  # fmt: skip
