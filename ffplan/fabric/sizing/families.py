"""Every family of networks that holds a number of endpoints, in closed form; no graph is built.

Sources:
    [2] Besta, Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC'14, section II-B.
    [3] Zhao et al., "Insights into DeepSeek-V3", ISCA 2025, arXiv 2505.09343, Table 3: FT2, MPFT, FT3, Slim Fly.
    [4] Wang et al., "Rail-only", arXiv 2307.12169: a tree for each rail; rails that fit share a switch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.array_math import ceil_div, minimum
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.design.resolved import shared_rails
from ffplan.fabric.sizing.fat_tree import Tree, _build_tree, _TreeRule, _uplink_choices
from ffplan.fabric.sizing.formulas import leaf_uplinks, rail_leaves
from ffplan.fabric.sizing.low_diameter import (
    _delta_of,
    _dragonfly_capacity,
    _dragonfly_global_links,
    _dragonfly_shape,
    _prime_power,
    _router_degree,
    dragonfly_groups,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TREE_WORDS = {1: "one tier", 2: "two tiers", 3: "three tiers"}
_USUAL_TIERS = 2
"""Tiers of planes whose name does not say them [1]."""


@record
class Request:
    """A request for a fabric."""

    endpoints: int
    radix: int
    rails: int
    """NICs of a node."""
    ratio: float
    """Most downlinks per uplink of a leaf."""
    core_policy: str
    tiers: tuple[int, ...]
    """Tiers to consider."""
    planes: tuple[int, ...]
    """Numbers of planes to consider."""
    most_split: int | None = None
    """Ports that a port of the switch can be split into, beyond the radix given; None if unknown."""


@record
class Candidate:
    """A family at the requested size."""

    family: str
    endpoints: int
    """Endpoint ports of its switches."""
    capacity: int
    leaf: int
    spine: int
    core: int
    router: int
    inter_switch_links: int
    diameter: int
    """Most switches between two endpoints that can reach each other."""
    next_endpoints: int | None
    next_switches: int | None
    note: str
    endpoint_links: int
    links_per_cable: int = 1
    """Links that share a cable; 1 without split ports."""

    @property
    def switches(self) -> int:
        """Switches of every role."""
        return self.leaf + self.spine + self.core + self.router


@record
class _Sizer:
    """Sizes one kind of tree: the fewest switches that hold some endpoints within the ratio."""

    base: _TreeRule
    """The rule with the fewest uplinks, which holds the most endpoints."""
    ratio: float
    units: bool
    """True if leaves come in scalable units, one for each rail."""

    @property
    def capacity(self) -> int:
        """Most endpoints of one tree."""
        most, rule = self.base.capacity, self.base
        # whole units alone: a leaf for each rail, or none
        return most // (rule.rails * rule.downlinks) * rule.rails * rule.downlinks if self.units else most

    def _build(self, rule: _TreeRule, endpoints: int) -> Tree | None:
        leaves = None
        if self.units:
            nodes = ceil_div(endpoints, rule.rails)
            leaves = int(rail_leaves(nodes, rule.downlinks, rule.rails, endpoints, rule.downlinks))
        if max(endpoints, (leaves or 0) * rule.downlinks) > rule.capacity:
            return None
        return _build_tree(rule, endpoints, leaves)

    def tree(self, endpoints: int) -> Tree | None:
        """Return the tree with the fewest switches; None if no tree holds the endpoints."""
        built = [self._build(rule, endpoints) for rule in _uplink_choices(self.base, self.ratio)]
        trees = [tree for tree in built if tree is not None]
        return min(trees, key=lambda tree: (tree.switches, tree.rule.uplinks)) if trees else None


def _sizer(ask: Request, tiers: int, rails: int, *, split: int = 1, units: bool = False) -> _Sizer:
    radix = ask.radix * split
    uplinks = int(leaf_uplinks(radix, ask.ratio)) if tiers > 1 else 0
    return _Sizer(
        _TreeRule(tiers=tiers, radix=radix, uplinks=uplinks, rails=rails, core_policy=ask.core_policy), ask.ratio, units
    )


def _trees(family: str, copies: int, per_tree: int, sizer: _Sizer, note: str = "") -> Candidate | str:
    """Return equal parallel trees, and the next growth step; or the most endpoints that they hold.

    `{downlinks}` in the note becomes the downlinks of a leaf.
    """
    tree = sizer.tree(per_tree)
    if tree is None:
        return f"{family}: {copies * sizer.capacity:,}"
    # one endpoint more than the leaves hold forces the next size
    grown = sizer.tree(tree.leaf_ports + 1)
    return Candidate(
        family=family,
        endpoints=copies * tree.leaf_ports,
        capacity=copies * sizer.capacity,
        leaf=copies * tree.leaf,
        spine=copies * tree.spine,
        core=copies * tree.core,
        router=0,
        inter_switch_links=copies * (tree.leaf_spine + tree.spine_core),
        # up one switch a tier, and down again past the top one
        diameter=2 * tree.rule.tiers - 1,
        next_endpoints=copies * grown.leaf_ports if grown else None,
        next_switches=copies * grown.switches if grown else None,
        note=note.format(downlinks=tree.rule.downlinks),
        endpoint_links=copies * per_tree,
    )


def _fat_trees(ask: Request) -> Iterator[Candidate | str]:
    """Yield fat trees of the requested tiers, or the text of a tree that is too small."""
    for tiers in ask.tiers:
        yield _trees(f"fat-tree, {TREE_WORDS[tiers]}", 1, ask.endpoints, _sizer(ask, tiers, ask.rails))


def _rail_trees(ask: Request) -> Iterator[Candidate | str]:
    """Yield rail-optimised and rail-only trees for nodes with several NICs."""
    if ask.rails < 2:
        return
    nodes = ceil_div(ask.endpoints, ask.rails)
    for tiers in (t for t in ask.tiers if t > 1):
        sizer = _sizer(ask, tiers, ask.rails, units=True)
        note = f"{ask.rails} rails, {{downlinks}} nodes to a unit"
        yield _trees(f"rail-optimised, {TREE_WORDS[tiers]}", 1, nodes * ask.rails, sizer, note)
    for tiers in ask.tiers:
        if tiers == 1 and nodes <= ask.radix:
            yield _rails_on_switches(ask, nodes)
            continue
        note = f"{ask.rails} trees that nothing joins; traffic between rails is forwarded inside the nodes"
        yield _trees(f"rail-only, {TREE_WORDS[tiers]}", ask.rails, nodes, _sizer(ask, tiers, 1), note)


def _rails_on_switches(ask: Request, nodes: int) -> Candidate:
    """Return the rail-only fabric of one tier; rails share a switch that has ports for several."""
    shared = int(shared_rails(ask.rails, nodes * ask.rails, ask.radix))
    switches, most = ask.rails // shared, ask.radix // shared
    later = int(shared_rails(ask.rails, (most + 1) * ask.rails, ask.radix)) if shared > 1 else None
    note = f"{plural(shared, 'rail')} on each switch; nothing joins the switches, so that other traffic between rails "
    note += "is forwarded inside the nodes"
    return Candidate(
        family=f"rail-only, {TREE_WORDS[1]}",
        endpoints=switches * ask.radix,
        capacity=ask.rails * ask.radix,
        leaf=switches,
        spine=0,
        core=0,
        router=0,
        inter_switch_links=0,
        diameter=1,
        next_endpoints=ask.rails // later * ask.radix if later else None,
        next_switches=ask.rails // later if later else None,
        note="all rails on one switch: the fat tree of one tier" if switches == 1 else note,
        endpoint_links=ask.rails * nodes,
    )


def _plane_trees(ask: Request) -> Iterator[Candidate | str]:
    """Yield planes of the fewest tiers: a NIC for each plane, and each NIC with a port in every plane, ports split."""
    for planes in ask.planes:
        if ask.rails % planes:
            yield f"{planes} planes by NIC: {_unjoined(ask.rails, planes)}"
        else:
            yield _of_fewest_tiers(ask, planes, by_port=False)
        if ask.most_split is not None and planes > ask.most_split:
            yield f"{planes} planes by port: the switch splits a port into {ask.most_split} at most"
        else:
            yield _of_fewest_tiers(ask, planes, by_port=True)


def _of_fewest_tiers(ask: Request, planes: int, *, by_port: bool) -> Candidate | str:
    """Return planes of the fewest of the tiers asked for that hold the endpoints; else the most that any holds."""
    made: Candidate | str = ""
    for tiers in sorted(ask.tiers):
        words = "" if tiers == _USUAL_TIERS else f", {TREE_WORDS[tiers]}"
        if by_port:
            made = _striped(f"{planes} planes by port{words}", planes, ask, _sizer(ask, tiers, 1, split=planes))
        else:
            note = "each NIC lives in one plane; nothing joins the planes"
            each = ceil_div(ask.endpoints, planes)
            made = _trees(f"{planes} planes by NIC{words}", planes, each, _sizer(ask, tiers, 1), note)
        if not isinstance(made, str):
            break
    return made


def _unjoined(rails: int, planes: int) -> str:
    """Explain why nodes do not join planes that have no switch in common."""
    nics = plural(rails, "NIC")
    if rails < planes:
        return f"a node with {nics} joins {rails} of them, and nothing joins the planes"
    return f"{nics} of a node cannot be dealt evenly over them"


def _striped(name: str, planes: int, ask: Request, sizer: _Sizer) -> Candidate | str:
    """Return planes with a port for every NIC; endpoints count NICs, links count ports."""
    candidate = _trees(name, planes, ask.endpoints, sizer)
    if isinstance(candidate, str):
        return f"{name}: {sizer.capacity:,}"
    return replace(
        candidate,
        # the trees count ports; an endpoint is a NIC with a port in each plane
        endpoints=candidate.endpoints // planes,
        capacity=sizer.capacity,
        links_per_cable=planes,
        next_endpoints=candidate.next_endpoints and candidate.next_endpoints // planes,
        note=f"every port of NIC and switch is split into {planes}, one for each plane; links count ports",
    )


def dragonfly(ask: Request) -> Iterator[Candidate | str]:
    """Yield a balanced dragonfly."""
    p, a, h = _dragonfly_shape(ask.radix)
    capacity = int(_dragonfly_capacity(ask.radix))
    if p < 1 or ask.endpoints > capacity:
        yield f"dragonfly: {capacity:,}"
        return
    groups = int(dragonfly_groups(ask.endpoints, ask.radix))

    def switches(count: int) -> int:
        return int(count * a)

    # a full mesh inside each group, then the global links
    links = groups * a * (a - 1) // 2 + int(_dragonfly_global_links(groups, ask.radix))
    # a group's a h global ports reach that many others, one link each
    more = groups + 1 <= a * h + 1
    yield Candidate(
        family="dragonfly",
        endpoints=groups * a * p,
        capacity=capacity,
        leaf=0,
        spine=0,
        core=0,
        router=switches(groups),
        inter_switch_links=links,
        # local, global, local: three links between four routers
        diameter=4,
        next_endpoints=(groups + 1) * a * p if more else None,
        next_switches=switches(groups + 1) if more else None,
        note=f"{groups} groups of {a} routers with {p} endpoints and {h} global links each",
        endpoint_links=ask.endpoints,
    )


def _slim_fly_counts(q: int, delta: int) -> tuple[int, int, int, int]:
    """Return (routers, endpoints of a router, endpoints, links between routers) of a full Slim Fly.

    Args:
        q: size of the field [1].
        delta: q modulo 4, as -1, 0 or 1 [1].

    Equation:
        routers = 2 q^2; k' = (3 q - delta) / 2; p = ceil(k' / 2); N = p * routers; links = routers * k' / 2

    Source:
        [2]; [3] prints 1,568 routers, 32,928 endpoints and 32,928 links for q = 28, which is no prime power, so that
        no such graph exists.
    """
    routers = 2 * q * q
    degree = _router_degree(q, delta)
    per_router = ceil_div(degree, 2)
    return routers, per_router, per_router * routers, routers * degree // 2


def _slim_fly_sizes(radix: int) -> list[tuple[int, int]]:
    """Return (q, delta) of every Slim Fly whose routers have ports enough."""
    sizes = []
    for q in range(3, radix):
        delta = _delta_of(q)
        if delta is not None and _router_degree(q, delta) + ceil_div(_router_degree(q, delta), 2) <= radix:
            sizes.append((q, delta))
    return sizes


def _slim_fly(ask: Request) -> Iterator[Candidate | str]:
    """Yield the smallest Slim Fly that holds the endpoints, from a real graph if one exists."""
    sizes = _slim_fly_sizes(ask.radix)
    holding = [size for size in sizes if _slim_fly_counts(*size)[2] >= ask.endpoints]
    real = [size for size in holding if _prime_power(size[0])]
    if not holding:
        yield f"slim-fly: {max((_slim_fly_counts(*size)[2] for size in sizes), default=0):,}"
        return
    # sizes rise with q, so the first is the smallest
    chosen = (real or holding)[0]
    q, delta = chosen
    routers, per_router, _, links = _slim_fly_counts(q, delta)
    used = minimum(per_router, max(1, ceil_div(ask.endpoints, routers)))
    later = [size for size in (real or holding) if size[0] > q]
    note = f"q = {q}, {used} of {per_router} endpoints on each router"
    if not real:
        note += f"; {q} is not a prime power, so no such graph exists: the counts follow the formulas"
    yield Candidate(
        family="slim-fly",
        endpoints=used * routers,
        capacity=max(_slim_fly_counts(*size)[2] for size in sizes),
        leaf=0,
        spine=0,
        core=0,
        router=routers,
        inter_switch_links=links,
        # any two routers are at most two links, so three routers, apart
        diameter=3,
        next_endpoints=_slim_fly_counts(*later[0])[2] if later else None,
        next_switches=_slim_fly_counts(*later[0])[0] if later else None,
        note=note,
        endpoint_links=ask.endpoints,
    )


FAMILIES: tuple[Callable[[Request], Iterator[Candidate | str]], ...] = (
    _fat_trees,
    _rail_trees,
    _plane_trees,
    dragonfly,
    _slim_fly,
)


def candidates(ask: Request) -> tuple[list[Candidate], list[str]]:
    """Return the families that hold the endpoints, fewest switches first; and the others, with their capacity."""
    holding: list[Candidate] = []
    small: list[str] = []
    for family in FAMILIES:
        for candidate in family(ask):
            if isinstance(candidate, str):
                small.append(candidate)
            else:
                holding.append(candidate)
    return sorted(
        holding, key=lambda candidate: (candidate.switches, candidate.inter_switch_links, candidate.family)
    ), small
