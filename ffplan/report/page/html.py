"""A result as one page, `page.html` with `page.css` and `page.js` inside, and notes on the origins of its figures."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ffplan.base.control_characters import visible
from ffplan.base.formatting import number
from ffplan.base.record import record
from ffplan.base.tracked import split_marks
from ffplan.base.version import __version__
from ffplan.report.document import OF_TABLE, Extras, Grid, Lines, Remarks, Table, _laid_out, shown
from ffplan.report.page.charts import _charts_of
from ffplan.report.page.vega import _to_svg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.report.document import Block, Document, _Chart, _FirstScreen
    from ffplan.results.explanation import Origin

Paths = tuple[str, ...]


def _read_marks(text: str) -> tuple[str, Paths]:
    plain, paths = split_marks(text)
    return str(shown(plain)), paths


def _without_marks(text: str) -> str:
    return _read_marks(text)[0]


TIP = 160
"""Letters of a line of what a cell says; the note has all [1]."""
SENTENCE = "The sentence uses these figures of the result."


def _short(line: str) -> str:
    return line if len(line) <= TIP else f"{line[: TIP - 4]} ..."


def _taken_apart(origin: Origin) -> list[str]:
    whose = f"{origin.design}: " if origin.design else ""
    lines = [f"{whose}{origin.path} = {origin.value}", origin.meaning]
    if origin.formula:
        lines.append(f"Formula: {origin.formula}" + (f" Source: {origin.source}" if origin.source else ""))
    return [line for line in (*lines, *origin.parts) if line]


def _meant(origin: Origin) -> str:
    whose = f"{origin.design}: " if origin.design else ""
    return f"{whose}{origin.path} = {origin.value}: {origin.meaning}"


@record
class _Said:
    text: str
    tip: str = ""
    note: int = 0


class Notes:
    """The notes of a page, numbered from 1 as they are found."""

    def __init__(self, origin: Callable[[str], Origin] | None) -> None:
        self._origin = origin
        self.entries: list[tuple[str, list[list[str]]]] = []
        """Label of each note, and lines on its figures in groups."""

    def _cell(self, paths: Paths) -> list[str]:
        """Return lines on the figures of a cell: the first in parts, the others by name."""
        if self._origin is None or not paths:
            return []
        first, *others = (self._origin(path) for path in paths)
        return [*_taken_apart(first), *map(_meant, others)]

    def _add(self, label: str, groups: list[list[str]]) -> int:
        self.entries.append((label, groups))
        return len(self.entries)

    def row(self, label: str, cells: Sequence[Paths]) -> tuple[list[str], int]:
        """Return the tooltip of each cell of a row, and the number of the row's note.

        Args:
            label: label of the row.
            cells: paths of the figures of each cell.
        """
        said = [self._cell(paths) for paths in cells]
        groups = [lines for lines in said if lines]
        return ["\n".join(map(_short, lines)) for lines in said], self._add(label, groups) if groups else 0

    def sentence(self, marked: str) -> _Said:
        """Return a sentence with the note that names its figures; one without figures of the result has none."""
        text, paths = _read_marks(marked)
        if self._origin is None or not paths:
            return _Said(text)
        lines = [SENTENCE, *(_meant(self._origin(path)) for path in paths)]
        return _Said(text, "\n".join(map(_short, lines)), self._add(text, [lines]))


LEAST = 0.8
"""Part of its width that a chart keeps on a narrow screen; below, it scrolls [1]."""
SHORT = 12
"""Letters of the longest cell of a column that never wraps [1]."""
WIDE = 480
"""Width above which a drawing takes a row of its own [px]."""
_WIDTH = re.compile(r'<svg [^>]*?width="([0-9.]+)"')
_ID = re.compile(r'\bid="([^"]+)"|url\(#([^)]+)\)')
_CODE = re.compile("`([^`]+)`")
_AMOUNT = re.compile(r"[-+]?[0-9][0-9,.]*(e[-+]?[0-9]+)?( (%|[A-Za-z/]{1,6}))?|-|never|")


@record
class _PageCell:
    text: str
    tip: str = ""


@record
class _PageRow:
    cells: tuple[_PageCell, ...]
    note: int = 0
    """Number of the note on its figures; 0 for none."""


@record
class _PageBlock:
    title: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[_PageRow, ...] = ()
    said: tuple[_Said, ...] = ()

    @property
    def look(self) -> str:
        """Return the classes of a table: `n3` if its third column holds numbers, `w3` if that never wraps."""
        names = ["scroll"]
        columns = zip(*([cell.text for cell in row.cells] for row in self.rows), strict=True)
        for place, texts in enumerate(columns, 1):
            if place > 1 and any(map(str.strip, texts)) and all(map(_AMOUNT.fullmatch, texts)):
                names.append(f"n{place}")
            if place > 1 and max(map(len, texts)) <= SHORT:
                names.append(f"w{place}")
        return " ".join(names)


@record
class _PageTile:
    label: _PageCell
    figure: _PageCell
    beside: _PageCell
    note: int = 0

    @property
    def lead(self) -> str:
        return self.figure.text.partition(" (")[0]

    @property
    def range(self) -> str:
        return "".join(self.figure.text.partition(" (")[1:]).strip()


@record
class _PageChart:
    id: str
    title: str
    lead: bool
    """It comes before everything that is folded."""
    svg: Markup
    least: int
    """Width below which it scrolls [px]."""
    note: str
    numbers: _PageBlock | None
    """What it shows as a table; None of parallel coordinates, whose values are parts of each axis."""


def worded(text: str) -> Markup:
    """Return a text as HTML, with code between backticks."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(visible(text)))))


