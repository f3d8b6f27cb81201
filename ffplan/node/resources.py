"""A node and its fabric as shared resources with rates both ways, and copies between GPUs and host memory."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, maximum, minimum
from ffplan.base.record import record
from ffplan.node.host import Host, Range, spread

if TYPE_CHECKING:
    from ffplan.fabric.sizing.plan import LinkCut
    from ffplan.node.host import Port

FULL_DUPLEX: Range = (2.0, 2.0, 2.0)


@record
class Resource:
    """One resource that messages share."""

    name: str
    """Kind: hbm, pcie_link, pcie_peer, pcie_switch, root_port, socket_fabric, host_memory, nvlink, nvlink_copy,
    nvlink_all, nvls, sm, gpu_nic_peer, nic, proxy (thousand million messages a second), or the name of a link cut."""
    id: str
    """Id within its kind."""
    label: str
    """For people."""
    one_way: tuple[Number, Number, Number]
    """Rate in one direction [GB/s]: low end, value, high end."""
    _: KW_ONLY
    both_ways: Range = FULL_DUPLEX
    """Sum of both directions when both run, as a fraction of `one_way` [1]: low end, value, high end."""
    sustained: Number = 1.0
    """Fraction of `one_way` that a long message reaches [1]."""
    under_trees: float | None = None
    """Fraction of `one_way` for several flows that meet, as under trees [1]."""
    known: bool = True
    """False if libraries' cost models exclude it."""
    basis: str = ""
    """Derivation of the capacity, if it is more than the figure."""


def _scale_up(host: Host, link_share: float) -> list[Resource]:
    accelerator = host.accelerator
    if accelerator is None or accelerator.nvlink is None or not (host.joined or host.pairs):
        return []
    rates, full = host.rates, accelerator.nvlink.range[1]
    rows = []
    kinds = {
        "nvlink": rates and rates.ring,
        "nvlink_copy": rates and rates.peer,
        "nvlink_all": rates and rates.alltoall,
    }
    ring = rates.ring if rates and rates.ring else None
    for name, figure in kinds.items():
        best = figure or ring
        carried = spread(best) if best else tuple(link_share * v for v in spread(accelerator.nvlink))
        ends = (carried[0], carried[1], maximum(full, carried[1]))
        label = f"{host.scale_up_name} of a GPU"
        graph = host.links
        # a mesh has a link to every other GPU, a torus two on each axis
        links = len(host.gpus) - 1 if host.mesh else graph.most / graph.fewest if graph else 2 * len(host.torus)
        if links and name == "nvlink_copy" and not figure:  # two GPUs share what joins them, at least one link
            low, value, high = (end / links for end in spread(accelerator.nvlink))
            ends, label = (link_share * low, link_share * value, high), f"{host.scale_up_name} link between two GPUs"
        rows += [Resource(name, gpu, label, ends) for gpu in host.gpus]
    if rates is not None and rates.channel is not None:
        label, channel, shared = "multiprocessors that copy tokens", spread(rates.channel), (1.0, 1.0, 1.0)
        single = isinstance(channel[1], int | float)  # arrays of many designs need no words
        basis = f"{channel[1]:g} GB/s of a multiprocessor" if single else ""
        rows += [Resource("sm", gpu, label, channel, both_ways=shared, basis=basis) for gpu in host.gpus]
    if rates is not None and rates.nvls is not None and host.joined:
        ranks = rates.nvls.ranks.value
        # busbw counts 2 (p - 1) / p a byte, yet the switch moves (p + 1) / p through each GPU
        per_busbw = (ranks + 1) / ranks / (2 * (ranks - 1) / ranks)
        carried = tuple(value * per_busbw for value in spread(rates.nvls.busbw))
        label = f"{host.scale_up_name} of a GPU under reduction in the switch"
        ends = (carried[0], carried[1], maximum(full, carried[1]))
        rows += [Resource("nvls", gpu, label, ends) for gpu in host.gpus]
    return rows


def _over_pcie(host: Host, link: Range) -> Range:
    """Return the rate of a GPU to others over PCIe: the rate of collectives, at most the rate of the server's links."""
    rates = host.rates
    if rates is None or rates.pcie is None:
        return link
    low, value, _ = spread(rates.pcie)
    return (minimum(low, link[1]), minimum(value, link[1]), link[2])


