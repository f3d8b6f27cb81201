"""Folders of the shipped catalogues and designs: inside the wheel, or next to an editable install."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def data_folder(name: str) -> Path:
    """Return the folder `catalogs` or `designs` that ships with ffplan."""
    inside = _PACKAGE / "_data" / name
    return inside if inside.is_dir() else _PACKAGE.parent / name
