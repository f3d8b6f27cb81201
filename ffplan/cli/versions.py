"""Versions of a design: a file, one of a revision, standard input or a saved report; and `check --against` one."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import Finding, InputError, Severity, UsageError
from ffplan.base.files import MAX_BYTES, is_file, is_regular
from ffplan.base.formatting import listed, number
from ffplan.base.record import record
from ffplan.catalog.store import Catalog
from ffplan.check.formats import path_of
from ffplan.cli.former_parts import _former_folders, _named_as_then, _OwnParts
from ffplan.cli.loading import _read_text
from ffplan.cli.revisions import _at_revision, _known_revision, _NoFileError
from ffplan.inputs.design_files import find_design
from ffplan.inputs.document import parse_document, read_document
from ffplan.results.difference import TWO_UNITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.cli.checked_files import _CheckedFile, _Task
    from ffplan.inputs.document import Document
    from ffplan.results.difference import FigureChange
    from ffplan.studies.explain.figure_changes import Values
    from ffplan.studies.explain.reproduce import Version

_RANGE = re.compile(r"(?P<one>[^:]*?)(?P<dots>\.\.\.?)(?P<two>[^:]*)")


def _revisions(text: str) -> tuple[str, str | None] | None:
    """Return the two revisions of a range such as `main..HEAD`; the second is None for the working tree.

    Args:
        text: the range; `main..` ends at the working tree, `main...HEAD` starts at the merge base.
    """
    match = _RANGE.fullmatch(text)
    if match is None or not match["one"]:
        return None
    first, second = match["one"], match["two"] or None
    return (f"{first}...{second or 'HEAD'}" if match["dots"] == "..." else first), second


_BUILT = re.compile(r"^(vendid=|(Switch|Ca|Hca)\s+\d+\s+\"|# Topology file)", re.MULTILINE)
"""Lines of ibnetdiscover output."""


class _FormerPartsError(UsageError):
    """A folder of parts, as a revision has it, cannot be used."""


@record
class _Assessor:
    catalog: Catalog
    """Current parts."""
    workload: Any = None
    """A `Workload` in place of the designs' own."""
    tokens: float | None = None
    """Tokens in place of the designs' own [1]."""
    own: _OwnParts | None = None
    """Parts of revisions, for versions that cannot be assessed with the current ones."""

    def figures(self, document: Document) -> Values:
        from ffplan.check.rule import Examined
        from ffplan.design.resolve import resolve
        from ffplan.studies.design.design import study_design
        from ffplan.studies.explain.figure_changes import values_of
        from ffplan.studies.train.default_job import with_tokens

        catalog = self.catalog.fork()
        design = resolve(document, catalog)
        if self.workload is not None:
            design = replace(design, workload=self.workload)
        design = with_tokens(design, self.tokens)
        examined = Examined(study_design(design, catalog, all_scales=False), catalog)
        return values_of(examined.assessment.to_dict(), examined.timed, examined.run)

    def version(self, document: Document) -> Version:
        from ffplan.results.result import DesignInfo
        from ffplan.studies.explain.reproduce import Version

        figures = self.figures(document)
        info = DesignInfo(
            name=str(document.data["name"]),
            description=document.data.get("description"),
            file=document.file,
            sha256=document.sha256,
        )
        return Version(info=info, figures=figures, document=document)

    def former_version(self, file: str, revision: str) -> tuple[Version, bool]:
        """Return a design of a revision, and whether it is assessed with the repository's own parts of then.

        Raises:
            InputError: if neither today's parts nor the former ones can assess it.
            _FormerPartsError: if the folders of then cannot be used.
        """
        document = _revision_document(file, revision)
        try:
            return self.version(document), False
        except InputError:
            own = self.own
            folders = None if own is None else _former_folders(Path(file), revision, own)
            if own is None or folders is None:
                raise
            try:
                return replace(self, catalog=Catalog(folders)).version(document), True
            except UsageError as error:
                if (why := _named_as_then(error, own, revision)) is None:
                    raise
                raise _FormerPartsError(why) from None


