"""When a token is cheaper on which design, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffplan.results.comparison import TrainingComparison

EVEN = 0.005
"""Difference of a ratio from 1 up to which two sides are even [1]."""


def verdicts(training: TrainingComparison, labels: tuple[str, ...], baseline: int) -> tuple[str, ...]:
    """Return a sentence for every design but the baseline: when it is cheaper for the job, and when dearer.

    Args:
        training: the job on every design.
        labels: what each design is called.
        baseline: position of the design that ratios refer to.
    """
    found = []
    for at, name in enumerate(labels):
        if at == baseline:
            continue
        ratios = [(size.batch, size.sides[at].capital_ratio) for size in training.sizes]
        known = [(batch, ratio) for batch, ratio in ratios if ratio is not None]
        job = f"{training.model} on {training.gpus:,} accelerators"
        if not known:
            found.append(_unknown(training, labels, (at, baseline), job))
            continue
        parts = [f"{_words(ratio)} at batch {batch:,}" for batch, ratio in known]
        found.append(f"For {job}, a token of {name} is {_listed(parts)}, against {labels[baseline]}.")
        found += _estimates(training, labels, (at, baseline))
    return tuple(found)


def _unknown(training: TrainingComparison, labels: tuple[str, ...], both: tuple[int, int], job: str) -> str:
    """Return why the price of a token cannot be compared."""
    idle = [labels[at] for at in both if all(size.sides[at].refused for size in training.sizes)]
    if idle:
        return f"{job} cannot run on {' and '.join(idle)}: no price of a token can be compared."
    return (
        f"{labels[both[0]]} and {labels[both[1]]} are not priced alike: no price of a token can be compared for {job}."
    )


def _estimates(training: TrainingComparison, labels: tuple[str, ...], both: tuple[int, int]) -> list[str]:
    """Return which speeds are estimated, with their error."""
    found = []
    for at in both:
        side = next((size.sides[at] for size in training.sizes if size.sides[at].estimated_from), None)
        if side is not None and side.error_band is not None:
            words = f"with the efficiencies of {side.estimated_from}, ±{100 * side.error_band:.0f}%"
            found.append(f"The speed of {labels[at]} is estimated {words}.")
    return found


def _words(ratio: float) -> str:
    """Return how a price compares with another."""
    if abs(ratio - 1) < EVEN:
        return "as dear"
    return f"{1 - ratio:.0%} cheaper" if ratio < 1 else f"{ratio:.2f} times as dear"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
