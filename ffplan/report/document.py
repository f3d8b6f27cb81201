"""A result as a document: the one model that every output format renders.

A document holds the whole result for formats that machines read, and makes blocks for formats that people read. Both
are made when a format asks for them, so that JSON pays for no table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ffplan.base.control_characters import inert, visible
from ffplan.base.formatting import plural
from ffplan.base.next_commands import following
from ffplan.base.record import record
from ffplan.results.collective import MeasuredPoint
from ffplan.results.explanation import Evidence, Origin

if TYPE_CHECKING:
    from ffplan.results.result import DesignInfo, ToolInfo, UnverifiedFigure


@record
class Lines:
    """A title with labelled lines; an empty label makes a list item."""

    title: str
    lines: tuple[tuple[str, str], ...]
    _: KW_ONLY
    name: str = ""
    """Name of the part that it begins; the first word of its title if empty."""


def _listing(title: str, texts: Iterable[str]) -> Lines:
    return Lines(title, tuple(("", text) for text in texts))


@record
class Grid:
    """A title with a table; without a header the first column holds labels."""

    title: str
    rows: tuple[tuple[str, ...], ...]
    header: tuple[str, ...] = ()
    style: str = "indented"
    """indented: the first column is indented under its title and never wraps; plain: every column wraps; list: all but
    the last two wrap."""
    _: KW_ONLY
    bars: tuple[tuple[float | None, ...], ...] = ()
    """Values of each row that a terminal draws as bars beside the last columns, one for each; None draws none."""
    name: str = ""
    """Name of the part that it begins; the first word of its title if empty."""


@record
class _Matrix:
    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    _: KW_ONLY
    sparks: tuple[tuple[str, str, tuple[tuple[float, ...], ...]], ...] = ()
    """Rows that a terminal draws as small charts: the label of the row before it, its own, and the values of each
    column; no values draw none."""
    name: str = ""
    """Name of the part that it begins; the first word of its title if empty."""


@record
class Remarks:
    """Sentences, one a line."""

    lines: tuple[str, ...]


Block = Lines | Grid | _Matrix | Remarks


@record
class Table:
    """A block as a header, of empty cells if it has none, and rows."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _laid_out(block: Block) -> Table | tuple[str, ...]:
    match block:
        case Remarks():
            return block.lines
        case Lines():
            if all(not label for label, _ in block.lines):
                return tuple(text for _, text in block.lines)
            return Table(("", ""), block.lines)
        case _Matrix():
            return Table(("", *block.names), tuple((label, *cells) for label, cells in block.rows))
        case Grid():
            width = len(block.rows[0]) if block.rows else 0
            return Table(block.header or ("",) * width, block.rows)


@record
class _Body:
    title: str
    blocks: Sequence[Block]
    intro: str | None = None
    """Text after the title."""
    footer: str | None = None
    """Program and version that made it; formats that are kept in files show it."""


def shown(part: Any) -> Any:
    """Return a part of a body with the hidden characters of its texts as escapes; a line feed becomes a blank.

    No text is a command to a pipeline, whose log is what the report may end in.
    """
    if isinstance(part, str):
        return inert(part if part.isprintable() else visible(" ".join(part.split("\n"))))
    if isinstance(part, tuple | list):
        return tuple(shown(element) for element in part)
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{field.name: shown(getattr(part, field.name)) for field in fields(part)})
    return part


_Kind = Literal["stack", "bars", "lines", "tornado", "waterfall", "scatter", "heat", "parallel"]


@record
class _Point:
    label: str
    """Category, on its own row."""
    value: float
    _: KW_ONLY
    series: str = ""
    """Meaning of its colour."""
    low: float | None = None
    high: float | None = None
    """Ends of its range, drawn as a bar of error."""
    x: float | None = None
    """Place along the axis of a chart of lines or points; the number of the line of parallel coordinates."""
    mark: Literal["", "filled", "hollow"] = ""
    """A mark next to the lines of a chart; empty if the point is on a line."""
    source: str = ""
    """Where the value is from."""


@record
class _Chart:
    title: str
    kind: _Kind
    unit: str
    """Unit of the values, as the title of their axis."""
    points: tuple[_Point, ...]
    note: str = ""
    """How to read it."""
    x_title: str = ""
    """Title of the horizontal axis, for charts of lines or points and heat maps."""
    y_title: str = ""
    """Title of the vertical axis of a heat map, whose unit belongs to its colours."""
    log: bool = False
    """The horizontal axis is logarithmic."""
    lead: bool = False
    """A page shows it before everything that is folded."""


