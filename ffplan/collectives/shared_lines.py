"""Lines that many ledgers share: NICs with what feeds them, borders, root ports, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import minimum
from ffplan.collectives.bottleneck import Line
from ffplan.collectives.bounds import ring_factor

if TYPE_CHECKING:
    from ffplan.collectives.rank_layout import Job


def on_each(step: str, kind: str, ids: tuple[str, ...], inward: Any, outward: Any) -> list[Line]:
    """Return the same line for each resource of a kind."""
    return [Line(step, (kind, name), inward, outward) for name in ids]


def on_nics(job: Job, step: str, load: Any) -> list[Line]:
    """All NICs of a node together carry `load` each way, fed over PCIe where GPUs do not send over it anyway."""
    host = job.host
    used = load * job.several
    lines = on_each(step, "nic", host.nic_ids, used / job.nics, used / job.nics)
    if host.switched:
        feeders = minimum(job.per_node, job.nics)
        lines += on_each("GPUs feed NICs", "pcie_link", host.gpus, used / feeders, used / feeders)
    return lines


def on_borders(job: Job, load: Any | None) -> list[Line]:
    """Return what crosses the borders: `load`, or the least that an allreduce without reduction there moves."""
    lines = []
    for border in job.borders:
        crossed = (border.sets > 1) * job.several
        use = (ring_factor(border.sets) if load is None else load) * crossed
        lines.append(Line("across a border", (border.name, "0"), use, use))
    return lines


def on_ports(job: Job, gpus: Any, nics: Any) -> list[Line]:
    """Every root port passes `gpus` each way where GPUs hang on it, and `nics` for each NIC.

    Behind a PCIe switch, GPU and NIC meet below the root port.
    """
    lines = []
    for port in job.host.ports:
        beside = port.pcie_switch and port.gpus
        use = gpus * (1.0 if port.gpus else 0.0) + nics * (0 if beside else len(port.nics))
        lines.append(Line("through root ports", ("root_port", port.id), use, use))
        lines.append(Line("between PCIe switches", ("pcie_switch", port.id), use, use))
    return lines


def on_memory(job: Job, inward: Any, outward: Any) -> list[Line]:
    """Return what passes the memory of each GPU."""
    return on_each("in GPU memory", "hbm", job.host.gpus, inward, outward)
