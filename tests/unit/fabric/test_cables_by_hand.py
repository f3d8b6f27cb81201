"""Lengths, types, splits and pieces of the cables of a few devices, worked by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ffplan.base.errors import InputError
from ffplan.catalog.parts import Link
from ffplan.catalog.store import Catalog
from ffplan.fabric.sizing.fat_tree import _build_tree, _TreeRule
from ffplan.fabric.wiring import cabling
from ffplan.fabric.wiring.cabling import CableTable, _first_of_cables, _ranked, cables, quantities
from ffplan.fabric.wiring.floor import Positions
from ffplan.fabric.wiring.links import _pods_of_switches
from ffplan.fabric.wiring.names import _PrintedPorts
from ffplan.fabric.wiring.network import CORE, INTERZONE, LEAF, SPINE, _LinkTable
from tests.support import document

FLOOR = SimpleNamespace(row_pitch=3.0, rack_width=0.6, riser=1.5, slack=1.0)


def links_named(*names: str) -> tuple[Link, ...]:
    parts = [Catalog().entry(name).part for name in names]
    assert all(isinstance(part, Link) for part in parts)
    return tuple(part for part in parts if isinstance(part, Link))


def design(
    *names: str,
    below: int = 1,
    above: int = 1,
    spine: int | None = None,
    core: int | None = None,
    rates: tuple[float, float] = (50.0, 50.0),
) -> Any:
    """Return a design whose leaf ports are split in `below` for endpoints and `above` for uplinks."""
    of_role = {"spine": spine or above, "core": core or spine or above}
    return SimpleNamespace(
        spec=SimpleNamespace(floor=FLOOR, fabric=SimpleNamespace(breakout=below)),
        uplink_breakout=above,
        breakout_of=of_role.__getitem__,
        port_gbyte_s=rates[0],
        link_gbyte_s=rates[1],
        prices=None,
        cable_choices=links_named(*names),
        parts=SimpleNamespace(endpoint_link=None, inter_switch_link=None),
        document=document("floor:\n  links: []\n"),
    )


def fabric(*rows: tuple[int, int, int], trees: tuple[Any, ...] = ()) -> Any:
    """Return links of (upper device, its port, tier); the lower device of link n is n."""
    b, port, tier = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    table = _LinkTable(
        a=np.arange(len(rows), dtype=np.int32),
        a_port=np.zeros(len(rows), np.int16),
        b=b,
        b_port=port.astype(np.int16),
        tier=tier.astype(np.int8),
        gbyte_s=np.zeros(len(rows), np.float32),
    )
    return SimpleNamespace(network=SimpleNamespace(links=table), trees=trees)


def tree(endpoints: int, first: int, *, tiers: int = 2, uplinks: int = 4, splits: tuple[int, int] = (2, 2)) -> Any:
    """Return a tree of eight-port switches whose links from leaf to spine begin with number `first`."""
    rule = _TreeRule(
        tiers=tiers, radix=8, uplinks=uplinks, rails=1, core_policy="minimal", splits=splits, leaf_down=8 - uplinks
    )
    return SimpleNamespace(tree=_build_tree(rule, endpoints), first_leaf_spine=first)


ENDS = [(20, 0, 0), (20, 1, 0), (20, 2, 0), (21, 0, 0)]
"""Three endpoints on one leaf, and one on another."""
UP = [(30, port, 1) for port in range(8)]
"""Two leaves with four links each to one spine."""
BEYOND = [(40, 0, 3), (40, 1, 3)]
"""Two links to a switch between zones."""


@pytest.mark.parametrize(
    ("below", "above", "spine", "splits", "first"),
    [
        (1, 1, 1, (1, 1), list(range(14))),
        (2, 2, 2, (2, 2), [0, 2, 3, 4, 6, 8, 10, 12, 13]),
        (2, 1, 1, (2, 1), [0, 2, 3, *range(4, 14)]),
        (2, 2, 1, (2, 2), [0, 2, 3, *range(4, 14)]),  # the spine's ports are whole
        (1, 2, 2, (1, 2), [0, 1, 2, 3, 4, 6, 8, 10, 12, 13]),
        (4, 4, 4, (4, 4), [0, 3, 4, 8, 12, 13]),
    ],
)
def test_parts_of_a_whole_port_share_a_cable(
    below: int, above: int, spine: int, splits: tuple[int, int], first: list[int]
) -> None:
    own = fabric(*ENDS, *UP, *BEYOND, trees=(tree(8, 4, splits=splits),))
    start, cable = _first_of_cables(design(below=below, above=above, spine=spine), own)
    assert start.tolist() == first
    assert cable.tolist() == [max(n for n, at in enumerate(first) if at <= link) for link in range(14)]


def test_uplinks_that_begin_on_half_a_port_have_a_cable_each() -> None:
    """Five downlinks and three uplinks: the first uplink is the other half of the last downlink's port."""
    own = fabric(*ENDS, *UP[:6], trees=(tree(10, 4, uplinks=3),))
    assert _first_of_cables(design(below=2, above=2), own)[0].tolist() == [0, 2, 3, *range(4, 10)]


