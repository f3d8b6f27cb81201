"""A machine with one resource faster, to find the gain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ffplan.training.group_collectives import APART, INSIDE, _known_at, _merged_clusters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.base.array_math import Number
    from ffplan.catalog.evidence import Figure
    from ffplan.fabric.sizing.plan import LinkCut
    from ffplan.node.host import Host, Range
    from ffplan.training.axes import ParallelPlans
    from ffplan.training.conv_step import ConvRun
    from ffplan.training.group_collectives import Cluster, GroupPlacement
    from ffplan.training.train_run import TrainRun

AnyRun = TypeVar("AnyRun", "TrainRun", "ConvRun")
AnyFigure = TypeVar("AnyFigure", bound="Figure")
RESOURCES = {
    "matrix": "matrix units",
    "memory": "device memory bandwidth",
    "kernels": "small kernels and launch gaps",
    "host": "launching by the host",
    "nvlink": "scale-up network",
    "nic": "NICs with their switch ports",
    "pcie": "PCIe and root ports",
    "host_memory": "host memory bandwidth",
    "drives": "data drives of the node",
    "uplinks": "uplinks and links between zones",
}
"""Resources that can be made faster, with labels for people."""
RATES = (
    "products",
    "attention",
    "plain",
    "memory",
    "stream",
    "kernel",
    "launch",
    "launch_parallel",
    "launch_step",
)
"""Rates and times of an accelerator that a faster one changes."""
SPEEDS = ("matrix", "memory", "kernels", "host")


def _more(figure: AnyFigure | None, factor: float) -> AnyFigure | None:
    if figure is None:
        return None
    ends = {name: getattr(figure, name) for name in ("low", "value", "high")}
    return figure.model_copy(update={name: factor * value for name, value in ends.items() if value is not None})


def _scaled(ends: Range, factor: float) -> Range:
    return (ends[0] * factor, ends[1] * factor, ends[2] * factor)


def _nvlink(host: Host, factor: float) -> Host:
    part = host.accelerator
    if part is None:
        return host
    changed: dict[str, Any] = {"nvlink": _more(part.nvlink, factor)}
    if part.collectives is not None:
        rates = part.collectives
        names = {name: _more(getattr(rates, name), factor) for name in ("ring", "peer", "alltoall")}
        nvls = rates.nvls.model_copy(update={"busbw": _more(rates.nvls.busbw, factor)}) if rates.nvls else None
        changed["collectives"] = rates.model_copy(update={**names, "nvls": nvls})
    return replace(host, accelerator=part.model_copy(update=changed))


def _pcie(host: Host, factor: float) -> Host:
    ports = tuple(
        replace(port, limits=port.limits.model_copy(update={"one_way": _more(port.limits.one_way, factor)}))
        if port.limits
        else port
        for port in host.ports
    )
    cpus = tuple(cpu.model_copy(update={"gpu_nic_peer": _more(cpu.gpu_nic_peer, factor)}) for cpu in host.cpus)
    part = host.accelerator
    if part is not None and part.collectives is not None:
        rates = part.collectives.model_copy(update={"pcie": _more(part.collectives.pcie, factor)})
        part = part.model_copy(update={"collectives": rates})
    link = _scaled(host.pcie, factor) if host.pcie else None
    return replace(host, ports=ports, cpus=cpus, accelerator=part, pcie=link)


def _faster_host(host: Host, name: str, factor: float) -> Host:
    """Return a node with one resource faster: nvlink, nic, pcie, drives or host_memory."""
    if name == "nvlink":
        return _nvlink(host, factor)
    if name == "nic":
        return replace(host, nic_gbyte_s=tuple(rate * factor for rate in host.nic_gbyte_s))
    if name == "pcie":
        return _pcie(host, factor)
    if name == "drives":
        drives = host.drives
        changed = {way: _more(getattr(drives, way), factor) for way in ("read", "write")} if drives else {}
        return replace(host, drives=drives.model_copy(update=changed) if drives else None)
    return replace(host, memory_gbyte_s=_scaled(host.memory_gbyte_s, factor))


def _untouched(system: Cluster, name: str) -> dict[tuple[Any, ...], Any]:
    """Return the known coefficients of collectives that do not depend on a resource.

    The traffic of groups within a node stays there. A group with one rank on each node has no traffic inside them.
    """
    return _known_at(system, {"nic": INSIDE, "uplinks": INSIDE, "nvlink": APART}.get(name))


def _uplinks(system: Cluster, factor: float) -> Cluster:
    before = system.crossed
    if before is None:
        return system

    def crossed(placement: GroupPlacement) -> tuple[Number, tuple[LinkCut, ...]]:
        zones, cuts = before(placement)
        return zones, tuple(replace(cut, gbyte_s=cut.gbyte_s * factor) for cut in cuts)

    sharder = _uplinks(system.sharder, factor) if system.sharder else None
    return replace(system, crossed=crossed, known=_untouched(system, "uplinks"), sharder=sharder, variants={})


def without_path(run: AnyRun) -> AnyRun | None:
    """Return a run whose NICs each lack one of their ports to several planes; None for NICs with one port.

    Every rank waits for the slowest: one NIC without a port slows a step as much as all of them.
    """
    paths = run.system.paths
    # a NIC with one of its ports gone carries the traffic of the others
    return faster(run, "nic", 1 - 1 / paths) if paths > 1 else None


def _with_host(system: Cluster, name: str, factor: float) -> Cluster:
    """Return a machine whose nodes have one resource faster, also as the collectives of ZeRO 3 see it."""
    sharder = _with_host(system.sharder, name, factor) if system.sharder else None
    host = _faster_host(system.host, name, factor)
    return replace(system, host=host, known=_untouched(system, name), sharder=sharder, variants={})


def faster(run: AnyRun, name: str, factor: float) -> AnyRun:
    """Return a run on a machine with one resource faster.

    Args:
        factor: how much faster [1].
    """
    if name in SPEEDS:
        return replace(run, speeds=run.speeds.faster(name, factor))
    known = run.system.variants
    if (name, factor) not in known:
        system = _uplinks(run.system, factor) if name == "uplinks" else _with_host(run.system, name, factor)
        known[(name, factor)] = system
    return replace(run, system=known[(name, factor)])


def merged_runs(runs: Sequence[TrainRun], plans: ParallelPlans) -> TrainRun:
    """Return runs of one plan on machines that differ by rates as one run, whose arrays have a row for each.

    Args:
        runs: the runs; the first is the plain one.
    """
    first, columns = runs[0].speeds, dict[str, Any]()
    for name in RATES:
        values = [getattr(run.speeds, name) for run in runs]
        if any(value != values[0] for value in values):
            columns[name] = np.array(values)
    if first.curve is not None:
        peaks = np.array([run.speeds.curve.peak if run.speeds.curve else 0.0 for run in runs])
        columns["curve"] = replace(first.curve, peak=peaks)  # type: ignore[arg-type]  # arrays, as of many designs
    system = _merged_clusters([run.system for run in runs])
    return replace(runs[0], plans=plans, speeds=replace(first, **columns), system=system)
