"""Text for terminals and files, through rich."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ffplan.report.sections import Section
    from ffplan.results.design import Assessment

WIDTH = 80
"""Width of text that does not go to a terminal."""


def render(*items: RenderableType, terminal: bool, width: int = WIDTH) -> str:
    """Return rich renderables as text.

    Args:
        items: what to render.
        terminal: whether the text goes to a terminal, which takes its own width and colours.
        width: width elsewhere [columns].
    """
    stream = io.StringIO()
    if terminal:
        real = Console()
        console = Console(
            file=stream, force_terminal=True, width=max(60, real.width), no_color=real.no_color,
            color_system=real.color_system, highlight=False,  # type: ignore[arg-type]
        )  # fmt: skip
    else:
        console = Console(file=stream, width=width, no_color=True, color_system=None, highlight=False)
    for item in items:
        console.print(item)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _grid(section: Section) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for label, text in section.lines:
        grid.add_row(Text(f"  {label or '-'}"), Text(text))
    return grid


def assessment_text(assessment: Assessment, parts: tuple[Section, ...], *, terminal: bool) -> str:
    """Return one assessment as text."""
    head = Text(assessment.design.name, style="bold")
    if assessment.design.description:
        head.append(f"  {' '.join(assessment.design.description.split())}", style="not bold")
    items: list[RenderableType] = [head]
    for section in parts:
        items += [Text(section.title, style="bold cyan"), _grid(section)]
    return render(*items, terminal=terminal)
