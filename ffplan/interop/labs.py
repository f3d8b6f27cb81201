"""A fabric as files that virtual labs and link checkers read: containerlab, and PTM's topology.dot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.interop.exported import Exported

MOST_NODES = 2_000
"""Most nodes of a lab: each is a container."""


def _ends(wired: Exported) -> Iterator[tuple[tuple[str, int], tuple[str, int, str]]]:
    """Yield the ends of every link, the upper first: device and port from 1, and of an endpoint its host and name."""
    k, first = wired.fabric.network.links, len(wired.fabric.network.switches)
    switches, endpoints = wired.names.switches(), wired.names.endpoints()
    number: dict[tuple[str, str], int] = {}
    counts: dict[str, int] = {}
    for host, port in endpoints:
        counts[host] = number[host, port] = counts.get(host, 0) + 1
    for a, p, b, q in k.rows(np.arange(len(k)), "a", "a_port", "b", "b_port"):
        upper = (switches[b], q + 1)
        if a >= first:
            host, port = endpoints[a - first]
            yield upper, (host, number[host, port], port)
        else:
            yield upper, (switches[a], p + 1, f"swp{p + 1}")


def containerlab(wired: Exported) -> str:
    """Return a containerlab topology: a container for every switch and node, `ethN` for port N.

    Args:
        wired: the design.

    Raises:
        ValueError: where the fabric has more nodes than a lab can hold.
    """
    links = list(_ends(wired))
    hosts = list(wired.names.hosts())
    nodes = [*wired.names.switches(), *hosts]
    if len(nodes) > MOST_NODES:
        raise ValueError(f"{len(nodes):,} containers; a lab holds {MOST_NODES:,}: make a design of a small pod")
    name = "".join(sign if sign.isalnum() else "_" for sign in wired.design.spec.name)
    lines = [f"name: {name}", "topology:", "  kinds:", "    linux: {image: alpine:3}", "  nodes:"]
    lines += [f"    {node}: {{kind: linux}}" for node in nodes]
    lines.append("  links:")
    for (switch, port), (device, other, _) in links:
        lines.append(f'    - endpoints: ["{switch}:eth{port}", "{device}:eth{other}"]')
    return "\n".join(lines) + "\n"


def topology_dot(wired: Exported) -> Iterator[str]:
    """Yield a topology.dot of PTM: `swpN` of switches, and the names of NICs; `ffplan audit` reads it too.

    Args:
        wired: the design.
    """
    yield "graph G {\n"
    for (switch, port), (device, _, name) in _ends(wired):
        yield f'  "{switch}":"swp{port}" -- "{device}":"{name}"\n'
    yield "}\n"