@record
class Drawing:
    """A picture that is no chart."""

    title: str
    svg: str
    caption: str = ""


@record
class Meaning:
    """A value of the result with its meaning."""

    path: str
    value: str
    meaning: str


@record
class MeasuredCurve:
    """Catalogue values that match one curve, if any."""

    design: int
    """Position of the design in the result."""
    library: str
    requirements: str
    """Accelerator, library and message that a measurement must have."""
    points: tuple[MeasuredPoint, ...]
    expected: tuple[tuple[int, float], ...]
    """Numbers of GPUs that the result lacks, with the engine's expectation there [GB/s]."""


@record
class Extras:
    """Parts of a page beyond the result itself."""

    verdict: tuple[str, ...] = ()
    """Sentences under the title, if the text of the result has none."""
    files: tuple[tuple[str, str], ...] = ()
    """Name and text of each design file."""
    drawings: tuple[Drawing, ...] = ()
    sources: tuple[Evidence, ...] = ()
    meanings: tuple[Meaning, ...] = ()
    measured: tuple[MeasuredCurve, ...] = ()
    """Measurements shown with the curves by scale, one entry for each curve that was looked for."""
    told: Any = None
    """A tracked copy of the result, whose text names the figures behind it; None for a page without notes."""
    origin: Callable[[str], Origin] | None = None
    """Says where a figure comes from by its path."""


OF_TABLE = ("Shown", "Columns")
"""Labels of advice that tells which rows the table of a first screen has, and what its columns are: a page, which folds
advice, has it at the table."""


@record
class _FirstScreen:
    head: str
    """Subject of the report, in a line."""
    verdict: tuple[str, ...]
    """The answer, and how sure it is."""
    figures: tuple[tuple[str, ...], ...]
    """The figures that decide: label, figure and remark."""
    header: tuple[str, ...] = ()
    """Names of the columns."""
    advice: tuple[tuple[str, str], ...] = ()
    """Bottleneck, points to check and next steps, by label; those without text are left out."""
    to_page: str = ""
    """The next step to a page, which a page itself leaves out."""
    unverified: str = ""
    """Figures that nobody has verified."""
    tiles: tuple[tuple[str, str, str], ...] = ()
    """Figures that a page shows large: label, figure and remark; if empty, the first of a table without a header."""

    def advised(self, *, page: bool = False) -> tuple[tuple[str, str], ...]:
        rows = (*self.advice, ("Next", "" if page else self.to_page))
        return tuple((label, following(text) if label == "Next" else text) for label, text in rows if text)


@record
class View:
    """How much of a report a terminal shows."""

    full: bool = False
    """All of it, in place of the first screen."""
    sections: tuple[str, ...] = ()
    """These parts alone."""


WHOLE = View(full=True)
"""Everything."""


@record
class Document:
    """A result in every form that a format may ask for."""

    value: Any
    """The whole result."""
    made: Callable[[Any], _Body]
    """Makes the text for people from the result, or from a tracked copy; texts may hold anything."""
    rows: Callable[[], Sequence[Any]] | None = None
    """Makes the main table, records of one kind; None if every leaf of the result is a row."""

    _: KW_ONLY
    first: Callable[[Any], _FirstScreen] | None = None
    """Makes the first screen; None if the whole report is short."""
    folded: bool = False
    """Markdown begins with the first screen and folds the rest: a comment on a pull request."""
    extras: Callable[[], Extras] | None = None
    """Makes the parts of a page that no other format has."""

    def body(self) -> _Body:
        """Return text and tables, with hidden characters as escapes."""
        body: _Body = shown(self.made(self.value))
        return body


def provenance(tool: ToolInfo, design: DesignInfo) -> str:
    """Return the footer of a report on one design: the program that made it, and the file that it read."""
    return f"ffplan {tool.version}, design SHA-256 {design.sha256}"


def _recalled_count(unverified: Sequence[UnverifiedFigure]) -> str:
    """Return how many figures are recalled, and in how many files; empty without any."""
    parts = len({figure.part for figure in unverified})
    return f"{plural(len(unverified), 'recalled figure')} in {parts} of the files read." if unverified else ""


def recalled(unverified: Sequence[UnverifiedFigure]) -> list[Block]:
    """Return a sentence that names the files with recalled figures, if there are any."""
    names = sorted({figure.part for figure in unverified})
    return [Remarks((f"Recalled, unverified figures in: {', '.join(names)}.",))] if names else []


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
