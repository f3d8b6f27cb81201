"""The files that `ffplan check` reads, each checked as what it is."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ffplan.base.errors import Finding, InputError, UsageError
from ffplan.base.record import record
from ffplan.inputs.design_files import find_design

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.inputs.document import Document

MOST_FILES = 20_000
"""Most YAML files below a folder; more means the wrong folder was named."""

OTHER_KINDS = {
    "communication-cases": ("ffplan.validation.communication_cases", "CaseFile", "case file"),
    "training-cases": ("ffplan.validation.training_cases", "TrainingFile", "case file"),
    "training-plan": ("ffplan.design.training", "PlanFile", "plan"),
}
"""Module, model and word of each kind of file that is neither design nor part."""


@record
class CheckedFile:
    """A file with its findings."""

    word: str
    """What it is: design, part, case file or plan."""
    findings: tuple[Finding, ...]
    whole: bool
    """False where it cannot be assessed."""


def _below(folder: str) -> list[str]:
    """Return every YAML file below a folder, by path; hidden folders are left out.

    Raises:
        UsageError: where there is none, there are far too many, or a folder cannot be read.
    """

    def fail(error: OSError) -> NoReturn:
        raise UsageError(f"ffplan check: {error.filename}: cannot be read: {error.strerror}")

    found: list[str] = []
    for place, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [item for item in folders if not item.startswith(".")]
        found += [str(Path(place) / item) for item in files if item.endswith((".yaml", ".yml"))]
        if len(found) > MOST_FILES:
            raise UsageError(f"ffplan check: {folder}: more than {MOST_FILES:,} YAML files; name a smaller folder")
    if not found:
        raise UsageError(f"ffplan check: {folder}: there is no YAML file in this folder")
    return sorted(found)


def _is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except (OSError, ValueError):
        return False


def yaml_files(names: Sequence[str]) -> list[str]:
    """Return the files to check: those named, and for each folder every YAML file below it.

    Args:
        names: design names, files and folders, as given.

    Raises:
        UsageError: where a folder holds no YAML file.
    """
    found: list[str] = []
    for name in names:
        found += _below(name) if name and _is_folder(name) else [name]
    return list(dict.fromkeys(found))


def _kind(document: Document) -> str | None:
    """Return the kind that a file says it has; None for a design, which says none."""
    data = document.data
    kind = data.get("kind") if isinstance(data, dict) else None
    return None if kind is None or kind == "design" else str(kind)


def _check(document: Document, path: Path, kind: str | None, catalogs: Sequence[str]) -> tuple[Finding, ...]:
    """Return the findings on a file of one kind.

    Raises:
        InputError: where it is wrong.
    """
    from ffplan.catalog.store import Catalog, read_part

    if kind is None:
        from ffplan.check.run import examine
        from ffplan.design.resolve import resolve

        catalog = Catalog(catalogs)
        return examine(resolve(document, catalog), catalog, all_scales=False).findings
    if kind in OTHER_KINDS:
        from ffplan.inputs.validate import validate

        module, model, _ = OTHER_KINDS[kind]
        validate(getattr(import_module(module), model), document)
    else:
        part = read_part(document, path.stem).part
        if getattr(part, "extends", None) is not None:  # what it extends must be there, and close no circle
            Catalog([str(path.parent), *catalogs]).entry(path.stem)
    return ()


def checked(name: str, catalogs: Sequence[str]) -> CheckedFile:
    """Return the findings on one file: a design, or by its `kind` a part, a file of measured cases or a plan.

    Args:
        name: a file, or the name of a shipped design.
        catalogs: folders of parts.

    Raises:
        UsageError: where there is no such design.
    """
    from ffplan.inputs.document import read_document

    path, file = find_design(name)
    word = "design"
    try:
        document = read_document(path, file)
        kind = _kind(document)
        word = "design" if kind is None else OTHER_KINDS[kind][2] if kind in OTHER_KINDS else "part"
        return CheckedFile(word, _check(document, path, kind, catalogs), whole=True)
    except InputError as error:
        return CheckedFile(word, error.findings, whole=False)
