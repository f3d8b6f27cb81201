"""Trees of a design: planes of zones, a tree in each, and the switches that join the zones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import choose, maximum, minimum, real, some, whole
from ffplan.base.errors import InputError
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.fabric.sizing import formulas
from ffplan.fabric.sizing.endpoints import (
    _capacity_finding,
    _Demand,
    _demand,
    _interzone_finding,
    _rails_finding,
    rails_of,
)
from ffplan.fabric.sizing.fat_tree import Tree, _build_tree, _TreeRule, _uplink_choices
from ffplan.fabric.sizing.leaf_cables import _leaf_cables
from ffplan.fabric.sizing.leaf_fill import (
    _leaf_fill,
    _leaves_of,
    _pair_split,
    _parts_between,
    _railed,
    _tree_cables,
)
from ffplan.fabric.sizing.plan import FabricPlan, _port_rate

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.design.resolved import ResolvedDesign


def base_rule(design: ResolvedDesign) -> _TreeRule:
    """Return the rule that all trees of the fabric share, with the fewest uplinks that keep the ratio."""
    fabric = design.spec.fabric
    rails = max(rails_of(design, group) for group in design.groups if group.group.role == "compute")
    down, up = fabric.breakout, design.uplink_breakout
    return _TreeRule(
        tiers=fabric.tiers,
        radix=design.radix,
        uplinks=_fewest_uplinks(design) if fabric.tiers > 1 else 0,
        rails=rails,
        core_policy=fabric.core_policy,
        spine_ratio=fabric.spine_oversubscription,
        splits=(down, up),
        leaf_down=_leaf_downlinks(design),
        spine_radix=_unless(design.radix, design.radix_of("spine")),
        core_radix=_unless(design.radix_of("spine"), design.radix_of("core")),
        spine_down=fabric.spine.downlinks,
        pod_size=fabric.spine.pod_leaves,
        spine_up=fabric.spine.uplinks,
        spines=fabric.spine.per_pod,
    )


def _unless(same: int, ports: int) -> int | None:
    """Return the ports of a switch; None if the tier below has as many."""
    return None if ports == same else ports


def _fewest_uplinks(design: ResolvedDesign) -> int:
    """Return the uplinks of a leaf: the design's, or the fewest that keep its oversubscription."""
    fabric, up = design.spec.fabric, design.uplink_breakout
    if fabric.leaf.uplinks is not None:
        return fabric.leaf.uplinks
    ratio, ports = fabric.oversubscription, int(design.parts.switch.ports.value)
    if fabric.leaf.downlinks is not None:
        return whole(formulas._uplinks_of(fabric.leaf.downlinks, fabric.breakout, up, ratio))
    if up == fabric.breakout:
        return whole(formulas.leaf_uplinks(design.radix, ratio))
    # different splits: share out whole ports first, then split them
    return whole(formulas.leaf_uplinks(ports, ratio)) * up


