"""Replay files of measured cases: every measured row next to the model's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.record import record
from ffplan.catalog.library import Library
from ffplan.catalog.parts import Server, Switch
from ffplan.collectives import switch_reduction
from ffplan.collectives.bottleneck import sustained_rate
from ffplan.collectives.expert_dispatch import Routing, copying_fault, counted_copies, routing_fault
from ffplan.collectives.latency import ring_latency, transfer_time
from ffplan.collectives.rings import offloaded_run_time, pod_ring
from ffplan.collectives.timing import CollectiveQuery, TimingGrid, bus_bandwidth, time_grid
from ffplan.collectives.volumes import OF_TOKENS, bus_factor, ring_steps
from ffplan.node.resources import resources
from ffplan.results.accuracy import AccuracyRow
from ffplan.validation.cases import CaseFile, Collective, Hierarchy, Offload
from ffplan.validation.measured_system import CaseParts

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats
    from ffplan.catalog.store import Catalog
    from ffplan.collectives.rank_layout import RankLayout
    from ffplan.inputs.document import Document
    from ffplan.node.host import Host
    from ffplan.validation.measured_system import Path


def _signed_error(model: float, low: float, high: float) -> float:
    """Return the error of a value against a measured one, or a measured range.

    Args:
        model: predicted [any unit].
        low: measured, or low end of the range, in the same unit.
        high: the same, or its high end.

    Returns:
        Signed error [1]; 0 inside the range.

    Equation:
        model / measured - 1

    Source:
        Definition.
    """
    nearest = min(max(model, low), high)
    return model / nearest - 1


@record
class CaseReplay:
    """Data that the rows of one file share."""

    bench: CaseParts
    file: CaseFile

    def library(self, name: str) -> Library:
        """Return a library of the catalogue."""
        return self.bench.catalog.get(Library, name, self.bench.document, ())

    def row(
        self,
        case: Collective | Hierarchy | Offload,
        what: str,
        unit: str,
        value: float | tuple[float, float],
        model: float,
        *,
        gpus: int | None = None,
        size: float | None = None,
        chosen: str = "",
        kind: str = "predicted",
    ) -> AccuracyRow:
        """Return a row of the report."""
        low, high = value if isinstance(value, tuple) else (value, value)
        return AccuracyRow(
            source=self.file.id,
            case=case.id,
            what=what,
            gpus=gpus,
            size_bytes=size,
            unit=unit,
            measured=low,
            measured_high=high if isinstance(value, tuple) else None,
            model=model,
            error=_signed_error(model, low, high),
            chosen=chosen,
            status=self.file.source.status,
            kind=kind,
            scored=case.scored,
            note=case.note,
        )


def _query(replayed: CaseReplay, case: Collective, path: Path) -> CollectiveQuery:
    tokens, name = case.operation in OF_TOKENS, str(case.library)
    if name == "auto":
        name = "deepep" if tokens else "nccl"
    if tokens != (case.experts is not None) or tokens == bool(case.sizes):
        raise replayed.bench.fault(
            (*path, "operation"),
            f"`{case.operation}` needs {'`experts`' if tokens else '`sizes`'} alone",
            "the tokens of a GPU give the size of dispatch and combine; every other operation has `sizes`",
        )
    idle = ["protocol"] if tokens and case.protocol else []
    idle += ["in_network"] if case.in_network and (case.operation != "allreduce" or name != "nccl") else []
    if idle:
        raise replayed.bench.fault((*path, idle[0]), f"`{idle[0]}` has no effect on this collective", "leave it out")
    if case.system.zones > 1 and not name.startswith("hfreduce"):
        raise replayed.bench.fault((*path, "system", "zones"), "`zones` has an effect on HFReduce only", "leave it out")
    routing = None
    if case.experts is not None:
        e = case.experts
        many = {"tokens": e.tokens, "hidden": e.hidden, "top_k": e.top_k, "experts": e.experts}
        routing = Routing(**many, groups=e.max_nodes, sms=e.sms)
    return CollectiveQuery(
        operation=case.operation,
        library=replayed.library(name.removesuffix("-nvlink")),
        nvlink=name == "hfreduce-nvlink",
        in_network=case.in_network,
        algorithm=case.algorithm,
        protocol=case.protocol,
        routing=routing,
    )


def _grid(
    replayed: CaseReplay, case: Collective, query: CollectiveQuery, job: RankLayout, sizes: Floats, path: Path
) -> TimingGrid:
    grid = time_grid(query, job, sizes)
    if grid is None or not grid.possible.all():
        what = " ".join(filter(None, (case.algorithm, case.protocol, case.operation)))
        raise replayed.bench.fault(
            (*path, "operation"),
            f"`{query.library.id}` has no {what} for this system and number of GPUs",
            "name another library, operation or algorithm",
        )
    return grid


def _metric(
    case: Collective, query: CollectiveQuery, job: RankLayout, time: Floats, sizes: Floats, algorithm: str
) -> Floats:
    if case.metric == "time_us":
        microseconds: Floats = time * 1e6
        return microseconds
    algbw: Floats = sizes[None, :] / time / 1e9
    if case.metric == "algbw_gbyte_s":
        return algbw
    if case.metric == "busbw_gbyte_s":
        return bus_bandwidth(case.operation, job.ranks, algbw)
    assert query.routing is not None
    copies: Floats = np.asarray(counted_copies(job, query.routing, algorithm))
    counted: Floats = algbw * copies[:, None]
    return counted


def collective_rows(replayed: CaseReplay, case: Collective, path: Path) -> list[AccuracyRow]:
    """Return the rows of a measured collective.

    Raises:
        InputError: if the values have another shape, or the case cannot run.
    """
    query = _query(replayed, case, path)
    job = replayed.bench.job(case.system, case.gpus, path)
    sizes = np.array(case.sizes)
    if query.routing is not None:
        sizes = np.array([query.routing.message_bytes(case.operation)])
        if fault := routing_fault(job, query.routing):
            raise replayed.bench.fault(
                (*path, "experts"), fault, "write experts, top_k and max_nodes that fit the GPUs"
            )
        sms = query.routing.sms
        if sms is not None and (fault := copying_fault(job.host, sms, query.algorithm)):
            raise replayed.bench.fault((*path, "experts", "sms"), fault, "leave out `sms`")
    if len(case.values) != len(case.gpus) or any(len(row) != len(sizes) for row in case.values):
        raise replayed.bench.fault(
            (*path, "values"),
            "the values do not fit the numbers of GPUs and sizes",
            f"write {len(case.gpus)} list(s) of {len(sizes)} value(s)",
        )
    if case.metric == "deepep_gbyte_s" and query.routing is None:
        raise replayed.bench.fault(
            (*path, "metric"), "`deepep_gbyte_s` is of dispatch and combine", "name another metric"
        )
    grid = _grid(replayed, case, query, job, sizes, path)
    time = grid.pick(grid.time)
    rows = []
    for i, gpus in enumerate(case.gpus):
        for j, size in enumerate(sizes):
            value = case.values[i][j]
            chosen = grid.choices[int(grid.chosen[i, j])]
            if value is None:
                continue
            model = _metric(case, query, job, time, sizes, chosen[0])[i, j]
            rows.append(
                replayed.row(
                    case,
                    case.operation,
                    case.metric,
                    value,
                    float(model),
                    gpus=gpus,
                    size=float(size),
                    chosen=" ".join(filter(None, chosen)),
                    kind="fitted" if case.fitted else "predicted",
                )
            )
    return rows


def _hierarchy_rows(replayed: CaseReplay, case: Hierarchy, path: Path) -> list[AccuracyRow]:
    """Return the rows of a published table of levels: node, leaf, spine."""
    catalog, document = replayed.bench.catalog, replayed.bench.document
    server = catalog.get(Server, case.server, document, (*path, "server"))
    switch = catalog.get(Switch, case.switch, document, (*path, "switch"))
    from ffplan.validation.cases import System

    host = replayed.bench.host(System(server=server.id), path)
    if host.accelerator is None or host.accelerator.nvlink is None or not host.joined or not host.nics:
        raise replayed.bench.fault(
            (*path, "server"), f"`{server.id}` has no scale-up links, or no NIC", "name another server"
        )
    gpus, nics = len(host.gpus), sum(host.nic_gbyte_s)
    rate, ports = switch.rate.value, switch.ports.value
    size = np.array([1.0, gpus, gpus * case.unit_nodes, gpus * case.unit_nodes * case.units])
    egress = np.array(
        [
            gpus * host.accelerator.nvlink.value,
            case.unit_nodes * nics,
            case.units * case.leaf_switches * ports / 2 * rate,
        ]
    )
    switches = np.array([np.inf, case.leaf_switches, case.spine_switches])
    width = switch_reduction.level_bandwidth(egress, switches, ports, rate)
    members = size[1:] / size[:-1]
    names = ("node", "leaf", "spine")
    in_network = np.minimum.accumulate(switch_reduction.reduction_rate(members, width))
    in_gpus = np.minimum.accumulate(switch_reduction.reduction_rate(members, width, in_network=False))
    tables: list[tuple[str, str, Any, Any]] = [
        ("bandwidth", "gbyte_s", case.bandwidth_gbyte_s, width),
        ("allreduce, SHARP", "gbyte_s", case.allreduce_gbyte_s, in_network),
        ("allreduce, no SHARP", "gbyte_s", case.allreduce_without_sharp_gbyte_s, in_gpus),
    ]
    for ways, values in case.speedup.items():
        tables.append(
            (f"speed-up, {ways}-way", "ratio", values, switch_reduction.sharded_speedup(float(ways), size[:-1]))
        )
    for ways, values in case.sharded_gbyte_s.items():
        tables.append(
            (f"{ways}-way", "gbyte_s", values, switch_reduction.sharded_rate(float(ways), size[1:], size[:-1], width))
        )
    return [
        replayed.row(case, f"{what}, {name}", unit, value, float(model), gpus=int(below), kind="arithmetic")
        for what, unit, values, models in tables
        for name, value, model, below in zip(names, values, models, size[1:], strict=False)
    ]


def _pod_gather(replayed: CaseReplay, host: Host, case: Offload, pairs: tuple[tuple[str, str], ...]) -> float:
    nccl = replayed.library("nccl")
    factor = bus_factor("all-gather", case.ranks)
    spb = 1e-9 / sustained_rate(resources(host), pod_ring(host, pairs, factor))
    base = nccl.latency["base"]["ring"]["simple"].value
    extra = max((nic.hop_latency.value for nic in host.nics if nic.hop_latency), default=0.0)
    steps = ring_steps("all-gather", case.ranks)
    hop = nccl.latency["network"]["ring"]["simple"].value + extra
    latency = ring_latency(base, 0.0, hop, steps, steps)
    fill = nccl.fill["simple"].value if "simple" in nccl.fill else 0.0
    return float(
        transfer_time(
            case.message, spb, latency, inner_latency=base, fill=fill, inner_most=float("inf"), hops=0.0, slot=0.0
        )
    )


def _offload_rows(replayed: CaseReplay, case: Offload, path: Path) -> list[AccuracyRow]:
    """Return the rows of a job run over several transports: wall time over the wall time of the first."""
    gathers = []
    for position, transport in enumerate(case.transports):
        here = (*path, "transports", position)
        host = replayed.bench.host(transport.system, (*here, "system"))
        if transport.pods and len(set(transport.pods)) != case.ranks:
            message = f"{len(set(transport.pods))} different pod(s) for {case.ranks} ranks"
            raise replayed.bench.fault((*here, "pods"), message, f"write {case.ranks} pairs")
        for number, pair in enumerate(transport.pods):
            for name, known in zip(pair, (host.gpus, host.nic_ids), strict=True):
                if name not in known:
                    message = f"`{host.id}` has no `{name}` there"
                    raise replayed.bench.fault((*here, "pods", number), message, "name a GPU, then a NIC")
        if transport.pods:
            gathers.append(_pod_gather(replayed, host, case, transport.pods))
            continue
        job = replayed.bench.job(transport.system, (case.ranks,), (*here,))
        grid = time_grid(
            CollectiveQuery(operation="all-gather", library=replayed.library("nccl")), job, np.array([case.message])
        )
        assert grid is not None
        gathers.append(float(grid.pick(grid.time)[0, 0]))
    first = case.transports[0].wall

    def wall(common: float, gather: float) -> float:
        return float(
            offloaded_run_time(
                common,
                case.parameters,
                width=case.bytes_per_parameter,
                passes=case.passes,
                micro_steps=case.micro_steps,
                message=case.message,
                gather=gather,
            )
        )

    common = first - wall(0.0, gathers[0])
    if common < 0:
        message = f"communication alone takes {wall(0.0, gathers[0]):.4g} s in the first run"
        remedy = "put the run with the fastest transport first"
        raise replayed.bench.fault((*path, "transports", 0, "wall"), message, remedy)
    rows = []
    for transport, gather in list(zip(case.transports, gathers, strict=True))[1:]:
        what = f"{transport.name} over {case.transports[0].name}"
        kind = "fitted" if transport.fitted else "predicted"
        ratios = (transport.wall / first, wall(common, gather) / first)
        rows.append(replayed.row(case, what, "ratio", *ratios, gpus=case.ranks, kind=kind))
    return rows


def replay(file: CaseFile, document: Document, catalog: Catalog) -> list[AccuracyRow]:
    """Return every row of a file of cases.

    Raises:
        InputError: if a case contradicts itself.
    """
    replayed = CaseReplay(CaseParts(catalog, document), file)
    rows: list[AccuracyRow] = []
    names = [case.id for case in file.collectives]
    names += [case.id for case in file.hierarchies] + [case.id for case in file.offloads]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise replayed.bench.fault((), f"two cases have the id `{repeated}`", "give each its own id")
    for position, collective in enumerate(file.collectives):
        rows += collective_rows(replayed, collective, ("collectives", position))
    for position, hierarchy in enumerate(file.hierarchies):
        rows += _hierarchy_rows(replayed, hierarchy, ("hierarchies", position))
    for position, offload in enumerate(file.offloads):
        rows += _offload_rows(replayed, offload, ("offloads", position))
    if not rows:
        raise replayed.bench.fault((), "no case of this file has a value", "write collectives, hierarchies or offloads")
    return rows
