"""One fault at a time in fabrics of several kinds: each is one finding, which names it, and says what to do."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from ffplan.interop.asbuilt.ibnetdiscover import _read_listing
from ffplan.interop.asbuilt.names import named
from ffplan.interop.audit.report import audit, placed
from ffplan.interop.audit.sides import designed
from ffplan.interop.exported import subnet
from tests.support import but_few, wired
from tests.unit.interop.seeded import Listing, as_printed

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.results.as_built import DiffReport

FABRICS = {
    "superpod-h100-4su": "4xNDR",
    "pcie-a100-three-tier": "4xHDR",
    "fire-flyer-2": "4xHDR",
    "superpod-b300-4su": "4xNDR",
    "gb200-nvl72-16": "4xNDR",
    "deepseek-v3-2048": "4xNDR",
}
"""Two tiers with rails, three tiers, zones, ports as planes, racks of NVL72, and a plane for each NIC: the rate of
their links."""
PLANES = "hpn-dual-plane"
"""Links of nodes at half the rate of those between switches, two tiers, two planes."""


def built_as(design: str) -> Listing:
    """Return a fabric as designed."""
    built = Listing(design, rate=FABRICS.get(design, "4xHDR"))
    for leaf in leaves(built) if design == PLANES else []:
        for port in built.up(leaf):
            built.slow(leaf, port, "4xNDR")
    return built


def audited(built: Listing, design: str) -> DiffReport:
    """Return the audit of a listing."""
    own = wired(design)
    wanted = designed(own.fabric.network, own.names, subnet(own.fabric.network, None, None))
    found = _read_listing(built.text(), "built.txt")
    return audit(wanted, found, placed(wanted, found, named(found.devices, wanted.names, (), "")), design)


def leaves(built: Listing) -> list[str]:
    return [name for name in built.links if "/" not in name and built.down(name)]


def tops(built: Listing) -> list[str]:
    return [name for name in built.links if "/" not in name and not built.down(name)]


def hosts(built: Listing) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in built.links:
        if "/" in name:
            found.setdefault(name.partition("/")[0], []).append(name)
    return found


def swap_uplinks(built: Listing, chance: Random) -> list[str]:
    leaf = chance.choice(leaves(built))
    one, two = chance.sample(built.up(leaf), 2)
    built.rewire(leaf, [one, two], [two, one])
    return [f"{leaf}/p{one}", f"{leaf}/p{two}"]


def swap_downlinks(built: Listing, chance: Random) -> list[str]:
    leaf = chance.choice([leaf for leaf in leaves(built) if len(built.down(leaf)) > 1])
    one, two = chance.sample(built.down(leaf), 2)
    built.rewire(leaf, [one, two], [two, one])
    return [f"{leaf}/p{one}", f"{leaf}/p{two}"]


def swap_at_a_spine(built: Listing, chance: Random) -> list[str]:
    spine = chance.choice(tops(built))
    one, two = chance.sample(sorted(built.links[spine]), 2)
    built.rewire(spine, [one, two], [two, one])
    return [spine]


def swap_between_parts(built: Listing, chance: Random) -> list[str]:
    """Uplinks of the first leaf and of the last, in other zones or planes where there are some."""
    one, two = leaves(built)[0], leaves(built)[-1]
    at_one, at_two = built.up(one)[2], built.up(two)[-1]
    first, second = built.cut(one, at_one), built.cut(two, at_two)
    built.join(one, at_one, *second)
    built.join(two, at_two, *first)
    return [f"{one}/p{at_one}", f"{two}/p{at_two}"]


def lose_uplink(built: Listing, chance: Random) -> list[str]:
    leaf = chance.choice(leaves(built))
    port = chance.choice(built.up(leaf))
    built.cut(leaf, port)
    return [f"{leaf}/p{port}"]


def lose_node_cable(built: Listing, chance: Random) -> list[str]:
    leaf = chance.choice(leaves(built))
    port = chance.choice(built.down(leaf))
    return [built.cut(leaf, port)[0], f"{leaf}/p{port}"]


def kill_lanes(built: Listing, chance: Random) -> list[str]:
    leaf = chance.choice(leaves(built))
    port = chance.choice(built.up(leaf))
    built.slow(leaf, port, f"1x{built.rate[2:]}")
    return [f"{leaf}/p{port}"]


def train_low(built: Listing, chance: Random) -> list[str]:
    leaf = chance.choice(leaves(built))
    port = chance.choice(built.down(leaf))
    built.slow(leaf, port, "4xEDR")
    return [f"{leaf}/p{port}", "at 4x EDR, 100 Gb/s"]


def exchange_spines(built: Listing, chance: Random) -> list[str]:
    first = chance.choice(tops(built))
    alike = [name for name in tops(built) if name != first and name.rpartition("-")[0] == first.rpartition("-")[0]]
    second = chance.choice(alike)
    built.names |= {first: second, second: first}
    return [first, second]


def lose_node(built: Listing, chance: Random) -> list[str]:
    host = chance.choice([host for host in hosts(built) if host.startswith("compute")])
    for name in hosts(built)[host]:
        built.remove(name)
    return [f"node {host} was not found"]


def lose_leaf(built: Listing, chance: Random) -> list[str]:
    leaf = chance.choice(leaves(built))
    built.remove(leaf)
    return [f"switch {leaf} was not found"]


def exchange_rails(built: Listing, chance: Random) -> list[str]:
    """Two NICs of a node, at each other's leaf."""
    host = chance.choice([host for host, own in hosts(built).items() if len(own) > 1])
    one, two = chance.sample(hosts(built)[host], 2)
    first, second = built.cut(one, 1), built.cut(two, 1)
    built.join(one, 1, *second)
    built.join(two, 1, *first)
    return [one, two]


