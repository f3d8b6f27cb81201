"""Charts as static SVG: Vega-Lite specifications, rendered by vl-convert."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ffplan.base.control_characters import visible
from ffplan.base.errors import UsageError, lacking

if TYPE_CHECKING:
    from ffplan.report.document import _Chart, _Point

COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"),
    *("#8c8c8c", "#b8a900", "#6a5acd", "#a0522d", "#5f9ea0", "#c71585"),
)
"""Colours that colour-blind readers can distinguish (Okabe and Ito), then more of the same lightness."""
SHAPES = ("diamond", "triangle-up", "square", "cross", "triangle-down")
"""Shapes of marks beside lines, by series."""
WIDTH, ROW = 400, 26
"""Width of a chart with its labels, and height of a row [px]."""
LONG = 30
"""Letters of a legend's entry from which two do not fit side by side [1]."""
CONFIG = {
    "background": None,
    "font": "Arial, Helvetica, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "tickColor": "#888",
        "domainColor": "#888",
        "gridColor": "#8884",
        "labelLimit": 240,
        "titleFontWeight": "normal",
    },
    "axisXQuantitative": {"labelOverlap": "greedy", "labelSeparation": 8, "tickCount": 6},
    "legend": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "orient": "bottom",
        "columnPadding": 24,
        "labelLimit": 360,
    },
    "range": {"category": list(COLOURS)},
}
MILLION = 1e6
"""Value from which an axis counts in millions [1]."""
LARGE = (
    "abs(datum.value) >= 1e9 ? format(datum.value / 1e9, ',~r') + ' bn' : "
    "abs(datum.value) >= 1e6 ? format(datum.value / 1e6, ',~r') + ' mn' : format(datum.value, ',~r')"
)
"""Numbers of such an axis, as tables write them; whole ones would touch each other."""
ABOVE = {
    **{"titleAngle": 0, "titleAnchor": "end", "titleAlign": "left", "titleX": 0, "titleY": -6},
    "titleBaseline": "bottom",
}
"""Place of an upright axis's title: beside the axis it would overprint labels that are wider than measured."""
_CONTAINER = re.compile(
    r'(<g [^>]*?) role="graphics-(?:object|symbol)" aria-roledescription="[^"]*"(?: aria-label="[^"]*")?'
)
"""A group with a role: the picture has a name, and its content is its marks."""
_SYMBOL = re.compile(
    r'<(?P<tag>\w+)(?P<rest>[^>]*?aria-label="(?P<words>[^"]*)"[^>]*?graphics-symbol[^>]*?)(?P<end>/?)>'
)


def _row(point: _Point) -> dict[str, Any]:
    return {
        "label": point.label,
        "value": point.value,
        "series": point.series,
        "low": point.value if point.low is None else point.low,
        "high": point.value if point.high is None else point.high,
        "x": point.x,
        "mark": point.mark,
        "source": point.source,
    }


def _labels(chart: _Chart) -> list[str]:
    return list(dict.fromkeys(point.label for point in chart.points))


def _series(chart: _Chart) -> list[str]:
    return list(dict.fromkeys(point.series for point in chart.points))


def _category(chart: _Chart) -> dict[str, Any]:
    return {"field": "label", "type": "nominal", "sort": _labels(chart), "title": None, "axis": {"ticks": False}}


def _colour(chart: _Chart) -> dict[str, Any]:
    names = _series(chart)
    columns = 1 if max(map(len, names), default=0) > LONG else 2
    legend = {"title": None, "columns": columns} if len(names) > 1 and chart.kind != "waterfall" else None
    return {"field": "series", "type": "nominal", "sort": names, "legend": legend, "scale": {"domain": names}}


def _value(
    chart: _Chart, field: str = "value", *, zero: bool = True, stack: bool = False, above: bool = False
) -> dict[str, Any]:
    encoding: dict[str, Any] = {"field": field, "type": "quantitative", "title": chart.unit, "scale": {"zero": zero}}
    axis: dict[str, Any] = dict(ABOVE) if above else {}
    if max((abs(point.value) for point in chart.points), default=0.0) >= MILLION:
        axis["labelExpr"] = LARGE
    return {**encoding, "stack": "zero" if stack else None, **({"axis": axis} if axis else {})}


