"""Losses of switches and links by name, by role or by plane, and the remaining fabric."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Ints
from ffplan.base.errors import did_you_mean
from ffplan.base.record import record
from ffplan.fabric.routing.cuts import _tier_rows, _zone_cuts, across
from ffplan.fabric.routing.job_loads import aligned, loads_of, zone_sizes
from ffplan.fabric.routing.link_loads import _countable, _StaticTraffic, link_times
from ffplan.fabric.routing.traffic import Flows, _joined_trees, tree
from ffplan.fabric.routing.tree_routing import TreeRouting, _CutTraffic
from ffplan.fabric.wiring.network import CORE, INTERZONE, LEAF, SPINE

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Floats
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.network import Network
    from ffplan.fabric.wiring.wiring import WiredFabric

ROLE_NUMBERS = {"leaf": LEAF, "spine": SPINE, "core": CORE, "interzone": INTERZONE}
"""Roles whose switches can be lost."""


@record
class Remaining:
    """The remaining fabric."""

    endpoints_lost: int
    endpoints_cut_off: int
    nodes_of: tuple[int, ...]
    """Nodes left of each job: of the one job, or of one in each zone where nothing joins the zones."""
    rates: tuple[float, ...]
    """Rate of each job's allreduce [GB/s]; 0 with fewer than two nodes."""
    zone_gbyte_s: tuple[float, ...]
    """Bandwidth across an even split of each zone by itself, over all planes [GB/s]."""
    bisection_gbyte_s: float

    @property
    def nodes_left(self) -> int:
        """Nodes left of all jobs."""
        return sum(self.nodes_of)

    @property
    def allreduce_gbyte_s(self) -> float:
        """Rate of the slowest job of two nodes or more; 0 without one [GB/s]."""
        return min((rate for rate, nodes in zip(self.rates, self.nodes_of, strict=True) if nodes > 1), default=0.0)

    def rate_share(self, healthy: Remaining) -> float | None:
        """Return the rate of the job that keeps least of its own, 1 at most; None if no job had a rate [1].

        A job of fewer than two nodes has no rate to compare; 0 if none is larger.
        """
        jobs = list(zip(self.rates, self.nodes_of, healthy.rates, strict=True))
        if not any(before for *_, before in jobs):
            return None
        return min((min(1.0, rate / before) for rate, nodes, before in jobs if before and nodes > 1), default=0.0)


def _jobs(fabric: WiredFabric, every: Ints) -> tuple[Ints, ...]:
    """Return the ports of each job that the fabric can run: one, or one in each zone where nothing joins the zones."""
    if fabric.zones == 1 or fabric.interzone or fabric.side_by_side:
        return (every,)
    zone = fabric.network.endpoints.zone[every[:, 0]]
    return tuple(every[zone == number] for number in np.unique(zone))


def _links_alive(network: Network, switches: Ints, links: Ints) -> Bools:
    """Return which links still work, shape (links,)."""
    alive = np.ones(len(network.links), bool)
    alive[links] = False
    if len(switches):
        dead = np.zeros(len(network.switches) + len(network.endpoints), bool)
        dead[switches] = True
        alive &= ~dead[network.links.a] & ~dead[network.links.b]
    return alive


NO_PORT = -1
"""In a table of ports: one that its NIC does without."""