def slow_leaf(built: Listing, chance: Random) -> list[str]:
    """At all of its ports, whatever rate the design has there."""
    leaf = chance.choice(leaves(built))
    for port in list(built.links[leaf]):
        built.slow(leaf, port, "4xEDR")
    return [f"{len(built.links[leaf])} links at {leaf} at 4x EDR"]


def fit_a_smaller_switch(built: Listing, chance: Random) -> list[str]:
    """A switch of half the ports and of the generation before, in the place of a leaf: nodes fit, no uplink does."""
    leaf = chance.choice(leaves(built))
    built.ports[leaf] = most = max(built.down(leaf))
    for port in list(built.links[leaf]):
        built.cut(leaf, port) if port > most else built.slow(leaf, port, "4xEDR")
    return [f"switch {leaf} has {most} ports", "run slower than designed"]


FAULTS = [
    *((swap_uplinks, "swapped-cables"), (swap_downlinks, "swapped-cables"), (swap_at_a_spine, "swapped-cables")),
    *((swap_between_parts, "swapped-cables"), (lose_uplink, "missing-cable"), (lose_node_cable, "missing-cable")),
    *((kill_lanes, "slow-link"), (train_low, "slow-link"), (exchange_spines, "exchanged-devices")),
    *((lose_node, "absent-node"), (lose_leaf, "absent-switch"), (exchange_rails, "swapped-cables")),
    *((slow_leaf, "slow-link"), (fit_a_smaller_switch, "other-model")),
]


@pytest.mark.parametrize("design", but_few(FABRICS, "superpod-h100-4su", "pcie-a100-three-tier"))
@pytest.mark.parametrize(("seed", "kind"), FAULTS, ids=[seed.__name__.replace("_", "-") for seed, _ in FAULTS])
def test_a_fault_is_one_finding(seed: Callable[[Listing, Random], list[str]], kind: str, design: str) -> None:
    built = built_as(design)
    words = seed(built, Random(7))
    (cause,) = audited(built, design).causes
    assert cause.kind == kind
    for word in words:
        assert as_printed(design, word) in cause.what
    assert cause.do
    assert cause.effect


@pytest.mark.deep
def test_planes_of_two_rates() -> None:
    """As designed; a leaf, and then all links between leaves and spines, at the rate of the generation before."""
    built = built_as(PLANES)
    assert audited(built, PLANES).causes == ()
    (words,) = slow_leaf(built, Random(7))
    (cause,) = audited(built, PLANES).causes
    assert cause.what.startswith(f"{words}, 100 Gb/s in place of 200 and 400 Gb/s")
    built = built_as(PLANES)
    for leaf in leaves(built):
        for port in built.up(leaf):
            built.slow(leaf, port, "4xHDR")
    (cause,) = audited(built, PLANES).causes
    assert cause.what.startswith("14,400 links between leaf and spine at 4x HDR, 200 Gb/s in place of 400 Gb/s")
    assert "the kind of cable that was laid" in cause.do[0]


@pytest.mark.deep
def test_hosts_at_the_leaf_of_the_other_plane_are_moved_cables() -> None:
    """128 of 188 cables of two leaves are exchanged; their uplinks are right, so the leaves are not exchanged."""
    built = built_as(PLANES)
    one, two = (next(leaf for leaf in leaves(built) if leaf.startswith(plane)) for plane in ("p1", "p2"))
    for port in built.down(one):
        first, second = built.cut(one, port), built.cut(two, port)
        built.join(one, port, *second)
        built.join(two, port, *first)
    (cause,) = audited(built, PLANES).causes
    assert cause.what == f"128 pairs of cables are exchanged between {one} and {two}"


def test_uplinks_of_two_leaves_are_exchanged_between_these() -> None:
    design = "superpod-h100-4su"
    built = built_as(design)
    one, two = leaves(built)[:2]
    for port in built.up(one)[:6]:
        first, second = built.cut(one, port), built.cut(two, port)
        built.join(one, port, *second)
        built.join(two, port, *first)
    (cause,) = audited(built, design).causes
    assert cause.what == f"6 pairs of cables are exchanged between {one} and {two}"
    assert cause.do == tuple(f"exchange {one}/p{port} and {two}/p{port}" for port in built.up(one)[:6])