def _saved_version(file: str, command: str) -> Version:
    from ffplan.results.result import DesignInfo
    from ffplan.studies.explain.figure_changes import values_of
    from ffplan.studies.explain.reproduce import NoReportError, Version, read_report

    try:
        saved = read_report(_read_text(file, 16 * MAX_BYTES))
    except NoReportError as error:
        line, column = error.place
        raise UsageError(f"ffplan {command}: {file}:{line}:{column}: {error}") from None
    if len(saved.designs) > 1:
        raise UsageError(f"ffplan {command}: {file}: a comparison of several designs; save one with `ffplan design`")
    report = saved.designs[0]
    stated = report["design"]
    info = DesignInfo(
        name=str(stated.get("name", "")),
        description=stated.get("description"),
        file=stated["file"],
        sha256=stated["sha256"],
    )
    return Version(info=info, figures=values_of(report), document=None)


def _design_document(name: str) -> Document:
    if name == "-":
        raw = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise UsageError(f"ffplan: standard input: larger than {MAX_BYTES // 1024} KiB")
        return parse_document(raw, "-")
    path, file = find_design(name)
    if is_regular(path) and not path.suffix.lower().startswith(".y") and _is_built(path):
        raise UsageError(
            f"ffplan: {name}: this is a fabric as built; `ffplan fabric audit DESIGN {name}` compares it with a design"
        )
    return read_document(path, file)


def _is_built(path: Path) -> bool:
    try:
        with path.open("rb") as source:
            return _BUILT.search(source.read(65_536).decode("utf-8", "replace")) is not None
    except OSError:
        return False


def _revision_document(name: str, revision: str) -> Document:
    return parse_document(*_at_revision(Path(name), revision))


def _owner(saved: Version, designs: list[str]) -> str | None:
    """Return the design of a saved report; None if missing or ambiguous."""
    same = [name for name in designs if path_of(name) == path_of(saved.info.file)]
    if not same:  # saved from another folder: the name decides, where only one file has it
        same = [name for name in designs if Path(name).name == Path(saved.info.file).name]
    return same[0] if len(same) == 1 else None


def _before(file: str, reference: Version | str, assessor: _Assessor) -> tuple[Version | None, str]:
    """Return the previous version and its name; or None and why it cannot be assessed, empty for a new file."""
    if not isinstance(reference, str):
        return reference, reference.info.file
    try:
        version, own = assessor.former_version(file, reference)
    except InputError as error:
        return None, f"the version of `{reference}` cannot be assessed: {_stopped(error, assessor, reference)}"
    except _FormerPartsError as error:
        return None, f"the version of `{reference}` cannot be assessed: {error}"
    except _NoFileError:
        return None, ""
    former = version.info.file.removesuffix(f"@{reference}")
    name = reference if former == str(Path(file)) else f"{reference}:{former} (which git takes for it)"
    return version, f"{name} with the parts of then" if own else name


def _stopped(error: InputError, assessor: _Assessor, reference: str) -> str:
    """Return the first fault of a version; a part of then is named as in its repository."""
    fault = error.findings[0]
    file = fault.file
    if assessor.own is not None and Path(file).is_relative_to(assessor.own.scratch):
        file = f"{Path(*Path(file).relative_to(assessor.own.scratch).parts[1:])}@{reference}"
    return f"{file}:{fault.line}:{fault.column}: {fault.message}"


