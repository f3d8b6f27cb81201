"""The cables of a fabric from port to port, as lists for installers and inventories have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.catalog.parts import Link

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.fabric.wiring.cabling import CableTable
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.network import Network


@record
class CableLeg:
    """A cable, or one leg of a split one."""

    label: str
    """What stands on both ends; the legs of a cable share it."""
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
    """Return the label on both ends of a cable, in every list and inventory, such as `C0041` or `storage-C041`.

    Args:
        names: names of the devices of its network.
        number: number of the cable, from 0 [1].
        count: cables of the network [1].
    """
    return f"{names.prefix}C{number + 1:0{len(str(count))}}"


def cable_legs(network: Network, names: Names, table: CableTable) -> Iterator[CableLeg]:
    """Yield every link as a cable, or as a leg of the cable that it shares with others, cable by cable.

    Args:
        network: the network, port by port.
        names: names of its devices.
    """
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
