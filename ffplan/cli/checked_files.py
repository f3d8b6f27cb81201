"""The files of `ffplan check`, each checked by its kind."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from datetime import date
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ffplan.base.errors import Finding, InputError, Severity, UsageError
from ffplan.base.files import MAX_BYTES, is_folder, is_regular, read_regular
from ffplan.base.record import record
from ffplan.catalog.folders import OTHER_FILES
from ffplan.check.policy import NO_POLICY, Policy, find_policy, named_limits, read_policy, with_limits
from ffplan.check.waivers import Waiver, comment_waivers, policy_waivers, waive
from ffplan.inputs.design_files import find_design

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.parts import Part
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.document import Document

MOST_FILES = 20_000
"""Most YAML files below a folder; more means the wrong folder was named."""

OTHER_KINDS = {
    "communication-cases": ("ffplan.validation.cases", "CaseFile"),
    "serving-cases": ("ffplan.validation.serving_cases", "ServingFile"),
    "training-cases": ("ffplan.validation.cases", "TrainingFile"),
    "fleet": ("ffplan.design.fleet_file", "FleetFile"),
    "training-plan": ("ffplan.design.training", "PlanFile"),
    "kernel-recording": ("ffplan.measuring.recording", "Recording"),
}
"""Module and model of each kind of file that is neither design nor part."""


@record
class _Task:
    catalogs: tuple[str, ...]
    """Folders of parts."""
    policy: str | None
    """File of the policy; the nearest in each file's parent folders if omitted."""
    isolated: bool
    """Whether policies are ignored."""
    today: date
    profile: str | None = None
    """Reliability profile in place of the designs' own."""
    files: tuple[str, ...] = ()
    """All files that are checked; parts among them may name each other."""


@record
class _CheckedFile:
    file: str
    """Name in messages."""
    word: str
    """Kind of file: design, part, case file or plan."""
    findings: tuple[Finding, ...]
    """Findings without a waiver."""
    whole: bool
    """Whether it can be assessed."""
    limits: int = 0
    """Limits that the design and its policy declare [1]."""
    held: int = 0
    """Limits that hold [1]."""
    policy: Policy = NO_POLICY
    waived: int = 0
    """Waived findings [1]."""
    waivers: tuple[Waiver, ...] = ()
    """Waivers for the file."""
    used: tuple[Waiver, ...] = ()
    """Waivers that accepted a finding."""


def _below(folder: str) -> list[str]:
    """Return every YAML file below a folder, by path, without hidden files, pipes and devices."""

    def fail(error: OSError) -> NoReturn:
        raise UsageError(f"ffplan check: {error.filename}: cannot be read: {error.strerror}")

    paths: list[str] = []
    for place, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [entry for entry in folders if not entry.startswith(".")]
        inside = [Path(place) / file for file in files if file.endswith((".yaml", ".yml")) and not file.startswith(".")]
        paths += [str(path) for path in inside if path.is_file() or not path.exists()]
        if len(paths) > MOST_FILES:
            raise UsageError(f"ffplan check: {folder}: more than {MOST_FILES:,} YAML files; name a smaller folder")
    if not paths:
        raise UsageError(f"ffplan check: {folder}: there is no YAML file in this folder")
    return sorted(paths)


def _yaml_files(names: Sequence[str]) -> list[str]:
    paths: list[str] = []
    for name in names:
        paths += _below(name) if name and is_folder(name) else [name]
    return list(dict.fromkeys(paths))


def _kind(document: Document) -> str | None:
    data = document.data
    kind = data.get("kind") if isinstance(data, dict) else None
    return None if kind is None or kind == "design" else str(kind)


@cache
def _parts(catalogs: tuple[str, ...]) -> Catalog:
    from ffplan.catalog.store import Catalog

    return Catalog(catalogs)


@cache
def _policy_at(path: Path) -> Policy:
    return read_policy(path, os.path.relpath(path) if path.is_absolute() else str(path))


_found = cache(find_policy)
"""The policy of a folder, searched only once."""


def _policy_for(path: Path, task: _Task) -> Policy:
    if task.isolated:
        return NO_POLICY
    if task.policy is not None:
        return _policy_at(Path(task.policy))
    policy = _found(path.parent)
    return NO_POLICY if policy is None else _policy_at(policy)


def _design(result: _CheckedFile, document: Document, task: _Task) -> _CheckedFile:
    from ffplan.check.rule import _rule_of_limit
    from ffplan.check.run import examine
    from ffplan.cli.loading import _with_profile
    from ffplan.design.resolve import resolve

    catalog, policy = _parts(task.catalogs).fresh(), result.policy
    resolved = _with_profile(resolve(document, catalog), catalog, task.profile)
    design, remarks = with_limits(resolved, policy)
    findings = examine(resolved, catalog, brief=True, today=task.today, held=design).findings
    limits = [name for name, bound in design.spec.limits if bound is not None]
    broken = {finding.rule for finding in findings}
    return replace(
        result,
        findings=(*named_limits(findings, resolved, design, policy), *remarks),
        limits=len(limits),
        held=sum(_rule_of_limit(name) not in broken for name in limits),
    )


