"""From a design to its assessment with the findings of every rule."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan import __version__
from ffplan.base.errors import InputError
from ffplan.check.examined import Examined
from ffplan.check.rules import RULES
from ffplan.design.resolve import resolve
from ffplan.inputs.document import read_document
from ffplan.results.design import SCHEMA_VERSION, Findings, ToolInfo
from ffplan.studies.design.design import study_design

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from ffplan.catalog.store import Catalog
    from ffplan.check.formats.checked import Checked
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.design import Assessment

MONEY = frozenset({"ownership", "rent", "phases"})
"""Sections of a design about what it takes to own or to rent it."""


def examine(
    design: ResolvedDesign,
    catalog: Catalog,
    *,
    brief: bool = False,
    today: date | None = None,
    held: ResolvedDesign | None = None,
) -> Assessment:
    """Return the assessment of a design, with the findings of every rule.

    Args:
        design: the design.
        catalog: where its parts were looked up.
        brief: only the findings are wanted: leave out of the assessment what none of them rests on.
        today: the day, for rules about age; None where the report must not depend on it.
        held: the design with the limits of a policy; its own where omitted.

    Raises:
        InputError: where the design cannot be assessed, with every fault found.
    """
    without = _unasked(design, catalog) if brief else frozenset()
    if "site" in without and design.accelerators and design.compute.accelerators_per_node:
        _read_site(design, catalog)
    study = study_design(design, catalog, all_scales=not brief, without=without)
    examined = Examined(study, catalog, today, held)
    if design.spec.model_fields_set & MONEY:
        _ = examined.ownership  # its faults are the design's
    found = [item for rule in RULES if rule.check for item in rule.check(examined)]
    return replace(study.assessment, findings=tuple(sorted(found, key=lambda item: item.sort_key)))


def _unasked(design: ResolvedDesign, catalog: Catalog) -> frozenset[str]:
    """Return the parts of a study that no finding on a design rests on, or that `Examined` has where one does.

    Failures can be wrong where the design states more of them than a profile, or where parts may be the user's.
    """
    section, stated = design.reliability, design.spec.model_fields_set & {*MONEY, "workload"}
    shipped = section is None or catalog.kind_of(section.profile) == "reliability"
    more = section is not None and section.model_fields_set - {"profile"}
    sound = shipped and not (more or stated or catalog.overlaid)
    return frozenset({"site", "reliability"} if sound else {"site"})


def _read_site(design: ResolvedDesign, catalog: Catalog) -> None:
    """Read the parts that stand around a design, which findings on recalled figures and announced parts name too."""
    from ffplan.design.ownership import resolve_ownership

    with suppress(InputError):  # then they are not known, and the site neither
        resolve_ownership(design, catalog, offers=design.ownership is not None or catalog.overlaid)


def examine_file(path: Path, file: str, catalog: Catalog) -> Assessment:
    """Return the assessment of a design file, with the findings of every rule.

    Args:
        path: where the file lies.
        file: its name in messages.
        catalog: where its parts are looked up.

    Raises:
        InputError: where the design cannot be assessed, with every fault found.
    """
    return examine(resolve(read_document(path, file), catalog), catalog)


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
