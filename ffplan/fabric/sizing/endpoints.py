"""Endpoint ports that each zone of each plane must have, and findings for a fabric too small for them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.fabric.sizing import formulas

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.design.resolved import ResolvedDesign, ResolvedGroup
    from ffplan.fabric.sizing.fat_tree import _TreeRule


@record
class _Demand:
    """Endpoint ports that nodes need in one plane, by zone."""

    by_zone: tuple[tuple[int, ...], ...]
    """Ports of each node group (in file order) in each zone: `by_zone[zone][group]`."""

    @property
    def totals(self) -> tuple[int, ...]:
        """Endpoint ports in each zone."""
        return tuple(sum(groups) for groups in self.by_zone)


def _deal(count: int, parts: int, index: int, start: int) -> int:
    """Return the number of `count` things that part `index` gets when they are dealt in turn, from part `start` on."""
    # the remainder goes to the parts from `start` on, one each
    return count // parts + ((index - start) % parts < count % parts)


def ports_per_plane(design: ResolvedDesign, group: ResolvedGroup) -> int:
    """Return the ports that a node of the group has in one plane."""
    return len(group.fabric_nics) * design.stripes // design.planes


def rails_of(design: ResolvedDesign, group: ResolvedGroup) -> int:
    """Return how many NICs of one node of the group join the same tree."""
    zones = design.spec.fabric.zones if group.group.zones == "every" else 1
    return max(1, ports_per_plane(design, group) // zones)


def _zone_demand(design: ResolvedDesign, zone: int, last: int | None = None) -> tuple[int, ...]:
    """Return the ports that each group needs in one zone of one plane; groups are dealt in turn."""
    zones = design.spec.fabric.zones
    ports, start = [], 0
    for group in design.groups:
        per_plane = ports_per_plane(design, group)
        count = last if last is not None and group is design.groups[-1] else group.group.count
        if group.group.zones == "every":
            ports.append(count * (per_plane // zones))
        else:
            ports.append(_deal(count, zones, zone, start) * per_plane)
            # the next group goes on where this one ended, so that zones differ by one node at most
            start += count
    return tuple(ports)


def _nic_faults(design: ResolvedDesign) -> list[Finding]:
    """Return a fault for every node group whose NICs planes or zones cannot share evenly."""
    fabric = design.spec.fabric
    faults = []
    for group in design.groups:
        nics = len(group.fabric_nics) * design.stripes
        path: tuple[str | int, ...] = ("nodes", group.position, "server")
        if nics % design.planes and design.document.inside:  # a network beside the fabric: its own ports are at fault
            what = "a switch" if group.position >= len(design.spec.nodes) else f"a {group.group.role} node"
            faults.append(
                design.document.finding(
                    "fabric-divisibility",
                    ("fabric", "planes"),
                    f"{plural(nics, 'port')} of {what} cannot be dealt evenly over {design.planes} planes",
                    f"use a number of planes that divides {nics}, or other `ports`",
                )
            )
        elif nics % design.planes:
            faults.append(
                design.document.finding(
                    "fabric-divisibility",
                    path,
                    f"`{group.server.id}` has {nics} NIC(s) on this fabric, which cannot be dealt evenly over "
                    f"{design.planes} planes",
                    f"use a number of planes that divides {nics}, or a server with another number of NICs",
                )
            )
        elif group.group.zones == "every" and (nics // design.planes) % fabric.zones:
            faults.append(
                design.document.finding(
                    "fabric-divisibility",
                    ("nodes", group.position, "zones"),
                    f"`{group.server.id}` has {nics // design.planes} NIC(s) per plane, which cannot reach "
                    f"every one of {fabric.zones} zones evenly",
                    f"give it a multiple of {fabric.zones} NICs per plane, or write `zones: split`",
                )
            )
    return faults


def _zone_demands(design: ResolvedDesign) -> _Demand:
    return _Demand(tuple(_zone_demand(design, zone) for zone in range(design.spec.fabric.zones)))


def _demand(design: ResolvedDesign) -> _Demand:
    """Return the endpoint ports that nodes need in each zone of one plane."""
    faults = _nic_faults(design)
    fabric = design.spec.fabric
    if not faults and min(sum(_zone_demand(design, zone)) for zone in range(fabric.zones)) == 0:
        faults.append(
            design.document.finding(
                "fabric-divisibility",
                ("fabric", "zones"),
                f"{fabric.zones} zones are more than there are nodes to fill them",
                "use fewer zones",
            )
        )
    if faults:
        raise InputError(*faults)
    return _zone_demands(design)


MOST_RADIX = 1024
"""Ports of the largest switch that is named [1]."""
_TIER_WORDS = {1: "one-tier", 2: "two-tier", 3: "three-tier"}


def _group_words(design: ResolvedDesign, counts: tuple[int, ...]) -> str:
    counted = [f"{count:,} {group.group.role}" for group, count in zip(design.groups, counts, strict=True) if count]
    return " + ".join(counted)


def _that_fit(design: ResolvedDesign, room: int) -> str:
    """Name the number of nodes of the last group that fit with the others, if any do."""
    zones, last = range(design.spec.fabric.zones), design.groups[-1].group

    def fits(count: int) -> bool:
        return all(sum(_zone_demand(design, zone, count)) <= room for zone in zones)

    low, high = 0, last.count
    while low < high:
        # rounded up, or neighbouring bounds would never meet
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    beside = " beside the rest" if len(design.groups) > 1 else ""
    return f"at most {low:,} {last.role} nodes fit{beside}" if low else ""


def _joins(design: ResolvedDesign, zones: int) -> bool:
    """True if the inter-zone switches, if any, have ports for that many zones."""
    trunk = design.spec.fabric.inter_zone
    return trunk is None or zones * trunk.links_per_zone <= trunk.switches * design.radix


def _capacity(design: ResolvedDesign, rule: _TreeRule, tiers: int, radix: int) -> int:
    """Return the capacity of a tree of other tiers or another radix, with the same oversubscription."""
    if radix == rule.radix and rule.tiers > 1:
        return replace(rule, tiers=tiers).capacity
    uplinks = int(formulas.leaf_uplinks(radix, design.spec.fabric.oversubscription))
    return replace(rule, tiers=tiers, radix=radix, uplinks=uplinks).capacity


def _that_hold(design: ResolvedDesign, rule: _TreeRule, endpoints: int, trunk: int) -> str:
    """Name changes of the fabric that would hold the endpoints."""
    options = []
    for tiers in range(rule.tiers + 1, 4):
        capacity = _capacity(design, rule, tiers, rule.radix)
        if capacity >= endpoints + trunk:
            options.append(f"`tiers: {tiers}` holds {capacity:,} per zone")
            break
    zones = design.spec.fabric.zones
    if not any(group.group.zones == "every" for group in design.groups) and rule.capacity > trunk:
        # links between zones take ports of every zone
        needed = -(-endpoints * zones // (rule.capacity - trunk))
        if zones > 1 and needed <= 64 and _joins(design, needed):
            options.append(f"`zones: {needed}`")
    if rule.leaf_down is None and rule.spine_radix is None and rule.core_radix is None:
        radixes = range(rule.radix + 2, MOST_RADIX + 2, 2)
        place = bisect_left(
            radixes, endpoints + trunk, key=lambda radix: _capacity(design, rule, rule.tiers, radix)
        )  # it grows with the radix
        options += [f"a switch of {radixes[place]} ports or more"] if place < len(radixes) else []
    return ", or ".join(options)


def _capacity_finding(
    design: ResolvedDesign, rule: _TreeRule, needs: _Demand, zone: int, ports: int, trunk: int
) -> Finding:
    """Return the finding for a zone that needs more ports than its tree has."""
    fabric = design.spec.fabric
    counts = needs.by_zone[zone]
    where = f"zone {zone + 1} of {fabric.zones}" if fabric.zones > 1 else "the fabric"
    if design.planes > 1:
        where += f" needs on each of {design.planes} planes"
    else:
        where += " needs"
    parts = _group_words(design, counts)
    if ports > sum(counts):
        parts = f"{ports:,} access points"
    need = f"{ports:,} endpoint ports ({parts})"
    if trunk:
        need += f" and {trunk} for links to other zones, {ports + trunk:,} in all"
    tree = f"a {_TIER_WORDS[rule.tiers]} tree of {rule.radix}-port switches has {rule.capacity:,}"
    fit = _that_fit(design, rule.capacity - trunk) if ports == sum(counts) else ""
    hold = _that_hold(design, rule, ports, trunk)
    remedy = "; ".join(text for text in (fit, hold and f"to hold them all: {hold}") if text)
    return design.document.finding(
        "fabric-capacity",
        ("fabric", "access_points") if ports > sum(counts) else ("fabric", "tiers"),
        f"{where} {need}; {tree}",
        remedy or "use fewer endpoints",
        key=True,
    )


def _interzone_finding(design: ResolvedDesign, rule: _TreeRule) -> Finding:
    trunk = design.spec.fabric.inter_zone
    assert trunk is not None
    per_zone, zones = trunk.links_per_zone, design.spec.fabric.zones
    links = zones * per_zone
    enough = next((n for n in range(-(-links // rule.radix), per_zone + 1) if per_zone % n == 0), None)
    more = f", or {enough} inter-zone switches" if enough else ""
    return design.document.finding(
        "fabric-capacity",
        ("fabric", "inter_zone", "links_per_zone"),
        f"{links:,} links between zones need more ports than {trunk.switches} inter-zone switches of "
        f"{rule.radix} ports have ({trunk.switches * rule.radix:,})",
        f"use at most {trunk.switches * rule.radix // zones} links per zone{more}",
    )


def _rails_finding(design: ResolvedDesign, rule: _TreeRule, leaves: int) -> Finding:
    most = rule.capacity // rule.downlinks
    return design.document.finding(
        "fabric-capacity",
        ("fabric", "family"),
        f"scalable units with a leaf for each of {rule.rails} rails need {leaves:,} leaves; "
        f"a {_TIER_WORDS[rule.tiers]} tree of {rule.radix}-port switches has {most:,} at most",
        f"use at most {most // rule.rails:,} scalable units, more tiers, or `family: fat-tree`",
    )
