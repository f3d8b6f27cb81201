"""Shell completion of paths: fields of a design that `sweep` varies, and figures that `explain` derives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer  # noqa: TC002 - Typer reads the annotations

from ffplan.base.errors import FfplanError
from ffplan.cli.project import _project_catalogs

if TYPE_CHECKING:
    from ffplan.inputs.document import Document

USUAL = ("nodes[0].count", "fabric.oversubscription", "fabric.switch", "fabric.tiers", "site.pue")
"""Paths that are offered before a design is named."""


def _document(ctx: typer.Context) -> Document | None:
    """Return the design that the command line names; None if it names none that can be read."""
    from ffplan.cli.versions import _design_document

    name: Any = ctx.params.get("file") or ctx.params.get("what")
    if not isinstance(name, str) or name == "-":
        return None
    try:
        return _design_document(name)
    except FfplanError:
        return None


def _complete_varied(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the fields of the design that begin so, each with the `=` that values follow."""
    from ffplan.base.plain import leaves

    document = _document(ctx)
    stated = [path for path, _ in leaves(document.data)] if document is not None else []
    known = dict.fromkeys([*stated, *USUAL])
    return [f"{path}=" for path in known if path.startswith(incomplete) and path not in ("name", "description")]


def _complete_figure(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the figures of the design that begin so."""
    document = _document(ctx)
    if document is None:
        return []
    from ffplan.catalog.store import Catalog
    from ffplan.studies.explain.path import known_figures

    try:
        known = known_figures(document, Catalog(_project_catalogs(ctx.params.get("catalog"))))
    except FfplanError:
        return []
    return [path for path in known if path.startswith(incomplete)]
