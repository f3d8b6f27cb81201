"""Accelerators to serve on, and the links between them: collectives of a group, and keys and values between pools."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import did_you_mean
from ffplan.base.record import record
from ffplan.catalog.library import Library
from ffplan.catalog.parts import Accelerator
from ffplan.collectives.timing import CollectiveQuery, chosen_time
from ffplan.design.resolved import ResolvedDesign
from ffplan.inputs.part_ids import id_of
from ffplan.results.serving import ServeBeside
from ffplan.serving.hardware import group_link
from ffplan.serving.placement import Ground, copies_that_fit

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats
    from ffplan.catalog.store import Catalog
    from ffplan.collectives.rank_layout import RankLayout
    from ffplan.fabric.routing.traffic import Flows
    from ffplan.fabric.wiring.wiring import WiredFabric
    from ffplan.serving.placement import Parts
    from ffplan.studies.fabric.cabling import WiredDesign

_LARGE, _SMALL = 256 * 2**20, 64 * 2**10
"""Messages at which rate and latency of a group's collectives are taken [byte]."""
_STREAM = 2**36
"""Message that is long enough for the rate of a stream [byte]."""
_LEAST_JOB = 2
"""Fewest nodes of a job that uses the network [1]."""
_FEWEST = 8
"""Least number of decoding copies that a prefill node sends to at a time, if there are as many [1]."""


class ServeError(ValueError):
    """A plan that cannot run, or a load that cannot be served."""

    def __init__(self, message: str, *, infeasible: bool = False) -> None:
        super().__init__(message)
        self.infeasible = infeasible
        """True if no option is wrong, and the machine is too small."""


@record
class Fleet:
    """Accelerators to serve on."""

    accelerator: Accelerator
    gpus: int
    """Accelerators [1]."""
    design: ResolvedDesign | None = None
    """Design that they belong to."""
    domain: int = 8
    """Accelerators behind one scale-up network [1]."""

    @property
    def ground(self) -> Ground:
        """Where copies are placed; without a design one network joins all."""
        if self.design is None:
            return Ground(gpus=self.gpus, domain=self.gpus, node=self.gpus)
        return Ground(gpus=self.gpus, domain=self.domain, node=int(self.design.compute.accelerators_per_node))


def fleet_of(design: ResolvedDesign, gpus: int | None = None, accelerator: str | None = None) -> Fleet:
    """Return accelerators of a design's compute nodes: of one kind, whichever else it has.

    Args:
        gpus: accelerators to serve on [1]; all of the kind if omitted.
        accelerator: the kind; the nodes that jobs run on if omitted.

    Raises:
        ServeError: if there are none, or fewer.
    """
    from ffplan.studies.basis.job_layout import node_of

    kinds = _kinds_of(design)
    if accelerator is not None:
        accelerator = id_of(accelerator, kinds)
        if accelerator not in kinds:
            known = did_you_mean(accelerator, kinds, what="accelerator")
            raise ServeError(f"--accelerator: {design.spec.name} has no {accelerator}; {known}")
        design = replace(design, jobs_on=accelerator)
    group = design.compute
    if group.accelerator is None:
        raise ServeError(f"{design.spec.name} has no accelerators")
    most = design.job_accelerators
    if gpus is not None and not 1 <= gpus <= most:
        what = f" {group.accelerator.id}" if len(kinds) > 1 else ""
        raise ServeError(f"--gpus {gpus:,}: {design.spec.name} has {most:,}{what}")
    return Fleet(
        accelerator=group.accelerator,
        gpus=gpus or most,
        design=design,
        domain=int(node_of(design).domain_gpus),
    )


def _kinds_of(design: ResolvedDesign) -> tuple[str, ...]:
    """Return the accelerators of a design's compute nodes, by catalogue id."""
    compute = (group for group in design.groups if group.group.role == "compute")
    return tuple(dict.fromkeys(group.accelerator.id for group in compute if group.accelerator is not None))


@record
class GroupLink:
    """Collectives among the ranks of a group."""

    rate: float
    """Bus bandwidth of large ones [byte/s]."""
    latency: float = 0.0
    """Time of a small one that crosses the network [s]; 0 inside a scale-up network, where the engine's own holds."""


def _link_of(fleet: Fleet, catalog: Catalog, ranks: int) -> GroupLink:
    """Return rate and latency of collectives among the ranks of a group.

    Args:
        catalog: where the design's library is.
        ranks: accelerators of the group [1].

    Equation:
        as `ffplan collective` times them on the design's nodes and fabric; without a design, the rate of the
        accelerator's own scale-up network
    """
    if fleet.design is None or ranks < 2:
        document = catalog.entry(fleet.accelerator.id).document
        library = catalog.get(Library, fleet.accelerator.library, document, ("library",))
        rate = group_link(fleet.accelerator, library)
        if not rate:
            raise ServeError(f"the catalogue has no link between accelerators of {fleet.accelerator.id}")
        return GroupLink(rate)
    from ffplan.fabric.family import plan_fabric
    from ffplan.studies.basis.job_layout import job_layout, node_of, own_library

    design = fleet.design
    library = catalog.get(Library, own_library(design), design.document, ())
    job = job_layout(design, plan_fabric(design), node_of(design), ranks)
    return timed_link(library, job, ranks, fleet.domain)


