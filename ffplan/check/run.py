"""From a design to its assessment with the findings of every rule."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan import __version__
from ffplan.check.examined import Examined
from ffplan.check.rules import RULES
from ffplan.design.resolve import resolve
from ffplan.inputs.document import read_document
from ffplan.results.design import SCHEMA_VERSION, Findings, ToolInfo
from ffplan.studies.design import study_design

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from ffplan.catalog.store import Catalog
    from ffplan.check.formats.checked import Checked
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.design import Assessment


def examine(
    design: ResolvedDesign,
    catalog: Catalog,
    *,
    all_scales: bool = True,
    today: date | None = None,
    held: ResolvedDesign | None = None,
) -> Assessment:
    """Return the assessment of a design, with the findings of every rule.

    Args:
        design: the design.
        catalog: where its parts were looked up.
        all_scales: time the allreduce over fewer accelerators too.
        today: the day, for rules about age; None where the report must not depend on it.
        held: the design with the limits of a policy; its own where omitted.

    Raises:
        InputError: where the design cannot be assessed, with every fault found.
    """
    study = study_design(design, catalog, all_scales=all_scales)
    examined = Examined(study, catalog, today, held)
    if design.spec.model_fields_set & {"ownership", "rent", "phases"}:
        _ = examined.ownership  # its faults are the design's
    found = [item for rule in RULES if rule.check for item in rule.check(examined)]
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


def findings_report(checked: Checked) -> Findings:
    """Return what `ffplan check --format json` prints."""
    return Findings(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        designs=checked.files,
        findings=checked.worst_first,
        waived=checked.waived,
        known=checked.known,
        fixed=checked.fixed,
    )
