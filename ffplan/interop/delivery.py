"""Lists for installation: cable labels, port sheets of switches, rack contents, and the order of work."""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from ffplan.base.hostlist import fold
from ffplan.base.plain import csv_parts
from ffplan.base.record import record
from ffplan.fabric.wiring.network import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ffplan.catalog.evidence import Figure
    from ffplan.fabric.wiring.floor import Positions
    from ffplan.interop.exported import Exported
    from ffplan.results.fabric import CableRow, PlainCable

    Row = CableRow | PlainCable
    End = tuple[str, str, str]
    Racks = tuple[tuple[int, ...], ...]

_MOST_SWITCHES = 20_000
"""Most switches of a map: it holds every cable at once [1]."""


def _ends(row: Row) -> tuple[End, End]:
    """Return device, port and place of both ends of a leg; no place without a floor."""
    places = (getattr(row, "from_place", None) or "", getattr(row, "to_place", None) or "")
    return (row.from_device, row.from_port, places[0]), (row.to_device, row.to_port, places[1])


def _plugs(legs: Iterable[Row]) -> dict[tuple[str, str], list[tuple[End, End]]]:
    """Return the plugs of a cable by device and whole port, each with the legs in it: this end, and the other."""
    plugs: dict[tuple[str, str], list[tuple[End, End]]] = {}
    for row in legs:
        lower, upper = _ends(row)
        for here, there in ((lower, upper), (upper, lower)):
            plugs.setdefault((here[0], here[1].partition("/")[0]), []).append((here, there))
    return plugs