def _printed(value: object) -> str:
    """Return the text of a value with hidden characters made visible."""
    return value if isinstance(value, Markup) else visible(str(value))


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("ffplan.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "base64": lambda text: b64encode(text.encode()).decode(),
        "lines": lambda text: "\n".join(text.splitlines()),
        "wide": lambda svg: _width(svg) > WIDE,
        "worded": worded,
    }
    return environment


def _plain_rows(rows: Sequence[Sequence[str]]) -> tuple[_PageRow, ...]:
    return tuple(_PageRow(tuple(map(_PageCell, row))) for row in rows)


def _block(block: Block, notes: Notes) -> _PageBlock:
    layout = _laid_out(block)
    title = "" if isinstance(block, Remarks) else _without_marks(block.title)
    if not isinstance(layout, Table):
        return _PageBlock(title, said=tuple(map(notes.sentence, layout)))
    rows = []
    for row in layout.rows:
        cells, paths = zip(*map(_read_marks, row), strict=True)
        tips, note = notes.row(cells[0], paths)
        shown = [
            _PageCell(text, tip if text or not place else "")
            for place, (text, tip) in enumerate(zip(cells, tips, strict=True))
        ]
        rows.append(_PageRow(tuple(shown), note))
    return _PageBlock(title, tuple(map(_without_marks, layout.header)), tuple(rows))


_TILES = 4
"""Figures that a page shows large [1]."""


def _tiles(screen: _FirstScreen, notes: Notes) -> tuple[_PageTile, ...]:
    tiles = []
    for row in _large(screen):
        cells, paths = zip(*map(_read_marks, row), strict=True)
        tips, note = notes.row(cells[0], paths)
        label, figure, beside = map(_PageCell, cells, tips)
        tiles.append(_PageTile(label, figure, beside, note))
    return tuple(tiles)


def _large(screen: _FirstScreen) -> tuple[tuple[str, ...], ...]:
    rows = screen.tiles or (() if screen.header else screen.figures[:_TILES])
    return tuple(tuple((*row, "", "")[:3]) for row in rows)


def _figures(screen: _FirstScreen, notes: Notes) -> _PageBlock:
    large = _large(screen)
    rows = tuple(row for row in screen.figures if (*row, "", "")[:3] not in large)
    return _block(Grid("Figures", rows, screen.header), notes)


def _parts(blocks: Sequence[Block], notes: Notes) -> list[tuple[str, list[_PageBlock]]]:
    parts: list[tuple[str, list[_PageBlock]]] = []
    for block in blocks:
        made = _block(block, notes)
        if made.title or not parts:
            parts.append((made.title, []))
        parts[-1][1].append(made)
    return parts


def _own_ids(svg: str, prefix: str) -> str:
    """Return an SVG whose ids are its own, since a page holds several."""

    def named(match: re.Match[str]) -> str:
        return f'id="{prefix}{match[1]}"' if match[1] else f"url(#{prefix}{match[2]})"

    return _ID.sub(named, svg)


def _width(svg: str) -> float:
    found = _WIDTH.search(svg)
    return float(found[1]) if found else 0.0


