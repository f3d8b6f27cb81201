"""Output formats: one module each, with a function `render`. A new format is a module and a line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffplan.report.document import Document

FORMATS = ("table", "json", "markdown", "csv", "html")
"""Formats by the names that the command line takes; each is a module of this folder."""


def render(document: Document, form: str, *, terminal: bool = False) -> str:
    """Return a document as text in one of the formats.

    Args:
        document: the document.
        form: one of `FORMATS`.
        terminal: the text goes to a terminal, which takes its own width and colours.

    Raises:
        KeyError: for any other format.
    """
    if form not in FORMATS:
        raise KeyError(form)
    text: str = import_module(f"ffplan.report.formats.{form}").render(document, terminal=terminal)
    return text
