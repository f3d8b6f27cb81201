"""Even striping of spines over cores, which OpenSM's ftree engine needs to find the roots, and its cost in switches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from ffplan.base.errors import InputError
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.design.schema import CorePolicy
from ffplan.fabric.sizing.tree_plan import _plan_trees

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.fat_tree import Tree
    from ffplan.fabric.sizing.plan import FabricPlan

EVEN = "equal-stripe"
"""The policy that joins each spine to its cores by as many links."""


@record
class _EvenChange:
    """A change of a design that joins its spines and cores evenly."""

    fields: str
    """The fields to write under `fabric`."""
    switches: int
    """Switches of the changed design [1]."""
    bare: int
    """Leaves of the changed design without a host, at which ftree refuses any tree whose roots are not named [1]."""


def uneven(plan: FabricPlan) -> str:
    """Describe the uneven links of the three-tier trees of a fabric; an empty text if all are even.

    OpenSM's ftree engine takes a tree unaided where all switches of a tier have as many neighbours above, and all but
    leaves below, with as many links to each.
    """
    return next((text for tree in plan.trees if (text := _uneven_tree(tree))), "") if plan.tiers == 3 else ""


def _uneven_tree(tree: Tree) -> str:
    """Describe the uneven links of a tree.

    The links of full pods, or of a lone pod, are dealt to the cores in equal runs, spine after spine, of all pods in
    turn. They are even where a spine has whole runs, of all pods alike, or a run has whole spines.
    """
    assert tree.pod is not None
    if tree.last_pod is not None and tree.full_pods:
        return f"the last pod has {plural(tree.last_pod.leaves, 'leaf', 'leaves')}, the others {tree.pod.leaves}"
    pod, pods = tree.last_pod or tree.pod, max(1, tree.full_pods)
    up = pod.up * (tree.rule.uplinks // pod.spines)
    spine, (run, rest) = pods * up, divmod(pods * up * pod.spines, tree.core)
    if not rest and (run % spine == 0 or (spine % run == 0 and run % pods == 0)):
        return ""
    if tree.core % pod.spines == 0:
        return f"the {up} uplinks of a spine cannot be dealt evenly over {plural(tree.core // pod.spines, 'core')}"
    return f"{plural(tree.core, 'core')} cannot be dealt evenly over the {plural(pod.spines, 'spine')} of a pod"


def _with(design: ResolvedDesign, **fields: object) -> ResolvedDesign:
    fabric = design.spec.fabric.model_copy(update=fields)
    return replace(design, spec=design.spec.model_copy(update={"fabric": fabric}))


def switches_by_policy(design: ResolvedDesign) -> dict[str, int]:
    """Return the switches of the fabric with each core policy [1]; empty without cores.

    Args:
        design: a design that can be built.
    """
    fabric = design.spec.fabric
    if fabric.family == "dragonfly" or fabric.tiers < 3:
        return {}
    return {policy: _plan_trees(_with(design, core_policy=policy)).switches for policy in get_args(CorePolicy)}


def _even_change(design: ResolvedDesign, plan: FabricPlan) -> _EvenChange | None:
    """Return the smallest change that joins spines and cores evenly: the policy, then whole pods; None if both fail."""
    tree = max(plan.trees, key=lambda candidate: candidate.leaf)
    pods = tree.full_pods + (tree.last_pod is not None)
    full = pods * tree.rule.pod_leaves * tree.rule.downlinks - design.trunk_links
    points = plan.planes * plan.zones * full
    # whole pods cost access points, so they come second
    for fields in ({"core_policy": EVEN}, {"core_policy": EVEN, "access_points": points}):
        try:
            even = _plan_trees(_with(design, **fields))
        except InputError:
            continue
        if not uneven(even):
            written = " and ".join(f"`{name}: {value}`" for name, value in fields.items())
            return _EvenChange(written, even.switches, _bare(design, even))
    return None


def _bare(design: ResolvedDesign, plan: FabricPlan) -> int:
    """Return the leaves that a plan has for growth alone: more than the endpoints fill, one leaf after another [1]."""
    needed = _plan_trees(_with(design, access_points=None))
    return plan.planes * sum(tree.leaf - own.leaf for tree, own in zip(plan.trees, needed.trees, strict=True))


def even_remedy(design: ResolvedDesign, plan: FabricPlan) -> str:
    """Return what makes an uneven tree one that OpenSM's ftree engine takes: fields, or the names of its roots.

    Growth that gives ftree even pods gives it leaves without a host too, which it refuses as well.
    """
    return _remedy_of(_even_change(design, plan), plan)


def _remedy_of(change: _EvenChange | None, plan: FabricPlan) -> str:
    if change is None or change.bare:
        return "name the core switches in OpenSM's `root_guid_file`"
    return f"write {change.fields} ({difference(plan.switches, change.switches)})"


def difference(switches: int, changed: int) -> str:
    """Return a number of switches with its difference to another, such as `1,400 switches, 80 more`."""
    more = changed - switches
    ending = f", {abs(more):,} {'more' if more > 0 else 'fewer'}" if more else ", as many"
    return f"{plural(changed, 'switch', 'switches')}{ending}"


def policy_words(policy: str, totals: dict[str, int], *, taken: bool = True) -> str:
    """Return a sentence on the switches of the other core policies; empty if all need the same number.

    Args:
        totals: switches with each policy [1].
        taken: whether OpenSM's ftree engine takes the even policy without the names of the roots.
    """
    mine, others = totals[policy], []
    for name, count in totals.items():
        if count != mine:
            why = "; OpenSM's ftree engine takes it as it is" if name == EVEN and taken else ""
            others.append(f"{count:,} with `{name}` ({abs(count - mine):,} {'more' if count > mine else 'fewer'}{why})")
    return f"{mine:,} switches with `core_policy: {policy}`, {', '.join(others)}" if others else ""


def striping_notes(design: ResolvedDesign) -> tuple[str, ...]:
    """Return notes on OpenSM's ftree refusal, with the remedy, and on the cost of the other core policies.

    Args:
        design: a design that can be built.
    """
    totals = switches_by_policy(design)
    if not totals:
        return ()
    plan, notes, taken = _plan_trees(design), [], True
    why = uneven(plan)
    if why:
        change = _even_change(design, plan)
        taken = change is not None and not change.bare and "access_points" not in change.fields
        remedy = _remedy_of(change, plan)
        notes.append(f"OpenSM's ftree engine refuses this tree unless its roots are named, as {why}: {remedy}.")
    policies = policy_words(design.spec.fabric.core_policy, totals, taken=taken)
    return (*notes, f"{policies}.") if policies else tuple(notes)