def _leaf_downlinks(design: ResolvedDesign) -> int | None:
    """Return the downlinks of a leaf where the design gives the links of one side; None if both follow."""
    fabric = design.spec.fabric
    if fabric.tiers == 1 or (fabric.leaf.downlinks is None and fabric.leaf.uplinks is None):
        return None
    if fabric.leaf.downlinks is not None:
        return fabric.leaf.downlinks
    taken = -(-(fabric.leaf.uplinks or 0) // design.uplink_breakout)
    return design.radix - taken * fabric.breakout


def _tree_rule(design: ResolvedDesign, ports: tuple[int, ...]) -> _TreeRule:
    """Return the rule that all trees of the design's fabric share."""
    fabric, rule = design.spec.fabric, base_rule(design)

    def switches(choice: _TreeRule) -> float:
        """Return the switches of all zones; infinite for a choice that does not fit."""
        if choice.spines is not None and choice.uplinks % choice.spines:
            return float("inf")
        needed = [count + design.trunk_links for count in ports]
        leaves = [_leaves_of(design, choice, count) or -(-count // choice.downlinks) for count in needed]
        if max(leaves) * choice.downlinks > choice.capacity:
            return float("inf")
        # switches decide: more uplinks than the ratio needs can divide better among spines
        return sum(tree.switches for tree in _trees(design, choice, ports))

    choices = _uplink_choices(rule, fabric.oversubscription, fabric.scalable_unit or 1)
    return choices[0] if len(choices) == 1 else min(choices, key=lambda option: (switches(option), option.uplinks))


def _provisioned(design: ResolvedDesign, needs: _Demand) -> tuple[int, ...]:
    fabric = design.spec.fabric
    trees = fabric.zones * design.planes
    # access points are counted over all trees
    floor = -(-(fabric.access_points or 0) // trees)
    return tuple(maximum(total, floor) for total in needs.totals)


def _check(design: ResolvedDesign, rule: _TreeRule, needs: _Demand, ports: tuple[int, ...]) -> None:
    fabric = design.spec.fabric
    trunk = design.trunk_links
    findings = []
    fullest = max(range(fabric.zones), key=lambda zone: ports[zone])
    if ports[fullest] + trunk > rule.capacity:
        findings.append(_capacity_finding(design, rule, needs, fullest, ports[fullest], trunk))
    per_leaf = design.rails_per_leaf if _railed(design) else 1
    unit = (fabric.scalable_unit or 1) * per_leaf
    findings += [*_spine_findings(design, rule), *_ratio_findings(design, rule)]
    if fabric.tiers > 1 and unit > rule.downlinks:
        findings.append(_unit_finding(design, rule, per_leaf))
    elif ports[fullest] + trunk <= rule.capacity:
        leaves = _leaves_of(design, rule, ports[fullest] + trunk)
        if leaves is not None and leaves * rule.downlinks > rule.capacity:
            findings.append(_rails_finding(design, rule, leaves))
    if fabric.inter_zone and fabric.zones * trunk > fabric.inter_zone.switches * rule.radix:
        findings.append(_interzone_finding(design, rule))
    points = design.planes * sum(needs.totals)
    if fabric.access_points is not None and fabric.access_points < points:
        findings.append(
            design.document.finding(
                "fabric-capacity",
                ("fabric", "access_points"),
                f"{fabric.access_points:,} access points are fewer than the {points:,} that the nodes need",
                "raise `access_points`, or remove it",
            )
        )
    if findings:
        raise InputError(*findings)


def _unit_finding(design: ResolvedDesign, rule: _TreeRule, per_leaf: int) -> Finding:
    """Return the finding for a scalable unit that does not fit on its leaves, with `per_leaf` NICs of a node on one."""
    unit, most = design.spec.fabric.scalable_unit or 1, rule.downlinks // per_leaf
    nics = f" with {per_leaf} NICs each" if per_leaf > 1 else ""
    return design.document.finding(
        "fabric-divisibility",
        ("fabric", "scalable_unit") if design.spec.fabric.scalable_unit else ("fabric", "leaf"),
        f"{plural(unit, 'node')} of a scalable unit{nics} do not fit on a leaf with {rule.downlinks} downlinks",
        f"use at most {most}" if most else f"give a leaf at least {per_leaf} downlinks",
    )


def _ratio_findings(design: ResolvedDesign, rule: _TreeRule) -> list[Finding]:
    """Return findings for links that the ratios ask for and the ports beside those given do not hold."""
    fabric, findings = design.spec.fabric, []
    down, up = rule.splits
    left = int(design.parts.switch.ports.value) - -(-rule.downlinks // down)
    if fabric.tiers > 1 and rule.leaf_down is not None and -(-rule.uplinks // up) > left:
        findings.append(
            design.document.finding(
                "fabric-divisibility",
                ("fabric", "leaf"),
                f"{rule.downlinks} downlinks at `oversubscription: {fabric.oversubscription:g}:1` want {rule.uplinks} "
                f"uplinks; {plural(left, 'port')} of `{design.parts.switch.id}` are left for them",
                "use fewer downlinks, raise `oversubscription`, or give `uplinks`",
            )
        )
    named = "pod_leaves" if fabric.spine.pod_leaves else "downlinks" if fabric.spine.downlinks else ""
    if fabric.tiers == 3 and fabric.spine.uplinks is None and named:
        room, ratio = rule.spine_ports - rule.pod_leaves, fabric.spine_oversubscription
        needed = -(-rule.pod_leaves // ratio)
        if needed > room:
            findings.append(
                design.document.finding(
                    "fabric-divisibility",
                    ("fabric", "spine", named),
                    f"{rule.pod_leaves} leaves of a pod at `spine_oversubscription: {ratio:g}:1` want {needed:g} "
                    f"uplinks of a spine; {plural(room, 'port')} are left for them",
                    "use smaller pods, raise `spine_oversubscription`, or give `uplinks`",
                )
            )
    return findings


def _spine_findings(design: ResolvedDesign, rule: _TreeRule) -> list[Finding]:
    """Return the finding for a number of spines in a pod that leaves cannot share evenly, or that is too small."""
    count = rule.spines
    if count is None:
        return []
    up = rule.spine_uplinks if rule.tiers == 3 else 0
    leaves = rule.pod_leaves
    fewest = -(-rule.uplinks * (leaves + up) // rule.spine_ports) if rule.tiers == 3 else 1
    if rule.uplinks % count == 0 and count >= fewest:
        return []
    if rule.uplinks % count:
        message = f"the {plural(rule.uplinks, 'uplink')} of a leaf cannot be dealt evenly over {plural(count, 'spine')}"
    else:
        spines, below = plural(count, "spine"), plural(leaves, "leaf", "leaves")
        message = f"{spines} of {rule.spine_ports} ports cannot hold a pod of {below}"
    fits = [n for n in range(fewest, rule.uplinks + 1) if rule.uplinks % n == 0]
    remedy = f"use {' or '.join(str(n) for n in fits)}" if fits else "use fewer downlinks"
    return [design.document.finding("fabric-divisibility", ("fabric", "spine", "per_pod"), message, remedy)]


@record
class _SizedTrees:
    rule: _TreeRule
    needs: _Demand
    ports: tuple[int, ...]
    """Endpoint ports to build in each zone."""
    trees: list[Tree]


def _sized(design: ResolvedDesign) -> _SizedTrees:
    """Return the trees of a plane of the fabric; planes are equal."""
    needs = _demand(design)
    ports = _provisioned(design, needs)
    rule = _tree_rule(design, ports)
    _check(design, rule, needs, ports)
    return _SizedTrees(rule, needs, ports, _trees(design, rule, ports))


def _trees(design: ResolvedDesign, rule: _TreeRule, ports: tuple[int, ...]) -> list[Tree]:
    """Return the tree of each zone of one plane; equal zones share one."""
    sizes = {count: count + design.trunk_links for count in sorted(set(ports))}
    known = {count: _build_tree(rule, size, _leaves_of(design, rule, size)) for count, size in sizes.items()}
    return [known[count] for count in ports]


def _plan_trees(design: ResolvedDesign) -> FabricPlan:
    """Return the trees that the design needs.

    Every plane is equal. Each zone is a tree sized for its own endpoints and its links to other zones.
    """
    sized = _sized(design)
    short = next((tree for tree in sized.trees if some(tree.spare_spine_ports < 0)), None)
    if short is not None:
        leaves = plural(int(short.leaf), "leaf", "leaves")
        message = f"the ports of {plural(short.rule.spines or 0, 'spine')} are fewer than the links of {leaves}"
        raise InputError(
            design.document.finding("fabric-capacity", ("fabric", "spine", "per_pod"), message, "use more spines")
        )
    return _assemble(design, sized)


def _tree_cut(design: ResolvedDesign, tree: Tree, zone: tuple[int, ...], leaving: Any, link_rate: float) -> Any:
    """Return the bandwidth across an even split of one tree [GB/s]."""
    if design.spec.fabric.tiers == 1:
        return formulas.tree_bisection(leaving, tree.narrowest_links, design.parts.switch.rate.value)
    rate, up = leaving / sum(zone), tree.rule.uplinks
    filled = _leaf_fill(design, tree, zone)

    def out_of(first: int) -> Any:
        """Return the bandwidth out of the first leaves [GB/s]."""
        total: Any = 0.0
        for leaves, endpoints in filled:
            count = maximum(minimum(first, leaves), 0)
            total, first = total + formulas._leaf_cut(count, endpoints, rate, up, link_rate), first - leaves
        return total

    # more leaves than any tree has: all of them, of which none carries more than its endpoints do
    leaving = minimum(out_of(1 << 60), leaving)
    if design.spec.fabric.tiers == 3 and tree.pod is not None:
        lower = out_of(tree.full_pods * tree.pod.leaves)
        # full pods and the last one apart: the links of one do not carry the other's traffic
        carried = minimum(lower, tree.full_pods * up * tree.pod.up * link_rate)
        if tree.last_pod is not None:
            carried = carried + minimum(leaving - lower, up * tree.last_pod.up * link_rate)
        pods = tree.full_pods + (tree.last_pod.leaves > 0 if tree.last_pod is not None else 0)
        # a single pod meets at its spines and needs no core
        leaving = choose(pods == 1, leaving, carried)
    return formulas.tree_bisection(leaving, tree.narrowest_links, link_rate)


def _bisection(design: ResolvedDesign, needs: _Demand, trees: list[Tree], link_rate: float) -> float:
    """Return the bisection bandwidth of one plane [GB/s]; its zones differ by a node at most, the smallest counts.

    Where every compute node is in every zone, the zones carry its traffic in parallel, as planes do.
    """
    rates = [_port_rate(design, group) for group in design.groups]
    cuts = []
    for zone, tree in zip(needs.by_zone, trees, strict=True):
        bandwidth = sum(n * rate for n, rate in zip(zone, rates, strict=True))
        cuts.append((bandwidth, _tree_cut(design, tree, zone, bandwidth, link_rate)))
    smallest, cut = cuts[0]
    for bandwidth, here in cuts[1:]:
        # zones differ by a node at most; the smallest cuts worst
        cut, smallest = choose(bandwidth < smallest, here, cut), minimum(bandwidth, smallest)
    if design.side_by_side:
        return real(design.spec.fabric.zones * cut)
    trunk_rate = design.trunk_gbyte_s
    return real(formulas._zone_bisection(design.spec.fabric.zones, design.trunk_links, trunk_rate, smallest, cut))


def _assemble(design: ResolvedDesign, sized: _SizedTrees) -> FabricPlan:
    """Return the counts of a fabric of trees, for one design or for arrays of them."""
    fabric = design.spec.fabric
    rule, needs, ports, trees = sized.rule, sized.needs, sized.ports, sized.trees
    trunk, trunk_switches = design.trunk_links, fabric.inter_zone.switches if fabric.inter_zone else 0
    planes, zones, k = design.planes, fabric.zones, rule.radix
    endpoints = planes * sum(needs.totals)
    rate = _port_rate(design, design.compute)
    link_rate = design.link_gbyte_s
    oversubscription: float = 1.0
    if fabric.tiers > 1:
        fastest = maximum(*(_port_rate(design, group) for group in design.groups))
        oversubscription = real(formulas.bandwidth_oversubscription(rule.downlinks, rule.uplinks, fastest, link_rate))
    links = {
        "endpoint": endpoints,
        "leaf_spine": planes * sum(tree.leaf_spine for tree in trees),
        "spine_core": planes * sum(tree.spine_core for tree in trees),
        "interzone": planes * zones * trunk,
    }
    laid = planes * sum(_tree_cables(tree, _pair_split(design)) for tree in trees)
    return FabricPlan(
        family=fabric.family,
        planes=planes,
        zones=zones,
        tiers=fabric.tiers,
        radix=k,
        uplinks=rule.uplinks,
        downlinks=rule.downlinks,
        pod_leaves=rule.pod_leaves,
        port_gbyte_s=rate,
        link_gbyte_s=link_rate,
        endpoints=endpoints,
        endpoints_per_zone=needs.totals,
        access_points=planes * sum(ports),
        switches_by_role={
            "leaf": planes * sum(tree.leaf for tree in trees),
            "spine": planes * sum(tree.spine for tree in trees),
            "core": planes * sum(tree.core for tree in trees),
            "interzone": planes * trunk_switches,
        },
        links_by_tier=links,
        spare_by_role={
            "leaf": planes * sum(tree.leaf_ports - trunk for tree in trees) - endpoints,
            "spine": planes * sum(tree.spare_spine_ports for tree in trees),
            "core": planes * sum(tree.spare_core_ports for tree in trees),
            "interzone": planes * (trunk_switches * k - zones * trunk),
        },
        breakout=fabric.breakout,
        endpoint_cables=planes
        * sum(_leaf_cables(design, tree, needs.by_zone[zone], zone) for zone, tree in enumerate(trees)),
        inter_switch_cables=laid + links["interzone"],
        inter_switch_parts=_parts_between(design, laid, links["leaf_spine"], links["spine_core"]) + links["interzone"],
        oversubscription=oversubscription,
        zone_oversubscription=maximum(*needs.totals) / trunk if trunk else None,
        bisection_gbyte_s=planes * _bisection(design, needs, trees, link_rate),
        trees=tuple(trees),
    )