def timed_link(library: Library, job: RankLayout, ranks: int, domain: int) -> GroupLink:
    """Return rate and latency of collectives among the ranks of a job.

    Args:
        library: communication library.
        job: nodes and fabric that the ranks are on.
        ranks: accelerators of the group [1].
        domain: accelerators behind one scale-up network [1].

    Equation:
        bus bandwidth of an allreduce of 256 MiB; beyond a scale-up network, the time of one of 64 KiB
    """
    query = CollectiveQuery(operation="allreduce", library=library)

    def seconds_of(size: int) -> float:
        return float(np.asarray(chosen_time(query, job, float(size))).item())

    seconds = seconds_of(_LARGE)
    latency = seconds_of(_SMALL) if ranks > domain else 0.0
    return GroupLink(_LARGE / seconds * 2 * (ranks - 1) / ranks, latency)


@record
class _MoveLink:
    """Keys and values from one pool's accelerators to the other's."""

    rate: float
    """Rate of an accelerator while all send [byte/s]."""
    share: float
    """That rate over the one of the accelerator's own links [1]."""
    link: str
    """What binds it, for people."""


def _units_of(fleets: tuple[Fleet, Fleet], parts: Parts) -> int:
    """Return how many units of two pools their accelerators hold [1].

    Args:
        fleets: where prompts are computed, and where answers are decoded; of one kind, both are the same.
        parts: accelerators of a copy with prompts and of one that decodes, each with the copies of a unit [1].
    """
    if fleets[0].accelerator.id == fleets[1].accelerator.id:
        return copies_that_fit(parts, fleets[0].ground)
    return min(
        copies_that_fit(((size, 1),), fleet.ground) // count for fleet, (size, count) in zip(fleets, parts, strict=True)
    )


def _sizes(parts: Parts) -> tuple[int, int]:
    """Return the accelerators of a unit with prompts, and that decode [1]."""
    prefill, decode = (size * count for size, count in parts)
    return prefill, decode


def _move_link(fleets: tuple[Fleet, Fleet], catalog: Catalog, parts: Parts) -> _MoveLink:
    """Return the rate at which accelerators with prompts send to accelerators that decode.

    Args:
        fleets: accelerators with prompts, and that decode; of one kind unit after unit, the prefill pool first.
        catalog: where the design's library is.
        parts: accelerators of a copy with prompts and of one that decodes, each with the copies of a unit [1].

    Raises:
        ServeError: if no network joins them.

    Equation:
        inside a scale-up network, and without a design, the rate of its collectives; else what an accelerator sends
        across in an all-to-all of two nodes, of unlike ones the slower, times the busiest endpoint's time over the
        busiest link's, with flows from every node with prompts to nodes that decode, rail by rail

    Source:
        `ffplan fabric route` with such flows.
    """
    kinds = {fleet.accelerator.id: fleet for fleet in fleets}
    first, sizes = fleets[0], _sizes(parts)
    if first.design is None or (len(kinds) == 1 and sum(sizes) <= first.domain):
        rate = _link_of(first, catalog, min(sum(sizes), first.domain)).rate
        return _MoveLink(rate, 1.0, "scale-up network")
    share, link = _fabric_share(first.design, fleets, parts)
    return _MoveLink(min(_stream_rate(fleet, catalog) for fleet in kinds.values()) * share, share, link)


def _stream_rate(fleet: Fleet, catalog: Catalog) -> float:
    """Return what an accelerator sends to another node while all of two scale-up networks do [byte/s]."""
    from ffplan.fabric.family import plan_fabric
    from ffplan.studies.basis.job_layout import job_layout, node_of, own_library

    design = fleet.design
    assert design is not None
    library = catalog.get(Library, own_library(design), design.document, ())
    job = job_layout(design, plan_fabric(design), node_of(design), 2 * fleet.domain)
    query = CollectiveQuery(operation="all-to-all", library=library)
    # of two domains, each accelerator sends half to the other
    return _STREAM / 2 / float(np.asarray(chosen_time(query, job, float(_STREAM))).item())


def _fabric_share(design: ResolvedDesign, fleets: tuple[Fleet, Fleet], parts: Parts) -> tuple[float, str]:
    """Return the part of an endpoint's rate that the fabric leaves to flows between pools [1], and the link that binds.

    Raises:
        ServeError: if some flows do not arrive.
    """
    from ffplan.fabric.routing.link_loads import outcome
    from ffplan.studies.fabric.cabling import hottest, tier_loads, wire_design

    wired = wire_design(design)
    load = _moved_load(wired, fleets, parts)
    times = outcome(wired.fabric.network, load)
    busiest = hottest(tier_loads(wired, load))
    return times.ideal_s / times.time_s, f"{busiest.link}, {busiest.tier}"


