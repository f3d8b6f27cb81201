"""The links that a collective crosses in trees: out of leaves, out of pods and between zones.

A job takes the first nodes of its group. Where leaves come in scalable units, every rail has a leaf of each unit, and
all of them carry alike. Elsewhere endpoints fill leaf after leaf, rail by rail: a leaf holds the end of one rail, whole
rails, and the beginning of another, and the busiest of them binds.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, ceil_div, choose, largest_over, maximum, minimum, some
from ffplan.base.record import record
from ffplan.fabric.sizing.endpoints import _zone_demand, rails_of
from ffplan.fabric.sizing.leaf_fill import _railed
from ffplan.fabric.sizing.plan import LinkCut, zones_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.fat_tree import Tree
    from ffplan.fabric.sizing.plan import FabricPlan


@record
class _Job:
    """A job's nodes in one tree."""

    nodes: Number
    """Its nodes altogether n [1]."""
    inside: Number
    """Its nodes in the fullest tree [1]."""
    rails: int
    """Ports of a node in the tree R [1]."""
    nics: int
    """NICs of a node [1]."""


@record
class _Below:
    """What of a job lies below one leaf or pod, and what of its traffic leaves it, as `LinkCut` has it."""

    held: Number
    aligned: Number
    spread: Number
    """Part of an exchange between all NICs of all nodes that leaves it [1]."""
    crossing: Number


def _busiest(below: Callable[[Number], _Below], numbers: Sequence[Number]) -> _Below:
    """Return the most that any of some leaves or pods, by number, has of each."""

    def parts(number: Number) -> tuple[Number, ...]:
        one = below(number)
        return one.held, one.aligned, one.spread, one.crossing

    return _Below(*largest_over(parts, numbers))


def _of_busiest(cut: LinkCut, job: _Job, busiest: _Below) -> LinkCut:
    """Return links with what the busiest leaf or pod has of a job; of K NICs to every other one, one is the same."""
    mixed = busiest.aligned
    if job.nics > 1:
        mixed = maximum(job.nics * busiest.spread - busiest.aligned, 0.0) / (job.nics - 1)
    return replace(cut, held=busiest.held, aligned=busiest.aligned, mixed=mixed)


def _leaf_of_unit(nodes: Number, inside: Number, unit: Number, shared: float) -> _Below:
    """Return what the leaves of a full scalable unit hold of a job, all of them together.

    Args:
        nodes: nodes of the job n [1].
        inside: its nodes in this tree [1].
        unit: nodes of a scalable unit [1].
        shared: part of a node's rails that are on one leaf s [1].

    Equation:
        m = min(unit, inside) of n nodes send m (n - m) / n^2 of all between the same NICs; of all between all NICs,
        m (n - 1) / n^2 less the s m (m - 1) / n^2 that stay

    Source:
        Derived. A full unit binds: with more than two, m <= n / 2, and the last has fewer; of two, both send as much.
    """
    held = minimum(unit, inside) / nodes
    stay = shared * held * (held - 1 / nodes)
    return _Below(held, held * (1 - held), held * (1 - 1 / nodes) - stay, (nodes > 1) * 1.0)


