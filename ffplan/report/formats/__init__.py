"""Output formats: a function each, in the module that it needs alone. A new format is a function and a row here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ffplan.report.document import WHOLE, View

if TYPE_CHECKING:
    from ffplan.report.document import Document

_RENDERERS = {
    "table": ("ffplan.report.formats.text", "render_text"),
    "json": ("ffplan.report.formats.data", "render_json"),
    "markdown": ("ffplan.report.formats.data", "render_markdown"),
    "csv": ("ffplan.report.formats.data", "render_csv"),
    "html": ("ffplan.report.page.html", "render"),
}
"""Module and function of each format; a module is imported when its format is asked for."""
FORMATS = tuple(_RENDERERS)
"""Formats by the names that the command line takes."""


def render(document: Document, form: str, view: View = WHOLE, *, terminal: bool = False) -> str:
    """Return a document as text in one of `FORMATS`.

    Args:
        document: the document.
        form: the format.
        view: how much of it `table` shows; every other format has all.
        terminal: the text goes to a terminal, with its own width and colours; `table` alone makes use of it.

    Raises:
        KeyError: for an unknown format.
        NoSectionError: for an unknown section.
    """
    module, name = _RENDERERS[form]
    renderer = getattr(import_module(module), name)
    text: str = renderer(document, terminal=terminal, view=view) if form == "table" else renderer(document)
    return text
