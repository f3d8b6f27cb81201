"""A design's collectives: the ranks on its nodes, the links that they cross, a table over sizes and scales."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.catalog.library import Library
from ffplan.collectives import expert_dispatch as dispatch
from ffplan.collectives.rank_layout import Job
from ffplan.collectives.timing import Wish, choices
from ffplan.fabric.sizing.plan import plan_fabric
from ffplan.node.fabric_cuts import borders, reach, zones_of
from ffplan.node.host import host
from ffplan.results.collective import AlgorithmRow, CollectiveRow, CollectiveTable
from ffplan.results.design import SCHEMA_VERSION
from ffplan.studies.collective_rows import WishError, tabulate
from ffplan.studies.train_assumptions import collective_assumptions

if TYPE_CHECKING:
    from ffplan.base.arrays import Floats
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolve import ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan


@record
class Wanted:
    """What a table is asked to show."""

    operation: str
    algorithm: str | None = None
    protocol: str | None = None
    in_network: bool = False
    routing: dispatch.Routing | None = None
    zones: int | None = None
    nic_gbyte_s: float | None = None
    """Most that each NIC carries [GB/s]."""


def place_ranks(
    design: ResolvedDesign, plan: FabricPlan, gpus: tuple[int, ...], zones: int | None, nic_gbyte_s: float | None = None
) -> Job:
    """Return the ranks of jobs on a design's first compute group; numbers are arrays over the jobs.

    Args:
        design: the design.
        plan: its fabric.
        gpus: ranks of each job.
        zones: zones that each job spans; as few as hold it if omitted.
        nic_gbyte_s: most that each NIC carries [GB/s].

    Raises:
        WishError: where ranks do not fill whole nodes, or more are asked for than there are.
    """
    rate = design.port_gbyte_s * design.stripes
    node = host(design.compute, min(rate, nic_gbyte_s or rate))
    most, each = reach(design) * len(node.gpus), len(node.gpus)
    if not node.gpus:
        raise WishError(f"`{node.id}` has no accelerators")
    domain = node.domain_gpus
    for count in gpus:
        if count < 2:
            raise WishError(f"--gpus {count}: a collective needs at least two accelerators")
        if count > most:
            raise WishError(f"--gpus {count:,}: one job can span {most:,} accelerators of this design")
        if count % -(-count // domain):
            low, high = count // domain * domain, min(most, (count // domain + 1) * domain)
            raise WishError(
                f"--gpus {count:,}: does not split evenly over nodes of {domain}; {low:,} or {high:,} would"
            )
    ranks: Floats = np.asarray(gpus, dtype=float)
    boxes = np.ceil(ranks / each)
    nodes = np.ceil(ranks / domain)
    span = _zones(design, boxes, zones)
    crossed = borders(design, plan, boxes, span)
    return Job(node, nodes, ranks / nodes, span, crossed)


def _zones(design: ResolvedDesign, boxes: Floats, zones: int | None) -> Floats:
    """Return the zones that jobs on so many nodes span.

    Raises:
        WishError: where they cannot.
    """
    if zones is None:
        return np.asarray(zones_of(design, boxes), dtype=float)
    fabric, count = design.spec.fabric, design.compute.group.count
    if zones > fabric.zones or bool((boxes < zones).any()):
        raise WishError(f"--zones {zones}: the fabric has {fabric.zones}, and every zone needs a node")
    if design.compute.group.zones == "every":
        raise WishError(f"--zones {zones}: every node is in every zone")
    if zones > 1 and fabric.inter_zone is None:
        raise WishError(f"--zones {zones}: nothing joins the zones of this fabric")
    held = -(-count // fabric.zones) * zones
    if bool((boxes > held).any()):
        raise WishError(f"--zones {zones}: {zones} zone(s) hold {held:,} nodes, the job has {int(boxes.max()):,}")
    return boxes * 0 + zones


def _wish(design: ResolvedDesign, catalog: Catalog, name: str, wanted: Wanted) -> Wish:
    part = catalog.entry(name.removesuffix("-nvlink")).part
    assert isinstance(part, Library)
    asked = design.spec.communication
    return Wish(
        wanted.operation, part, name, nvlink=name == "hfreduce-nvlink",
        memcpy_async=bool(asked and asked.hfreduce.h2d == "memcpy-async"), in_network=wanted.in_network,
        algorithm=wanted.algorithm, protocol=wanted.protocol, routing=wanted.routing,
    )  # fmt: skip


def _fault(wish: Wish, job: Job) -> str | None:
    """Return why a library cannot do what is asked, or None."""
    if wish.routing is not None and (fault := dispatch.routing_fault(job, wish.routing)):
        return f"{fault}; see --gpus, --experts, --top-k and --max-nodes"
    reduces = [item for item in choices(wish, job) if item.algorithm == "sharp" and bool(item.possible.any())]
    if wish.in_network and not reduces:
        return f"--sharp: no {wish.name} {wish.operation} of `{job.host.id}` that reduces in the network is known"
    if wish.nvlink and not (job.host.pairs or job.host.switched):
        return f"`hfreduce-nvlink` needs NVLink between GPUs; `{job.host.id}` has none"
    return None


def collective_table(
    design: ResolvedDesign, catalog: Catalog, libraries: list[str], wanted: Wanted, gpus: tuple[int, ...] | None,
    sizes: tuple[float, ...],
) -> CollectiveTable:  # fmt: skip
    """Return the table of a collective on a design.

    Args:
        design: the design.
        catalog: where the libraries are.
        libraries: names: nccl, hfreduce, hfreduce-nvlink, deepep.
        wanted: operation and what is forced.
        gpus: ranks of each job; all that one job can span if omitted.
        sizes: messages [byte]; the tokens of a GPU for dispatch and combine.

    Raises:
        WishError: where something cannot be done.
    """
    plan = plan_fabric(design)
    ranks = gpus or (reach(design) * design.compute.accelerators_per_node,)
    if wanted.routing is not None:
        sizes = (wanted.routing.message_bytes(wanted.operation),)
    job = place_ranks(design, plan, ranks, wanted.zones, wanted.nic_gbyte_s)
    rows: list[CollectiveRow] = []
    terms: list[AlgorithmRow] = []
    assumed: list[str] = []
    for name in libraries:
        wish = _wish(design, catalog, name, wanted)
        if fault := _fault(wish, job):
            raise WishError(fault)
        found, listed = tabulate(wish, job, ranks, np.array(sizes))
        rows += found
        terms += listed
        assumed += collective_assumptions(wish, job)
    if wanted.nic_gbyte_s is not None:
        assumed.append(f"NICs carry {wanted.nic_gbyte_s:g} GB/s at most, as asked.")
    used = {row.algorithm for row in rows}
    return CollectiveTable(
        SCHEMA_VERSION, design.spec.name, wanted.operation, ", ".join(libraries), wanted.in_network, "sharp" in used,
        bool(used & {"nvls", "nvls-tree", "sharp"}), tuple(rows), tuple(terms), tuple(dict.fromkeys(assumed)),
    )  # fmt: skip