def _of_gpus(host: Host) -> list[Resource]:
    rows = []
    if host.accelerator is not None:
        # reads and writes share one budget, unlike the two directions of a link
        memory, shared = spread(host.accelerator.memory_bandwidth), (1.0, 1.0, 1.0)
        rows += [Resource("hbm", gpu, "memory of a GPU", memory, both_ways=shared) for gpu in host.gpus]
    if host.pcie is None or host.nics_built_in:  # what leaves such a GPU never crosses PCIe
        return rows
    peer = _over_pcie(host, host.pcie)
    rows += [Resource("pcie_link", gpu, "PCIe link of a GPU", host.pcie) for gpu in host.gpus]
    rows += [Resource("pcie_peer", gpu, "PCIe between GPUs", peer) for gpu in host.gpus]
    rows += [Resource("pcie_switch", port.id, port.devices, peer) for port in host.ports if port.pcie_switch]
    return rows


def _of_cpus(host: Host) -> list[Resource]:
    rows = []
    for port in host.ports:
        if port.limits is not None:
            one_way, both = spread(port.limits.one_way), spread(port.limits.both_way_share)
            rows.append(Resource("root_port", port.id, port.devices, one_way, both_ways=both, known=False))
    sockets = len(host.cpus)
    # every socket has its own memory channels
    low, value, high = (end / sockets for end in host.memory_gbyte_s)
    practical = host.memory_gbyte_s[1]
    single = isinstance(practical, int | float)  # arrays of many designs need no words
    basis = f"{practical:g} GB/s practical over {host.channels} channels" if single else ""
    rows += [
        Resource("host_memory", str(number), "host memory", (low, value, high), both_ways=(1.0, 1.0, 1.0), basis=basis)
        for number in range(sockets)
    ]
    links = [cpu.socket_fabric for cpu in host.cpus if cpu.socket_fabric is not None]
    if sockets > 1 and links:
        rows.append(Resource("socket_fabric", "0", "links between sockets", spread(links[0])))
    return rows


def _network(host: Host) -> list[Resource]:
    rows = []
    alike: dict[tuple[int, float], tuple[Number, Number, Number]] = {}  # NICs that share what they carry count once
    for name, nic, rate in zip(host.nic_ids, host.nics, host.nic_gbyte_s, strict=True):
        tree = nic.tree_efficiency.value if nic.tree_efficiency else nic.line_efficiency.value
        mark = (id(nic), rate if isinstance(rate, int | float) else id(rate))
        if mark not in alike:
            # bounds use line rate; the low end is what payload keeps of it
            alike[mark] = (minimum(rate, nic.rate.range[0]) * nic.line_efficiency.range[0], rate, rate)
        line = nic.line_efficiency.value
        rows.append(Resource("nic", name, "NIC", alike[mark], sustained=line, under_trees=tree))
    proxies = [nic.proxy_message for nic in host.nics if nic.proxy_message is not None]
    if proxies:
        low, value, high = spread(max(proxies, key=lambda time: time.value))
        # times become rates: the longest time is the low end
        billions = (1e-9 / high, 1e-9 / value, 1e-9 / low)
        label, basis = "messages that the host posts", f"{1e-6 / value:g} million messages a second"
        rows += [Resource("proxy", gpu, label, billions, basis=basis) for gpu in host.gpus]
    peers = [cpu for cpu in host.cpus if cpu.gpu_nic_peer is not None]
    if peers and (host.peer_through_cpu or not host.forwarding):
        # the slowest CPU limits every flow, and equal CPUs need no choice
        kinds = list({cpu.id: cpu for cpu in peers}.values())
        slowest = kinds[0]
        if len(kinds) > 1:
            slowest = min(kinds, key=lambda cpu: cpu.gpu_nic_peer.value if cpu.gpu_nic_peer else 0.0)
        assert slowest.gpu_nic_peer is not None
        share = slowest.gpu_nic_peer_both_way_share
        label, one_way = "GPU to NIC peer-to-peer through the CPU", spread(slowest.gpu_nic_peer)
        both = spread(share) if share else FULL_DUPLEX
        rows += [Resource("gpu_nic_peer", name, label, one_way, both_ways=both, known=False) for name in host.nic_ids]
    return rows


