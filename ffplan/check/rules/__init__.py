"""The rules on an assessed design, a module for each subject: rows of `LIMITS`, and functions under `@rule`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.rule import REGISTER
from ffplan.check.rules import fabric, limits, node, parts, workload  # noqa: F401 - they register

if TYPE_CHECKING:
    from ffplan.check.rule import Rule

RULES: tuple[Rule, ...] = tuple(sorted(REGISTER, key=lambda rule: rule.id))
"""Every rule on an assessed design, by id."""
