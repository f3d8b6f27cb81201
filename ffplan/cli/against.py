"""`ffplan check --against`: designs that are worse than they were."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ffplan.base.errors import Finding, InputError, Severity, UsageError
from ffplan.base.formatting import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.cli.checked_files import CheckedFile, Task
    from ffplan.cli.versions import Assessor
    from ffplan.results.difference import FigureChange
    from ffplan.studies.difference import Version


def _reference(file: str, against: str) -> Version | str | None:
    """Return the saved report that a design is held against, or the revision; None where neither is there."""
    from ffplan.cli.versions import saved_version

    if Path(against).is_file():
        saved = saved_version(against, "check")
        return saved if Path(saved.info.file).name == Path(file).name else None
    return against


def _before(file: str, reference: Version | str, assessor: Assessor) -> Version | None:
    """Return the version before; None where the revision has no such file, or one that cannot be assessed."""
    from ffplan.cli.versions import revision_document

    if not isinstance(reference, str):
        return reference
    try:
        return assessor.version(revision_document(file, reference))
    except InputError:
        return None
    except UsageError as error:
        if "has no such file" in str(error):
            return None
        raise


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


def regressions_of(files: list[str], results: list[CheckedFile], against: str, task: Task) -> Iterator[Finding]:
    """Yield a finding for every figure of a design that got worse than its policy allows.

    Args:
        files: the files checked, as named.
        results: the same, checked.
        against: a revision of git, or a report that `ffplan design -f json` saved.
        task: how they are checked.

    Raises:
        UsageError: where there is no such revision, or no design belongs to the report.
    """
    from ffplan.catalog.store import Catalog
    from ffplan.cli.versions import Assessor
    from ffplan.inputs.document import read_document
    from ffplan.studies.difference import regressions
    from ffplan.studies.figures import figure_changes

    assessor, found = Assessor(Catalog(task.catalogs)), False
    for file, result in zip(files, results, strict=True):
        if result.word != "design" or not result.whole or not Path(file).is_file():
            continue
        reference = _reference(file, against)
        if reference is None:
            continue
        found = True
        before = _before(file, reference, assessor)
        if before is not None:
            after = assessor.version(read_document(Path(file), result.file))
            thresholds = result.policy.fields.regressions.model_dump()
            for row, limit in regressions(figure_changes(before.figures, after.figures), thresholds):
                yield _finding(result.file, row, limit, against)
    if not found and Path(against).is_file():
        raise UsageError(f"ffplan check: --against {against}: it is of no design that is checked")
