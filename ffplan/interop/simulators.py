"""A design as input of labs (containerlab), link checks (PTM) and simulators (ASTRA-sim, SimAI, infragraph)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import InputError
from ffplan.base.formatting import plural
from ffplan.catalog.parts import Server
from ffplan.interop.asbuilt.names import _by_slot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.catalog.parts import Accelerator
    from ffplan.interop.exported import Exported

_MOST_NODES = 2_000
"""Most nodes of a lab: each is a container."""


def _ends(wired: Exported) -> Iterator[tuple[tuple[str, int, str], tuple[str, int, str]]]:
    """Yield the ends of every link, the upper first: device or host, port from 1, parts counted, and its name."""
    k, first = wired.fabric.network.links, len(wired.fabric.network.switches)
    switches, endpoints = wired.names.switches(), wired.names.endpoints()
    ports = [port for _, port in endpoints]
    number = {
        end: place for ends in wired.names.hosts().values() for place, end in enumerate(_by_slot(ends, ports), start=1)
    }
    for a, p, b, q in k.rows(np.arange(len(k)), "a", "a_port", "b", "b_port"):
        upper = (switches[b], q + 1, _swp(wired, b, q))
        if a >= first:
            host, port = endpoints[a - first]
            yield upper, (host, number[a - first], port)
        else:
            yield upper, (switches[a], p + 1, _swp(wired, a, p))


def _swp(wired: Exported, switch: int, port: int) -> str:
    """Return the name of a port under Cumulus Linux: `swp7`, or `swp7s1` for the second part of a split one."""
    whole, part, split = wired.names.printed.place(switch, port)
    return f"swp{whole}" if split == 1 else f"swp{whole}s{part - 1}"


def containerlab(wired: Exported) -> str:
    """Return a containerlab topology: a container for every switch and node, `ethN` for port N.

    Raises:
        ValueError: where the fabric has more nodes than a lab can hold.
    """
    nodes = [*wired.names.switches(), *wired.names.hosts()]
    if len(nodes) > _MOST_NODES:
        raise ValueError(f"{len(nodes):,} containers; a lab holds {_MOST_NODES:,}: make a design of a small pod")
    name = "".join(sign if sign.isalnum() else "_" for sign in wired.design.spec.name)
    lines = [f"name: {name}", "topology:", "  kinds:", "    linux: {image: alpine:3}", "  nodes:"]
    lines += [f"    {node}: {{kind: linux}}" for node in nodes]
    lines.append("  links:")
    for (switch, port, _), (device, peer_port, _) in _ends(wired):
        lines.append(f'    - endpoints: ["{switch}:eth{port}", "{device}:eth{peer_port}"]')
    return "\n".join(lines) + "\n"


def topology_dot(wired: Exported) -> Iterator[str]:
    """Yield PTM's topology.dot: switch ports as `swpN`, split ports as `swpNsM`, and NICs by name.

    `ffplan fabric audit` reads it too.
    """
    yield "graph G {\n"
    for (switch, _, port), (device, _, name) in _ends(wired):
        yield f'  "{switch}":"{port}" -- "{device}":"{name}"\n'
    yield "}\n"


_LATENCY = (500.0, 2000.0)
"""Latency of a hop inside a domain, and between nodes [ns]: from ASTRA-sim's own examples, not measured here."""
_ERROR = 0
"""Part of packets that a link of SimAI loses [1]."""
_LATENCY_MS = 0.000025
"""Latency of a link in SimAI's templates [ms]."""


def _accelerator(wired: Exported) -> Accelerator:
    part = wired.design.compute.accelerator
    if part is None:
        raise ValueError("the compute nodes have no accelerators")
    return part


def _one_kind(wired: Exported, form: str) -> None:
    """Refuse a design of unlike nodes with accelerators.

    Raises:
        InputError: located at the first group of another kind.
    """
    design = wired.design
    groups = [
        (n, group) for n, group in enumerate(design.groups) if group.group.role == "compute" and group.accelerator
    ]
    other = next((group for n, group in groups if n not in design.job_groups), None)
    if other is not None:
        kinds = " and ".join(f"{group.group.count:,} of `{group.server.id}`" for _, group in groups)
        raise InputError(
            design.document.finding(
                "design-export",
                ("nodes", other.position),
                f"{form} describes one kind of node, and the design has {kinds}",
                "export a design of one of these kinds, or use `--to infragraph`, which describes every kind",
            )
        )


