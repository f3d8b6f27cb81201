"""Lists for those who build: labels of cables, a map of the ports of every switch to print, and what stands where."""

from __future__ import annotations

import csv
from html import escape
from io import StringIO
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.control_characters import plain_cell
from ffplan.fabric.wiring.network import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ffplan.fabric.wiring.floor import Positions
    from ffplan.interop.exported import Exported
    from ffplan.results.fabric import CableRow, PlainCable

    Row = CableRow | PlainCable
    End = tuple[str, str, str]

_MOST_SWITCHES = 20_000
"""Most switches of a map: it holds every cable at once [1]."""


def _lines(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield lines of CSV."""
    for row in (head, *rows):
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerow(
            [plain_cell(cell) if isinstance(cell, str) else cell for cell in row]
        )
        yield text.getvalue()


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

    return _lines(head, printed())


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

    Args:
        wired: the design, with the networks beside the compute fabric.
        rows: cables of every network.

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


def elevations(wired: Exported, place: Positions) -> Iterator[str]:
    """Yield CSV with what stands in which units of every rack, from the top down, with its rated power [W].

    Args:
        wired: a design with a floor.
        place: where the floor plan puts the devices of the compute fabric.
    """
    floor, groups, network = wired.design.spec.floor, wired.design.groups, wired.fabric.network
    assert floor is not None
    devices: list[tuple[int, str, str, str, int, float | None]] = []
    for number, (name, role) in enumerate(zip(wired.names.switches(), network.switches.role.tolist(), strict=True)):
        model = wired.design.parts.switch_of(ROLES[role])
        rated = model.power_max or model.power
        devices.append((number, name, ROLES[role], model.name, floor.switch_units, rated.value if rated else None))
    for name, ports in wired.names.hosts().items():
        group = groups[int(network.endpoints.group[ports[0]])]
        rated = group.server.power.maximum
        watts, units = rated.value if rated else None, group.group.rack_units or 1
        first = len(network.switches) + int(ports[0])
        devices.append((first, name, group.group.role, group.server.name, units, watts))
    listed = np.array([device[0] for device in devices])
    order = np.lexsort((-place.unit[listed], place.rack[listed], place.row[listed])).tolist()
    head = ("row", "rack", "top_unit", "bottom_unit", "device", "role", "model", "rated_w")
    ranked = (devices[position] for position in order)
    return _lines(
        head,
        (
            (
                int(place.row[index]) + 1,
                int(place.rack[index]) + 1,
                int(place.unit[index]) + units - 1,
                int(place.unit[index]),
                *(name, role, model_name),
                "" if watts is None else f"{watts:g}",
            )
            for index, name, role, model_name, units, watts in ranked
        ),
    )
