"""A fabric as files that virtual labs and link checkers read: containerlab, and PTM's topology.dot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.interop.exported import Exported

MOST_NODES = 2_000
"""Most nodes of a lab: each is a container."""


def _ends(wired: Exported) -> Iterator[tuple[tuple[str, int, str], tuple[str, int, str]]]:
    """Yield the ends of every link, the upper first: device or host, port from 1, parts counted, and its name."""
    k, first = wired.fabric.network.links, len(wired.fabric.network.switches)
    switches, endpoints = wired.names.switches(), wired.names.endpoints()
    number: dict[tuple[str, str], int] = {}
    counts: dict[str, int] = {}
    for host, port in endpoints:
        counts[host] = number[host, port] = counts.get(host, 0) + 1
    for a, p, b, q in k.rows(np.arange(len(k)), "a", "a_port", "b", "b_port"):
        upper = (switches[b], q + 1, _swp(wired, b, q))
        if a >= first:
            host, port = endpoints[a - first]
            yield upper, (host, number[host, port], port)
        else:
            yield upper, (switches[a], p + 1, _swp(wired, a, p))


def _swp(wired: Exported, switch: int, port: int) -> str:
    """Return the name of a port under Cumulus Linux: `swp7`, or `swp7s1` for the second part of a split one."""
    whole, part, split = wired.names.printed.place(switch, port)
    return f"swp{whole}" if split == 1 else f"swp{whole}s{part - 1}"


def containerlab(wired: Exported) -> str:
    """Return a containerlab topology: a container for every switch and node, `ethN` for port N.

    Args:
        wired: the design.

    Raises:
        ValueError: where the fabric has more nodes than a lab can hold.
    """
    nodes = [*wired.names.switches(), *wired.names.hosts()]
    if len(nodes) > MOST_NODES:
        raise ValueError(f"{len(nodes):,} containers; a lab holds {MOST_NODES:,}: make a design of a small pod")
    name = "".join(sign if sign.isalnum() else "_" for sign in wired.design.spec.name)
    lines = [f"name: {name}", "topology:", "  kinds:", "    linux: {image: alpine:3}", "  nodes:"]
    lines += [f"    {node}: {{kind: linux}}" for node in nodes]
    lines.append("  links:")
    for (switch, port, _), (device, other, _) in _ends(wired):
        lines.append(f'    - endpoints: ["{switch}:eth{port}", "{device}:eth{other}"]')
    return "\n".join(lines) + "\n"


def topology_dot(wired: Exported) -> Iterator[str]:
    """Yield a topology.dot of PTM: `swpN` of switches, parts of split ports as `swpNsM`, and the names of NICs.

    `ffplan audit` reads it too.

    Args:
        wired: the design.
    """
    yield "graph G {\n"
    for (switch, _, port), (device, _, name) in _ends(wired):
        yield f'  "{switch}":"{port}" -- "{device}":"{name}"\n'
    yield "}\n"
