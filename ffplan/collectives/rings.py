"""Rings: plain, hierarchical, and over the NICs of pods.

Sources:
    [1] NVIDIA nccl-tests, doc/PERFORMANCE.md (bytes that a ring moves).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import choose, maximum, minimum
from ffplan.collectives.algorithm import Algorithm, Latency, _LatencyFigures
from ffplan.collectives.bottleneck import Line, _on_cuts, _on_each, _on_memory, _on_nics
from ffplan.collectives.inside_node import _link_factor, _one_pair, _ring_lines
from ffplan.collectives.latency import ring_latency
from ffplan.collectives.volumes import PROTOCOLS, bus_factor, ring_factor, ring_steps

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.collectives.rank_layout import RankLayout
    from ffplan.node.host import Host


def ring(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of rings, one through each NIC, that together carry the load once, in bytes per byte of message
    [1].

    Neighbours inside a node communicate over NVLink where a switch joins all GPUs, over bridges between pairs, and over
    PCIe otherwise; GPUs of one root port are neighbours, so that one flow enters and one leaves each port.

    Args:
        operation: allreduce, reduce-scatter, all-gather, broadcast or reduce.

    Equation:
        f (n) in and out of every GPU, and of a node's NICs together; f = busbw / algbw; out through the CPU as well
        where the ring makes a detour (`RankLayout.detour`)

    Source:
        [1]; An et al., arXiv 2408.14158, section IV-D2 (GPU to NIC at 9 GiB/s).
    """
    host, load = job.host, bus_factor(operation, job.ranks)
    # over several nodes one hop of every p leaves a node by its NIC
    inside = load * job.shared * (1.0 - job.several / job.per_node)
    lines = _on_nics(job, "ring between nodes", load)
    # adding up also reads the rank's own piece, in half of the steps of an allreduce
    lines += _on_memory(job, load, load * (1.5 if "reduce" in operation else 1.0))
    lines += _on_cuts(job, load)
    per_nic = load * job.several / job.nics
    if host.joined:
        away = per_nic * job.detour
        lines += _on_each("last GPU to the NIC of the first", "gpu_nic_peer", host.nic_ids, 0.0 * away, away)
        linked = inside * _link_factor(job)
        return lines + _on_each("ring inside a node", "nvlink", host.gpus, linked, linked)
    lines += _on_each("NIC to the first GPU", "gpu_nic_peer", host.nic_ids, per_nic, 0.0 * per_nic)
    if host.sockets_with_gpus > 1:
        # a ring passes from socket to socket and home; a lone bridged pair does not leave its bridge
        apart = inside * (1.0 - _one_pair(job))
        lines.append(Line("ring between sockets", ("socket_fabric", "0"), apart, apart))
    return lines + _ring_lines(job, "ring over PCIe", load, per_nic)


