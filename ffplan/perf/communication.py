"""The collectives that a design asks for, each with its bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.errors import InputError
from ffplan.perf.bounds import Bound, ring_factor
from ffplan.perf.hfreduce import hfreduce
from ffplan.perf.host import Host, host
from ffplan.perf.ledger import LedgerLine
from ffplan.perf.nccl import nccl_ring
from ffplan.record import record

if TYPE_CHECKING:
    from ffplan.design.resolve import ResolvedDesign
    from ffplan.design.schema import Communication
    from ffplan.errors import Finding


@record
class CollectiveBound:
    """An allreduce over all compute nodes with one library."""

    library: str
    operation: str
    ranks: int
    nodes: int
    message_bytes: float
    bound: Bound
    ledger: tuple[LedgerLine, ...]

    @property
    def algbw_gbyte_s(self) -> float:
        """Algorithm bandwidth: message bytes over time [GB/s]."""
        return float(self.bound.gbyte_s)

    @property
    def busbw_gbyte_s(self) -> float:
        """Bus bandwidth as nccl-tests defines it: algbw x 2 (n - 1) / n [GB/s]."""
        return float(self.bound.gbyte_s * ring_factor(self.ranks))


def _faults(design: ResolvedDesign, wanted: Communication) -> list[Finding]:
    group = design.compute
    document = design.document
    if group.accelerator is None or group.accelerators_per_node * group.group.count < 2:
        return [
            document.finding(
                "communication-nodes", ("nodes", group.position),
                "an allreduce needs at least two accelerators",
                "remove `communication`, or choose a server with accelerators",
            )
        ]  # fmt: skip
    scale_up = getattr(group.server, "nvlink", None)
    return [
        document.finding(
            "communication-nvlink", ("communication", "libraries", position),
            f"`hfreduce-nvlink` needs NVLink between GPUs; `{group.server.id}` has none",
            "use `hfreduce`, or a server with NVLink pairs",
        )
        for position, library in enumerate(wanted.libraries)
        if library == "hfreduce-nvlink" and (scale_up is None or not (scale_up.pairs or scale_up.switched))
    ]  # fmt: skip


def _one(library: str, design: ResolvedDesign, node: Host, wanted: Communication) -> CollectiveBound:
    group = design.compute
    accelerator = group.accelerator
    assert accelerator is not None
    nodes = group.group.count
    ledger: tuple[LedgerLine, ...] = ()
    if library == "nccl":
        result = nccl_ring(node, accelerator, group.cpus, nodes)
    else:
        result, ledger = hfreduce(
            node, accelerator, nodes,
            nvlink=library == "hfreduce-nvlink", memcpy_async=wanted.hfreduce.h2d == "memcpy-async",
        )  # fmt: skip
    return CollectiveBound(library, "allreduce", nodes * len(node.gpus), nodes, wanted.message_size, result, ledger)


def communication(design: ResolvedDesign) -> tuple[CollectiveBound, ...]:
    """Return the bound of an allreduce over the first compute group, for each library the design names.

    Raises:
        InputError: where a library cannot run on the compute nodes.
    """
    wanted = design.spec.communication
    if wanted is None:
        return ()
    faults = _faults(design, wanted)
    if faults:
        raise InputError(*faults)
    node = host(design.compute)
    return tuple(_one(library, design, node, wanted) for library in wanted.libraries)