def _figure(chart: _Chart, index: int) -> _PageChart:
    svg = _own_ids(_to_svg(chart), f"c{index}-")
    named = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(visible(chart.title))}" ', 1)
    return _PageChart(
        id=f"chart-{index + 1}",
        title=chart.title,
        lead=chart.lead,
        svg=Markup(named),
        least=round(LEAST * _width(svg)),
        note=chart.note,
        numbers=_numbers(chart) if chart.kind != "parallel" else None,
    )


def _numbers(chart: _Chart) -> _PageBlock:
    series, ranged, sourced = (
        any(bool(point.series) for point in chart.points),
        any(point.low is not None for point in chart.points),
        any(bool(point.source) for point in chart.points),
    )
    across = chart.kind == "scatter"
    header = ["", *["series"] * series, *[chart.x_title] * across, chart.unit or "value"]
    rows = []
    for point in chart.points:
        row = [point.label, *[point.series] * series, *[number(point.x or 0.0, 5)] * across, number(point.value, 5)]
        if ranged:
            row += [number(end, 5) if end is not None else "" for end in (point.low, point.high)]
        rows.append([*row, *[point.source] * sourced])
    header += ["from", "to"] * ranged + ["source"] * sourced
    return _PageBlock(chart.title, tuple(header), _plain_rows(rows))


def _meanings(extras: Extras) -> _PageBlock:
    rows = [(meaning.path, meaning.value, meaning.meaning) for meaning in extras.meanings]
    return _PageBlock("figures", ("path in JSON", "value", "meaning and unit"), _plain_rows(rows))


def _sources(extras: Extras) -> _PageBlock:
    rows = [(f"{s.part}: {s.path}", s.value, s.grade, s.status, s.source, s.date) for s in extras.sources]
    return _PageBlock("sources", ("figure", "value", "grade", "status", "source", "date"), _plain_rows(rows))


def _asset(name: str) -> Markup:
    return Markup(files(__package__).joinpath(name).read_text(encoding="utf-8").rstrip())


def render(document: Document) -> str:
    """Return a result as a page: verdict, charts, tables, drawings, provenance, design files.

    Args:
        document: the result; its `extras` hold what only a page has.

    Raises:
        UsageError: without vl-convert, if the result has charts.
    """
    extras = document.extras() if document.extras else Extras()
    body = document.made(document.value if extras.told is None else extras.told)
    blocks, notes = list(body.blocks), Notes(extras.origin)
    sentences = [*([body.intro] if body.intro else []), *extras.verdict]
    while blocks and isinstance(first := blocks[0], Remarks):
        sentences += first.lines
        blocks.pop(0)
    screen = document.first(document.value if extras.told is None else extras.told) if document.first else None
    verdict, sentences = (sentences, []) if screen is None else (list(screen.verdict), sentences)
    charts = [_figure(chart, index) for index, chart in enumerate(_charts_of(document.value, extras.measured))]
    said, tiles = tuple(map(notes.sentence, verdict)), _tiles(screen, notes) if screen else ()
    figures = _figures(screen, notes) if screen else None
    advice = screen.advised(page=True) if screen else ()
    beside = tuple(row for row in advice if row[0] in OF_TABLE and figures is not None and figures.rows)
    rows = tuple(row for row in advice if row not in beside)
    script = _asset("page.js")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    page: dict[str, Any] = {
        "title": _without_marks(body.title),
        "verdict": said,
        "tiles": tiles,
        "figures": figures,
        "beside": tuple(notes.sentence(text) for _, text in beside),
        "words": tuple(map(notes.sentence, sentences)),
        "unverified": _without_marks(screen.unverified) if screen else "",
        "advice": _block(Lines("What binds, and what to do next", rows), notes) if rows else None,
        "parts": _parts(blocks, notes),
        "folded": screen is not None,
        "lead": [chart for chart in charts if chart.lead],
        "more": [chart for chart in charts if not chart.lead],
        "extras": extras,
        "notes": notes.entries,
        "meanings": _meanings(extras),
        "sources": _sources(extras),
        "policy": f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:",
        "style": _asset("page.css"),
        "script": script,
        "version": __version__,
    }
    return _environment().get_template("page.html").render(page)


def render_fragment(document: Document) -> str:
    """Return text and tables of a document as a fragment of HTML, for notebooks."""
    body, notes = document.body(), Notes(None)
    blocks = [_block(block, notes) for block in body.blocks]
    template = _environment().get_template("fragment.html")
    return template.render(title=body.title, intro=body.intro, blocks=blocks).rstrip()
