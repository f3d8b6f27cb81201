"""Designs of `ffplan recommend`, written into a folder."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError
from ffplan.base.files import read_regular
from ffplan.cli.models import _refuse_own_file
from ffplan.cli.output import write

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.studies.choose.candidates import Built

MOST_FILE = 2**20
"""Largest existing file compared with a design [byte]."""


def _require_folder(folder: str | None, parts: Catalog, model: str) -> None:
    """Make the folder before sizing.

    Args:
        folder: the folder, if any.
        model: the model that its designs name.

    Raises:
        UsageError: if it cannot be made or written, or no catalogue has the model.
    """
    if folder is None:
        return
    _refuse_own_file(parts, model, "recommend")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"ffplan recommend: --folder: {folder} cannot be made: {why}") from None
    try:
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(f"ffplan recommend: --folder {folder}: cannot be written: {error.strerror}") from None


def written(chosen: list[Built], folder: str | None) -> list[str | None]:
    """Write designs to a folder, if given; return their files. Unchanged files stay.

    Args:
        chosen: the designs.
        folder: the folder, if any.

    Raises:
        UsageError: if the folder holds another file of that name.
    """
    if folder is None:
        return [None] * len(chosen)
    files = [Path(folder) / f"{built.assessment.design.name}.yaml" for built in chosen]
    for file, built in zip(files, chosen, strict=True):
        if os.path.lexists(file) and read_regular(file, MOST_FILE) != built.text.encode():
            raise UsageError(f"ffplan recommend: {file} exists already; choose another --folder")
    for file, built in zip(files, chosen, strict=True):
        if not os.path.lexists(file):
            write(built.text, str(file), option="--folder")
    return [str(file) for file in files]