def resources(host: Host, cuts: tuple[LinkCut, ...] = (), link_share: float = 1.0) -> dict[tuple[str, str], Resource]:
    """Return every resource of a node and of the link cuts that a collective crosses, by kind and id.

    Args:
        cuts: links between leaves and between zones.
        link_share: usable fraction of the scale-up links' rate without a measurement [1].
    """
    rows = [*_scale_up(host, link_share), *_of_gpus(host), *_of_cpus(host), *_network(host)]
    for cut in cuts:
        plain = cut.name != "group_links" and isinstance(cut.gbyte_s, int | float)
        basis = f"{cut.links:,} links x {cut.gbyte_s / cut.links:g} GB/s" if plain else ""
        rows.append(Resource(cut.name, "0", cut.label, (cut.gbyte_s,) * 3, basis=basis))
    return {(cut.name, cut.id): cut for cut in rows}


@record
class _HostCopies:
    alone: Number
    """Of one accelerator [GB/s]."""
    shared: Number
    """Of all accelerators of a node at once, each [GB/s]."""
    binds: str
    """What binds the shared rate."""


def pcie_line_rate(generation: float, lanes: float) -> float:
    """Return the rate of a PCIe link's lanes, packets included.

    Args:
        generation: 1 to 6 [1].
        lanes: lanes [1].

    Returns:
        Rate of one direction [GB/s].

    Equation:
        lanes * 2^(generation - 1) * 2.5 GT/s * 8 / 10 below generation 3; lanes * 2^(generation - 3) * 8 GT/s * 128 /
        130 from there on; over 8 bits

    Source:
        PCI Express base specification: generation 4 of 16 lanes carries 31.5 GB/s.
    """
    if generation < 3:
        # 8b/10b coding below generation 3, 128b/130b from there on
        return float(lanes * 2.0 ** (generation - 1) * 2.5 * 8 / 10 / 8)
    # generation 3 doubles the payload at 8, not 10, GT/s, thanks to the lighter coding
    return float(lanes * 2.0 ** (generation - 3) * 8 * 128 / 130 / 8)


def _below(host: Host, port: Port, running: Number) -> Number:
    """Return the accelerators below a root port that run, where the first `running` of a node do [1]."""
    below: Number = 0
    for gpu in port.gpus:
        below = below + (running > host.gpus.index(gpu))
    return maximum(below, 1)


def host_shares(host: Host, running: Number) -> dict[str, Number]:
    """Return each accelerator's share of every resource on the way to host memory, while all copy at once.

    Args:
        running: accelerators of the node that run, its first [1].

    Returns:
        Rates of an accelerator, one direction [GB/s], by the resource's name; unknown rates are left out.

    Equation:
        PCIe link L; PCIe switch L / n, root port P / n with n below it that run; host memory M / running

    Source:
        Shared resources of a node; An et al., arXiv 2408.14158, section IV-C: two accelerators share a root port. A
        PCIe switch has the lanes of one accelerator to the CPU (recalled of DGX A100, p4d and servers of L40S).
    """
    ports = [port for port in host.ports if port.gpus]
    shares: dict[str, Number] = {"host memory": host.memory_gbyte_s[1] / running}
    if host.pcie is not None:
        shares["PCIe link"] = link = host.pcie[1]
        # a switch above one accelerator is no narrower than its link
        switches = [port for port in ports if port.pcie_switch and len(port.gpus) > 1]
        if switches:
            shares["PCIe switch"] = minimum(*(link / _below(host, port, running) for port in switches))
    limits = [(port, port.limits.one_way.value) for port in ports if port.limits is not None]
    if limits:
        shares["root port"] = minimum(*(rate / _below(host, port, running) for port, rate in limits))
    return shares


def host_copies(host: Host) -> _HostCopies | None:
    """Return the rates of copies between accelerators and host memory.

    Returns:
        Rates of an accelerator [GB/s]; None if its PCIe link is unknown.

    Equation:
        min over `host_shares`, for one accelerator and for a whole node

    Source:
        Definition.
    """
    if host.pcie is None or not host.gpus:
        return None
    alone, every = host_shares(host, 1), host_shares(host, len(host.gpus))
    binds = min(every, key=lambda name: every[name])
    return _HostCopies(minimum(*alone.values()), minimum(*every.values()), binds)
