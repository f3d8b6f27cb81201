"""limit-cost-per-million-tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold, unknown_job, unpriced
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the cost of the workload's tokens against `limits.cost_per_million_tokens`."""
    design = examined.design
    limit = design.spec.limits.cost_per_million_tokens
    if limit is None:
        return
    run = examined.run
    cost = run.cost_per_million_tokens if run and run.currency == limit.currency else None
    unknown = unknown_job(examined, tokens=True)
    if run is not None and cost is None:
        unknown = f"the run is priced in {run.currency}" if run.cost else "the design has no prices"
    yield from hold(
        design,
        "cost_per_million_tokens",
        cost.likely if cost else None,
        limit.amount,
        limit.currency,
        what="a million tokens of the workload",
        remedy="raise the limit, or see what decides the cost with `ffplan cost`",
        missing=unpriced(examined.assessment.cost),
        unknown=unknown,
    )


RULE = Rule(
    id="limit-cost-per-million-tokens",
    title="A million tokens cost more than `limits.cost_per_million_tokens`",
    why="The design declares what a token may cost, ownership or rent included.",
    example="workload: {model: llama3-70b, tokens: 15T}\nlimits: {cost_per_million_tokens: $0.01}",
    good="workload: {model: llama3-70b, tokens: 15T}\nlimits: {cost_per_million_tokens: $1}",
    fix="See what decides the cost with `ffplan cost`, or change the limit.",
    check=check,
)