def test_links_of_a_smaller_last_pod_may_share_cables_alone() -> None:
    """A pod of four leaves and four spines has one link from each to each; one of two and two has two, in pairs."""
    rows = [(30 + link % 4, link // 4, 1) for link in range(16)] + [
        (40 + g // 2, 2 * leaf + g % 2, 1) for leaf in range(2) for g in range(4)
    ]
    own = fabric(*ENDS, *rows, trees=(tree(24, 4, tiers=3),))
    first, _ = _first_of_cables(design(below=2, above=2), own)
    assert first.tolist() == [0, 2, 3, *range(4, 20), 20, 22, 24, 26]


def prices(**items: float) -> Any:
    return SimpleNamespace(
        items={name.replace("_", "-"): SimpleNamespace(value=value) for name, value in items.items()}
    )


def test_the_cheapest_cable_comes_first() -> None:
    """By price where all have one, else copper before active cables before optics; then by reach and name."""
    own = design("400g-dr4", "hdr-aoc", "400g-aoc", "hdr-dac", "400g-dac")
    order = ["400g-dac", "hdr-dac", "400g-aoc", "hdr-aoc", "400g-dr4"]
    assert [link.id for link in _ranked(own)] == order
    own.prices = SimpleNamespace(items={"400g-dr4": SimpleNamespace(value=1.0)})
    assert [link.id for link in _ranked(own)] == order
    costs = {"400g-dr4": 1.0, "hdr-aoc": 3.0, "400g-aoc": 2.0, "hdr-dac": 2.0, "400g-dac": 5.0}
    own.prices = SimpleNamespace(items={name: SimpleNamespace(value=cost) for name, cost in costs.items()})
    assert [link.id for link in _ranked(own)] == ["400g-dr4", "hdr-dac", "400g-aoc", "hdr-aoc", "400g-dac"]


PLACES = {  # row, rack and unit of each device
    0: (1, 3, 11),
    1: (1, 4, 1),
    2: (2, 3, 1),
    3: (1, 43, 1),
    4: (6, 23, 1),
    5: (1, 3, 23),
    6: (1, 3, 24),
    7: (1, 3, 1),
}


def placed(monkeypatch: pytest.MonkeyPatch, own: Any, *rows: tuple[int, int, int]) -> CableTable:
    columns = [np.array(column) for column in zip(*PLACES.values(), strict=True)]
    places = Positions(row=columns[0], rack=columns[1], unit=columns[2], rows=7)
    monkeypatch.setattr(cabling, "positions", lambda *_: places)
    return cables(own, fabric(*rows))


EACH = [(7, port, int(port > 2)) for port in range(7)]
"""A link of each of seven devices to the eighth: three of endpoints, four between switches."""


def test_lengths_and_types_follow_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 m to spare; 10, 22 and 23 units within a rack; 2 x 1.5 m up and down, 3 m a row and 0.6 m a rack beyond it.

    Cables come in steps of 0.5 m: 1.44 m is 1.5, 1.98 is the 2 m that copper reaches, 2.02 is 2.5; 28 m is an active
    cable, 31 m is optics.
    """
    found = placed(monkeypatch, design("400g-dr4", "400g-aoc", "400g-dac"), *EACH)
    assert found.length_m == pytest.approx([1.5, 5.0, 7.0, 28.0, 31.0, 2.0, 2.5])
    names = [found.types[kind].id for kind in found.kind]
    assert names == ["400g-dac", "400g-aoc", "400g-aoc", "400g-aoc", "400g-dr4", "400g-dac", "400g-aoc"]
    assert found.tier.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert found.pieces.tolist() == [1.0] * 7
    assert len(found) == 7


def test_a_cable_carries_its_whole_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """25 GB/s of an endpoint on a whole port take 200 Gb/s of copper; on half a port, and above, 400."""
    rows = [(7, 0, 0), (7, 1, 0), (7, 2, 1)]
    for below, above, names in (
        (1, 1, ["hdr-dac", "hdr-aoc", "400g-aoc"]),
        (1, 2, ["hdr-dac", "hdr-aoc", "400g-aoc"]),
        (2, 1, ["400g-aoc", "400g-aoc"]),  # both ends share one, as long as the longer
    ):
        own = design("400g-aoc", "hdr-dac", "hdr-aoc", below=below, above=above, rates=(25.0, 50.0 / above))
        own.prices = prices(hdr_dac=1.0, hdr_aoc=2.0)
        own.prices.items["400g-aoc"] = SimpleNamespace(value=3.0)
        found = placed(monkeypatch, own, *rows)
        assert [found.types[kind].id for kind in found.kind] == names
        assert found.length_m == pytest.approx([5.0, 7.0] if below == 2 else [1.5, 5.0, 7.0])


def test_what_is_too_long_or_too_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError) as short:
        placed(monkeypatch, design("400g-dac", "400g-aoc", "hdr-aoc"), *EACH)
    assert short.value.findings[0].message == (
        "1 cables, the longest of 31 m, are longer than any of these links reaches; `400g-aoc` reaches 30 m"
    )
    for rate, words in ((50.0, "400"), (25.5, "204")):
        with pytest.raises(InputError) as slow:
            placed(monkeypatch, design("hdr-aoc", rates=(rate, 25.0)), *EACH[:3])
        assert slow.value.findings[0].message == f"none of these links runs at the {words} Gb/s of the ports"


@pytest.mark.parametrize(
    ("splits", "tiers", "pieces"),
    [
        ((2, 2), [0, 1, 2, 3, 5], [1, 1 / 2, 1 / 2, 1, 1 / 2]),
        ((2, 1), [0, 1, 2, 3, 5], [1, 1, 1, 1, 1]),  # whole ports of spines
        ((4, 4), [0, 1, 2, 3, 4], [1, 1 / 4, 1 / 4, 1, 1 / 4]),
    ],
)
def test_halves_of_modules(splits: tuple[int, int], tiers: list[int], pieces: list[float]) -> None:
    """A module of optics serves a whole port, whichever way its halves lead; endpoints and zones take whole ones."""
    above, spine = splits
    own = fabric(*((7, port, tier) for port, tier in enumerate(tiers)))
    link = np.arange(len(tiers))
    given = design(above=above, spine=spine)
    assert cabling._pieces(given, own, link, [True] * len(tiers)).tolist() == pieces
    assert cabling._pieces(given, own, link, [False] * len(tiers)).tolist() == [1.0] * len(tiers)


def test_cores_of_another_split_share_no_modules_with_spines() -> None:
    own = fabric((7, 0, 1), (7, 1, 2))
    given = design(above=2, spine=2, core=4)
    assert cabling._pieces(given, own, np.arange(2), [True, True]).tolist() == [0.5, 1.0]


def test_links_that_share_cables_share_modules_already() -> None:
    own = fabric(*ENDS, *UP, trees=(tree(8, 4),))
    link, _ = _first_of_cables(design(below=2, above=2), own)
    assert cabling._pieces(design(below=2, above=2), own, link, [True] * 7).tolist() == [1.0] * 7


def test_pieces_are_bought_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two halves of optics and one of another tier are two pieces; tiers are counted apart, and then added."""
    table = SimpleNamespace(
        length_m=None,
        kind=np.array([0, 0, 1, 1, 1, 0]),
        tier=np.array([0, 0, 1, 2, 1, 3]),
        pieces=np.array([1.0, 1.0, 0.5, 0.5, 0.5, 1.0]),
        types=links_named("400g-dac", "400g-dr4", "400g-aoc"),
    )
    monkeypatch.setattr(cabling, "cables", lambda *_: table)
    nothing: Any = None
    assert quantities(nothing, nothing) == {
        ("endpoint-links", "400g-dac"): 2,
        ("inter-switch-links", "400g-dac"): 1,
        ("inter-switch-links", "400g-dr4"): 2,
    }


def ports(splits: tuple[int, int], leaf_down: int) -> _PrintedPorts:
    """Return a leaf, a spine, a core and an inter-zone switch whose ports are split in 4, 2, 1 and 4."""
    below, above = splits
    return _PrintedPorts(
        role=[LEAF, SPINE, CORE, INTERZONE], split=(below, 2, 1, 4, 4), leaf_down=leaf_down, leaf_up_split=above
    )


@pytest.mark.parametrize(("port", "place"), [(0, (1, 1, 4)), (9, (3, 2, 4)), (10, (3, 3, 4)), (12, (4, 1, 4))])
def test_uplinks_of_the_same_split_share_ports_with_downlinks(port: int, place: tuple[int, int, int]) -> None:
    assert ports((4, 4), 10).place(0, port) == place


@pytest.mark.parametrize(
    ("tiers", "endpoints", "pods"),
    [
        (1, 8, [0]),
        (2, 16, [0] * 4 + [0] * 2),
        # pods of four leaves and four spines; two whole ones hold 32 endpoints, with two cores to each group
        (3, 32, [0] * 4 + [1] * 4 + [0] * 4 + [1] * 4 + [-1] * 4),
        # 36 endpoints: one leaf more, in a third pod with a spine of its own
        (3, 36, [0] * 4 + [1] * 4 + [2] + [0] * 4 + [1] * 4 + [2] + [-1] * 5),
        # 24: one whole pod, and two leaves with their spines
        (3, 24, [0] * 4 + [1] * 2 + [0] * 4 + [1] * 2 + [-1] * 3),
        # 8: two leaves below one pod
        (3, 8, [0] * 2 + [0] * 2 + [-1] * 1),
    ],
)
def test_pods_of_switches_of_eight_ports(tiers: int, endpoints: int, pods: list[int]) -> None:
    """Leaves, then spines, then cores, which are in no pod."""
    rule = _TreeRule(tiers=tiers, radix=8, uplinks=4 if tiers > 1 else 0, rails=1, core_policy="minimal")
    assert _pods_of_switches(_build_tree(rule, endpoints)).tolist() == pods
