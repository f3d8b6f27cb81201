"""Comparison of several assessments, with ratios to one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError
from ffplan.base.formatting import listed
from ffplan.cost.capital import cost_performance, relative_performance
from ffplan.cost.power import COMPONENTS
from ffplan.fabric.sizing.striping import policy_words
from ffplan.figures.address import COMPARED, number_at_address
from ffplan.results.comparison import NO_OPTIONS, Comparison, Ratios
from ffplan.results.design import SCHEMA_VERSION, Assessment
from ffplan.studies.compare.verdicts import advantages, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ffplan.results.comparison import ComparisonOptions, MoneyComparison, TrainingComparison
    from ffplan.results.result import DesignInfo


_NETWORK = ("switches", "endpoint-links", "inter-switch-links")
_EVERYTHING = ("servers", "storage", *_NETWORK)


def _node_partial(assessment: Assessment) -> bool:
    node = next(node for node in assessment.power.nodes if node.role == "compute")
    return bool(node.missing) and node.training_grade.endswith(COMPONENTS)


_SUMS = {
    "cost_servers": ("servers",),
    "cost_network": _NETWORK,
    "cost_total": _EVERYTHING,
    "cost_per_accelerator": _EVERYTHING,
}
"""Categories of each sum of money that has a ratio."""
_PARTIAL: dict[str, Callable[[Assessment], bool]] = {
    "node_power": _node_partial,
    "it_power": lambda design: bool(design.power.missing),
}
"""Whether a power lacks a part's, by ratio."""


def _priced_alike(design: Assessment, base: Assessment, categories: tuple[str, ...]) -> bool:
    """Return whether both have a sum over categories in one currency and scope, without gaps."""
    mine, two = design.cost, base.cost
    if mine is None or two is None or mine.currency != two.currency:
        return False
    missing = any(gap.category in categories for gap in (*mine.missing, *two.missing))
    return not missing and _same_scope(design, base, categories)


def _ratio(name: str, design: Assessment, base: Assessment) -> float | None:
    """Return a figure over the baseline's; None if one of them is missing or partial, or if they differ in kind."""
    if name in _SUMS and not _priced_alike(design, base, _SUMS[name]):
        return None
    if name in _PARTIAL and any(map(_PARTIAL[name], (design, base))):
        return None
    top, bottom = (number_at_address({"": side}, COMPARED[name]) for side in (design, base))
    return top / bottom if top is not None and bottom else None


def _excluded(design: Assessment, base: Assessment, categories: tuple[str, ...]) -> set[str]:
    """Return which of some categories the cost of a design excludes; storage only where one of the two has any."""
    excluded = set(design.cost.excluded) if design.cost else set()
    if not (design.nodes.get("storage") or base.nodes.get("storage")):
        excluded.discard("storage")
    return excluded & set(categories)


def _same_scope(design: Assessment, two: Assessment, categories: tuple[str, ...]) -> bool:
    return _excluded(design, two, categories) == _excluded(two, design, categories)


def _power_basis(assessment: Assessment) -> str:
    """Return the basis of a compute node's power in training."""
    node = next(node for node in assessment.power.nodes if node.role == "compute")
    return node.training_grade


