"""Every rule, by id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.input_rules import INPUT_RULES
from ffplan.check.rules import RULES
from ffplan.check.team_rules import TEAM_RULES

if TYPE_CHECKING:
    from ffplan.check.rule import Rule


def every_rule() -> list[Rule]:
    """Return the rules of reading, of assessed designs, and of policies, by id."""
    return sorted((*INPUT_RULES, *RULES, *TEAM_RULES), key=lambda rule: rule.id)
