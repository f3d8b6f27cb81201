"""Links of a wired fabric by the names of their ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.fabric.wiring.network import TIERS
from ffplan.results.fabric import LinkLoad

if TYPE_CHECKING:
    from ffplan.fabric.routing.link_loads import Outcome, TierLoad
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.network import Network


def port_name(network: Network, names: Names, device: int, port: int) -> str:
    """Return a port as printed: `leaf-01/p3`, `leaf-01/p3/2` of a split one, or `compute-0001/nic0`."""
    first = len(network.switches)
    if device >= first:
        return "/".join(names.endpoint(device - first))
    return f"{names.switch(device)}/p{names.printed.name(device, port)}"


def link_name(network: Network, names: Names, link: int) -> str:
    """Return the two ports that a link joins, the lower one first."""
    k = network.links
    lower = port_name(network, names, int(k.a[link]), int(k.a_port[link]))
    return f"{lower} - {port_name(network, names, int(k.b[link]), int(k.b_port[link]))}"


def link_load(network: Network, names: Names, item: TierLoad) -> LinkLoad:
    """Return the busiest link of a tier with its name."""
    return LinkLoad(
        link=link_name(network, names, item.link),
        tier=item.tier,
        direction=item.direction,
        bytes=item.bytes,
        time_s=item.time_s,
        mean_time_s=item.mean_time_s,
    )


def hottest(network: Network, names: Names, result: Outcome) -> LinkLoad:
    """Return the busiest link of all with its name."""
    return link_load(network, names, max(result.tiers, key=lambda item: (item.time_s, -TIERS.index(item.tier))))
