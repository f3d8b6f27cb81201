"""From a design file to an assessment with its findings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.check.rules import RULES
from ffplan.design.resolve import resolve
from ffplan.inputs.document import read_document
from ffplan.studies.design import assess

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.catalog.store import Catalog
    from ffplan.results.design import Assessment


def examine(path: Path, file: str, catalog: Catalog) -> Assessment:
    """Return the assessment of a design file, with the findings of every rule.

    Args:
        path: where the file lies.
        file: its name in messages.
        catalog: where its parts are looked up.

    Raises:
        InputError: where the design cannot be assessed, with every fault found.
    """
    design = resolve(read_document(path, file), catalog)
    assessment = assess(design, catalog)
    findings = [found for rule in RULES if rule.check for found in rule.check(design, assessment)]
    return replace(assessment, findings=tuple(sorted(findings, key=lambda found: found.sort_key)))