@record
class _Packed:
    """Endpoints of a tree that fills leaf after leaf, rail by rail within each group of nodes."""

    before: Number
    """Ports of the groups before the job's [1]."""
    each: Number
    """Ports of a rail of the job's group [1]."""
    width: Number
    """Ports of a leaf, or of all leaves of a pod [1]."""

    def below(self, job: _Job, number: Number) -> _Below:
        """Return what leaf or pod `number` holds of a job.

        Equation:
            with a nodes at the end of one rail, b at the beginning of another and k whole rails between them,
            (a (n - a) + b (n - b)) / (n^2 R) of all between the same NICs leave; of all between all NICs, with M
            endpoints in all, M / (n R) (1 - 1 / n - M / (n R)) and the pairs of NICs of one node

        Source:
            Derived from the order of wiring: `leaf_ports._packed`.
        """
        nodes, inside, each, rails = job.nodes, job.inside, self.each, job.rails
        last = each * rails
        start = minimum(maximum(number * self.width - self.before, 0), last)
        end = minimum(maximum((number + 1) * self.width - self.before, 0), last)
        low = minimum(start // each, rails - 1)
        high = maximum((end - 1) // each, low)
        a = minimum(inside, minimum(end, (low + 1) * each) - low * each) - minimum(inside, start - low * each)
        b = (high > low) * minimum(inside, end - high * each)
        whole = maximum(high - low - 1, 0)
        ports = a + b + whole * inside
        # a node has as many of them as any other or one more: rails are cut at one place
        often = ports // inside
        more = ports - often * inside
        pairs = more * (often + 1) ** 2 + (inside - more) * often**2
        held = ports / (nodes * rails)
        aligned = (a * (nodes - a) + b * (nodes - b) + whole * inside * (nodes - inside)) / (nodes**2 * rails)
        spread = held * (1 - 1 / nodes) - held**2 + pairs / (nodes * rails) ** 2
        cut = 1.0 * ((a > 0) & (a < nodes)) + 1.0 * ((b > 0) & (b < nodes)) + whole * (inside < nodes)
        return _Below(held, aligned, spread, cut / rails)

    def places(self, job: _Job) -> list[tuple[Number, Number]]:
        """Return the leaves or pods, by number, with the first and the last port of the job on each of its rails."""
        first = [self.before + rail * self.each for rail in range(job.rails)]
        return [(port // self.width, (port + job.inside - 1) // self.width) for port in first]

    def candidates(self, job: _Job) -> list[Number]:
        """Return the leaves or pods that can be the busiest [1]: at both ends of a rail, and behind its first."""
        return [number for first, last in self.places(job) for number in (first, first + 1, last)]

    def sets(self, job: _Job) -> Number:
        """Return the most leaves or pods that a rail spans [1]."""
        return maximum(*(last - first + 1 for first, last in self.places(job)), 1)


@record
class _Units:
    """Leaves of a tree in scalable units."""

    unit: Number
    """Nodes of a scalable unit [1]."""
    leaves: int
    """Leaves of a unit L [1]."""
    width: Number
    """Leaves of a pod [1]."""

    def below(self, job: _Job, number: Number) -> _Below:
        """Return what pod `number` holds of a job.

        Equation:
            with m nodes on leaf g of all units in it, the sum over g of m (n - m) / (n^2 L) between the same NICs; the
            pod holds both ends of all NICs of a node where it holds all leaves of the unit, and else as many as it does

        Source:
            Derived from the order of wiring: leaf g of unit t is leaf t L + g.
        """
        start, nodes = number * self.width, job.nodes
        held: Number = 0.0
        aligned: Number = 0.0
        cut: Number = 0.0
        for leaf in range(self.leaves):
            first, end = (
                self._nodes(job, maximum(ceil_div(start + step - leaf, self.leaves), 0)) for step in (0, self.width)
            )
            here = end - first
            held = held + here / (nodes * self.leaves)
            aligned = aligned + here * (nodes - here) / (nodes**2 * self.leaves)
            cut = cut + 1.0 * ((here > 0) & (here < nodes))
        pairs = self._pairs(job, start, start + self.width) / nodes**2
        return _Below(held, aligned, held * (1 - 1 / nodes) - held**2 + pairs, cut / self.leaves)

    def _nodes(self, job: _Job, units: Number) -> Number:
        """Return the nodes of a job in the first units [1]."""
        return minimum(job.inside, units * self.unit)

    def _pairs(self, job: _Job, start: Number, end: Number) -> Number:
        """Return the pairs of NICs of one node on the leaves from `start` to `end`, over those of a node [1]."""
        low, high = start // self.leaves, (end - 1) // self.leaves
        first = (minimum(end, (low + 1) * self.leaves) - start) / self.leaves
        last = (high > low) * (end - high * self.leaves) / self.leaves
        before, after = self._nodes(job, low + 1), self._nodes(job, maximum(high, low + 1))
        whole = after - before
        return (before - self._nodes(job, low)) * first**2 + whole + (self._nodes(job, high + 1) - after) * last**2

    def _last(self, job: _Job) -> Number:
        return (ceil_div(job.inside, self.unit) * self.leaves - 1) // self.width

    def candidates(self, job: _Job) -> list[Number]:
        """Return the pods that can be the busiest [1]: the first, like all full ones, and the last two."""
        last = self._last(job)
        return [0 * last, maximum(last - 1, 0), last]

    def sets(self, job: _Job) -> Number:
        """Return the most pods that a rail spans [1]."""
        return minimum(ceil_div(job.inside, self.unit), self._last(job) + 1)


def _pods(tree: Tree) -> Number:
    """Return the pods of a tree [1]; a single one sends nothing to the cores."""
    return tree.full_pods + (0 if tree.last_pod is None else (tree.last_pod.leaves > 0) * 1)


def _out_of_pods(
    order: _Packed | _Units, job: _Job, plan: FabricPlan, copies: int, below: Number, lane: Number
) -> list[LinkCut]:
    """Return the links of a pod of three tiers to the cores; the last has fewer, so that its traffic counts more.

    Args:
        copies: trees that carry the job side by side [1].
        below: nodes below a pod [1].
        lane: part of a node's rails that lead to it [1].

    Returns:
        One cut; none without several pods.
    """
    tree = plan.trees[0]
    pod, last = tree.pod, tree.last_pod
    if not some(_pods(tree) > 1):
        return []
    assert pod is not None

    def weighed(number: Number) -> _Below:
        one = order.below(job, number)
        fewer = 1.0 if last is None else choose(number == tree.full_pods, pod.up / maximum(last.up, 1), 1.0)
        held = minimum(1.0, one.held * fewer)
        return _Below(held, one.aligned * fewer, one.spread * fewer, one.crossing * fewer)

    busiest = _busiest(weighed, order.candidates(job))
    links = tree.rule.uplinks * pod.up * copies
    cut = LinkCut(
        name="bisection",
        label="links of a pod to the cores",
        sets=order.sets(job),
        links=links,
        gbyte_s=links * plan.link_gbyte_s,
        below=below,
        crossing=busiest.crossing,
        lane=lane,
    )
    return [_of_busiest(cut, job, busiest)]


def _out_of_units(design: ResolvedDesign, plan: FabricPlan, job: _Job, copies: int) -> list[LinkCut]:
    """Return the links out of the leaves of a scalable unit, and out of a pod."""
    fabric, nics = design.spec.fabric, job.nics
    # rails of a leaf share its uplinks; other groups may have more rails
    shared = min(design.rails_per_leaf, nics)
    unit = fabric.scalable_unit or maximum(plan.downlinks // shared, 1)
    links = nics * design.stripes * plan.uplinks // shared
    leaves = max(1, job.rails // shared)
    busiest = _leaf_of_unit(job.nodes, job.inside, unit, shared / job.rails)
    leaf = LinkCut(
        name="leaf_uplinks",
        label="uplinks of a leaf" if leaves == 1 else f"uplinks of a leaf on each of {job.rails} rails",
        sets=ceil_div(job.inside, unit),
        links=links,
        gbyte_s=links * plan.link_gbyte_s,
        below=unit,
        leaves=leaves,
    )
    leaf = _of_busiest(leaf, job, busiest)
    if plan.tiers < 3:
        return [leaf]
    order = _Units(unit, max(1, plan.trees[0].rule.rails // design.rails_per_leaf), plan.pod_leaves)
    part = plan.pod_leaves / order.leaves
    below, lane = maximum(1.0, unit * part), minimum(1.0, part)
    return [leaf, *_out_of_pods(order, job, plan, copies, below, lane)]


def _out_of_packed(design: ResolvedDesign, plan: FabricPlan, job: _Job, copies: int) -> list[LinkCut]:
    """Return the links out of the busiest leaf of a tree that fills leaf after leaf, and out of its busiest pod."""
    group, leaves = design.compute, plan.switches_by_role["leaf"] // (plan.planes * plan.zones)
    before = sum(_zone_demand(design, 0)[: design.job_groups[0]])
    split = plan.zones if group.group.zones == "split" else 1
    each = maximum(ceil_div(group.group.count, split), job.inside)
    # links to other zones take downlinks, spread evenly over the leaves
    room = maximum(plan.downlinks - ceil_div(design.trunk_links, leaves), 1)
    order, lane = _Packed(before, each, room), 1 / job.rails
    busiest = _busiest(partial(order.below, job), order.candidates(job))
    links = plan.uplinks * copies
    leaf = LinkCut(
        name="leaf_uplinks",
        label="uplinks of a leaf",
        sets=order.sets(job),
        links=links,
        gbyte_s=links * plan.link_gbyte_s,
        below=room,
        crossing=busiest.crossing,
        lane=lane,
    )
    leaf = _of_busiest(leaf, job, busiest)
    if plan.tiers < 3:
        return [leaf]
    width = room * plan.pod_leaves
    return [leaf, *_out_of_pods(_Packed(before, each, width), job, plan, copies, width, lane)]


def _tree_cuts(
    design: ResolvedDesign, plan: FabricPlan, nodes: Number, zones: Number | None = None
) -> tuple[LinkCut, ...]:
    """Return the links that a collective over `nodes` nodes crosses: out of leaves, pods and zones, of the busiest.

    `zones`: zones that it is spread over evenly, in the shape of the nodes; it fills one after the other if omitted.
    """
    fabric, group = design.spec.fabric, design.compute
    every = group.group.zones == "every"
    filled = group.group.count if every else ceil_div(group.group.count, fabric.zones)
    spanned = zones_of(design, nodes) if zones is None else zones
    joined = fabric.inter_zone is not None and not every
    inside = ceil_div(nodes, spanned) if zones is not None or not joined else minimum(nodes, filled)
    cuts: list[LinkCut] = []
    if some(plan.uplinks) and some(plan.switches_by_role["leaf"] // (plan.planes * plan.zones) > 1):
        job = _Job(nodes, inside, rails_of(design, group), len(group.fabric_nics))
        copies = plan.planes * (plan.zones if every else 1)
        cuts += (_out_of_units if _railed(design) else _out_of_packed)(design, plan, job, copies)
    if fabric.inter_zone is not None and not every:
        links = plan.planes * fabric.inter_zone.links_per_zone
        cuts.append(
            LinkCut(
                name="zone_links",
                label="links between zones",
                sets=spanned,
                links=links,
                gbyte_s=links * design.trunk_gbyte_s,
                below=filled,
                held=inside / nodes,
            )
        )
    return tuple(cuts)
