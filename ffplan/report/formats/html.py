"""A self-contained page, to send and to print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffplan.report.document import Document


def render(document: Document, *, terminal: bool) -> str:  # noqa: ARG001
    """Return a document as a page."""
    from ffplan.report.page.html import render as page

    return page(document)
