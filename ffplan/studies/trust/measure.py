"""What `ffplan measure run` would time, and for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.measurement import MeasurePlan, PlannedGroup

if TYPE_CHECKING:
    from ffplan.measuring.plan import KernelPlan


def measure_plan(plan: KernelPlan) -> MeasurePlan:
    """Return a plan as a result.

    Args:
        plan: kernels and times.
    """
    each = plan.seconds + plan.warm
    groups = tuple(
        PlannedGroup(group=name, kernels=tuple(kernel.words for kernel in kernels), seconds=len(kernels) * each)
        for name, kernels in plan.kernels.items()
    )
    return MeasurePlan(
        schema_version=SCHEMA_VERSION,
        sizes=plan.name,
        kernels=sum(len(group.kernels) for group in groups),
        soak_s=plan.soak,
        each_s=each,
        seconds=plan.total,
        groups=groups,
    )
