"""Versions of a design: a file, one of a revision, standard input or a saved report; and `check --against` one."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import Finding, InputError, Severity, UsageError
from ffplan.base.files import MAX_BYTES, is_file, is_regular
from ffplan.base.formatting import first_few, listed, number
from ffplan.base.record import record
from ffplan.catalog.store import Catalog
from ffplan.check.formats import path_of
from ffplan.cli.loading import _read_text
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
SECONDS = 30
"""Time limit of a git command [s]."""


class _NoFileError(UsageError):
    """The revision has no such file."""


class _RefusedError(UsageError):
    """Git refused; `silent` if it printed no reason."""

    def __init__(self, said: list[str], code: int) -> None:
        super().__init__(f"ffplan: git: {said[-1] if said else f'exit code {code}'}")
        self.silent = not said


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


def _git(folder: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, timeout=SECONDS, check=False)
    except FileNotFoundError:
        raise UsageError("ffplan: a revision needs git, and it is not installed") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"ffplan: git took more than {SECONDS} s") from None
    if done.returncode:
        raise _RefusedError(done.stderr.decode("utf-8", "replace").strip().splitlines(), done.returncode)
    return done.stdout


def _commit(folder: Path, revision: str) -> str:
    if "..." in revision:
        one, _, two = revision.partition("...")
        if "..." in two:
            raise UsageError(f"ffplan: `{revision}` is neither a revision nor a pair of them")
        return _git(folder, "merge-base", _commit(folder, one), _commit(folder, two)).decode().strip()
    try:
        output = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except _RefusedError as error:
        if not error.silent:
            raise
        raise UsageError(f"ffplan: git knows no revision `{revision}` in {folder}") from None
    return output.decode().strip()


def _former(folder: Path, commit: str, path: Path) -> str | None:
    """Return the name that a file had at a commit, from the top; None if git finds no renamed file in it."""
    top = Path(_git(folder, "rev-parse", "--show-toplevel").decode().rstrip("\n"))
    output = _git(folder, *["diff", "--name-status", "-z", "--find-renames", "--diff-filter=R"], commit, "--")
    names = output.decode("utf-8", "surrogateescape").split("\0")[:-1]
    pairs = zip(names[1::3], names[2::3], strict=True)  # each row has a score, the name there and the name here
    return next((there for there, here in pairs if (top / here).resolve() == path), None)


def _at_revision(path: Path, revision: str) -> tuple[bytes, str]:
    """Return a file at a revision, and its name in messages; of a renamed file, what git takes for it there.

    Args:
        path: the file; it may be deleted by now.
        revision: branch, tag or hash, or two joined by `...` for their merge base.

    Raises:
        UsageError: if the revision is unknown.
        _NoFileError: if the revision lacks the file.
    """
    real = path.resolve()  # git keeps a link as its target's name
    folder = real.parent
    commit = _commit(folder, revision)
    blob, name = f"{commit}:./{real.name}", str(path)
    try:
        size = int(_git(folder, "cat-file", "-s", blob))
    except _RefusedError:
        former = _former(folder, commit, real)
        if former is None:
            raise _NoFileError(f"ffplan: {path}: the revision `{revision}` has no such file") from None
        blob, name = f"{commit}:{former}", former
        size = int(_git(folder, "cat-file", "-s", blob))
    if _git(folder, "cat-file", "-t", blob).strip() != b"blob":
        names = _git(folder, "ls-tree", "--name-only", blob).decode("utf-8", "replace").split("\n")
        some = first_few(name for name in names if name.endswith((".yaml", ".yml")))
        raise UsageError(
            f"ffplan: {path}: a folder in `{revision}`; name one of its files{some and f', such as {some}'}"
        )
    if size > MAX_BYTES:
        raise UsageError(f"ffplan: {path}: larger than {MAX_BYTES // 1024} KiB in `{revision}`")
    return _git(folder, "cat-file", "blob", blob), f"{name}@{revision}"


def _known_revision(path: Path, revision: str) -> None:
    """Refuse a revision unknown to a file's repository.

    Args:
        path: a file of the repository.
        revision: branch, tag or hash.

    Raises:
        UsageError: if the revision is unknown.
    """
    _commit(path.resolve().parent, revision)


_BUILT = re.compile(r"^(vendid=|(Switch|Ca|Hca)\s+\d+\s+\"|# Topology file)", re.MULTILINE)
"""Lines of ibnetdiscover output."""


@record
class _Assessor:
    catalog: Catalog
    """Current parts."""
    workload: Any = None
    """A `Workload` in place of the designs' own."""
    tokens: float | None = None
    """Tokens in place of the designs' own [1]."""

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


def _before(file: str, reference: Version | str, assessor: _Assessor) -> Version | str:
    """Return the previous version, or why it is missing: a new file, or one that cannot be assessed."""
    if not isinstance(reference, str):
        return reference
    try:
        return assessor.version(_revision_document(file, reference))
    except InputError:
        return f"the version of `{reference}` cannot be assessed"
    except _NoFileError:
        return ""


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
    message, remedy = f"not held against what it was: {why}", "mend that version, or name another with --against"
    return _regression(file, message, remedy, "", Severity.WARNING)


def _of_design(file: str, result: _CheckedFile, reference: Version | str, assessor: _Assessor) -> Iterator[Finding]:
    from ffplan.inputs.document import read_document
    from ffplan.studies.explain.figure_changes import figure_changes, not_held, regressions

    name = reference if isinstance(reference, str) else reference.info.file
    before = _before(file, reference, assessor)
    if isinstance(before, str):
        if before:
            yield _skipped(result.file, before)
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
    assessor, annotated = _Assessor(Catalog(task.catalogs)), []
    for file, result in zip(files, results, strict=True):
        if file not in held or not whole[file]:  # a design that is broken says so itself
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
