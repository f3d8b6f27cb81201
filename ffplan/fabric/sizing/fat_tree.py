"""The counts of one fat tree, given its endpoints.

Numbers may be arrays of one shape: trees of many designs at once, whose last pod may then be empty.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ffplan.base.array_math import ceil_div, choose, greatest_common_divisor, maximum, minimum, some, whole
from ffplan.base.record import record
from ffplan.fabric.sizing import formulas


@record
class _TreeRule:
    tiers: int
    radix: int
    """Ports of a leaf, in the size of its downlinks."""
    uplinks: int
    """Uplinks u of a leaf."""
    rails: int
    core_policy: str
    spine_ratio: float = 1.0
    """Most downlinks per uplink of a spine in a three-tier tree."""
    splits: tuple[int, int] = (1, 1)
    """Parts of a leaf's downlink port and uplink port; unequal for different rates."""
    leaf_down: int | None = None
    """Downlinks of a leaf, if the design names them."""
    spine_radix: int | None = None
    """Ports of a spine, if it differs from the switch of the leaves."""
    core_radix: int | None = None
    """Ports of a core, if it differs from the switch of the spines."""
    spine_down: int | None = None
    """Most links of a spine to leaves, if the design names them."""
    pod_size: int | None = None
    """Leaves of a full pod of a three-tier tree, if the design names them."""
    spine_up: int | None = None
    """Uplinks of a spine of a full pod over all of its groups, if the design names them."""
    spines: int | None = None
    """Spines of a pod, if the design names them."""

    @property
    def downlinks(self) -> int:
        """Downlinks d of a leaf switch."""
        if self.leaf_down is not None:
            return self.leaf_down
        down, up = self.splits
        # a port is split one way: uplinks of another split take whole ports away from downlinks
        return self.radix - (self.uplinks if down == up else ceil_div(self.uplinks, up) * down)

    @property
    def spine_ports(self) -> int:
        """Ports of a spine switch."""
        return self.spine_radix or self.radix

    @property
    def core_ports(self) -> int:
        """Ports of a core switch."""
        return self.core_radix or self.spine_ports

    @property
    def pod_leaves(self) -> int:
        """Leaf switches of a full pod: the downlinks of a spine."""
        size = self.pod_size if self.pod_size is not None else self.spine_down
        if size is not None or self.tiers < 3:
            return size or self.spine_ports
        up = self.spine_up or whole(formulas.leaf_uplinks(self.spine_ports, self.spine_ratio))
        return self.spine_ports - up

    @property
    def spine_uplinks(self) -> int:
        """Links to cores of each group of a full pod: the uplinks of a spine that takes one group."""
        if self.spine_up is not None:
            return self.spine_up // max(self.uplinks // self.full_spines, 1)
        set_aside = self.spine_ports - self.pod_leaves
        return whole(formulas._spine_uplinks(self.spine_ports, set_aside, self.spine_ratio))

    @property
    def full_spines(self) -> int:
        """Spines of a full pod whose uplinks the design gives: as few as have the ports, each with whole groups."""
        assert self.spine_up is not None
        if self.spines is not None:
            return self.spines
        room = minimum(self.spine_down or self.spine_ports, self.spine_ports - self.spine_up)
        up: int = self.uplinks if isinstance(self.uplinks, int) else int(maximum(*self.uplinks))
        # a spine takes whole groups, each with a link to every leaf of the pod
        fits = (n for n in range(1, up + 1) if up % n == 0 and up // n * self.pod_leaves <= room)
        return next((n for n in fits if self.spine_up % (up // n) == 0), up)

    @property
    def capacity(self) -> int:
        """Most endpoint ports of one tree."""
        # the top tier fans out by all of its ports: nothing is above it
        top = {1: self.radix, 2: self.pod_leaves}.get(self.tiers, self.core_ports)
        return whole(formulas._tree_capacity(self.tiers, top, self.downlinks, self.pod_leaves))


@record
class Pod:
    """One pod: leaves, and the spines that join them. A two-tier tree is one pod without links upwards."""

    leaves: int
    spines: int
    up: int
    """Links to cores of each of its u groups; group g is uplink g of every leaf."""


@record
class Tree:
    """Switches and links of one fat tree."""

    rule: _TreeRule
    endpoints: int
    leaf: int
    leaf_ports: int
    """Endpoint ports on its leaf switches."""
    narrowest_links: int
    """Links of the narrowest tier between switches; with one tier, every endpoint port."""
    full_pods: int
    spine: int = 0
    core: int = 0
    leaf_spine: int = 0
    spine_core: int = 0
    spare_spine_ports: int = 0
    spare_core_ports: int = 0
    pod: Pod | None = None
    """A full pod; none with one tier."""
    last_pod: Pod | None = None
    """The partial pod, if any."""

    @property
    def switches(self) -> int:
        """Switches of every role."""
        return self.leaf + self.spine + self.core


def _shared_cores(rule: _TreeRule, pod: Pod, last: Pod, pods: int) -> Any:
    """Return the cores of a tree with a smaller last pod: whole groups of both kinds of spines share them if possible.

    A core serves m groups, m being the largest divisor of the groups of every spine. Group by group, m = 1, remains if
    the links of the last pod cannot spread evenly over them.
    """
    u = rule.uplinks
    whole_groups = greatest_common_divisor(u // pod.spines, u // maximum(last.spines, 1))
    groups = u // whole_groups
    merged = formulas.core_equal_stripe(pods * groups, groups, rule.spine_uplinks * whole_groups, rule.core_ports)
    apart = formulas.core_equal_stripe(pods * u, u, rule.spine_uplinks, rule.core_ports)
    # the last pod must load the shared cores evenly, or they stay group by group
    even = (whole_groups * last.up) % maximum(merged // groups, 1) == 0
    return choose(even, merged, apart)


def _cores(rule: _TreeRule, endpoints: int, pod: Pod, last: Pod | None, *, pods: int, spines: int, links: int) -> int:
    """Return the cores above the pods, `pods` of them full: equal pods share them spine by spine."""
    # no policy can have fewer cores than its links need ports
    fewest = whole(formulas.core_minimal(links, rule.core_ports))
    half, up = rule.pod_leaves, rule.spine_uplinks
    if rule.core_policy == "minimal":
        return fewest
    most = minimum(rule.uplinks * up, links)  # one port of each core for each of at most k pods
    if rule.core_policy == "equal-stripe":
        shared = maximum(rule.uplinks // pod.spines, 1)
        cores = formulas.core_equal_stripe(maximum(spines, 1), pod.spines, up * shared, rule.core_ports)
        if last is not None:
            alone = formulas.core_equal_stripe(maximum(spines, 1), rule.uplinks, up, rule.core_ports)
            mixed = choose(pods > 0, _shared_cores(rule, pod, last, pods + (last.leaves > 0)), alone)
            cores = choose(last.leaves == 0, cores, mixed)
    else:
        cores = formulas.core_per_rail_whole_pods(
            endpoints,
            rule.rails,
            downlinks=rule.downlinks,
            uplinks=rule.uplinks,
            pod_leaves=half,
            spine_up=up,
            radix=rule.core_ports,
        )
    # the limits hold whatever the policy asks for
    return maximum(fewest, minimum(most, whole(cores)))


def _uplink_choices(rule: _TreeRule, ratio: float, least_downlinks: int = 1) -> list[_TreeRule]:
    """Return the rules to choose from for a leaf: from the fewest uplinks that keep the ratio up to half its ports.

    Where spines must divide the uplinks, 44 can need far fewer switches than 43. Without oversubscription, or where the
    design gives the ports of a leaf, there is no choice.
    """
    if rule.tiers == 1 or ratio <= 1 or rule.leaf_down is not None:
        return [rule]
    step, most = _uplink_range(rule, least_downlinks)
    return [replace(rule, uplinks=uplinks) for uplinks in range(rule.uplinks, max(most, rule.uplinks) + 1, step)]


def _uplink_range(rule: _TreeRule, least_downlinks: int) -> tuple[int, int]:
    """Return the step of the uplinks to choose from, whole ports where the two splits differ, and the most of them."""
    down, up = rule.splits
    if down == up:
        return 1, min(rule.radix // 2, rule.radix - least_downlinks)
    ports = rule.radix // down
    return up, min(ports // 2, ports - ceil_div(least_downlinks, down)) * up


def _build_tree(rule: _TreeRule, endpoints: int, leaves: int | None = None) -> Tree:
    """Return the tree that holds `endpoints` endpoint ports.

    `endpoints`: endpoint ports [1], at most `rule.capacity`. `leaves`: leaf switches [1]; as few as possible if
    omitted.
    """
    k, u = rule.radix, rule.uplinks
    if rule.tiers == 1:
        return Tree(rule=rule, endpoints=endpoints, leaf=1, leaf_ports=k, narrowest_links=k, full_pods=1)
    leaf = whole(formulas.leaf_switches(endpoints, rule.downlinks)) if leaves is None else leaves
    counts = _two_tiers(rule, leaf) if rule.tiers == 2 else _three_tiers(rule, leaf, endpoints)
    links = leaf * u
    return Tree(rule=rule, endpoints=endpoints, leaf=leaf, leaf_spine=links, leaf_ports=leaf * rule.downlinks, **counts)


def _two_tiers(rule: _TreeRule, leaf: int) -> dict[str, Any]:
    """Return the part of a two-tier tree above its leaves: one pod without links upwards."""
    links = leaf * rule.uplinks
    spine = rule.spines or whole(formulas.two_tier_spines(leaf, rule.uplinks, rule.pod_leaves))
    return {
        "spine": spine,
        "spare_spine_ports": spine * rule.spine_ports - links,
        "narrowest_links": links,
        "full_pods": 1,
        "pod": Pod(leaf, spine, 0),
    }


def _pod_spines(rule: _TreeRule, leaves: int, up: int, *, full: bool) -> int:
    """Return the spines of a pod of some leaves, with `up` links to cores of each of its groups."""
    if rule.spines is not None:
        return rule.spines
    if rule.spine_up is not None and full:
        return rule.full_spines
    fewest = whole(formulas.pod_spines(leaves, rule.uplinks, up, rule.spine_ports))
    if rule.spine_down is None:
        return fewest
    return maximum(fewest, whole(formulas.two_tier_spines(leaves, rule.uplinks, rule.spine_down)))


def _three_tiers(rule: _TreeRule, leaf: int, endpoints: int) -> dict[str, Any]:
    """Return the part of a three-tier tree above its leaves: full pods, the partial pod, cores."""
    k, u, half, up = rule.spine_ports, rule.uplinks, rule.pod_leaves, rule.spine_uplinks
    pods, rest = divmod(leaf, half)
    pod = Pod(half, _pod_spines(rule, half, up, full=True), up)
    last = None
    if some(rest):
        # fewer leaves need fewer links to the cores, in the same proportion
        last_up = -(-rest * up // half)
        last = Pod(rest, _pod_spines(rule, rest, last_up, full=False) * (rest > 0), last_up)
    spine = pods * pod.spines + (last.spines if last else 0)
    spine_core = u * (pods * up + (last.up if last else 0))
    core = _cores(rule, endpoints, pod, last, pods=pods, spines=spine, links=spine_core)
    return {
        "spine": spine,
        "core": core,
        "spine_core": spine_core,
        "spare_spine_ports": spine * k - leaf * u - spine_core,
        "spare_core_ports": core * rule.core_ports - spine_core,
        # one pod alone sends nothing over the cores, so their links do not bind
        "narrowest_links": choose(pods + (rest > 0) == 1, leaf * u, minimum(leaf * u, spine_core)),
        "full_pods": pods,
        "pod": pod,
        "last_pod": last,
    }