def _node_price(design: Assessment, base: Assessment) -> tuple[float | None, float | None, float | None]:
    """Return the node price ratio, its lowest and its highest value."""
    mine, two = design.cost, base.cost
    if not (mine and two) or mine.currency != two.currency:
        return None, None, None
    if not (mine.node_price and two.node_price):
        return None, None, None
    same = design.hardware.server == base.hardware.server and mine.price_book == two.price_book
    if design is base or (same and mine.node_price == two.node_price):
        return 1.0, 1.0, 1.0
    low, high = mine.node_price_low or 0.0, mine.node_price_high or 0.0
    base_low, base_high = two.node_price_low or 0.0, two.node_price_high or 0.0
    return (
        mine.node_price / two.node_price,
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

    plain = {name: _ratio(name, design, base) for name in COMPARED if not name.startswith("node_price")}
    return Ratios(
        **plain,
        relative_performance=performance,
        node_price=price,
        node_price_low=low,
        node_price_high=high,
        cost_performance=value(price),
        cost_performance_low=value(high),
        cost_performance_high=value(low),
    )


def _partial_sums(name: str, design: Assessment) -> Iterator[str]:
    """Yield the gaps in a design's sums."""
    if design.cost and design.cost.missing:
        yield f"The cost of {name} is partial: no price of {listed(f'`{gap.part}`' for gap in design.cost.missing)}."
    if design.power.missing:
        gaps = listed(f"`{gap.path}` of `{gap.part}`" for gap in design.power.missing)
        yield f"The power of {name} is partial: no {gaps}."


def _incomparable(labels: tuple[str, ...], designs: tuple[Assessment, ...], baseline: int) -> tuple[str, ...]:
    """Return why totals have no ratio, a sentence each."""
    base, base_name = designs[baseline], labels[baseline]
    sentences = []
    for name, design in zip(labels, designs, strict=True):
        sentences += list(_partial_sums(name, design))
        if design is base or design.cost is None or base.cost is None:
            continue
        if not _same_scope(design, base, _EVERYTHING):
            scope, two = _scope_words(design, base), _scope_words(base, design)
            sentences.append(f"{name} and {base_name} price different scopes: {scope} against {two}.")
    return tuple(sentences)


def _scope_words(design: Assessment, base: Assessment) -> str:
    excluded = listed(sorted(name.replace("-", " ") for name in _excluded(design, base, _EVERYTHING)))
    return f"without {excluded}" if excluded else "everything"


def _rates_missing(name: str, base_name: str, design: Assessment, base: Assessment) -> Iterator[str]:
    """Yield which rates the relative performance leaves out, where only one side lacks them."""
    precisions, two = set(design.hardware.gemm_tflops), set(base.hardware.gemm_tflops)
    if not precisions & two:
        yield f"{name} and {base_name} have no measured GEMM rate in common: no GEMM performance."
    elif precisions != two:
        both, single = (listed(sorted(p.upper() for p in names)) for names in (precisions & two, precisions ^ two))
        yield f"{name} and {base_name}: GEMM performance is over {both} only; one of them has no rate in {single}."


def _notes(labels: tuple[str, ...], designs: tuple[Assessment, ...], baseline: int) -> tuple[str, ...]:
    notes = []
    base, base_name = designs[baseline], labels[baseline]
    for name, design in zip(labels, designs, strict=True):
        fabric = design.fabric
        policy = policy_words(fabric.core_policy, fabric.switches_by_core_policy) if fabric.core_policy else ""
        notes += [f"{name}: {policy}."] if policy else []
        if design is base:
            continue
        if design.cost and base.cost and design.cost.currency != base.cost.currency:
            notes.append(
                f"{name} is priced in {design.cost.currency}, {base_name} in {base.cost.currency}: two currencies are "
                "never compared."
            )
        notes += list(_rates_missing(name, base_name, design, base))
        mine, theirs = _power_basis(design), _power_basis(base)
        if mine != theirs:
            notes.append(f"Power in training has two bases: {name} {mine}, {base_name} {theirs}.")
    return tuple(notes)


def labelled(designs: Sequence[DesignInfo], files: Sequence[str], baseline: str | None) -> tuple[tuple[str, ...], int]:
    """Return the labels of designs, each once, and the position of the baseline.

    Args:
        designs: the designs.
        files: what the user calls them.
        baseline: name, label or file of the baseline; the first if omitted.

    Raises:
        UsageError: if two designs are one, or there is no such baseline.
    """
    labels = _labels_of(designs)
    return labels, _baseline_of(designs, labels, files, baseline)


def _labels_of(designs: Sequence[DesignInfo]) -> tuple[str, ...]:
    """Return the label of each design: its name, or its file where two have one name.

    Raises:
        UsageError: if two have one file too.
    """
    names = [design.name for design in designs]
    if len(set(names)) < len(names):
        names = [design.file for design in designs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise UsageError(f"ffplan compare: `{repeated[0]}` is named twice")
    return tuple(names)


def _baseline_of(designs: Sequence[DesignInfo], labels: tuple[str, ...], files: Sequence[str], name: str | None) -> int:
    """Return the position of the baseline, given by name or file; the first if omitted.

    Raises:
        UsageError: if there is no such design.
    """
    if name is None:
        return 0
    for position, design in enumerate(designs):
        if name in (labels[position], design.file, files[position]):
            return position
    from ffplan.base.errors import did_you_mean

    name = str(name)
    raise UsageError(
        f"ffplan compare: --baseline `{name}` is not among the designs; {did_you_mean(name, labels, what='design')}"
    )


def _comparable(designs: tuple[Assessment, ...]) -> bool:
    """Return whether all designs are priced in one currency, over one scope, without gaps."""
    costs = [design.cost for design in designs]
    priced = [cost for cost in costs if cost is not None and not cost.missing]
    scopes = {(cost.currency, tuple(sorted(cost.excluded))) for cost in priced}
    return len(priced) == len(designs) and len(scopes) == 1


def compare(
    designs: tuple[Assessment, ...],
    labels: tuple[str, ...],
    baseline: int,
    options: ComparisonOptions = NO_OPTIONS,
    training: TrainingComparison | None = None,
    money: MoneyComparison | None = None,
    workload: str = "",
) -> Comparison:
    """Return the comparison of designs.

    Args:
        labels: label of each; all different.
        baseline: position of the design that ratios refer to.
        options: what was asked of them.
        training: a job that was run on all of them.
        workload: their own job, in words.
    """
    base = designs[baseline]
    ratios = {label: _ratios(design, base) for label, design in zip(labels, designs, strict=True)}
    said = advantages(designs, labels, baseline, ratios) if training is None else verdicts(training, labels, baseline)
    return Comparison(
        schema_version=SCHEMA_VERSION,
        tool=base.tool,
        baseline=labels[baseline],
        labels=labels,
        options=options,
        designs=designs,
        ratios=ratios,
        incomparable=_incomparable(labels, designs, baseline),
        notes=_notes(labels, designs, baseline),
        workload=workload,
        training=training,
        money=money,
        verdicts=said,
    )