def _stack(chart: _Chart) -> dict[str, Any]:
    names = _series(chart)
    order = [{"calculate": f"indexof({names!r}, datum.series)", "as": "order"}]
    return {
        "transform": order,
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {
            "y": _category(chart),
            "x": _value(chart, stack=True),
            "color": _colour(chart),
            "order": {"field": "order", "type": "quantitative"},
        },
    }


def _bars(chart: _Chart) -> dict[str, Any]:
    several = len(chart.points) > len(_labels(chart))
    shared: dict[str, Any] = {"y": _category(chart)}
    if several:
        shared["yOffset"] = {"field": "series", "type": "nominal", "sort": _series(chart)}
    bars = {
        "mark": {"type": "bar"},
        "encoding": {**shared, "x": _value(chart), "color": _colour(chart)},
    }
    ranges = {
        "transform": [{"filter": "datum.low != datum.high"}],
        "mark": {"type": "rule", "color": "currentColor", "strokeWidth": 1.5},
        "encoding": {**shared, "x": _value(chart, "low"), "x2": {"field": "high"}},
    }
    return {"layer": [bars, ranges]}


def _lines(chart: _Chart) -> dict[str, Any]:
    scale = {"type": "log" if chart.log else "linear", "nice": False}
    across = {"field": "x", "type": "quantitative", "title": chart.x_title, "scale": scale}
    lines = {
        "transform": [{"filter": "datum.mark == ''"}],
        "mark": {"type": "line", "point": {"size": 45}},
        "encoding": {
            "x": across,
            "y": _value(chart, above=True),
            "color": _colour(chart),
            "strokeDash": {"field": "series", "type": "nominal", "sort": _series(chart), "legend": None},
        },
    }
    return {"layer": [lines, *_marks(chart, across)], "height": 240}


def _marks(chart: _Chart, across: dict[str, Any]) -> list[dict[str, Any]]:
    names = list(dict.fromkeys(point.series for point in chart.points if point.mark))
    if not names:
        return []
    shared: dict[str, Any] = {"x": across, "color": _colour(chart)}
    shapes = {"domain": names, "range": [SHAPES[number % len(SHAPES)] for number in range(len(names))]}
    shape = {"field": "series", "type": "nominal", "legend": None, "scale": shapes}
    ranges: dict[str, Any] = {
        "transform": [{"filter": "datum.mark != '' && datum.low != datum.high"}],
        "mark": {"type": "rule", "strokeWidth": 1.5},
        "encoding": {**shared, "y": _value(chart, "low", above=True), "y2": {"field": "high"}},
    }
    kinds = [kind for kind in ("hollow", "filled") if any(point.mark == kind for point in chart.points)]
    layers: list[dict[str, Any]] = [
        {
            "transform": [{"filter": f"datum.mark == '{kind}'"}],
            "mark": {"type": "point", "filled": kind == "filled", "size": 70, "strokeWidth": 1.8, "opacity": 1},
            "encoding": {
                **shared,
                "y": _value(chart, above=True),
                "shape": shape,
                "description": {"field": "source", "type": "nominal"},
            },
        }
        for kind in kinds
    ]
    return [ranges, *layers]


def _tornado(chart: _Chart) -> dict[str, Any]:
    base = chart.points[0].value if chart.points else 0.0
    bars = {
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {
            "y": _category(chart),
            "x": _value(chart, "low", zero=False),
            "x2": {"field": "high"},
            "color": {"value": COLOURS[0]},
        },
    }
    rule = {
        "data": {"values": [{"base": base}]},
        "mark": {"type": "rule", "color": "currentColor"},
        "encoding": {"x": {"field": "base", "type": "quantitative"}},
    }
    return {"layer": [bars, rule]}


def _waterfall(chart: _Chart) -> dict[str, Any]:
    """Steps that add up: each begins where the one before ended; the last is their sum."""
    return {
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {
            "y": _category(chart),
            "x": _value(chart, "low"),
            "x2": {"field": "high"},
            "color": _colour(chart),
        },
    }


