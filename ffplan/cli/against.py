"""`ffplan check --against`: designs worse than before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ffplan.base.errors import Finding, InputError, Severity, UsageError
from ffplan.base.files import is_file
from ffplan.base.formatting import number
from ffplan.check.checked import path_of
from ffplan.inputs.revision import NoFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.cli.checked_files import _CheckedFile, _Task
    from ffplan.cli.versions import _Assessor
    from ffplan.results.difference import FigureChange
    from ffplan.studies.explain.reproduce import Version


def _owner(saved: Version, designs: list[str]) -> str | None:
    """Return the design of a saved report; None if missing or ambiguous."""
    same = [name for name in designs if path_of(name) == path_of(saved.info.file)]
    if not same:  # saved from another folder: the name decides, where only one file has it
        same = [name for name in designs if Path(name).name == Path(saved.info.file).name]
    return same[0] if len(same) == 1 else None


def _before(file: str, reference: Version | str, assessor: _Assessor) -> Version | str:
    """Return the previous version, or why it is missing: a new file, or one that cannot be assessed."""
    from ffplan.cli.versions import _revision_document

    if not isinstance(reference, str):
        return reference
    try:
        return assessor.version(_revision_document(file, reference))
    except InputError:
        return f"the version of `{reference}` cannot be assessed"
    except NoFileError:
        return ""


def _finding(file: str, row: FigureChange, limit: float, against: str) -> Finding:
    before, after = (number(value or 0.0, 5) for value in (row.before, row.after))
    unit = f" {row.unit}" if row.unit else ""
    return Finding(
        rule="regression",
        severity=Severity.ERROR,
        file=file,
        line=1,
        column=1,
        message=f"{row.label} went from {before} to {after}{unit}, {100 * (row.relative or 0):+.3g} %, beyond the "
        f"{number(100 * limit, 3)} % allowed against {against}",
        remedy="`ffplan diff` says which change did it; `regressions` of the policy sets what is allowed",
        path=row.figure,
    )


def _skipped(file: str, why: str) -> Finding:
    return Finding(
        rule="regression",
        severity=Severity.WARNING,
        file=file,
        line=1,
        column=1,
        message=f"not held against what it was: {why}",
        remedy="mend that version, or name another with --against",
        path="",
    )


def _of_design(file: str, result: _CheckedFile, reference: Version | str, assessor: _Assessor) -> Iterator[Finding]:
    from ffplan.inputs.document import read_document
    from ffplan.studies.explain.reproduce import figure_changes, regressions

    name = reference if isinstance(reference, str) else reference.info.file
    before = _before(file, reference, assessor)
    if isinstance(before, str):
        if before:
            yield _skipped(result.file, before)
        return
    after = assessor.version(read_document(Path(file), result.file))
    thresholds = result.policy.fields.regressions.model_dump()
    for row, limit in regressions(figure_changes(before.figures, after.figures), thresholds):
        yield _finding(result.file, row, limit, name)


def _with_regressions(files: list[str], results: list[_CheckedFile], against: str, task: _Task) -> list[_CheckedFile]:
    from ffplan.catalog.store import Catalog
    from ffplan.check.waivers import waive
    from ffplan.cli.versions import _Assessor, _saved_version
    from ffplan.inputs.revision import known_revision

    pairs = zip(files, results, strict=True)
    designs = [name for name, result in pairs if result.word == "design" and result.whole and is_file(name)]
    reference: Version | str = against
    held = designs
    if is_file(against):
        reference = _saved_version(against, "check")
        held = [name for name in designs if name == _owner(reference, designs)]
        if not held:
            raise UsageError(f"ffplan check: --against {against}: it is of no design that is checked")
    elif designs:
        known_revision(Path(designs[0]), against)
    else:
        raise UsageError(f"ffplan check: --against {against}: no design among the files is one that git could have")
    assessor, annotated = _Assessor(Catalog(task.catalogs)), []
    for file, result in zip(files, results, strict=True):
        if file not in held:
            annotated.append(result)
            continue
        left = waive(
            tuple(_of_design(file, result, reference, assessor)), list(result.waivers), result.policy, task.today
        )
        annotated.append(
            replace(
                result,
                findings=(*result.findings, *left.kept),
                waived=result.waived + len(left.waived),
                used=(*result.used, *left.used),
            )
        )
    return annotated
