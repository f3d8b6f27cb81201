"""Accelerators to serve on, and the links between them: collectives of a group, and keys and values between pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.catalog.library import Library
from ffplan.catalog.parts import Accelerator
from ffplan.collectives.timing import CollectiveQuery, chosen_time
from ffplan.design.resolved import ResolvedDesign
from ffplan.results.serving import ServeBeside
from ffplan.serving.hardware import group_link

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats, Ints
    from ffplan.catalog.store import Catalog
    from ffplan.collectives.rank_layout import RankLayout
    from ffplan.fabric.routing.traffic import Flows
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


def fleet_of(design: ResolvedDesign, gpus: int | None = None) -> Fleet:
    """Return accelerators of a design's compute nodes.

    Args:
        gpus: accelerators to serve on [1]; all if omitted.

    Raises:
        ServeError: if there are none, or fewer.
    """
    from ffplan.studies.basis.job_layout import node_of

    group = design.compute
    if group.accelerator is None:
        raise ServeError(f"{design.spec.name} has no accelerators")
    most = int(design.accelerators)
    if gpus is not None and not 1 <= gpus <= most:
        raise ServeError(f"--gpus {gpus:,}: {design.spec.name} has {most:,}")
    return Fleet(
        accelerator=group.accelerator,
        gpus=gpus or most,
        design=design,
        domain=int(node_of(design).domain_gpus),
    )


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
        library = catalog.entry(fleet.accelerator.library).part
        assert isinstance(library, Library)
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


def _move_link(fleet: Fleet, catalog: Catalog, senders: int, receivers: int) -> _MoveLink:
    """Return the rate at which accelerators with prompts send to accelerators that decode.

    Args:
        fleet: the accelerators, unit after unit, in each the prefill pool first.
        catalog: where the design's library is.
        senders: accelerators of a unit with prompts [1].
        receivers: accelerators of a unit that decode [1].

    Raises:
        ServeError: if no network joins them.

    Equation:
        inside a scale-up network, and without a design, the rate of its collectives; else what an accelerator sends
        across in an all-to-all of two nodes, times the busiest endpoint's time over the busiest link's, with flows from
        every node with prompts to nodes that decode, rail by rail

    Source:
        `ffplan fabric route` with such flows.
    """
    if fleet.design is None or senders + receivers <= fleet.domain:
        rate = _link_of(fleet, catalog, min(senders + receivers, fleet.domain)).rate
        return _MoveLink(rate, 1.0, "scale-up network")
    from ffplan.fabric.family import plan_fabric
    from ffplan.studies.basis.job_layout import job_layout, node_of, own_library

    design = fleet.design
    library = catalog.get(Library, own_library(design), design.document, ())
    job = job_layout(design, plan_fabric(design), node_of(design), 2 * fleet.domain)
    query = CollectiveQuery(operation="all-to-all", library=library)
    # of two domains, each accelerator sends half to the other
    stream_rate = _STREAM / 2 / float(np.asarray(chosen_time(query, job, float(_STREAM))).item())
    share, link = _fabric_share(design, fleet, senders, receivers)
    return _MoveLink(stream_rate * share, share, link)


def _fabric_share(design: ResolvedDesign, fleet: Fleet, senders: int, receivers: int) -> tuple[float, str]:
    """Return the part of an endpoint's rate that the fabric leaves to flows between pools [1], and the link that binds.

    Raises:
        ServeError: if some flows do not arrive.
    """
    from ffplan.fabric.routing.link_loads import outcome
    from ffplan.studies.fabric.cabling import hottest, tier_loads, wire_design

    wired = wire_design(design)
    load = _moved_load(wired, fleet, (senders, receivers))
    times = outcome(wired.fabric.network, load)
    busiest = hottest(tier_loads(wired, load))
    return times.ideal_s / times.time_s, f"{busiest.link}, {busiest.tier}"


def _moved_load(wired: WiredDesign, fleet: Fleet, sizes: tuple[int, int]) -> Floats:
    """Return the bytes on every directed link for one byte that each port of a prefill node sends.

    Args:
        wired: the design that the accelerators belong to.
        sizes: accelerators of a unit with prompts, and that decode [1].

    Raises:
        ServeError: if some flows do not arrive.
    """
    from ffplan.fabric.family import routing_of
    from ffplan.fabric.routing.job_loads import all_nodes, loads_of

    flows = _flows(all_nodes(wired.design, wired.fabric), wired.design, fleet, sizes)
    load, lost = loads_of(routing_of(wired.fabric), flows, "static", 0)
    if lost:
        raise ServeError(f"{lost:,} flows from prefill to decoding cannot arrive")
    return load


def _beside_training(fleet: Fleet, sizes: tuple[int, int], bytes_s: float) -> ServeBeside | None:
    """Return what an allreduce of a job on the other nodes keeps of its rate while keys and values move.

    Args:
        fleet: the accelerators that serve, the first ones of the design.
        sizes: accelerators of a unit with prompts, and that decode [1].
        bytes_s: keys and values of all units [byte/s].

    Returns:
        None where no two nodes are left, or keys and values stay inside a scale-up network.

    Equation:
        kept = max over links of the ring's time / max over its links of (its time + the time of keys and values), for
        the bytes of a second at full rate and the bytes that move in it

    Source:
        `ffplan fabric route` with both: flows that share a link share its rate.
    """
    design = fleet.design
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
    units = fleet.gpus // sum(sizes)
    senders = units * -(-sizes[0] // each) * ports.shape[1]
    moving = link_times(network, _moved_load(wired, fleet, sizes)) * (bytes_s / senders)
    training = training / training.max()
    shared = np.where(training > 0, moving, 0.0)
    link = int(shared.max(axis=1).argmax())
    return ServeBeside(
        gpus=len(others) * each,
        kept=float(1 / np.where(training > 0, training + moving, 0.0).max()),
        moved_share=float(shared.max()),
        link=_link_name(network, wired.names, link) if shared.max() > 0 else None,
    )


def _flows(ports: Ints, design: ResolvedDesign, fleet: Fleet, sizes: tuple[int, int]) -> Flows:
    """Return flows from prefill nodes to decoding nodes in all units, with equal bytes per sender."""
    from ffplan.fabric.routing.traffic import Flows

    each = int(design.compute.accelerators_per_node)
    first = np.arange(fleet.gpus // sum(sizes)) * sum(sizes)
    # nodes by the accelerators at their middle
    sending, receiving = ((size + each - 1) // each for size in sizes)
    many = min(max(_FEWEST, -(-receiving // sending)), receiving)
    unit, sender, place = np.meshgrid(first, np.arange(sending), np.arange(many), indexing="ij")
    source = (unit + sender * each) // each
    target = (unit + sizes[0] + (sender * many + place) % receiving * each) // each
    apart = (source != target).ravel()
    src, dst = ports[source.ravel()[apart] % len(ports)], ports[target.ravel()[apart] % len(ports)]
    return Flows(src.ravel(), dst.ravel(), np.full(src.size, 1.0 / many))
