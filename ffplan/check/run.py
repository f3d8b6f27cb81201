"""From a design to its assessment with the findings of every rule."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan import __version__
from ffplan.check.rules import RULES
from ffplan.design.resolve import resolve
from ffplan.inputs.document import read_document
from ffplan.results.design import SCHEMA_VERSION, Findings, ToolInfo
from ffplan.studies.design import study_design

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ffplan.base.errors import Finding
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.design import Assessment


def examine(design: ResolvedDesign, catalog: Catalog, *, all_scales: bool = True) -> Assessment:
    """Return the assessment of a design, with the findings of every rule.

    Args:
        design: the design.
        catalog: where its parts were looked up.
        all_scales: time the allreduce over fewer accelerators too.

    Raises:
        InputError: where the design cannot be assessed, with every fault found.
    """
    study = study_design(design, catalog, all_scales=all_scales)
    if design.spec.model_fields_set & {"ownership", "rent", "phases"}:
        from ffplan.design.ownership import resolve_ownership

        resolve_ownership(design, catalog.fork())
    found = [item for rule in RULES if rule.check for item in rule.check(study)]
    return replace(study.assessment, findings=tuple(sorted(found, key=lambda item: item.sort_key)))


def examine_file(path: Path, file: str, catalog: Catalog, *, all_scales: bool = True) -> Assessment:
    """Return the assessment of a design file, with the findings of every rule.

    Args:
        path: where the file lies.
        file: its name in messages.
        catalog: where its parts are looked up.
        all_scales: time the allreduce over fewer accelerators too.

    Raises:
        InputError: where the design cannot be assessed, with every fault found.
    """
    return examine(resolve(read_document(path, file), catalog), catalog, all_scales=all_scales)


def findings_report(files: Sequence[str], findings: Iterable[Finding]) -> Findings:
    """Return what `ffplan check --format json` prints."""
    return Findings(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        designs=tuple(files),
        findings=tuple(findings),
    )