def _moved_load(wired: WiredDesign, fleets: tuple[Fleet, Fleet], parts: Parts) -> Floats:
    """Return the bytes on every directed link for one byte that each port of a prefill node sends.

    Args:
        wired: the design that the accelerators belong to.
        parts: accelerators of a copy with prompts and of one that decodes, each with the copies of a unit [1].

    Raises:
        ServeError: if some flows do not arrive.
    """
    from ffplan.fabric.family import routing_of
    from ffplan.fabric.routing.job_loads import loads_of

    load, lost = loads_of(routing_of(wired.fabric), _flows(wired.fabric, fleets, parts), "static", 0)
    if lost:
        raise ServeError(f"{lost:,} flows from prefill to decoding cannot arrive")
    return load


def _beside_training(fleet: Fleet, parts: Parts, bytes_s: float) -> ServeBeside | None:
    """Return what an allreduce of a job on the other nodes keeps of its rate while keys and values move.

    Args:
        fleet: the accelerators that serve, the first ones of the design.
        parts: accelerators of a copy with prompts and of one that decodes, each with the copies of a unit [1].
        bytes_s: keys and values of all units [byte/s].

    Returns:
        None where no two nodes are left, or keys and values stay inside a scale-up network.

    Equation:
        kept = max over links of the ring's time / max over its links of (its time + the time of keys and values), for
        the bytes of a second at full rate and the bytes that move in it

    Source:
        `ffplan fabric route` with both: flows that share a link share its rate.
    """
    design, sizes = fleet.design, _sizes(parts)
    if design is None or sum(sizes) <= fleet.domain:
        return None
    each = int(design.compute.accelerators_per_node)
    serving = -(-fleet.gpus // each)
    if sum(design.groups[place].group.count for place in design.job_groups) - serving < _LEAST_JOB:
        return None
    from ffplan.fabric.family import routing_of
    from ffplan.fabric.routing import traffic
    from ffplan.fabric.routing.job_loads import aligned, all_nodes, loads_of
    from ffplan.fabric.routing.link_loads import link_times
    from ffplan.studies.fabric.cabling import _link_name, wire_design

    wired = wire_design(design)
    network, ports = wired.fabric.network, all_nodes(design, wired.fabric)
    others = ports[serving:]
    job = others[aligned(network, others)]
    ring, lost = loads_of(routing_of(wired.fabric), traffic.ring(job, 1.0), "static", 0)
    if lost:
        raise ServeError(f"{lost:,} flows of a job on the other nodes cannot arrive")
    training = link_times(network, ring)
    units = _units_of((fleet, fleet), parts)
    senders = units * -(-sizes[0] // each) * ports.shape[1]
    moving = link_times(network, _moved_load(wired, (fleet, fleet), parts)) * (bytes_s / senders)
    training = training / training.max()
    shared = np.where(training > 0, moving, 0.0)
    link = int(shared.max(axis=1).argmax())
    return ServeBeside(
        gpus=len(others) * each,
        kept=float(1 / np.where(training > 0, training + moving, 0.0).max()),
        moved_share=float(shared.max()),
        link=_link_name(network, wired.names, link) if shared.max() > 0 else None,
    )


def _flows(fabric: WiredFabric, fleets: tuple[Fleet, Fleet], parts: Parts) -> Flows:
    """Return flows from prefill nodes to decoding nodes in all units, with equal bytes per sending port."""
    from ffplan.fabric.routing.job_loads import all_nodes
    from ffplan.fabric.routing.traffic import Flows

    alike, units = fleets[0].accelerator.id == fleets[1].accelerator.id, np.arange(_units_of(fleets, parts))
    sizes = _sizes(parts)
    starts = (units * sum(sizes), units * sum(sizes) + sizes[0]) if alike else (units * sizes[0], units * sizes[1])
    ports, each = [], []
    for fleet in fleets:
        assert fleet.design is not None
        ports.append(all_nodes(fleet.design, fabric))
        each.append(int(fleet.design.compute.accelerators_per_node))
    # nodes by the accelerators at their middle
    sending, receiving = (-(-size // node) for size, node in zip(sizes, each, strict=True))
    many = min(max(_FEWEST, -(-receiving // sending)), receiving)
    unit, sender, place = (
        axis.ravel() for axis in np.meshgrid(units, np.arange(sending), np.arange(many), indexing="ij")
    )
    source = (starts[0][unit] + sender * each[0]) // each[0] % len(ports[0])
    target = (starts[1][unit] + (sender * many + place) % receiving * each[1]) // each[1] % len(ports[1])
    apart = (source != target) if alike else np.ones(len(source), dtype=bool)
    # where one kind of node has more ports, several of them share a port of the other
    rails = np.arange(max(side.shape[1] for side in ports))
    src, dst = (
        side[nodes[apart]][:, rails * side.shape[1] // len(rails)].ravel()
        for side, nodes in zip(ports, (source, target), strict=True)
    )
    return Flows(src, dst, np.full(src.size, ports[0].shape[1] / len(rails) / many))
