"""Text for terminals and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.report.formats import plain

if TYPE_CHECKING:
    from ffplan.report.document import Document


def render(document: Document, *, terminal: bool) -> str:
    """Return a document as text.

    Args:
        document: the document.
        terminal: whether the text goes to a terminal, which takes its own width and colours.
    """
    body = document.body()
    text = None if terminal else plain.render(body)
    if text is None:
        from ffplan.report.formats import styled

        text = styled.render(body, terminal=terminal)
    return text