def _scatter(chart: _Chart) -> dict[str, Any]:
    """Points of several kinds; the last kind lies on top."""
    layers = [
        {
            "transform": [{"filter": {"field": "series", "equal": name}}],
            "mark": {"type": "point", "filled": True, "size": 24 + 40 * number, "opacity": 0.5 if number == 0 else 1.0},
            "encoding": {
                "x": {"field": "x", "type": "quantitative", "title": chart.x_title, "scale": {"zero": False}},
                "y": _value(chart, zero=False, above=True),
                "color": _colour(chart),
                "shape": {"field": "series", "type": "nominal", "sort": _series(chart), "legend": None},
                "description": {"field": "label", "type": "nominal"},
            },
        }
        for number, name in enumerate(_series(chart))
    ]
    return {"layer": layers, "height": 260}


def _heat(chart: _Chart) -> dict[str, Any]:
    """A cell for every two values: label down, series across, the value as its colour."""
    across, down = _series(chart), _labels(chart)
    fewer = {"labelOverlap": True, "labelAngle": -40}
    return {
        "mark": {"type": "rect"},
        "encoding": {
            "x": {"field": "series", "type": "ordinal", "sort": across, "title": chart.x_title, "axis": fewer},
            "y": {"field": "label", "type": "ordinal", "sort": down, "title": chart.y_title},
            "color": {
                "field": "value",
                "type": "quantitative",
                "scale": {"scheme": "viridis", "zero": False},
                "legend": {"title": chart.unit, "gradientLength": 240, "format": ".3~s"},
            },
        },
        "height": min(24 * len(down), 420),
    }


def _parallel(chart: _Chart) -> dict[str, Any]:
    """A line for every number `x`, over upright axes by label; values are parts of each axis."""
    faint = {
        "field": "series",
        "type": "nominal",
        "sort": _series(chart),
        "legend": None,
        "scale": {"domain": _series(chart), "range": [0.25, 1.0]},
    }
    return {
        "mark": {"type": "line", "strokeWidth": 1.2},
        "encoding": {
            "x": {
                "field": "label",
                "type": "ordinal",
                "sort": _labels(chart),
                "title": None,
                "axis": {"grid": True, "labelAngle": -25, "labelLimit": 200},
                "scale": {"padding": 0.3},
            },
            "y": {"field": "value", "type": "quantitative", "title": chart.unit, "axis": {"grid": False, **ABOVE}},
            "color": _colour(chart),
            "opacity": faint if len(_series(chart)) > 1 else {"value": 1.0},
            "detail": {"field": "x", "type": "nominal"},
        },
        "height": 280,
    }


KINDS = {
    "scatter": _scatter,
    "heat": _heat,
    "parallel": _parallel,
    "stack": _stack,
    "bars": _bars,
    "lines": _lines,
    "tornado": _tornado,
    "waterfall": _waterfall,
}


def _specification(chart: _Chart) -> dict[str, Any]:
    several = chart.kind == "bars" and len(chart.points) > len(_labels(chart))
    marks = KINDS[chart.kind](chart)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": WIDTH,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "height": {"step": 20 if several else ROW},
        "padding": {"left": 26, "right": 12, "top": 4, "bottom": 4},
        "data": {"values": [_row(point) for point in chart.points]},
        "config": CONFIG,
        **marks,
    }


def _to_svg(chart: _Chart) -> str:
    try:
        import vl_convert
    except ImportError:
        raise UsageError(lacking("ffplan: --format html", "vl-convert", "vl-convert-python")) from None
    svg = str(vl_convert.vegalite_to_svg(_specification(chart)))
    return visible(_SYMBOL.sub(_with_tip, _CONTAINER.sub(r"\1", svg)))


def _with_tip(match: re.Match[str]) -> str:
    shown = "; ".join(part for part in match["words"].split("; ") if not part.startswith(("order:", "undefined")))
    close = f"</{match['tag']}>" if match["end"] else ""
    return f"<{match['tag']}{match['rest']}><title>{shown}</title>{close}"