def _check(document: Document, path: Path, kind: str, task: _Task) -> tuple[Finding, ...]:
    if kind == "fleet":
        from ffplan.studies.fleet.plan import check_fleet

        check_fleet(document, _parts(task.catalogs).fresh())  # what `ffplan fleet` reads, no part beside the file
    elif kind in OTHER_KINDS:
        from ffplan.inputs.validate import validate

        module, model = OTHER_KINDS[kind]
        validate(getattr(import_module(module), model), document)
    else:
        from ffplan.catalog.read import base_name, read_part

        if base_name(document.data) is not None:  # a profile is whole with the one that it extends alone
            entry = _beside(task.catalogs, str(path.parent)).fresh().entry(document.data["id"])
            return _of_part(document, entry.part, path, task)
        part = read_part(document).part
        if getattr(part, "extends", None) is not None:  # what it extends must be there, and close no circle
            _beside(task.catalogs, str(path.parent)).fresh().entry(part.id)
        return _of_part(document, part, path, task)
    return ()


@cache
def _beside(catalogs: tuple[str, ...], folder: str) -> Catalog:
    """Return the parts that a part may extend: in its folder or below, and in catalogues."""
    from ffplan.catalog.store import Catalog

    return Catalog(catalogs, beside=folder)


@cache
def _among(catalogs: tuple[str, ...], files: tuple[str, ...]) -> Catalog:
    """Return the parts among the checked files and in catalogues, indexed once for all folders."""
    from ffplan.catalog.store import Catalog

    return Catalog(catalogs, files=[file for file in files if is_regular(Path(file))])


@cache
def _around(catalogs: tuple[str, ...], folder: str, files: tuple[str, ...]) -> Catalog:
    """Return the parts that a checked part may name: beside it, among the checked files, in catalogues."""
    beside = [str(path) for path in sorted(Path(folder).iterdir()) if path.suffix in (".yaml", ".yml")]
    checked = _among(catalogs, files)
    return checked.with_files(file for file in beside if is_regular(Path(file)))


def _of_part(document: Document, part: Part, path: Path, task: _Task) -> tuple[Finding, ...]:
    """Return the remarks on a part that is unfinished or suspicious.

    Raises:
        InputError: if it names a part that is nowhere.
    """
    from ffplan.catalog.references import dangling
    from ffplan.studies.explain.remarks import remarks

    catalog = _around(task.catalogs, str(path.parent), task.files).fresh()
    if faults := list(dangling(part, document, catalog)):
        raise InputError(*faults)
    suspicious = (
        document.finding(item.rule, item.path, item.what, item.remedy, severity=item.severity, key=item.key)
        for item in remarks(part, catalog, task.today)
    )
    return (*_unfinished(document, part), *suspicious)


def _unfinished(document: Document, part: Part) -> tuple[Finding, ...]:
    texts: dict[tuple[str, ...], str] = {("name",): part.name, ("vendor",): part.vendor}
    texts |= {("sources", key, "title"): source.title for key, source in part.sources.items()}
    return tuple(
        document.finding(
            "catalog-todo",
            place,
            f"`{place[-1]}` is still to be filled in",
            "replace the examples with the part's figures and their sources",
            severity=Severity.WARNING,
        )
        for place, text in texts.items()
        if text.startswith("TODO")
    )


def _waived(result: _CheckedFile, path: Path, document: Document | None, task: _Task) -> _CheckedFile:
    """Return a file without its waived findings; faults that prevent reading cannot be waived."""
    text = (read_regular(path, MAX_BYTES) or b"").decode("utf-8-sig", "replace")
    comments, faults = comment_waivers(text, result.file, document.root if document else None)
    if not result.whole:
        return replace(result, findings=(*result.findings, *faults))
    waivers = [*comments, *policy_waivers(result.policy, path)]
    left = waive(result.findings, waivers, result.policy, task.today)
    return replace(
        result,
        findings=(*left.kept, *faults),
        waived=len(left.waived),
        waivers=tuple(waivers),
        used=left.used,
    )


def _with_folders(fault: Finding, policy: Policy, task: _Task) -> Finding:
    """Return a fault of an unknown id, with folders of parts that the file's policy names and nobody reads.

    `catalog` counts for commands that run in the policy's folder or below.
    """
    if fault.rule != "reference-unknown":
        return fault
    read = {os.path.realpath(folder) for folder in task.catalogs}
    folders = [os.path.relpath(policy.folder / name) for name in policy.fields.catalog]
    unread = [folder for folder in folders if os.path.realpath(folder) not in read]
    if not unread:
        return fault
    options = " ".join(f"--catalog {shlex.quote(folder)}" for folder in unread)
    why = f"`catalog` of {policy.file} counts only for commands that run in its folder: run there, or add `{options}`"
    return replace(fault, remedy=f"{fault.remedy}. {why}")


def _checked(name: str, task: _Task) -> _CheckedFile:
    """Return the findings on one file: a design, or by its `kind` a part, a file of measured cases or a plan."""
    from ffplan.inputs.document import read_document

    path, file = find_design(name)
    policy, document, word = NO_POLICY, None, "design"
    try:
        policy = _policy_for(path if str(path) == name else Path(name), task)
        document = read_document(path, file)
        kind = _kind(document)
        word = "design" if kind is None else OTHER_FILES.get(kind, "part")
        result = _CheckedFile(file=file, word=word, findings=(), whole=True, policy=policy)
        if kind is None:
            result = _design(result, document, task)
        else:
            result = replace(result, findings=_check(document, path, kind, task))
    except InputError as error:
        findings = tuple(_with_folders(fault, policy, task) for fault in error.findings)
        result = _CheckedFile(file=file, word=word, findings=findings, whole=False, policy=policy)
    return _waived(result, path, document, task)
