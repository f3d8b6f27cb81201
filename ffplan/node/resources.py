"""A node and its fabric as resources that messages share, each with what it carries one way and both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.record import record
from ffplan.node.host import Host, Range, spread

if TYPE_CHECKING:
    from ffplan.node.host import Host

FULL_DUPLEX: Range = (2.0, 2.0, 2.0)


@record
class Resource:
    """One thing that messages share."""

    name: str
    """Kind: hbm, pcie_link, pcie_peer, pcie_switch, root_port, socket_fabric, host_memory, nvlink, nvlink_copy,
    nvlink_all, nvls, gpu_nic_peer, nic, leaf_uplinks, zone_links,
    bisection."""
    id: str
    """Which of its kind."""
    label: str
    """For people."""
    one_way: Any
    """What it carries in one direction [GB/s]: low end, value, high end."""
    both_ways: Range
    """Sum of both directions when both run, as a share of `one_way` [1]: low end, value, high end."""
    sustained: Any
    """Share of `one_way` that a long message reaches [1]."""
    under_trees: float | None = None
    """The same where several flows meet, as under trees [1]."""
    known: bool = True
    """False where libraries do not know of it and so do not reckon with it."""
    basis: str = ""
    """How its capacity comes about, where there is more to say than the figure."""


@record
class Border:
    """The links out of one leaf, or out of one zone, over all planes."""

    name: str
    label: str
    sets: Any
    """Leaves of a rail, or zones, that the collective spans."""
    links: int
    gbyte_s: Any
    """Their bandwidth together, one direction [GB/s]."""
    below: float = 1.0
    """Nodes below one of them [1]."""


def _scale_up(host: Host, link_share: float) -> list[Resource]:
    accelerator = host.accelerator
    if accelerator is None or accelerator.nvlink is None or not (host.switched or host.pairs):
        return []
    rates, full = host.rates, accelerator.nvlink.range[1]
    found = []
    kinds = {
        "nvlink": rates and rates.ring,
        "nvlink_copy": rates and rates.peer,
        "nvlink_all": rates and rates.alltoall,
    }
    ring = rates.ring if rates and rates.ring else None
    for name, figure in kinds.items():
        best = figure or ring
        carried = spread(best) if best else tuple(link_share * v for v in spread(accelerator.nvlink))
        low, value = carried[0], carried[1]
        ends = (low, value, max(full, value))
        found += [Resource(name, gpu, "NVLink of a GPU", ends, FULL_DUPLEX, 1.0) for gpu in host.gpus]
    if rates is not None and rates.nvls is not None and host.switched:
        ranks = rates.nvls.ranks.value
        per_busbw = (ranks + 1) / ranks / (2 * (ranks - 1) / ranks)
        carried = tuple(value * per_busbw for value in spread(rates.nvls.busbw))
        label = "NVLink of a GPU under reduction in the switch"
        found += [
            Resource("nvls", gpu, label, (carried[0], carried[1], max(full, carried[1])), FULL_DUPLEX, 1.0)
            for gpu in host.gpus
        ]
    return found


def _over_pcie(host: Host, link: Range) -> Range:
    """Return what a GPU sends to others over PCIe: what collectives reach, but no more than the server's links."""
    rates = host.rates
    if rates is None or rates.pcie is None:
        return link
    low, value, _ = spread(rates.pcie)
    return (min(low, link[1]), min(value, link[1]), link[2])


def _inside(host: Host) -> list[Resource]:
    found = []
    if host.accelerator is not None:
        memory = spread(host.accelerator.memory_bandwidth)
        found += [Resource("hbm", gpu, "memory of a GPU", memory, (1.0, 1.0, 1.0), 1.0) for gpu in host.gpus]
    if host.pcie is not None:
        found += [Resource("pcie_link", gpu, "PCIe link of a GPU", host.pcie, FULL_DUPLEX, 1.0) for gpu in host.gpus]
        peer, label = _over_pcie(host, host.pcie), "PCIe between GPUs"
        found += [Resource("pcie_peer", gpu, label, peer, FULL_DUPLEX, 1.0) for gpu in host.gpus]
        for port in host.ports:
            if port.pcie_switch:
                names = "+".join(name.upper() for name in port.gpus + port.nics)
                found.append(Resource("pcie_switch", port.id, names, peer, FULL_DUPLEX, 1.0))
    for port in host.ports:
        if port.limits is not None:
            names = "+".join(name.upper() for name in port.gpus + port.nics)
            one_way, both = spread(port.limits.one_way), spread(port.limits.both_way_share)
            found.append(Resource("root_port", port.id, names, one_way, both, 1.0, known=False))
    sockets = len(host.cpus)
    each = tuple(value / sockets for value in host.memory_gbyte_s)
    shares = (each[0], each[1], each[2])
    basis = f"{host.memory_gbyte_s[1]:g} GB/s practical over {host.channels} channels"
    found += [
        Resource("host_memory", str(number), "host memory", shares, (1.0, 1.0, 1.0), 1.0, basis=basis)
        for number in range(sockets)
    ]
    links = [cpu.socket_fabric for cpu in host.cpus if cpu.socket_fabric is not None]
    if sockets > 1 and links:
        found.append(Resource("socket_fabric", "0", "links between sockets", spread(links[0]), FULL_DUPLEX, 1.0))
    return found


def _network(host: Host) -> list[Resource]:
    found = []
    for name, nic, rate in zip(host.nic_ids, host.nics, host.nic_gbyte_s, strict=True):
        tree = nic.tree_efficiency.value if nic.tree_efficiency else nic.line_efficiency.value
        low = min(rate, nic.rate.range[0]) * nic.line_efficiency.range[0]
        found.append(
            Resource("nic", name, "NIC", (low, rate, rate), FULL_DUPLEX, nic.line_efficiency.value, under_trees=tree)
        )
    peers = [cpu for cpu in host.cpus if cpu.gpu_nic_peer is not None]
    if peers and (host.peer_through_cpu or not host.forwarding):
        slowest = min(peers, key=lambda cpu: cpu.gpu_nic_peer.value if cpu.gpu_nic_peer else 0.0)
        assert slowest.gpu_nic_peer is not None
        share = slowest.gpu_nic_peer_both_way_share
        label, one_way = "GPU to NIC peer-to-peer through the CPU", spread(slowest.gpu_nic_peer)
        both = spread(share) if share else FULL_DUPLEX
        found += [Resource("gpu_nic_peer", name, label, one_way, both, 1.0, known=False) for name in host.nic_ids]
    return found


def resources(host: Host, borders: tuple[Border, ...] = (), link_share: float = 1.0) -> dict[tuple[str, str], Resource]:
    """Return every resource of a node and of the borders that a collective crosses, by kind and id.

    Args:
        host: the inside of a node.
        borders: links between leaves and between zones.
        link_share: share of the scale-up links' rate that counts where nothing is measured [1].
    """
    found = [*_scale_up(host, link_share), *_inside(host), *_network(host)]
    for item in borders:
        plain = item.name != "bisection" and isinstance(item.gbyte_s, int | float)
        basis = f"{item.links:,} links x {item.gbyte_s / item.links:g} GB/s" if plain else ""
        found += [Resource(item.name, "0", item.label, (item.gbyte_s,) * 3, FULL_DUPLEX, 1.0, basis=basis)]
    return {(item.name, item.id): item for item in found}