def labels(rows: Iterable[Row]) -> Iterator[str]:
    """Yield CSV with a row for each plug: what to print on it, of this end and of the other.

    Args:
        rows: cables of every network, the legs of a cable one behind the other.
    """
    head = ("label", "network", "device", "port", "place", "far_device", "far_port", "far_place")

    def printed() -> Iterator[tuple[str, ...]]:
        for (network, label), legs in groupby(rows, lambda row: (row.network, row.label)):
            for (device, port), ends in _plugs(legs).items():
                here = (device, port if len(ends) > 1 else ends[0][0][1], ends[0][0][2])
                yield (
                    label,
                    network,
                    *here,
                    *("; ".join(words) for words in zip(*(far for _, far in ends), strict=True)),
                )

    return csv_parts(head, printed())


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}: ports</title><style>
body{{font:11px system-ui,sans-serif;margin:1em}} section{{break-after:page}} h2{{margin:0}}
table{{border-collapse:collapse;width:100%}} th,td{{border:1px solid #888;padding:1px 5px;text-align:left}}
tr{{break-inside:avoid}} thead{{display:table-header-group}}
</style></head><body>
"""
_BEHIND = 1 << 30
"""Place of ports without a number, such as `mgmt0`."""
_HEADS = ("port", "cable", "to", "its port", "its place", "type", "length", "done")


def port_map(wired: Exported, rows: Iterable[Row]) -> Iterator[str]:
    """Yield HTML that prints a page or more for every switch: what is plugged into each port, and which stay free.

    Raises:
        ValueError: if there are too many switches.
    """
    switches = [
        (name, network.design.parts.switch_of(ROLES[role]))
        for network in wired.networks
        for name, role in zip(network.names.switches(), network.fabric.network.switches.role.tolist(), strict=True)
    ]
    if len(switches) > _MOST_SWITCHES:
        raise ValueError(f"{len(switches):,} switches; a map is made of {_MOST_SWITCHES:,} at most")
    plugged: dict[str, list[tuple[tuple[int, int], str, Row, End, End]]] = {name: [] for name, _ in switches}
    for row in rows:
        lower, upper = _ends(row)
        for here, there in ((lower, upper), (upper, lower)):
            if here[0] in plugged:
                whole, _, part = here[1].partition("/")
                number = (int(whole), int(part or 0)) if whole.isdecimal() else (_BEHIND, 0)
                plugged[here[0]].append((number, here[1], row, here, there))
    yield _PAGE.format(title=escape(wired.design.spec.name))
    for name, model in switches:
        used = sorted(plugged.pop(name), key=lambda plug: plug[0])
        place = used[0][3][2] if used else ""
        free = sorted({*range(1, model.ports.value + 1)} - {place[0] for place, *_ in used})
        words = " · ".join(word for word in (model.name, place, f"free: {_ranges(free) or 'none'}") if word)
        heads = "".join(f'<th scope="col">{head}</th>' for head in _HEADS)
        yield f"<section><h2>{escape(name)}</h2><p>{escape(words)}</p>\n<table><thead><tr>{heads}</tr></thead><tbody>\n"
        for _, port, row, _, (device, far_port, far_place) in used:
            length = getattr(row, "length_m", None)
            cells = (port, row.label, device, far_port, far_place, row.type, f"{length:g} m" if length else "", "")
            yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>\n"
        yield "</tbody></table></section>\n"
    yield "</body></html>\n"


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers in rising order as `1-4, 7`."""
    runs = [[number for _, number in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


@record
class _Placed:
    name: str
    role: str
    model: str
    rack: tuple[int, int]
    """Row and rack, counted from 1."""
    unit: int
    """Lowest unit."""
    units: int
    rated_w: float | None


def _placed(wired: Exported, place: Positions) -> list[_Placed]:
    """Return the devices by row and rack, in each from the top down."""
    floor, groups, network = wired.design.spec.floor, wired.design.groups, wired.fabric.network
    assert floor is not None
    devices: list[_Placed] = []

    def add(index: int, name: str, role: str, model: str, units: int, rated: Figure | None) -> None:
        rack = (int(place.row[index]) + 1, int(place.rack[index]) + 1)
        watts = rated.value if rated else None
        devices.append(
            _Placed(
                name=name, role=role, model=model, rack=rack, unit=int(place.unit[index]), units=units, rated_w=watts
            )
        )

    for number, (name, role) in enumerate(zip(wired.names.switches(), network.switches.role.tolist(), strict=True)):
        switch = wired.design.parts.switch_of(ROLES[role])
        add(number, name, ROLES[role], switch.name, floor.switch_units, switch.power_max or switch.power)
    for name, ports in wired.names.hosts().items():
        group = groups[int(network.endpoints.group[ports[0]])]
        number, server = len(network.switches) + int(ports[0]), group.server
        add(number, name, group.group.role, server.name, group.height, server.power.maximum)
    return sorted(devices, key=lambda device: (device.rack, -device.unit))


def elevations(wired: Exported, place: Positions) -> Iterator[str]:
    """Yield CSV with the contents of every rack by unit, from the top down, with rated power [W].

    Args:
        place: where the floor plan puts the devices of the compute fabric.
    """
    head = ("row", "rack", "top_unit", "bottom_unit", "device", "role", "model", "rated_w")
    rows = (
        (
            *(*device.rack, device.unit + device.units - 1, device.unit, device.name, device.role, device.model),
            "" if device.rated_w is None else f"{device.rated_w:g}",
        )
        for device in _placed(wired, place)
    )
    return csv_parts(head, rows)


def installation(wired: Exported, place: Positions, rows: Iterable[CableRow]) -> Iterator[str]:
    """Yield CSV with the steps of an installation: racks of switches, the cables between them, then rack after rack of
    nodes, each with its cables; cables to what the floor plan does not place come last.

    A split cable is one cable, laid once the last of its racks stands.

    Args:
        place: where the floor plan puts the devices of the compute fabric.
    """
    racks: dict[tuple[bool, tuple[int, int]], list[str]] = {}
    for device in _placed(wired, place):
        racks.setdefault((device.role not in ROLES, device.rack), []).append(device.name)
    switches = {name for network in wired.networks for name in network.names.switches()}
    runs: dict[tuple[bool, Racks, Racks], dict[tuple[str, str], float]] = {}
    for cable, legs in groupby(rows, lambda row: (row.network, row.label)):
        first, *others = legs
        ends = [(_rack_of(row.from_place), _rack_of(row.to_place)) for row in (first, *others)]
        near, far = (tuple(sorted(set(side))) for side in zip(*ends, strict=True))
        run = runs.setdefault((first.from_device not in switches, near, far), {})
        run[cable] = first.length_m or 0.0
    steps: list[tuple[tuple[object, ...], tuple[object, ...]]] = []
    for (nodes, rack), names in racks.items():
        what = "mount nodes" if nodes else "mount switches"
        steps.append(((2 * nodes, rack, 0, ()), (what, _rack_words(rack), "", len(names), "", fold(names))))
    for (nodes, near, far), cables in runs.items():
        rank = (2 if nodes else 1, near[-1], 1, (far, near)) if all(near + far) else (4, near[-1], 1, (far, near))
        what, metres = "plug cables of nodes" if nodes else "pull cables between switches", f"{sum(cables.values()):g}"
        here, there = ("; ".join(map(_rack_words, racks)) for racks in (near, far))
        words = (what, here, there, len(cables), metres, fold([label for _, label in cables]))
        steps.append((rank, words))
    steps.sort(key=lambda step: step[0])
    head = ("step", "task", "rack", "to_rack", "count", "length_m", "items")
    return csv_parts(head, ((number, *words) for number, (_, words) in enumerate(steps, 1)))


def _rack_of(place: str | None) -> tuple[int, ...]:
    """Return row and rack of a place such as `row 1 rack 5 U47`; empty for none."""
    return tuple(int(word) for word in (place or "").split()[1:4:2])


def _rack_words(rack: tuple[int, ...]) -> str:
    return f"row {rack[0]} rack {rack[1]}" if rack else "not placed"
