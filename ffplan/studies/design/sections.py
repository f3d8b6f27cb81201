"""Sections of an assessment: the switches of each role, and what all accelerators compute together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.results.fabric_counts import TierSwitches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ffplan.catalog.evidence import ComputeFigure
    from ffplan.catalog.parts import Accelerator, Precision
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan


def _links(design: ResolvedDesign, plan: FabricPlan, role: str) -> tuple[int, int]:
    if role == "leaf":
        return plan.downlinks if plan.tiers > 1 else plan.radix, plan.uplinks
    if role == "spine":
        groups = [(tree.pod, tree.rule.uplinks // tree.pod.spines) for tree in plan.trees if tree.pod]
        up = max((pod.up * per_spine for pod, per_spine in groups), default=0)
        room = design.radix_of(role) - up
        pod_leaves = design.spec.fabric.spine.pod_leaves
        if pod_leaves is not None:
            room = min(room, max((pod.leaves * per_spine for pod, per_spine in groups), default=room))
        return min(room, design.spec.fabric.spine.downlinks or room), up
    return design.radix_of(role), 0


def _unused(design: ResolvedDesign, role: str, down: int, up: int) -> int:
    """Return the ports of a box that no link of a full switch takes [1]."""
    if role not in ("leaf", "spine"):
        return 0
    split = design.breakout_of(role)
    up_split = design.uplink_breakout if role == "leaf" else split
    used = -(-(down + up) // split) if split == up_split else -(-down // split) + -(-up // up_split)
    return int(design.parts.switch_of(role).ports.value) - used


def _tier_switches(design: ResolvedDesign, plan: FabricPlan) -> tuple[TierSwitches, ...]:
    rows, port = [], design.port_gbyte_s
    for role, count in plan.switches_by_role.items():
        if not count:
            continue
        down, up = _links(design, plan, role)
        below = {"leaf": port, "interzone": design.trunk_gbyte_s}.get(role, plan.link_gbyte_s)
        rows.append(
            TierSwitches(
                role=role,
                switch=design.parts.switch_of(role).id,
                count=count,
                ports=int(design.parts.switch_of(role).ports.value),
                downlinks=down,
                down_gbyte_s=below,
                uplinks=up,
                up_gbyte_s=plan.link_gbyte_s if up else 0.0,
                unused_ports=_unused(design, role, down, up),
            )
        )
    return tuple(rows)


def _cluster_tflops(
    design: ResolvedDesign, rates: Callable[[Accelerator], Mapping[Precision, ComputeFigure]]
) -> dict[str, float]:
    """Return the rate of all accelerators of a design, by precision.

    Returns:
        Sum over the accelerators [TFLOP/s], for each precision with a rate for every accelerator.

    Equation:
        sum over groups of nodes * accelerators of a node * rate

    Source:
        Definition. An et al., arXiv 2408.14158, Table II: 220 TFLOP/s of a PCIe A100 in FP16 times 10,000 are
        2.2 EFLOP/s.
    """
    counted = [
        (group.group.count * group.accelerators_per_node, rates(group.accelerator))
        for group in design.groups
        if group.accelerator is not None and group.group.role == "compute"
    ]
    if not counted:
        return {}
    shared = [precision for precision in counted[0][1] if all(precision in rates_of_one for _, rates_of_one in counted)]
    return {
        precision: sum(count * rates_of_one[precision].value for count, rates_of_one in counted) for precision in shared
    }