def hierarchical(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of reduce-scatter in the node, rings between nodes on each rail, all-gather in the node, in
    bytes per byte of message [1].

    Equation:
        2 (p - 1) / p in and out of each GPU; 2 (N - 1) / N in and out of all NICs of a node together

    Source:
        Definition; each of p GPUs allreduces a shard of 1 / p over N nodes.
    """
    host, inside, between = job.host, ring_factor(job.per_node), ring_factor(job.nodes)
    lines = (
        _on_nics(job, "rings on each rail", between) + _on_cuts(job, between) + _on_memory(job, inside, 1.5 * inside)
    )
    if host.joined:
        linked = inside * _link_factor(job)
        return lines + _on_each("scatter and gather inside a node", "nvlink", host.gpus, linked, linked)
    per_nic = between / job.nics
    lines += _on_each("GPU to NIC", "gpu_nic_peer", host.nic_ids, per_nic, per_nic)
    alone = replace(job, nodes=job.nodes * 0 + 1)  # this ring stays in the node
    return lines + _ring_lines(alone, "scatter and gather over PCIe", inside, per_nic)


def _ring_latency(figures: _LatencyFigures) -> Latency:
    job, library, operation = figures.job, figures.library, figures.operation
    steps, crossings = ring_steps(operation, job.ranks), ring_steps(operation, job.nodes) * job.several
    inner_steps = ring_steps(operation, job.per_node)
    if operation in ("broadcast", "reduce"):
        # NCCL counts one hop where every ring passes the ranks in the same order, as on one node
        inner_steps = minimum(inner_steps, 1)
        steps = choose(job.nodes == 1, inner_steps, steps)
    vendor: Any = job.host.cpus[0].vendor if job.host.cpus else ""
    least = library.overhead.get(vendor)
    # NCCL counts the CPU's overhead three times with Simple
    overhead: Number = (least.value if least else 0.0) * (3 if figures.protocol == "simple" else 1)
    large = operation == "allreduce" and figures.protocol == "simple"
    plateau = library.ring_plateau.value if library.ring_plateau and large else 1.0
    if operation != "allreduce" and library.ring_hop and figures.measured:
        most = library.ring_hop_most.value if library.ring_hop_most else float("inf")
        hop = minimum(library.ring_hop.value * job.per_node, most)
        small = 2.0 * maximum(figures.inside, overhead)  # an allreduce of small messages holds this collective twice
        overhead = maximum(overhead, minimum(hop, small) if figures.protocol == "ll" else hop)
    whole = ring_latency(
        figures.base, figures.inside, figures.between, steps, crossings, overhead=overhead, plateau=plateau
    )
    return whole, figures.base + inner_steps * figures.inside


def _hierarchical_latency(figures: _LatencyFigures) -> Latency:
    inner = figures.base + ring_steps(figures.operation, figures.job.per_node) * figures.inside
    return inner + ring_steps(figures.operation, figures.job.nodes) * figures.job.several * figures.between, inner


RING = Algorithm(
    "ring",
    ("allreduce", "reduce-scatter", "all-gather", "broadcast", "reduce"),
    ring,
    _ring_latency,
    protocols=PROTOCOLS,
    rings=True,
    bus_per_ll=bus_factor,
)
HIERARCHICAL = Algorithm(
    "hierarchical", ("allreduce",), hierarchical, _hierarchical_latency, figures="ring", on_request=True
)


def pod_ring(host: Host, pairs: tuple[tuple[str, str], ...], load: Number) -> list[Line]:
    """Return the ledger of a ring over pods of one GPU and one NIC each, in bytes per byte of message [1].

    A GPU and a NIC under one PCIe switch meet there; otherwise their traffic passes both root ports, and the links
    between sockets if the ports are on different ones. All pods that cross these links share them.

    Args:
        host: the server that all pods share.
        pairs: GPU and NIC of each pod.
        load: bytes that a pod sends, and receives, per byte of message [1].

    Equation:
        load on every GPU link and NIC; load x pods that cross, on the links between sockets, each way

    Source:
        p4d-24xl-topo.xml of aws-ofi-nccl for the places; the sum is definition.
    """
    lines = []
    for gpu, nic in pairs:
        lines += [
            Line("pod to network", ("nic", nic), load, load),
            Line("pod to network", ("pcie_link", gpu), load, load),
        ]
        here, there = host.port_of(gpu), host.port_of(nic)
        if here is None or there is None or (here is there and here.pcie_switch):
            continue
        # GPU and NIC at one port without a switch turn round there, and load it once
        for name in dict.fromkeys((here.id, there.id)):
            lines.append(Line("GPU to another PCIe switch", ("root_port", name), load, load))
            lines.append(Line("GPU to another PCIe switch", ("pcie_switch", name), load, load))
        if here.socket != there.socket:
            lines.append(Line("GPU to another socket", ("socket_fabric", "0"), load, load))
    return lines


def offloaded_run_time(
    common: Number,
    parameters: Number,
    *,
    width: Number,
    passes: Number,
    micro_steps: Number,
    message: Number,
    gather: Number,
) -> Number:
    """Return the wall time of a ZeRO-3 job with offload: a common term plus exposed communication [s].

    Args:
        common: compute, offload and optimizer, the same over every transport [s].
        parameters: parameters of the model [1].
        width: bytes of a parameter on the wire [byte].
        passes: times that all parameters move in a micro-step [1].
        micro_steps: micro-steps of the run [1].
        message: bytes gathered at once [byte].
        gather: time of one such gather [s].

    Equation:
        T = common + micro-steps x passes x parameters x width / message x each

    Source:
        Rajbhandari et al., "ZeRO", SC'20 (three passes with stage 3); additive by assumption.
    """
    return common + micro_steps * passes * parameters * width / message * gather