def _scale_up(wired: Exported) -> tuple[str, int, float]:
    """Return kind, accelerators and rate [GB/s] of the scale-up network; one accelerator without such a network."""
    server, part = wired.design.compute.server, _accelerator(wired)
    scale_up = server.nvlink if isinstance(server, Server) else None
    gpus = wired.design.compute.accelerators_per_node
    if scale_up is None or part.nvlink is None or not (scale_up.switched or scale_up.mesh):
        return "", 1, 0.0
    return ("FullyConnected" if scale_up.mesh else "Switch"), gpus * scale_up.nodes, float(part.nvlink.value)


def _unequal(wired: Exported, nodes: int) -> Finding:
    """Return the fault of a last rack that is not full.

    Args:
        nodes: nodes of a full rack [1].
    """
    group = wired.design.compute
    full, rest = divmod(group.group.count, nodes)
    return wired.design.document.finding(
        "design-export",
        ("nodes", group.position, "count"),
        f"ASTRA-sim describes equal racks, and {group.group.count:,} nodes are {plural(full, 'rack')} of {nodes} and "
        f"{rest} more",
        f"export a design of {full * nodes:,} or {(full + 1) * nodes:,} nodes, or use `--to infragraph`",
    )


def astra_sim(wired: Exported) -> str:
    """Return the network of ASTRA-sim 2's analytical backend: dimensions from the inside out.

    Raises:
        ValueError: where the compute nodes have no accelerators.
        InputError: located, for unlike nodes, and for racks that are not equally full.
    """
    kind, inside, rate = _scale_up(wired)
    _one_kind(wired, "ASTRA-sim")
    group = wired.design.compute
    total = wired.design.job_accelerators
    inside = min(inside, total)
    if total % inside:
        raise InputError(_unequal(wired, inside // group.accelerators_per_node))
    network = wired.fabric.network
    # links of endpoints stand first, in their order; the slowest holds the others back
    own = np.isin(network.endpoints.group, wired.design.job_groups)
    slowest = float(network.links.gbyte_s[: len(own)][own].min())
    nic = slowest * len(group.fabric_nics) * wired.design.stripes / group.accelerators_per_node
    dimensions = [(kind, inside, rate, _LATENCY[0])] if kind else []
    dimensions.append(("Switch", total // inside, nic, _LATENCY[1]))
    shown = list(zip(*dimensions, strict=True))
    return (
        "# Analytical network of ASTRA-sim 2; bandwidth of an accelerator in GB/s, latency in ns from its examples.\n"
        "# Oversubscription and routes of the fabric are not in this form.\n"
        f"topology: [{', '.join(map(str, shown[0]))}]\n"
        f"npus_count: [{', '.join(map(str, shown[1]))}]\n"
        f"bandwidth: [{', '.join(f'{value:.6g}' for value in shown[2])}]\n"
        f"latency: [{', '.join(f'{value:g}' for value in shown[3])}]\n"
    )


def simai(wired: Exported) -> Iterator[str]:
    """Yield the topology file of SimAI and of HPCC's ns-3: accelerators, NVSwitches, switches, then links.

    NICs spread evenly over the accelerators of a node, in order; with fewer NICs than accelerators, every NIC is at
    one accelerator.

    Raises:
        ValueError: where the compute nodes have no accelerators.
        InputError: located, for unlike nodes.
    """
    part, design, network = _accelerator(wired), wired.design, wired.fabric.network
    _one_kind(wired, "SimAI")
    gpus_per_node, e = design.compute.accelerators_per_node, network.endpoints
    kept = np.flatnonzero(np.isin(e.group, design.job_groups))
    hosts = {key: n for n, key in enumerate(sorted({(int(e.group[n]), int(e.node[n])) for n in kept.tolist()}))}
    kind, inside, rate = _scale_up(wired)
    domain = max(inside // gpus_per_node, 1)
    chips = -(-len(hosts) // domain) if kind else 0
    gpus, first = len(hosts) * gpus_per_node, len(network.switches)
    base = gpus + chips
    rails = max(int(e.port[kept].max()) + 1, 1)
    lines = []
    if kind:
        lines += [
            f"{n} {gpus + n // gpus_per_node // domain} {8 * rate:g}Gbps {_LATENCY_MS:.6f}ms {_ERROR}\n"
            for n in range(gpus)
        ]
    k = network.links
    place = dict(zip(kept.tolist(), range(len(kept)), strict=True))
    for a, b, gbyte_s in k.rows(np.arange(len(k)), "a", "b", "gbyte_s"):
        near = base + a
        if a >= first:
            if a - first not in place:
                continue
            endpoint = a - first
            host, port = hosts[int(e.group[endpoint]), int(e.node[endpoint])], int(e.port[endpoint])
            near = host * gpus_per_node + port * gpus_per_node // rails
        lines.append(f"{near} {base + b} {8 * gbyte_s:g}Gbps {_LATENCY_MS:.6f}ms {_ERROR}\n")
    yield f"{gpus + chips + first} {gpus_per_node} {chips} {first} {len(lines)} {part.id}\n"
    yield " ".join(str(n) for n in range(gpus, gpus + chips + first)) + "\n"
    yield from lines


def infragraph(wired: Exported) -> Iterator[str]:
    """Yield an infrastructure of infragraph 3: a device for every kind of node and switch, instances, and edges."""
    network, names = wired.fabric.network, wired.names
    k, first, e = network.links, len(network.switches), network.endpoints
    groups = wired.design.groups
    yield f"name: {wired.design.spec.name}\ndevices:\n"
    for number, group in enumerate(groups):
        nics = len(group.fabric_nics) * wired.design.stripes
        yield f"- name: {names.roles[number]}-{number}\n  components:\n"
        part, count = ("xpu", group.accelerators_per_node) if group.accelerator else ("cpu", len(group.server.sockets))
        yield f"  - {{name: {part}, choice: {part}, count: {max(1, count)}}}\n"  # it refuses devices without links
        yield f"  - {{name: nic, choice: nic, count: {nics}}}\n  links:\n  - {{name: pcie}}\n  edges:\n"
        yield f"  - {{scheme: many2many, link: pcie, ep1: {{component: {part}}}, ep2: {{component: nic}}}}\n"
    yield "- name: switch\n  components:\n  - {name: asic, choice: cpu, count: 1}\n"
    yield f"  - {{name: port, choice: port, count: {network.radix}}}\n  links:\n  - {{name: ic}}\n  edges:\n"
    yield "  - {scheme: many2many, link: ic, ep1: {component: asic}, ep2: {component: port}}\n"
    rates = np.unique(np.round(8 * k.gbyte_s.astype(np.float64), 3)).tolist()
    yield "links:\n"
    for rate in rates:
        amount = f"{{choice: gigabits_per_second, gigabits_per_second: {rate:g}}}"
        yield f"- {{name: rate-{rate:g}, physical: {{bandwidth: {amount}}}}}\n"
    yield "instances:\n"
    for number, group in enumerate(groups):
        name = f"{names.roles[number]}-{number}"
        yield f"- {{name: {name}, device: {name}, count: {group.group.count}}}\n"
    yield f"- {{name: switch, device: switch, count: {first}}}\nedges:\n"
    for a, p, b, q, gbyte_s in k.rows(np.arange(len(k)), "a", "a_port", "b", "b_port", "gbyte_s"):
        if a >= first:
            endpoint, group_number = a - first, int(e.group[a - first])
            near = (
                f"{names.roles[group_number]}-{group_number}[{int(e.node[endpoint])}]",
                f"nic[{int(e.port[endpoint])}]",
            )
        else:
            near = (f"switch[{a}]", f"port[{p}]")
        ends = f"ep1: {{instance: '{near[0]}', component: '{near[1]}'}}, "
        ends += f"ep2: {{instance: 'switch[{b}]', component: 'port[{q}]'}}"
        yield f"- {{scheme: one2one, link: rate-{round(8 * gbyte_s, 3):g}, {ends}}}\n"
