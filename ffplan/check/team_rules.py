"""Rules of `ffplan check` alone: policies, waivers and what designs were before; and the list of every rule."""

from __future__ import annotations

from ffplan.base.errors import Severity
from ffplan.check.input_rules import INPUT_RULES
from ffplan.check.rule import Rule
from ffplan.check.rules import RULES

TEAM_RULES: tuple[Rule, ...] = (
    Rule(
        id="catalog-todo",
        title="A part is not filled in yet",
        why="Its figures are examples of another part.",
        example='name: "TODO: name as its maker writes it"',
        good='name: "NVIDIA Quantum QM8700"',
        fix="Replace the examples with the part's figures and their sources.",
        severity=Severity.WARNING,
    ),
    Rule(
        id="catalog-suspicious",
        title="A figure of a part is possible and yet unlike that of any other",
        why="It is mostly a slip of a unit or a digit, and results use it. `ffplan catalog audit` lists the same.",
        example='line_efficiency: {value: "3 %", source: datasheet}  # of a NIC',
        good='line_efficiency: {value: "97 %", source: datasheet}',
        fix="Check its unit and its source; correct the figure, or accept it by a waiver.",
        severity=Severity.WARNING,
    ),
    Rule(
        id="policy-invalid",
        title="A policy file is wrong",
        why="A misspelt rule or limit would silently have no effect.",
        example='rules = {recalled-price = "off"}  # in ffplan.toml',
        good='rules = {recalled-prices = "off"}',
        fix="Use the name that the finding suggests; docs/ci.md lists the fields.",
    ),
    Rule(
        id="policy-limit",
        title="A limit of the policy is in another currency than the design, without a rate",
        why="Two currencies are compared by the rates of `site.exchange` alone.",
        example='limits = {cost_per_accelerator = "$40,000"}  # over a design in paper-unit',
        good='limits = {cost_per_accelerator = "2 paper-unit"}',
        fix="Price the design in that currency, or state the rate under `site.exchange`.",
        severity=Severity.WARNING,
    ),
    Rule(
        id="waiver-invalid",
        title="A comment that waives lacks its rule or its reason",
        why="A waiver without a reason is a finding switched off.",
        example="tiers: 2  # ffplan: waive fewer-tiers",
        good="tiers: 2  # ffplan: waive fewer-tiers: kept for growth",
        fix="Write `# ffplan: waive RULE until 2027-03-31: reason`; the day may be left out.",
    ),
    Rule(
        id="waiver-expired",
        title="A waiver has expired",
        why="Its day was agreed on so that somebody looks again.",
        example="tiers: 2  # ffplan: waive fewer-tiers until 2020-01-01: until phase 2",
        good="tiers: 2  # ffplan: waive fewer-tiers until 2099-12-31: until phase 2",
        fix="Correct the finding, or agree on a new date.",
        severity=Severity.WARNING,
    ),
    Rule(
        id="waiver-unused",
        title="A waiver accepts nothing",
        why="It would hide the next finding.",
        example="tiers: 1  # ffplan: waive fewer-tiers: kept for growth",
        good="tiers: 1",
        fix="Remove it.",
        severity=Severity.WARNING,
    ),
    Rule(
        id="regression",
        title="A design is worse than the revision it is checked against",
        why="A change that costs bandwidth or money should be seen before it is merged.",
        example="ffplan check design.yaml --against main  # with oversubscription 2:1 in place of 1:1",
        good="ffplan check design.yaml --against main  # no figure is worse",
        fix="`ffplan diff main.. design.yaml` shows the responsible change; `regressions` of the policy allows some.",
    ),
)
"""Every rule of `ffplan check` that needs a policy, a waiver or a reference."""


def every_rule() -> list[Rule]:
    """Return all rules by id: for reading, assessed designs and policies."""
    return sorted((*INPUT_RULES, *RULES, *TEAM_RULES), key=lambda rule: rule.id)
