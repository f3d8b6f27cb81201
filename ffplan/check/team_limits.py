"""Limits of a team, held together with those of a design: the stricter counts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import Severity
from ffplan.inputs.quantities import Money

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.check.policy import Policy
    from ffplan.design.resolved import ResolvedDesign

TOKENS = "cost_per_million_tokens"
"""Limit whose rule knows the currency of the run, which ownership or rent decides."""
LEAST = ("allreduce_bandwidth", "tokens_per_second", "goodput")
"""Limits that are a minimum."""


def _comparable(one: Any, two: Any) -> bool:
    return not isinstance(one, Money) or (isinstance(two, Money) and one.currency == two.currency)


def with_limits(design: ResolvedDesign, policy: Policy) -> tuple[ResolvedDesign, tuple[Finding, ...]]:
    """Return a design that is held to the limits of a policy too, and what cannot be held.

    A limit of money in another currency than the design's prices, or than its own limit, cannot.

    Args:
        design: the design.
        policy: the policy.
    """
    team, own = policy.fields.limits, design.spec.limits
    update: dict[str, Any] = {}
    remarks: list[Finding] = []
    for name in sorted(team.model_fields_set):
        wanted, has = getattr(team, name), getattr(own, name)
        currency = design.prices.currency if design.prices else design.spec.site.currency
        if isinstance(wanted, Money) and name != TOKENS and wanted.currency != currency:
            remarks.append(_other_currency(design, policy, name, wanted.currency, currency))
        elif has is None:
            update[name] = wanted
        elif _comparable(wanted, has):
            value, mine = (item.amount if isinstance(item, Money) else item for item in (wanted, has))
            if (value > mine) == (name in LEAST):
                update[name] = wanted
    if not update:
        return design, tuple(remarks)
    limits = own.model_copy(update=update)
    return replace(design, spec=design.spec.model_copy(update={"limits": limits})), tuple(remarks)


def named_limits(
    findings: tuple[Finding, ...], own: ResolvedDesign, held: ResolvedDesign, policy: Policy
) -> tuple[Finding, ...]:
    """Return findings that say where a limit of the policy broke, since the design does not state it.

    Args:
        findings: findings on the design.
        own: the design as it stands.
        held: the design with the limits of the policy.
        policy: the policy.
    """
    before, after = own.spec.limits, held.spec.limits
    team = {name for name in after.model_fields_set if getattr(before, name) != getattr(after, name)}
    rules = {f"limit-{name.replace('_', '-')}" for name in team}
    return tuple(
        replace(item, message=f"{item.message}, set by {policy.file}") if item.rule in rules else item
        for item in findings
    )


def _other_currency(design: ResolvedDesign, policy: Policy, name: str, wanted: str, has: str | None) -> Finding:
    priced = f"priced in {has}" if has else "not priced"
    return design.document.finding(
        "policy-limit",
        ("cost",),
        f"`{name}` of {policy.file} cannot be held: it is in {wanted}, the design is {priced}",
        "price the design in that currency, or turn the rule off for it with a waiver",
        severity=Severity.WARNING,
    )
