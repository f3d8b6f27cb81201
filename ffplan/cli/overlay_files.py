"""Catalogue files written by commands into a user's folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError
from ffplan.base.files import is_file, is_folder, write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.catalog.store import Catalog


def _overlay_target(folder: str, name: str, parts: Catalog, command: str) -> Path:
    """Return the file to write a part to: a new one, or its existing file in a catalogue folder.

    Args:
        name: id of the part.
        command: the command, for messages.

    Raises:
        UsageError: if the file cannot be written, or another file would be lost.
    """
    import os
    from pathlib import Path

    path, place = Path(folder) / f"{name}.yaml", parts.locate(name)
    if place is not None and Path(folder).resolve() in place[0].resolve().parents:
        path = place[0]  # whatever it is called there: a second file of the part would be one too many
    above = (path.parent.absolute(), *path.parent.absolute().parents)
    there = next(parent for parent in above if is_file(parent) or is_folder(parent))
    if not is_folder(there) or not os.access(there, os.W_OK):
        raise UsageError(f"{command}: --write {folder}: cannot be written: {there} is no folder to write into")
    if is_file(path) and (place is None or path.resolve() != place[0].resolve()):
        fault = f"{path} is there already and would be lost; read it with --catalog {folder}, or write elsewhere"
        raise UsageError(f"{command}: --write {folder}: {fault}")
    return path


def _write_overlay(path: Path, folder: str, text: str, command: str) -> str:
    """Write the file of a part; return its path.

    Args:
        folder: the folder as the user wrote it.
        command: the command, for messages.

    Raises:
        UsageError: if the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError as error:
        raise UsageError(f"{command}: --write {folder}: cannot be written: {error.strerror}") from None
    return str(path)