def _finding(file: str, row: FigureChange, limit: float, against: str) -> Finding:
    before, after = (number(value or 0.0, 5) for value in (row.before, row.after))
    unit = f" {row.unit}" if row.unit else ""
    share = "" if row.relative is None else f", {100 * row.relative:+.3g} %"
    message = (
        f"{row.label} went from {before} to {after}{unit}{share}, beyond the {number(100 * limit, 3)} % allowed "
        f"against {against}"
    )
    remedy = "`ffplan diff` says which change did it; `regressions` of the policy sets what is allowed"
    if row.lost:
        remedy = "complete the design, or accept the loss by a waiver; `ffplan diff` says which change did it"
        message = f"no longer known: {row.label}, {before}{unit} in {against}"
    if row.unlike:
        old, new = row.unit.split(TWO_UNITS) if row.unlike == "currencies" else (row.unit, row.unit)
        why = "currencies are not compared"
        if row.unlike == "scopes":
            why = "`cost.exclude` leaves out other parts now, and sums of two scopes are not compared"
            remedy = "compare designs with the same `cost.exclude`, or accept the change by a waiver"
        message = f"{row.label} went from {before} {old} in {against} to {after} {new}: {why}"
    return _regression(file, message, remedy, row.figure)


def _not_in_report(file: str, rows: tuple[FigureChange, ...], report: str) -> Finding:
    """Return the finding on figures of today that a saved report lacks; a report holds no workload."""
    return _regression(
        file,
        f"not held against the report of {report}, which does not say what they were: "
        f"{listed(row.label for row in rows)}",
        "name a revision of git with --against, or accept it by a waiver of `regression` with the path `report`",
        "report",
        Severity.WARNING,
    )


def _regression(file: str, message: str, remedy: str, path: str, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(
        rule="regression",
        severity=severity,
        file=file,
        line=1,
        column=1,
        message=message,
        remedy=remedy,
        path=path,
    )


def _skipped(file: str, why: str) -> Finding:
    message, remedy = f"not held against what it was: {why}", "name a version that can be assessed with --against"
    return _regression(file, message, remedy, "", Severity.WARNING)


def _of_design(file: str, result: _CheckedFile, reference: Version | str, assessor: _Assessor) -> Iterator[Finding]:
    from ffplan.inputs.document import read_document
    from ffplan.studies.explain.figure_changes import figure_changes, not_held, regressions

    before, name = _before(file, reference, assessor)
    if before is None:
        if name:
            yield _skipped(result.file, name)
        return
    after = assessor.version(read_document(Path(file), result.file))
    thresholds = result.policy.fields.regressions.model_dump()
    rows = figure_changes(before.figures, after.figures)
    for row, limit in regressions(rows, thresholds):
        yield _finding(result.file, row, limit, name)
    if before.document is None and (absent := not_held(rows, thresholds)):
        yield _not_in_report(result.file, absent, name)


def _with_regressions(files: list[str], results: list[_CheckedFile], against: str, task: _Task) -> list[_CheckedFile]:
    from ffplan.catalog.store import Catalog
    from ffplan.check.waivers import waive

    pairs = zip(files, results, strict=True)
    whole = {name: result.whole for name, result in pairs if result.word == "design" and is_file(name)}
    designs = held = list(whole)
    reference: Version | str = against
    if is_file(against):
        reference = _saved_version(against, "check")
        held = [name for name in designs if name == _owner(reference, designs)]
        if not held:
            raise UsageError(f"ffplan check: --against {against}: it is of no design that is checked")
    elif designs:
        _known_revision(Path(designs[0]), against)
    else:
        raise UsageError(f"ffplan check: --against {against}: no design among the files is one that git could have")
    annotated = []
    with TemporaryDirectory(prefix="ffplan-") as scratch:
        assessor = _Assessor(Catalog(task.catalogs), own=_OwnParts(task.catalogs, Path(scratch), {}))
        for file, result in zip(files, results, strict=True):
            if file not in held or not whole[file]:  # a design that is broken says so itself
                annotated.append(result)
                continue
            worse = tuple(_of_design(file, result, reference, assessor))
            left = waive(worse, list(result.waivers), result.policy, task.today)
            annotated.append(
                replace(
                    result,
                    findings=(*result.findings, *left.kept),
                    waived=result.waived + len(left.waived),
                    used=(*result.used, *left.used),
                )
            )
    return annotated