def _by_nic(ports: Ints, stripes: int) -> Ints:
    """Return a table of ports NIC by NIC, shape (nodes, NICs, ports of a NIC)."""
    result: Ints = ports.reshape(len(ports), ports.shape[1] // stripes, stripes)
    return result


def _survivors(every: Ints, alive: Bools, stripes: int = 1) -> Ints:
    """Return the ports of the remaining nodes; `NO_PORT` in place of lost ones.

    A NIC works while one of its ports does. Planes of NICs that most nodes lost are given up, but for the one that
    most nodes still have; then nodes without a NIC left.

    Args:
        every: endpoints of the nodes, shape (nodes, ports).
        stripes: ports of a NIC [1].
    """
    nics = _by_nic(every, stripes)
    works = alive[nics]
    some = np.asarray(works.any(axis=2))
    share = some.mean(axis=0)
    # the plane with most nodes stays even if most nodes lost it
    columns = share >= min(0.5, float(share.max()))
    rows = some[:, columns].all(axis=1)
    left: Ints = np.where(works, nics, NO_PORT)[rows][:, columns].reshape(int(rows.sum()), int(columns.sum()) * stripes)
    return left


def _lead(ports: Ints) -> Ints:
    """Return the first port of every node that it has left, shape (nodes, 1)."""
    first = (ports != NO_PORT).argmax(axis=1)
    result: Ints = np.take_along_axis(ports, first[:, None], axis=1)
    return result


def _joined(router: TreeRouting, ports: Ints, stripes: int = 1) -> Ints:
    """Return the ports of the largest set of nodes that reach each other from one node, on every NIC, both ways.

    A port that does not reach the others is one that its NIC does without. Nodes whose NICs share no plane with those
    of the others are left out.
    """
    best = np.full_like(ports[:0], NO_PORT)
    # about eight starts, since any single node may be cut off itself
    for start in range(0, len(ports), max(1, len(ports) // 8)):
        within = np.stack([_reached(router, int(ports[start, rail]), ports[:, rail]) for rail in range(ports.shape[1])])
        usable = np.where(within.T, ports, NO_PORT)
        # ports of other nodes in a plane that the first node has lost are not known to work
        found = _in_common(usable, stripes)
        if (len(found), (found != NO_PORT).sum()) > (len(best), (best != NO_PORT).sum()):
            best = found
        if len(best) == len(ports) and (best != NO_PORT).all():
            break
    return best


def _in_common(ports: Ints, stripes: int) -> Ints:
    """Return the ports of the nodes that share a plane with all others, on every NIC: the one that most have."""
    has = _by_nic(ports, stripes) != NO_PORT
    common = has.sum(axis=0).argmax(axis=1)
    rows = np.take_along_axis(has, common[None, :, None], axis=2).all(axis=(1, 2))
    result: Ints = ports[rows]
    return result


def _spread(flows: Flows, ports: Ints, stripes: int) -> Flows:
    """Return flows between the ports that both NICs have left, which share what the NICs carry.

    Args:
        flows: flows between places in the table of ports, row by row, with the ports of a NIC one after another.
        ports: endpoints, shape (nodes, ports).
        stripes: ports of a NIC [1].
    """
    src, dst = ports.ravel()[flows.src], ports.ravel()[flows.dst]
    works = (src != NO_PORT) & (dst != NO_PORT)
    share = np.repeat(works.reshape(-1, stripes).sum(axis=1), stripes)
    return Flows(src[works], dst[works], flows.nbytes[works] * stripes / share[works])


def _reached(router: TreeRouting, here: int, ends: Ints) -> Bools:
    """Return a mask of the endpoints within reach of one; in its own tree, endpoints of one leaf reach the same."""
    if here == NO_PORT:
        return np.zeros(len(ends), bool)
    reached: Bools = ends == here
    works = ends != NO_PORT
    if router.alive is not None:
        works &= router.alive[ends]
    near = works & (router.tree_of[ends] == router.tree_of[here])
    reached[near] |= router.trees[router.tree_of[here]].reaches(int(router.leaf[here]))[router.leaf[ends[near]]]
    far = np.flatnonzero(works & ~near)
    reached[far] |= router.paths(np.full(len(far), here), ends[far]).reached
    return reached


class DegradedJob:
    """A fabric with a job on all nodes, and the remains of both after losses; shared work is done once.

    Where nothing joins the zones, no job can span them: each zone has a job of its own.
    """

    def __init__(self, fabric: WiredFabric, every: Ints, routing: str = "adaptive", stripes: int = 1) -> None:
        """Route the job on the whole fabric.

        Args:
            fabric: the wired fabric, of trees.
            every: endpoints of the job's nodes, shape (nodes, rails).
            routing: of the allreduce: `adaptive`, or `static`, whose collisions come and go with the links it avoids.
            stripes: ports of a NIC, next to each other in a row of `every` [1].
        """
        self.fabric, self.routing, self.stripes = fabric, routing, stripes
        self.router = TreeRouting(fabric)
        self.every = every[aligned(fabric.network, every)].astype(np.int32)
        self.jobs = _jobs(fabric, self.every)
        self._same: dict[int, tuple[Ints, Flows | _CutTraffic | _StaticTraffic]] = {}
        self._known: dict[bytes, Remaining] = {}

    def remaining(self, switches: Ints, links: Ints) -> Remaining:
        """Return the remaining fabric after losses."""
        # sorted: the order of losses does not matter
        key = blake2b(np.sort(switches).tobytes() + b"|" + np.sort(links).tobytes(), digest_size=16).digest()
        if key not in self._known:
            self._known[key] = self._remaining(switches, links)
        return self._known[key]

    def _remaining(self, switches: Ints, links: Ints) -> Remaining:
        fabric, network = self.fabric, self.fabric.network
        alive = _links_alive(network, switches, links)
        works = alive[: len(network.endpoints)]
        trunks = _tier_rows(network.links, 1)
        ways = np.bincount(network.links.a[trunks][alive[trunks]], minlength=len(network.switches))
        one_tier = fabric.trees[0].tree.rule.tiers == 1
        cut_off = 0 if one_tier else int((works & (ways == 0)[network.endpoints.leaf]).sum())
        whole = bool(alive.all())
        router = self.router if whole else self.router.after(alive)
        left = [self._allreduce(number, router, None if whole else alive) for number in range(len(self.jobs))]
        cuts = _zone_cuts(fabric, alive)
        return Remaining(
            endpoints_lost=int((~works).sum()),
            endpoints_cut_off=cut_off,
            nodes_of=tuple(nodes for _, nodes in left),
            rates=tuple(rate for rate, _ in left),
            zone_gbyte_s=tuple(cuts.sum(axis=0).tolist()),
            bisection_gbyte_s=float(across(fabric, alive, cuts).sum()),
        )

    def _allreduce(self, number: int, router: TreeRouting, alive: Bools | None) -> tuple[float, int]:
        """Return the rate of a tree allreduce over the remaining nodes of a job [GB/s], and their number."""
        fabric, network, every = self.fabric, self.fabric.network, self.jobs[number]
        ports = every if alive is None else _survivors(every, alive, self.stripes)
        if len(ports) < 2:
            return 0.0, len(ports)
        if ports.shape != every.shape:
            ports = ports[aligned(network, _lead(ports))]
        # on a healthy fabric whose zones are linked, every node reaches every other
        if alive is not None or not (fabric.zones == 1 or fabric.interzone or fabric.side_by_side):
            ports = _joined(router, ports, self.stripes)
        if len(ports) < 2:
            return 0.0, len(ports)
        load, lost = self._loads(number, router, ports)
        if lost:
            return 0.0, len(ports)
        # 1 GB takes that time, so its inverse is the rate in GB/s
        return 1.0 / float(link_times(network, load).max()), len(ports)

    def _loads(self, number: int, router: TreeRouting, ports: Ints) -> tuple[Floats, int]:
        """Return the bytes on every directed link for an allreduce of 1 GB over nodes, and how many flows are lost.

        The traffic is kept for the nodes of each job seen last: most losses leave all of them.
        """
        if number not in self._same or not np.array_equal(self._same[number][0], ports):
            self._same.pop(number, None)  # before the next takes its memory
            self._same[number] = ports, self._traffic(ports)
        traffic = self._same[number][1]
        if isinstance(traffic, _CutTraffic):
            # `_joined` has kept only nodes that reach each other
            return traffic.loads(router), 0
        return traffic.loads(router) if isinstance(traffic, _StaticTraffic) else loads_of(router, traffic, "static", 0)

    def _traffic(self, ports: Ints) -> Flows | _CutTraffic | _StaticTraffic:
        """Return the flows of an allreduce of 1 GB over nodes, in the form that routing needs."""
        parents = _joined_trees(zone_sizes(self.fabric.network, _lead(ports)))
        flows = tree(ports, parents, 1e9)
        if (ports == NO_PORT).any():
            numbers = np.arange(ports.size).reshape(ports.shape)
            flows = _spread(tree(numbers, parents, 1e9), ports, self.stripes)
        if self.routing == "adaptive":
            cuts = _CutTraffic(self.router)
            cuts.flows(flows.src, flows.dst, flows.nbytes)
            return cuts
        return _StaticTraffic(self.router, flows) if _countable(flows) else flows


_SPEC = re.compile(r"(leaf|spine|core|interzone|link)(?::([0-9]{1,6}))?")


class LossError(Exception):
    """A loss names something that the fabric does not have."""


@record
class Loss:
    """Something to lose."""

    title: str
    kind: str
    """A role, `link`, `chosen` or `plane`."""
    count: int
    pool: Ints
    """Numbers to draw from; all are lost if count equals their number."""


def _pool(kind: str, fabric: WiredFabric) -> Ints:
    """Return the numbers of all parts of one kind: a role's switches, links between switches, or planes."""
    if kind == "plane":
        return np.arange(fabric.planes)
    if kind == "link":
        return np.flatnonzero(fabric.network.links.tier > 0)
    return np.flatnonzero(fabric.network.switches.role == ROLE_NUMBERS[kind])


def _some(kind: str, count: int, pool: Ints) -> Loss:
    singular, plural = {"plane": ("plane", "planes"), "link": ("link between switches", "links between switches")}.get(
        kind, (f"{kind} switch", f"{kind} switches")
    )
    return Loss(f"{count:,} {plural}" if count > 1 else f"one {singular}", kind, count, pool)


def default_losses(fabric: WiredFabric) -> list[Loss]:
    """Return the default losses: one switch of each role, all between zones, a plane, 1 % of links."""
    pools = {kind: _pool(kind, fabric) for kind in (*ROLE_NUMBERS, "link")}
    losses = [_some(role, 1, pools[role]) for role in ROLE_NUMBERS if len(pools[role])]
    between = pools["interzone"]
    if len(between) > 1:
        losses.append(Loss(f"all {len(between)} interzone switches", "interzone", len(between), between))
    if fabric.planes > 1:
        losses.append(_some("plane", 1, _pool("plane", fabric)))
    if len(pools["link"]):
        losses.append(_some("link", max(1, round(len(pools["link"]) / 100)), pools["link"]))
    return losses


def parse_loss(text: str, fabric: WiredFabric, names: Names) -> Loss:
    """Return a loss written as `spine`, `leaf:2`, `link:16`, `plane`, or as names of switches joined by commas.

    Raises:
        LossError: if the fabric has no such switches or links, or too few.
    """
    if text == "plane":
        if fabric.planes < 2:
            raise LossError("the fabric has one plane only")
        return _some("plane", 1, _pool("plane", fabric))
    match = _SPEC.fullmatch(text)
    if match:
        kind, count = match.group(1), int(match.group(2) or 1)
        pool = _pool(kind, fabric)
        if not len(pool):
            raise LossError(f"`{text}`: this fabric has no {kind} switch")
        if not 1 <= count <= len(pool):
            raise LossError(f"`{text}`: between 1 and {len(pool):,} of that kind can be lost")
        return _some(kind, count, pool)
    known = {name: number for number, name in enumerate(names.switches())}
    lost = text.split(",")
    for name in lost:
        if name not in known:
            hint = did_you_mean(name, known, what="switch")
            raise LossError(f"`{name[:60]}` is neither a switch of this fabric nor a role; {hint}")
    return Loss(text, "chosen", len(lost), np.array([known[name] for name in lost]))


def draw(loss: Loss, fabric: WiredFabric, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the switches and links that one draw loses."""
    nothing = np.zeros(0, np.int64)
    chosen = random.choice(loss.pool, loss.count, replace=False)
    if loss.kind == "plane":
        return np.flatnonzero(np.isin(fabric.network.switches.plane, chosen)), nothing
    return (nothing, chosen) if loss.kind == "link" else (chosen, nothing)
