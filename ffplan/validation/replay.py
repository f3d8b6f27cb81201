"""Files of measured cases, of any subject, replayed into one report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ffplan.base.errors import InputError, UsageError
from ffplan.base.files import data_folder
from ffplan.inputs.document import read_document
from ffplan.inputs.validate import validate
from ffplan.studies.trust.measurement import accuracy_report
from ffplan.validation.communication_cases import CaseFile
from ffplan.validation.communication_replay import replay
from ffplan.validation.serving_cases import ServingFile
from ffplan.validation.serving_replay import _replay_serving
from ffplan.validation.training_cases import SIZES, TIMES, TrainingFile
from ffplan.validation.training_rows import _replay_training

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.store import Catalog
    from ffplan.inputs.document import Document
    from ffplan.results.accuracy import AccuracyReport

FOLDERS = {"memory": "training"}
"""Subjects whose cases are among the cases of another."""
MEASURED = {"training": TIMES, "memory": SIZES}
"""Columns of files of training runs that are replayed, by subject."""


def case_files(subject: str, cases: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Return path and name of every file of cases: the user's files, or the shipped ones.

    Args:
        subject: communication, training, memory or serving.
        cases: the user's files.
    """
    if cases:
        return [(name, name) for name in cases]
    kind = FOLDERS.get(subject, subject)
    folder = data_folder("catalogs") / "measurements" / kind
    return [(str(path), f"catalogs/measurements/{kind}/{path.name}") for path in sorted(folder.glob("*.yaml"))]


def _expect_cases(document: Document, subject: str) -> None:
    """Refuse a file that is something else, before its every field is called wrong.

    Raises:
        InputError: if its `kind` is another, or missing.
    """
    data = document.data
    kind = data.get("kind") if isinstance(data, dict) else None
    expected = f"{FOLDERS.get(subject, subject)}-cases"
    if kind != expected:
        what = f"this file is of kind `{kind}`" if kind else "this is no file of measured cases"
        remedy = f"write `kind: {expected}`; `ffplan catalog schema {expected}` describes the format"
        raise InputError(document.finding(expected, ("kind",), what, remedy))


def replay_files(subject: str, files: Sequence[tuple[str, str]], catalog: Catalog) -> AccuracyReport:
    """Return the report over files of cases.

    Args:
        subject: communication, training, memory or serving.
        files: path and name of each.

    Raises:
        InputError: if a file is wrong.
        UsageError: if two files have one id, or the files hold no measured value of the subject.
    """
    rows, titles = [], {}
    for path, name in files:
        document = read_document(Path(path), name)
        _expect_cases(document, subject)
        cases: CaseFile | TrainingFile | ServingFile
        if subject == "serving":
            cases = validate(ServingFile, document)
            scored = _replay_serving(cases, document, catalog)
        elif subject in MEASURED:
            cases = validate(TrainingFile, document)
            scored = _replay_training(cases, document, catalog, MEASURED[subject])
        else:
            cases = validate(CaseFile, document)
            scored = replay(cases, document, catalog)
        if cases.id in titles:
            raise UsageError(
                f"ffplan model accuracy: two files of cases have the id `{cases.id}`; the second is {name}"
            )
        titles[cases.id] = cases.name
        rows += scored
    if not rows:
        raise UsageError(f"ffplan model accuracy {subject}: nothing in these files was measured of it")
    return accuracy_report(subject, titles, rows)
