"""The shape of a first screen, and the parts of a full report by name."""

from __future__ import annotations

from dataclasses import replace

from ffplan.report.document import Block, Document, Grid, Lines, Remarks, View, _Body, _FirstScreen, shown

LINES = 24
"""Lines of 80 columns that a first screen fits [1]."""


class NoSectionError(ValueError):
    """A report has no such part."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name, self.known = name, known


def _viewed(document: Document, view: View) -> _Body:
    body = document.body()
    if view.sections:
        return _chosen(body, view.sections)
    if view.full or document.first is None:
        return body
    return _first_body(shown(document.first(document.value)), body)


def _first_body(screen: _FirstScreen, full: _Body) -> _Body:
    more = f"More: --full, or --section {', '.join(_sections(full))}"
    blocks: list[Block] = [Remarks((*screen.verdict, ""))]
    if screen.figures:
        blocks += [Grid("", screen.figures, screen.header), Remarks(("",))]
    if advice := screen.advised():
        blocks.append(Lines("", advice))
    last = (f"Not verified: {screen.unverified}", more) if screen.unverified else (more,)
    return _Body(screen.head, (*blocks, Remarks(last)), footer=full.footer)


def _sections(body: _Body) -> dict[str, tuple[Block, ...]]:
    """A block with a title begins a part; its name is the block's, or the first word of its title."""
    parts: dict[str, tuple[Block, ...]] = {}
    name = ""
    for block in body.blocks:
        title = "" if isinstance(block, Remarks) else block.title
        if title:
            name = getattr(block, "name", "") or title.split()[0].strip(",:").lower()
        if name:
            parts[name] = (*parts.get(name, ()), block)
    return parts


def _chosen(body: _Body, names: tuple[str, ...]) -> _Body:
    parts = _sections(body)
    for name in names:
        if name not in parts:
            raise NoSectionError(name, tuple(parts))
    blocks = [block for name in parts if name in names for block in parts[name]]
    return replace(body, intro=None, blocks=tuple(blocks))
