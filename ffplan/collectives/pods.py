"""Pods on one server that communicate through their NICs: a ring over pairs of GPU and NIC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.collectives.bottleneck import Line

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.node.host import Host


def pod_ring(host: Host, pairs: tuple[tuple[str, str], ...], load: Number) -> list[Line]:
    """Return the ledger of a ring over pods of one GPU and one NIC each.

    A GPU and a NIC under one PCIe switch meet there; otherwise their traffic passes both root ports, and the links
    between sockets if the ports are on different ones. All pods that cross these links share them.

    Args:
        host: the server that all pods share.
        pairs: GPU and NIC of each pod.
        load: bytes that a pod sends, and receives, per byte of message [1].

    Returns:
        Lines in bytes per byte of message [1].

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
    """Return the wall time of a ZeRO-3 job with offload: a common term plus exposed communication.

    Args:
        common: compute, offload and optimizer, the same over every transport [s].
        parameters: parameters of the model [1].
        width: bytes of a parameter on the wire [byte].
        passes: times that all parameters move in a micro-step [1].
        micro_steps: micro-steps of the run [1].
        message: bytes gathered at once [byte].
        gather: time of one such gather [s].

    Returns:
        Time [s].

    Equation:
        T = common + micro-steps x passes x parameters x width / message x each

    Source:
        Rajbhandari et al., "ZeRO", SC'20 (three passes with stage 3); additive by assumption.
    """
    return common + micro_steps * passes * parameters * width / message * gather
