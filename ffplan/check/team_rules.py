"""Rules about policies, waivers and what designs were before: found by `ffplan check` alone."""

from __future__ import annotations

from ffplan.base.errors import Severity
from ffplan.check.rule import Rule

_ROWS = (
    (
        "catalog-todo",
        "A part is not filled in yet",
        "Its figures are examples of another part.",
        'name: "TODO: name as its maker writes it"',
        'name: "NVIDIA Quantum QM8700"',
        "Put the part's own figures, and where they are from, in place of the examples.",
    ),
    (
        "policy-invalid",
        "A policy file is wrong",
        "A misspelt rule or limit would silently hold nothing.",
        'rules = {recalled-price = "off"}  # in ffplan.toml',
        'rules = {recalled-prices = "off"}',
        "Use the name that the finding suggests; docs/ci.md lists the fields.",
    ),
    (
        "policy-limit",
        "A limit of the policy is in another currency than the design",
        "Two currencies are never compared.",
        'limits = {cost_per_accelerator = "$40,000"}  # over a design in paper-unit',
        'limits = {cost_per_accelerator = "2 paper-unit"}',
        "Price the design in that currency.",
    ),
    (
        "waiver-invalid",
        "A comment that waives lacks its rule or its reason",
        "A waiver without a reason is a finding switched off.",
        "tiers: 2  # ffplan: waive fewer-tiers",
        "tiers: 2  # ffplan: waive fewer-tiers: kept for growth",
        "Write `# ffplan: waive RULE until 2027-03-31: reason`; the day may be left out.",
    ),
    (
        "waiver-expired",
        "A waiver has expired",
        "Its day was agreed on so that somebody looks again.",
        "tiers: 2  # ffplan: waive fewer-tiers until 2020-01-01: until phase 2",
        "tiers: 2  # ffplan: waive fewer-tiers until 2099-12-31: until phase 2",
        "Mend what it covers, or agree on a new day.",
    ),
    (
        "waiver-unused",
        "A waiver accepts nothing",
        "It would hide the next finding.",
        "tiers: 1  # ffplan: waive fewer-tiers: kept for growth",
        "tiers: 1",
        "Remove it.",
    ),
    (
        "regression",
        "A design is worse than the revision it is checked against",
        "A change that costs bandwidth or money should be seen before it is merged.",
        "ffplan check design.yaml --against main  # with oversubscription 2:1 in place of 1:1",
        "ffplan check design.yaml --against main  # nothing is worse",
        "`ffplan diff main.. design.yaml` says which change did it; `regressions` of the policy sets what is allowed.",
    ),
)
_WARNINGS = ("catalog-todo", "policy-limit", "waiver-expired", "waiver-unused")

TEAM_RULES: tuple[Rule, ...] = tuple(
    Rule(
        id=name,
        title=title,
        why=why,
        example=example,
        good=good,
        fix=fix,
        severity=Severity.WARNING if name in _WARNINGS else Severity.ERROR,
    )
    for name, title, why, example, good, fix in _ROWS
)
"""Every rule of `ffplan check` that needs a policy, a waiver or a reference."""
