"""Comparison of several assessments, with ratios to one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError
from ffplan.cost.value import cost_performance, relative_performance
from ffplan.fabric.sizing.striping import policy_words
from ffplan.results.comparison import Comparison, Ratios
from ffplan.results.design import SCHEMA_VERSION, Assessment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.results.design import CostReport


def _over(value: Callable[[Assessment], float | None], design: Assessment, base: Assessment) -> float | None:
    top, bottom = value(design), value(base)
    return top / bottom if top is not None and bottom else None


def _money(value: Callable[[CostReport], float | None], design: Assessment, base: Assessment) -> float | None:
    one, two = design.cost, base.cost
    if one is None or two is None or one.currency != two.currency:
        return None
    top, bottom = value(one), value(two)
    return top / bottom if top is not None and bottom else None


def _allreduce(assessment: Assessment) -> float | None:
    return assessment.communication[0].algbw_gbyte_s if assessment.communication else None


def _allreduce_bound(assessment: Assessment) -> float | None:
    return assessment.communication[0].bound.algbw_gbyte_s if assessment.communication else None


def _node_price(design: Assessment, base: Assessment) -> tuple[float | None, float | None, float | None]:
    """Return the node price ratio, its lowest and its highest value."""
    one, two = design.cost, base.cost
    if not (one and two) or one.currency != two.currency:
        return None, None, None
    if not (one.node_price and two.node_price):
        return None, None, None
    same = design.hardware.server == base.hardware.server and one.price_book == two.price_book
    if design is base or (same and one.node_price == two.node_price):
        return 1.0, 1.0, 1.0
    low, high = one.node_price_low or 0.0, one.node_price_high or 0.0
    base_low, base_high = two.node_price_low or 0.0, two.node_price_high or 0.0
    return (
        one.node_price / two.node_price,
        low / base_high if base_high else None,
        high / base_low if base_low else None,
    )


def _ratios(design: Assessment, base: Assessment) -> Ratios:
    gemm, base_gemm = design.hardware.gemm_tflops, base.hardware.gemm_tflops
    common = [precision for precision in gemm if precision in base_gemm]
    performance = None
    if common:
        performance = float(relative_performance([gemm[p] for p in common], [base_gemm[p] for p in common]))
    price, low, high = _node_price(design, base)

    def value(node_price: float | None) -> float | None:
        if performance is None or not node_price:
            return None
        return float(cost_performance(performance, node_price))

    return Ratios(
        accelerators=_over(lambda a: a.accelerators, design, base),
        switches=_over(lambda a: a.fabric.switches.total, design, base),
        links=_over(lambda a: a.fabric.links.total, design, base),
        bisection=_over(lambda a: a.fabric.bisection_gbyte_s, design, base),
        allreduce=_over(_allreduce, design, base),
        allreduce_bound=_over(_allreduce_bound, design, base),
        gemm_tf32=_over(lambda a: a.hardware.gemm_tflops.get("tf32"), design, base),
        gemm_fp16=_over(lambda a: a.hardware.gemm_tflops.get("fp16"), design, base),
        relative_performance=performance,
        node_price=price,
        node_price_low=low,
        node_price_high=high,
        cost_performance=value(price),
        cost_performance_low=value(high),
        cost_performance_high=value(low),
        node_power=_over(lambda a: a.power.per_node_w, design, base),
        it_power=_over(lambda a: a.power.it_kw, design, base),
        cost_servers=_money(lambda cost: cost.servers, design, base),
        cost_network=_money(lambda cost: cost.network, design, base),
        cost_total=_money(lambda cost: cost.total, design, base),
        cost_per_accelerator=_money(lambda cost: cost.per_accelerator, design, base),
    )


def _notes(labels: tuple[str, ...], designs: tuple[Assessment, ...], baseline: int) -> tuple[str, ...]:
    notes = []
    base, base_name = designs[baseline], labels[baseline]
    for name, design in zip(labels, designs, strict=True):
        fabric = design.fabric
        words = policy_words(fabric.core_policy, fabric.switches_by_core_policy) if fabric.core_policy else ""
        notes += [f"{name}: {words}."] if words else []
        if design is base:
            continue
        if design.cost and base.cost and design.cost.currency != base.cost.currency:
            notes.append(
                f"{name} is priced in {design.cost.currency}, {base_name} in {base.cost.currency}: two currencies are "
                "never compared."
            )
        if design.cost and base.cost and set(design.cost.excluded) != set(base.cost.excluded):
            notes.append(f"{name} and {base_name} price different scopes.")
        if not set(design.hardware.gemm_tflops) & set(base.hardware.gemm_tflops):
            notes.append(f"{name} and {base_name} have no measured GEMM rate in common: no relative performance.")
    return tuple(notes)


def labels_of(designs: tuple[Assessment, ...]) -> tuple[str, ...]:
    """Return the label of each design: its name, or its file where two have one name.

    Raises:
        UsageError: where two have one file too.
    """
    names = [design.design.name for design in designs]
    if len(set(names)) < len(names):
        names = [design.design.file for design in designs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise UsageError(f"ffplan compare: `{repeated[0]}` is named twice")
    return tuple(names)


def baseline_of(
    designs: tuple[Assessment, ...], labels: tuple[str, ...], files: Sequence[str], wanted: str | None
) -> int:
    """Return the position of the baseline, given by name or file; the first if omitted.

    Raises:
        UsageError: where there is no such design.
    """
    if wanted is None:
        return 0
    for position, design in enumerate(designs):
        if wanted in (labels[position], design.design.file, files[position]):
            return position
    from ffplan.inputs.suggest import did_you_mean

    wanted = str(wanted)
    raise UsageError(
        f"ffplan compare: --baseline `{wanted}` is not among the designs; {did_you_mean(wanted, labels, what='design')}"
    )


def compare(designs: tuple[Assessment, ...], labels: tuple[str, ...], baseline: int) -> Comparison:
    """Return the comparison of designs.

    Args:
        designs: their assessments.
        labels: label of each; all different.
        baseline: position of the design that ratios refer to.
    """
    base = designs[baseline]
    return Comparison(
        schema_version=SCHEMA_VERSION,
        tool=base.tool,
        baseline=labels[baseline],
        labels=labels,
        designs=designs,
        ratios={label: _ratios(design, base) for label, design in zip(labels, designs, strict=True)},
        notes=_notes(labels, designs, baseline),
    )
