"""What the accelerators of a design compute together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ffplan.catalog.evidence import ComputeFigure
    from ffplan.catalog.parts import Accelerator, Precision
    from ffplan.design.resolved import ResolvedDesign


def cluster_tflops(
    design: ResolvedDesign, rates: Callable[[Accelerator], Mapping[Precision, ComputeFigure]]
) -> dict[str, float]:
    """Return the rate of all accelerators of a design, by precision.

    Args:
        rates: rates of one accelerator, by precision [TFLOP/s].

    Returns:
        Sum over the accelerators [TFLOP/s], for each precision in which every one of them has a rate.

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
    shared = [precision for precision in counted[0][1] if all(precision in each for _, each in counted)]
    return {precision: sum(count * each[precision].value for count, each in counted) for precision in shared}
