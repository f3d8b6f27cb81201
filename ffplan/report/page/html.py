"""A result as one self-contained page."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

from ffplan.base.formatting import number
from ffplan.base.version import __version__
from ffplan.report.chart import Extras
from ffplan.report.document import Remarks, Table, laid_out
from ffplan.report.page.assets import SCRIPT, STYLE
from ffplan.report.page.charts import charts_of
from ffplan.report.page.notes import Notes, read_marks, safe, safe_lines, without_marks, worded
from ffplan.report.page.vega import to_svg

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ffplan.report.chart import Chart
    from ffplan.report.document import Block, Document

LEAST = 0.85
"""Part of its width that a chart keeps on a narrow screen; below, it scrolls [1]."""
_WIDTH = re.compile(r'<svg [^>]*?width="([0-9.]+)"')
_ID = re.compile(r'\bid="([^"]+)"|url\(#([^)]+)\)')


_text, _text_lines = safe, safe_lines


def _row(cells: Iterable[str], *, head: bool = False, tips: Sequence[str] = (), note: str = "") -> str:
    """Return a row; the first cell of a body names it.

    Args:
        cells: its texts.
        head: it is the head of a table.
        tips: what each cell says when it is pointed at; empty texts say nothing.
        note: link to the note of the row.
    """
    if head:
        heads = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in cells)
        return f"<tr>{heads}</tr>"
    first, *rest = [worded(cell) for cell in cells]
    pairs = zip((*tips[1:], *[""] * (len(rest) - len(tips[1:]))), rest, strict=True)
    said = [f' title="{_text_lines(tip)}"' if tip and cell else "" for tip, cell in pairs]
    others = "".join(f"<td{tip}>{cell}</td>" for tip, cell in zip(said, rest, strict=True))
    tip = f' title="{_text_lines(tips[0])}"' if tips and tips[0] else ""
    return f'<tr><th scope="row"{tip}>{first}{note}</th>{others}</tr>'


def _table(header: Sequence[str], rows: Sequence[str], title: str) -> str:
    if not rows:
        return ""
    top = f"<thead>{_row(header, head=True)}</thead>" if any(header) else ""
    body = "".join(rows)
    return _region("scroll", f"<table>{top}<tbody>{body}</tbody></table>", title or "table")


def _region(kind: str, inside: str, title: str) -> str:
    """Wrap wide content in a region that scrolls, by key too."""
    return f'<div class="{kind}" tabindex="0" role="region" aria-label="{_text(title)}">{inside}</div>'


def _sentence(marked: str, tag: str, notes: Notes) -> str:
    """Return a sentence with the note that names its figures; one without figures of the result has none."""
    text, paths = read_marks(marked)
    tip, link = notes.sentence(text, paths)
    said = f' title="{_text_lines(tip)}"' if tip else ""
    return f"<{tag}{said}>{worded(text)}{link}</{tag}>"


def _list(texts: Iterable[str], notes: Notes) -> str:
    return f"<ul>{''.join(_sentence(text, 'li', notes) for text in texts)}</ul>"


def _block(block: Block, notes: Notes) -> str:
    table = laid_out(block)
    if not isinstance(table, Table):
        return _list(table, notes)
    rows = []
    for row in table.rows:
        cells, paths = zip(*map(read_marks, row), strict=True)
        tips, note = notes.row(cells[0], paths)
        rows.append(_row(cells, tips=tips, note=note))
    return _table([without_marks(cell) for cell in table.header], rows, _title(block))


def _title(block: Block) -> str:
    """Return the title of a block; remarks have none."""
    return "" if isinstance(block, Remarks) else without_marks(block.title)


def _own_ids(svg: str, prefix: str) -> str:
    """Return an SVG whose ids are its own, since a page holds several."""

    def named(match: re.Match[str]) -> str:
        return f'id="{prefix}{match[1]}"' if match[1] else f"url(#{prefix}{match[2]})"

    return _ID.sub(named, svg)


def _figure(chart: Chart, index: int) -> str:
    svg = _own_ids(to_svg(chart), f"c{index}-")
    width = _WIDTH.search(svg)
    least = f' style="min-width:{LEAST * float(width[1]):.0f}px"' if width else ""
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{_text(chart.title)}"{least} ', 1)
    ranged = any(point.low is not None for point in chart.points)
    sourced = any(point.source for point in chart.points)
    across = [chart.x_title] if chart.kind == "scatter" else []
    header = ["", *(["series"] if any(point.series for point in chart.points) else []), *across, chart.unit or "value"]
    rows = []
    for point in chart.points:
        row = [point.label, *([point.series] if "series" in header else [])]
        row += [*([number(point.x or 0.0, 5)] if across else []), number(point.value, 5)]
        if ranged:
            row += [number(end, 5) if end is not None else "" for end in (point.low, point.high)]
        rows.append(_row([*row, *([point.source] if sourced else [])]))
    header += ["from", "to"] * ranged + ["source"] * sourced
    note = f"<figcaption>{worded(chart.note)}</figcaption>" if chart.note else ""
    shown = chart.kind != "parallel"  # its values are parts of each axis; the points themselves are in the front's
    data = f"<details><summary>Numbers</summary>{_table(header, rows, chart.title)}</details>" if shown else ""
    picture = _region("picture", svg, f"{chart.title}, chart")
    return f"<figure><h3>{_text(chart.title)}</h3>{picture}{note}{data}</figure>"


def _folded(summary: str, inside: str) -> str:
    return f"<details><summary>{_text(summary)}</summary>{inside}</details>"


def _drawings(extras: Extras) -> str:
    figures = []
    for drawing in extras.drawings:
        data = b64encode(drawing.svg.encode()).decode()
        picture = f'<img alt="{_text(drawing.title)}" src="data:image/svg+xml;base64,{data}">'
        figures.append(f"<figure><h3>{_text(drawing.title)}</h3>{_region('picture', picture, drawing.title)}</figure>")
    return "".join(figures)


def _provenance(extras: Extras, notes: Notes) -> str:
    parts = [_folded(f"Headline figures ({len(notes)})", notes.text())] if len(notes) else []
    if extras.meanings:
        rows = [_row((meaning.path, meaning.value, meaning.meaning)) for meaning in extras.meanings]
        table = _table(("path in JSON", "value", "meaning and unit"), rows, "figures")
        parts.append(_folded(f"Every figure of this result ({len(rows):,})", table))
    if extras.sources:
        source_rows = [
            _row((f"{s.part}: {s.path}", s.value, s.grade, s.status, s.source, s.date)) for s in extras.sources
        ]
        header = ("figure", "value", "grade", "status", "source", "date")
        parts.append(
            _folded(f"Every catalogue figure behind it ({len(source_rows):,})", _table(header, source_rows, "sources"))
        )
        letters = "Status: V seen in its source, VS second-hand, DG digitised, D derived, R recalled."
        parts.append(f'<p class="soft">{letters}</p>')
    return "".join(parts)


def _files(extras: Extras) -> str:
    return "".join(_folded(name, f"<pre>{_text_lines(text)}</pre>") for name, text in extras.files)


def render(document: Document) -> str:
    """Return a result as a page: verdict, charts, tables, drawings, provenance, design files.

    Args:
        document: the result; its `extras` hold what only a page has.

    Raises:
        UsageError: without vl-convert, where the result has charts.
    """
    extras = document.extras() if document.extras else Extras()
    body = document.made(document.value if extras.told is None else extras.told)
    blocks, notes = list(body.blocks), Notes(extras.origin)
    verdict = [*([body.intro] if body.intro else []), *extras.verdict]
    for block in body.blocks:
        if not isinstance(block, Remarks):
            break
        verdict += block.lines
        blocks.remove(block)
    sentences = "".join(_sentence(line, "p", notes) for line in verdict)
    tables = "".join(
        (f"<h3>{_text(title)}</h3>" if (title := _title(block)) else "") + _block(block, notes) for block in blocks
    )
    charts = "".join(_figure(chart, number) for number, chart in enumerate(charts_of(document.value, extras.measured)))
    sections = [
        ("charts", "Charts", charts),
        ("tables", "Tables", tables),
        ("fabric", "Fabric and racks", _drawings(extras)),
        ("provenance", "Where the numbers come from", _provenance(extras, notes)),
        ("files", "Design files", _files(extras)),
    ]
    shown = [section for section in sections if section[2]]
    links = "".join(f'<a href="#{name}">{_text(title)}</a>' for name, title, _ in shown)
    inside = "".join(f'<section id="{name}"><h2>{_text(title)}</h2>{part}</section>' for name, title, part in shown)
    title = without_marks(body.title)
    said = f'<div class="verdict">{sentences}</div>' if verdict else ""
    script = b64encode(sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}'; img-src data:"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title)}</title><style>{STYLE}</style></head><body>"
        f'<header><h1>{_text(title)}</h1>{said}<nav aria-label="Sections">{links}</nav></header>'
        f"<main>{inside}</main>"
        f"<footer>Made by ffplan {__version__}. The page stands alone: it loads nothing.</footer>"
        f"<script>{SCRIPT}</script></body></html>\n"
    )
