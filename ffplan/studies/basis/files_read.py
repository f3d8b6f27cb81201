"""The catalogue files behind a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.results.design import CatalogFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.catalog.store import Catalog


def files_read(catalog: Catalog) -> tuple[CatalogFile, ...]:
    """Return every catalogue file read so far, by id."""
    return tuple(
        CatalogFile(entry.part.id, entry.part.kind, entry.document.file, entry.document.sha256)
        for entry in catalog.used
    )


def files_of(catalogs: Iterable[Catalog]) -> tuple[CatalogFile, ...]:
    """Return every catalogue file that several catalogues have read so far, by id, each once."""
    found = {(file.id, file.path, file.sha256): file for catalog in catalogs for file in files_read(catalog)}
    return tuple(found[key] for key in sorted(found))
