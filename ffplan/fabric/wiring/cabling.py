"""Length, type and ends of every cable, also as lists from port to port for installers and inventories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import Floats, Ints
from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.catalog.parts import Link
from ffplan.fabric.sizing.leaf_fill import _module_splits, _pair_split, _whole_pairs
from ffplan.fabric.wiring.floor import Positions, positions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ffplan.base.errors import Finding
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.schema import Floor
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.network import Network
    from ffplan.fabric.wiring.wiring import WiredFabric


UNIT_M = 0.04445
"""Height of a rack unit [m] (EIA-310)."""
STEP_M = 0.5
"""Cables are ordered in steps of this length [m]."""
_MEDIA = ("dac", "aoc", "optics")


@record
class CableTable:
    """One row per cable; with breakout, a cable holds several links."""

    link: Ints
    """Number of its first link."""
    of_link: Ints
    """Cable of every link, shape (links,)."""
    length_m: Floats | None
    """Length to order [m]; None without a floor."""
    kind: Ints
    """Position in `types`."""
    tier: Ints
    pieces: Floats
    """Pieces of the type for each cable: 0.5 with shared twin-port modules [1]."""
    types: tuple[Link, ...]
    places: Positions | None
    """Place of every device; None without a floor."""

    def __len__(self) -> int:
        return len(self.link)


def _cable_length(
    rows: Any,
    racks: Any,
    units: Any,
    same_rack: Any,
    *,
    row_pitch: float,
    rack_width: float,
    riser: float,
    slack: float,
) -> Any:
    """Return the length of a cable between two places [m].

    Args:
        rows: rows between them [1].
        racks: racks between them along a row [1].
        units: rack units between them [1].
        row_pitch: distance of rows [m].
        rack_width: distance of racks [m].
        riser: way up to the cable tray, at each end [m].
        slack: spare length [m].

    Equation:
        slack + units * 0.04445 m within a rack; slack + 2 riser + rows * row_pitch + racks * rack_width otherwise

    Source:
        Geometry of trays along and across rows; EIA-310 for the rack unit.
    """
    # up to the tray and down again
    across = 2 * riser + rows * row_pitch + racks * rack_width
    return slack + np.where(same_rack, units * UNIT_M, across)


def _ranked(design: ResolvedDesign) -> tuple[Link, ...]:
    """Return the cables to choose from, cheapest first: by price where all are priced, else by medium; then by
    reach."""
    book = design.prices
    priced = book is not None and all(link.id in book.items for link in design.cable_choices)

    def key(link: Link) -> tuple[float, float, str]:
        cost = float(book.items[link.id].value) if priced and book else float(_MEDIA.index(link.medium))
        return cost, link.reach.value, link.id

    return tuple(sorted(design.cable_choices, key=key))


def _paired(fabric: WiredFabric, split: int) -> NDArray[np.bool_]:
    """Return True for links between leaf and spine that share a whole port with their neighbours at both ends, shape
    (links,)."""
    paired: NDArray[np.bool_] = np.zeros(len(fabric.network.links), bool)
    for wired in fabric.trees:
        tree = wired.tree
        full = tree.full_pods * tree.pod.leaves if tree.pod else 0
        for pod, first, count in ((tree.pod, 0, full), (tree.last_pod, full, tree.leaf - full)):
            if pod is not None and _whole_pairs(tree.rule, pod, split):
                start = wired.first_leaf_spine + first * tree.rule.uplinks
                paired[start : start + count * tree.rule.uplinks] = True
    return paired


def _first_of_cables(design: ResolvedDesign, fabric: WiredFabric) -> tuple[Ints, Ints]:
    """Return the number of the first link of each cable, and the cable of each link.

    The endpoints on one whole leaf port share a cable that is split at their end. Links between leaf and spine share
    one where all of a pod share whole ports at both ends; otherwise, and further up, each link has its own.
    """
    k, split, pairs = fabric.network.links, design.spec.fabric.breakout, _pair_split(design)
    if split == pairs == 1:
        every = np.arange(len(k))
        return every, every
    whole = np.where(k.tier == 0, split, np.where(_paired(fabric, pairs), pairs, 1))
    # upper device and its first port of the whole one: links with one key share a cable
    key = k.b.astype(np.int64) << 16 | k.b_port // whole * whole
    _, first, cable = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[cable.ravel()]


def cables(design: ResolvedDesign, fabric: WiredFabric) -> CableTable:
    """Return every cable of a design: the link that it names for the tier; with a floor, places, the length and the
    cheapest type that reaches.

    Raises:
        InputError: if something does not fit its rack, or no type reaches.
    """
    link, cable = _first_of_cables(design, fabric)
    tier = fabric.network.links.tier[link]
    floor, place, length = design.spec.floor, None, None
    types: tuple[Link, ...] = (design.parts.endpoint_link, design.parts.inter_switch_link)
    kind = (tier > 0).astype(np.int64)
    if floor is not None:
        place, types = positions(design, fabric), _ranked(design)
        length = _lengths(fabric, floor, place, cable)
        kind = _reaching(design, types, tier, length)
    return CableTable(
        link=link,
        of_link=cable,
        length_m=length,
        kind=kind,
        tier=tier,
        pieces=_pieces(design, fabric, link, [types[n].medium == "optics" for n in kind.tolist()]),
        types=types,
        places=place,
    )


def _lengths(fabric: WiredFabric, floor: Floor, place: Positions, cable: Ints) -> Floats:
    """Return the length to order of each cable [m]; a split one reaches its farthest end."""
    a, b = fabric.network.links.a, fabric.network.links.b
    rows, racks = np.abs(place.row[a] - place.row[b]), np.abs(place.rack[a] - place.rack[b])
    length = _cable_length(
        rows,
        racks,
        np.abs(place.unit[a] - place.unit[b]),
        (rows == 0) & (racks == 0),
        row_pitch=floor.row_pitch,
        rack_width=floor.rack_width,
        riser=floor.riser,
        slack=floor.slack,
    )
    longest = np.zeros(int(cable.max(initial=-1)) + 1)
    np.maximum.at(longest, cable, length)
    # less a hair: a length of exactly a step, summed from floats, must not become the next one
    return np.asarray(np.ceil(longest / STEP_M - 1e-9) * STEP_M)


def _reaching(design: ResolvedDesign, types: tuple[Link, ...], tier: Ints, length: Floats) -> Ints:
    """Return the first type that reaches and is as fast as the ports, of each cable."""
    need = design.port_gbyte_s * design.spec.fabric.breakout, design.link_gbyte_s * design.uplink_breakout
    rate = np.where(tier == 0, *need)
    # lengths are sums of floats: a cable of exactly the reach must fit
    fits = np.stack([(length <= link.reach.value + 1e-9) & (link.rate.value >= rate - 1e-9) for link in types], axis=1)
    if not fits.any(axis=1).all():
        fast = [link for link in types if link.rate.value >= rate.max() - 1e-9]
        raise InputError(_too_long(design, length[~fits.any(axis=1)], fast) if fast else _too_slow(design, rate.max()))
    return np.asarray(fits.argmax(axis=1))


def _pieces(design: ResolvedDesign, fabric: WiredFabric, link: Ints, optics: list[bool]) -> Floats:
    """Return the pieces that each cable takes [1]: modules serve whole ports, whichever way their halves lead."""
    tier = fabric.network.links.tier[link]
    below, above = _module_splits(design)
    apart = ~_paired(fabric, below)[link] & np.array(optics)
    split = np.select([(tier == 1) | (tier > 3), tier == 2], [below, above], 1)
    return np.where(apart, 1.0 / split, 1.0)


def _too_slow(design: ResolvedDesign, gbyte_s: float) -> Finding:
    return design.document.finding(
        "fabric-cable-length",
        ("floor", "links"),
        f"none of these links runs at the {gbyte_s * 8:g} Gb/s of the ports",
        "add a link of that rate",
    )


def _too_long(design: ResolvedDesign, lengths: Floats, types: list[Link]) -> Finding:
    reach = max(types, key=lambda link: link.reach.value)
    return design.document.finding(
        "fabric-cable-length",
        ("floor", "links"),
        f"{len(lengths):,} cables, the longest of {lengths.max():g} m, are longer than any of these links reaches; "
        f"`{reach.id}` reaches {reach.reach.value:g} m",
        "add a link that reaches further, or bring the racks closer together",
    )


def pieces_sold(table: CableTable) -> Iterator[tuple[int, int, int]]:
    """Yield tier, position in `types` and pieces of the cables of a fabric, as they are sold."""
    # rounded up by tier and type, as a shared module is bought whole
    for tier in np.flatnonzero(np.bincount(table.tier)).tolist():  # `unique` would load masked arrays
        inside = table.tier == tier
        pieces = np.bincount(table.kind[inside], weights=table.pieces[inside], minlength=len(table.types))
        for kind, count in enumerate(np.ceil(pieces - 1e-6).astype(int).tolist()):
            if count:
                yield tier, kind, count


def quantities(design: ResolvedDesign, fabric: WiredFabric) -> dict[tuple[str, str], int]:
    """Return the pieces of each type to endpoints and between switches, by (category, catalogue id)."""
    table = cables(design, fabric)
    counts: dict[tuple[str, str], int] = {}
    for tier, kind, count in pieces_sold(table):
        key = "inter-switch-links" if tier else "endpoint-links", table.types[kind].id
        counts[key] = counts.get(key, 0) + count
    return counts


@record
class CableLeg:
    """A cable, or one leg of a split one."""

    label: str
    """Text on both ends; the legs of a cable share it."""
    lower: tuple[str, str]
    """Device and port at the lower end, the part of a split port after a slash."""
    upper: tuple[str, str]
    """Device and port at the upper end."""
    type: Link
    length_m: float | None
    """Length to order [m]; None if the design has no floor."""
    link: int
    """Number of its link in the network [1]."""


def _cable_label(names: Names, number: int, count: int) -> str:
    """Return the label on both ends of a cable, in every list and inventory, such as `C0041` or `storage-C041`."""
    return f"{names.prefix}C{number + 1:0{len(str(count))}}"


def cable_legs(network: Network, names: Names, table: CableTable) -> Iterator[CableLeg]:
    """Yield every link as a cable, or as a leg of the cable that it shares with others, cable by cable."""
    first, switches, endpoints = len(network.switches), names.switches(), names.endpoints()
    kinds = table.kind.tolist()
    lengths = None if table.length_m is None else table.length_m.tolist()

    def end(device: int, port: int) -> tuple[str, str]:
        return endpoints[device - first] if device >= first else (switches[device], names.printed.name(device, port))

    order = np.argsort(table.of_link, kind="stable")
    rows = network.links.rows(order, "a", "a_port", "b", "b_port")
    cables, numbers = table.of_link[order].tolist(), order.tolist()
    for (a, a_port, b, b_port), cable, link in zip(rows, cables, numbers, strict=True):
        yield CableLeg(
            label=_cable_label(names, cable, len(table)),
            lower=end(a, a_port),
            upper=end(b, b_port),
            type=table.types[kinds[cable]],
            length_m=None if lengths is None else lengths[cable],
            link=link,
        )
