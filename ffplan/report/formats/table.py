"""Text for terminals and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.report.formats import plain

if TYPE_CHECKING:
    from ffplan.report.document import Body, Document

LONG = 2_000
"""Lines above which a document is laid out like a file's on a terminal too: nobody reads so many for their colours,
which take most of the time."""


def _length(body: Body) -> int:
    """Return the lines of a document [1], those of one that is folded counted once."""
    return sum(len(getattr(block, "lines", ()) or getattr(block, "rows", ())) for block in body.blocks)


def render(document: Document, *, terminal: bool) -> str:
    """Return a document as text.

    Args:
        document: the document.
        terminal: whether the text goes to a terminal, which takes its own width and colours where it is not long.
    """
    body = document.body()
    text = plain.render(body) if not terminal or _length(body) > LONG else None
    if text is None:
        from ffplan.report.formats import styled

        text = styled.render(body, terminal=terminal)
    return text
