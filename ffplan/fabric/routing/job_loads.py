"""One job on a fabric: its ranks, its traffic, the loads of its links, and the rate that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Ints
from ffplan.base.record import record
from ffplan.catalog.parts import Server
from ffplan.fabric.routing import traffic
from ffplan.fabric.routing.link_loads import flow_loads
from ffplan.fabric.routing.traffic import _crossing_pairs, _double_binary_tree, _joined_trees

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.routing.routing import Routing
    from ffplan.fabric.wiring.network import Network, _EndpointTable
    from ffplan.fabric.wiring.wiring import WiredFabric


ORDERS = ("aligned", "alternating", "random")
"""aligned: zone by zone, pod by pod, leaf by leaf. alternating: as a scheduler deals nodes of all leaves in turn, blind
to zones. random: shuffled."""


def aligned(network: Network, job: Ints) -> Ints:
    """Return the rows of a job zone by zone, pod by pod, leaf by leaf, port by port of the first NIC.

    Args:
        job: endpoints, shape (nodes, rails).
    """
    first = job[:, 0]
    e, s = network.endpoints, network.switches
    leaf = e.leaf[first]
    return np.lexsort((e.slot[first], leaf, s.pod[leaf], e.zone[first]))


def alternating(network: Network, job: Ints) -> Ints:
    """Return the rows of a job with the leaves of all zones taken in turn.

    Args:
        job: endpoints, shape (nodes, rails).
    """
    base = aligned(network, job)
    zone = network.endpoints.zone[job[base, 0]]
    place = np.arange(len(base)) - np.searchsorted(zone, zone, side="left")
    return base[np.lexsort((zone, place))]


def _in_order(network: Network, job: Ints, order: str, seed: int) -> Ints:
    """Return the rows of a job in one of ORDERS."""
    if order == "aligned":
        return aligned(network, job)
    if order == "alternating":
        return alternating(network, job)
    if order == "random":
        return np.random.default_rng(seed).permutation(len(job))
    raise ValueError(f"no order `{order}`")


def zone_sizes(network: Network, job: Ints) -> list[int]:
    """Return the ranks in each run of one zone, for a job in aligned order."""
    zone = network.endpoints.zone[job[:, 0]]
    return [int(n) for n in np.bincount(zone) if n]


TRAFFIC = ("ring", "tree", "library-tree", "all-to-all", "rail-all-to-all", "permutation", "incast")
"""tree joins the trees of the zones through one pair of nodes; library-tree is one double binary tree over all ranks.
all-to-all goes from every NIC to every other, rail-all-to-all to the same NIC of the other nodes, forwarded inside."""
REDUCING = ("ring", "tree", "library-tree")
"""Traffic of reductions."""
MOST_FLOWS = 20_000_000
"""Most flows that are listed singly."""


class StudyError(Exception):
    """The study asks for something that this fabric does not have."""


@record
class JobNodes:
    """Nodes in the order of their ranks."""

    ports: Ints
    """Endpoints of each rank, shape (ranks, rails)."""
    zone: Ints
    """Zone of each rank by its first port."""
    domain: Ints | None = None
    """Number of the scale-up network of each rank; None if no two ranks share one."""

    def parts(self) -> list[JobNodes]:
        """Return the jobs of ranks that exchange parts of a reduction over the fabric."""
        return [JobNodes(self.ports[rows], self.zone[rows]) for rows in self.shares()]

    def shares(self) -> list[Ints]:
        """Return the ranks that exchange each part of a reduction over the fabric: all of them, and all of it; or one
        rank of each scale-up network.

        Ranks of one network reduce among themselves first. Then the first of each go on with a part of the bytes, the
        second with another, as many as the smallest network has.
        """
        if self.domain is None:
            return [np.arange(len(self.ports))]
        order = np.argsort(self.domain, kind="stable")
        sorted_ = self.domain[order]
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order)) - np.searchsorted(sorted_, sorted_, side="left")
        least = int(np.unique(self.domain, return_counts=True)[1].min())
        return [np.flatnonzero(place == number) for number in range(least)]


def domain_sizes(design: ResolvedDesign) -> dict[int, int]:
    """Return the nodes in one scale-up network by group of compute nodes, for groups that have several."""
    return {
        number: group.server.domain_nodes
        for number, group in enumerate(design.groups)
        if group.group.role == "compute" and isinstance(group.server, Server) and group.server.domain_nodes > 1
    }


def _domains(design: ResolvedDesign, endpoints: _EndpointTable, ports: Ints) -> Ints | None:
    """Return the scale-up network of some nodes by their first ports; None if no two nodes share one."""
    group, node = endpoints.group[ports].astype(np.int64), endpoints.node[ports].astype(np.int64)
    sizes = np.ones(len(design.groups), np.int64)
    for number, size in domain_sizes(design).items():
        sizes[number] = size
    domain: Ints = group << 32 | node // sizes[group]
    return domain if len(np.unique(domain)) < len(domain) else None


def all_nodes(design: ResolvedDesign, fabric: WiredFabric) -> Ints:
    """Return the endpoints of every node that jobs run on, shape (nodes, rails)."""
    return traffic._ports_of(fabric.network.endpoints, list(design.job_groups))


def pick_job(
    design: ResolvedDesign, fabric: WiredFabric, nodes: int | None, order: str, seed: int, *, least: int = 2
) -> JobNodes:
    """Return a job on equal compute nodes.

    Args:
        nodes: requested ranks [1]; all nodes if None. They are taken in the requested order.
        least: fewest nodes of such a job [1].

    Raises:
        StudyError: for fewer nodes than requested, or than the fewest.
    """
    every = all_nodes(design, fabric)
    if nodes is not None and nodes > len(every):
        raise StudyError(f"{nodes:,} nodes are more than the {len(every):,} that jobs run on")
    rows = _in_order(fabric.network, every, order, seed)[: nodes or len(every)]
    if len(rows) < least:
        raise StudyError("a job needs two nodes or more")
    ports, endpoints = every[rows], fabric.network.endpoints
    return JobNodes(ports, endpoints.zone[ports[:, 0]], _domains(design, endpoints, ports[:, 0]))


def tree_of(job: JobNodes, kind: str) -> Ints:
    """Return the double binary tree of a job, parents by rank, shape (2, ranks).

    Args:
        kind: `tree`, joined zone by zone where the ranks of a zone follow each other, or `library-tree`.
    """
    ranks = len(job.ports)
    changes = int((np.diff(job.zone) != 0).sum())
    # ranks that come back to a zone form no run that a tree of its own could cover
    if kind == "library-tree" or changes >= len(np.unique(job.zone)):
        return _double_binary_tree(ranks)
    edges = np.flatnonzero(np.diff(job.zone)) + 1
    return _joined_trees(np.diff(np.concatenate([[0], edges, [ranks]])).tolist())


def _reduction(parts: list[JobNodes], kind: str, nbytes: float) -> traffic.Flows:
    """Return an allreduce over jobs that share its bytes.

    Raises:
        StudyError: if one scale-up network joins the whole job.
    """
    if len(parts[0].ports) < 2:
        raise StudyError("a scale-up network joins all nodes of the job: its reductions do not use the fabric")
    each = nbytes / len(parts)
    flows = [
        traffic.ring(part.ports, each) if kind == "ring" else traffic.tree(part.ports, tree_of(part, kind), each)
        for part in parts
    ]
    columns = [[getattr(flow, name) for flow in flows] for name in ("src", "dst", "nbytes")]
    return traffic.Flows(*(np.concatenate(column) for column in columns))


def flows_of(
    design: ResolvedDesign, fabric: WiredFabric, job: JobNodes, kind: str, nbytes: float, seed: int
) -> traffic.Flows:
    """Return the flows of one kind of traffic, all-to-all included.

    Args:
        nbytes: bytes of each node [byte].

    Raises:
        StudyError: without storage to read from, or for too many flows to list.
    """
    e = fabric.network.endpoints
    if kind in REDUCING:
        return _reduction(job.parts(), kind, nbytes)
    if kind == "permutation":
        return traffic.permutation(job.ports, nbytes, seed)
    if kind == "incast":
        roles = [position for position, group in enumerate(design.groups) if group.group.role == "storage"]
        storage = np.flatnonzero(np.isin(e.group, roles))
        if not len(storage):
            raise StudyError("the design has no storage nodes to read from")
        if len(storage) * job.ports.size > MOST_FLOWS:
            raise StudyError(f"{len(storage) * job.ports.size:,} flows are more than {MOST_FLOWS:,}; use fewer nodes")
        try:
            return traffic.incast(job.ports, storage, e.zone, e.plane, nbytes)
        except ValueError as error:
            raise StudyError(str(error)) from None
    if kind == "rail-all-to-all":
        columns = [job.ports[:, rail : rail + 1] for rail in range(job.ports.shape[1])]
        if len(columns) * len(job.ports) ** 2 > MOST_FLOWS:
            raise StudyError(f"more than {MOST_FLOWS:,} flows would be listed one by one; use fewer nodes")
        parts = [traffic._one_by_one(column, e.plane, nbytes / len(columns)) for column in columns]
        columns_of = [[getattr(part, name) for part in parts] for name in ("src", "dst", "nbytes")]
        return traffic.Flows(*(np.concatenate(column) for column in columns_of))
    if job.ports.size**2 > MOST_FLOWS:
        raise StudyError(
            f"all-to-all among {job.ports.size:,} endpoints has more than {MOST_FLOWS:,} flows; with this routing they "
            "are listed one by one: use fewer nodes, or static or adaptive routing on a healthy fabric"
        )
    return traffic._one_by_one(job.ports, e.plane, nbytes / job.ports.shape[1])


def _check_kind(router: Routing, routing: str) -> None:
    """Refuse a kind of routing that the fabric does not have."""
    if routing not in router.kinds:
        raise StudyError(f"a {router.fabric.family} has no {routing} routing; it has {', '.join(router.kinds)}")


def loads_of(router: Routing, flows: traffic.Flows, routing: str, seed: int) -> tuple[Floats, int]:
    """Return the bytes on every directed link under one kind of routing, and how many flows do not arrive.

    Raises:
        StudyError: if the fabric has no such routing.
    """
    _check_kind(router, routing)
    if routing != "adaptive":
        hashed = None if routing == "static" else seed
        return flow_loads(router, flows.src, flows.dst, flows.nbytes, hashed, detour=routing == "valiant")
    reached = router.connected(flows.src, flows.dst)
    load = router.spread(flows.src[reached], flows.dst[reached], flows.nbytes[reached])
    return load, int((~reached & (flows.src != flows.dst)).sum())


def _counted_all_to_all(router: Routing, job: JobNodes, nbytes: float, routing: str) -> tuple[Floats, int] | None:
    """Return the loads of all-to-all among the endpoints of a job without listing its flows, and the flows not reached;
    `nbytes` [byte].

    Returns loads and flows, or None if this routing must list them.
    """
    endpoints = router.fabric.network.endpoints
    member = np.zeros(len(endpoints), bool)
    member[job.ports.ravel()] = True
    planes = np.bincount(endpoints.plane[member])
    # a rail's part of the node's bytes, in equal parts to all others of its plane
    load = router.all_to_all(member, nbytes / job.ports.shape[1] / max(1, int(planes.max()) - 1), routing)
    return None if load is None else (load, router.apart(job.ports.ravel()))


def loads_for(
    design: ResolvedDesign, router: Routing, job: JobNodes, kind: str, *, routing: str, nbytes: float, seed: int
) -> tuple[Floats, int]:
    """Return the bytes on every directed link for a kind of traffic, and how many flows do not arrive.

    Args:
        nbytes: bytes of each node [byte].
        seed: of permutations and hashing.

    Raises:
        StudyError: as `flows_of` and `loads_of` do.
    """
    _check_kind(router, routing)
    if kind in ("all-to-all", "rail-all-to-all"):
        rails = job.ports.shape[1] if kind == "rail-all-to-all" else 1
        parts = [JobNodes(job.ports[:, rail::rails], job.zone) for rail in range(rails)]
        load, lost = np.zeros(2 * len(router.fabric.network.links)), 0
        for part in parts:
            counted = _counted_all_to_all(router, part, nbytes / rails, routing)
            if counted is None:
                break
            load += counted[0]
            lost += counted[1]
        else:
            return load, lost
    return loads_of(router, flows_of(design, router.fabric, job, kind, nbytes, seed), routing, seed)


def pairs_across_zones(job: JobNodes, kind: str) -> int | None:
    """Return the pairs of nodes that communicate across zones in a ring or tree; None for other traffic."""
    if kind not in REDUCING:
        return None
    return sum(_crossing_pairs(_tree_or_ring(part, kind), part.zone) for part in job.parts())


def _tree_or_ring(job: JobNodes, kind: str) -> Ints:
    """Return parents by rank; a ring is written as a tree whose parent is the next rank."""
    ranks = len(job.ports)
    return ((np.arange(ranks) + 1) % ranks)[None] if kind == "ring" else tree_of(job, kind)
