"""Pages: which charts a result has, and that their numbers are those of the result."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from ffplan.api.search import sweep
from ffplan.base.errors import UsageError
from ffplan.cli.page import _racks
from ffplan.fabric.family import plan_fabric
from ffplan.interop.canvas import RackKind, rack_drawing
from ffplan.report.design import design_document
from ffplan.report.document import OF_TABLE, Document, Extras, Meaning, Remarks, _Body, _Chart, _FirstScreen, _Point
from ffplan.report.page.charts import _charts_of, _parts
from ffplan.report.page.html import render, worded
from ffplan.report.page.vega import WIDTH, _specification, _to_svg
from ffplan.results.explanation import Evidence
from ffplan.results.run import StepPart
from tests.support import assess_file, ffplan, wired

if TYPE_CHECKING:
    from pathlib import Path

TWO = _Chart(title="t", kind="bars", unit="USD", points=(_Point("a & <b>", 10.0, low=8.0, high=12.0), _Point("c", 3.0)))


QM8700 = Evidence(
    part="qm8700", path="power", value="404 W", grade="datasheet", status="V", source="a sheet", date="2024"
)


class Balanced(HTMLParser):
    """Fails where a tag is closed that is not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.counts: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


BISECTION = "fabric.bisection_gbyte_s"


def charts(design: str) -> dict[str, _Chart]:
    return {chart.title: chart for chart in _charts_of(assess_file(design))}


def test_charts_hold_the_numbers_of_the_result() -> None:
    found, report = charts("fire-flyer-2"), assess_file("fire-flyer-2")
    assert report.cost is not None
    assert sum(point.value for point in found["Total price"].points) == pytest.approx(report.cost.total)
    assert sum(point.value for point in found["Facility power in training"].points) == pytest.approx(
        report.power.facility_kw
    )
    scale = found["Allreduce by scale"]
    assert {point.series for point in scale.points} == {"hfreduce", "nccl"}
    assert [(p.x, p.value) for p in scale.points if p.series == "hfreduce"] == [
        (row.gpus, row.algbw_gbyte_s) for row in report.communication[0].scales
    ]
    bound = found["fire-flyer-2: what bounds hfreduce"]
    assert bound.points[0].value == report.communication[0].algbw_gbyte_s
    assert (
        bound.points[1].value == report.communication[0].bound.algbw_gbyte_s == min(p.value for p in bound.points[1:])
    )


def test_a_bill_is_drawn_as_steps_that_end_at_the_total() -> None:
    from ffplan.catalog.store import Catalog
    from ffplan.studies.cost.cost import study_cost
    from ffplan.studies.cost.ledger import CostRequest
    from tests.support import wired

    design = wired("superpod-h100-4su").design
    study = study_cost(design, Catalog(), CostRequest(draws=0))
    assert study.bom is not None
    bill = next(chart for chart in _charts_of(study) if chart.title == "Bill of materials")
    steps, total = bill.points[:-1], bill.points[-1]
    assert steps[0].low == 0
    assert all(one.high == two.low for one, two in pairwise(steps))
    assert steps[-1].high == total.value == pytest.approx(study.bom.total)
    assert "smaller lines" in [point.label for point in steps]


def test_results_without_charts_are_pages_too() -> None:
    text = render(Document({"a": 1}, lambda _: _Body("title", [Remarks(("said",))])))
    assert "<h1>title</h1>" in text
    assert '<div class="verdict"><p>said</p></div>' in text
    assert "<svg" not in text
    assert _charts_of({"a": 1}) == []


def test_a_page_is_balanced_and_the_same_each_time() -> None:
    document = design_document(assess_file("fire-flyer-2"))
    one, two = render(document), render(document)
    assert one == two
    parser = Balanced()
    parser.feed(one)
    assert parser.open == []
    assert parser.counts["script"] == 1
    assert "https://" not in one.replace("https://ffplan", "")


def test_extras_fill_their_sections() -> None:
    extras = Extras(
        files=(("a.yaml", "x: <1>\n"),), sources=(QM8700,), meanings=(Meaning("cost.total", "11", "Sum [currency]."),)
    )
    text = render(Document({}, lambda _: _Body("t", []), extras=lambda: extras))
    assert '<summary>a.yaml</summary><pre tabindex="0">x: &lt;1&gt;</pre>' in text
    assert "<td>a sheet</td><td>2024</td>" in text
    assert '<th scope="row">cost.total</th><td>11</td><td>Sum [currency].</td>' in text


def test_marks_have_tips_and_labels_stay_text() -> None:
    svg = _to_svg(TWO)
    assert "<title>USD: 10; label: a &amp; &lt;b&gt;; series: </title>" in svg
    assert "<b>" not in svg
    assert _specification(TWO)["layer"][0]["encoding"]["y"]["sort"] == ["a & <b>", "c"]


@pytest.mark.parametrize("kind", ["stack", "bars", "lines", "tornado", "waterfall"])
def test_every_kind_is_drawn(kind: str) -> None:
    points = tuple(
        _Point(label, value, series=series, low=value / 2, high=value * 2, x=value)
        for label in ("a", "b")
        for series, value in (("one", 1.0), ("two", 2.0))
    )
    svg = _to_svg(_Chart(title="t", kind=kind, unit="u", points=points, x_title="x"))  # type: ignore[arg-type]
    assert svg.startswith("<svg")
    assert svg.count("<title>") >= 4


def test_without_the_extra_the_page_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(UsageError, match=r"pip install vl-convert-python`"):
        _to_svg(TWO)


def test_racks_show_nodes_and_power() -> None:
    kind = RackKind(server="hgx", racks=32, nodes=4, units=8, height=48, watts=40_800.0, limit=45_000.0)
    svg = rack_drawing("pod", (kind,)) or ""
    assert svg.count('class="b"') == 4
    assert "32 racks of 4 nodes" in svg
    assert "40.8 of 45 kW at maximum" in svg
    assert rack_drawing("pod", ()) is None


def test_racks_are_drawn_where_the_design_states_their_heights() -> None:
    """The B200 SuperPOD has two nodes a rack, and says nothing of their height."""
    own = wired("superpod-h100-4su")
    assert [(kind.units, kind.height) for kind in _racks(own.design, plan_fabric(own.design))] == [(8, 48)]
    other = wired("superpod-b200-4su").design
    assert other.groups[0].group.per_rack == 2
    assert _racks(other, plan_fabric(other)) == ()


def test_a_step_is_drawn_in_its_six_largest_parts_and_the_rest() -> None:
    parts = [StepPart(name=name, label=name, seconds=10.0 - place, share=0.1) for place, name in enumerate("abcdefghi")]
    chart = _parts([("one", parts), ("two", parts[:2])])
    assert chart is not None
    shown = [(point.label, point.series, point.value) for point in chart.points]
    assert shown[:6] == [("one", name, 10.0 - place) for place, name in enumerate("abcdef")]
    assert shown[6:] == [("two", "a", 10.0), ("two", "b", 9.0), ("one", "other", 4.0 + 3.0 + 2.0)]
    seven = _parts([("one", parts[:7])])
    assert seven is not None
    assert [point.series for point in seven.points] == [*"abcdefg"]


def test_charts_have_one_width_whatever_their_labels() -> None:
    """Labels take from the plot, so that each fits its place on a phone."""
    for label in ("a", "model error of superpod-h100-4su"):
        points = (_Point(label, 4e6, x=1.0), _Point("c", 3.0, x=2.0))
        bars = _Chart(title="t", kind="bars", unit="USD", points=points)
        for chart in (bars, replace(bars, kind="stack"), replace(bars, kind="lines"), replace(bars, kind="scatter")):
            found = re.search(r'<svg [^>]*?width="([0-9.]+)"', _to_svg(chart))
            assert found is not None
            assert float(found[1]) == WIDTH


def test_a_report_without_a_first_screen_is_unfolded(tmp_path: Path) -> None:
    wishes = ("--gpus", "64", "--accelerator", "h200", "--name", "h", "--folder", str(tmp_path))
    done = ffplan("init", *wishes, "--format", "html")
    assert done.code == 0, done.err
    assert '<details class="part" open><summary><h3>Designs to start from</h3>' in done.out
    assert "Everything else" not in done.out
    assert '<details class="part">' not in done.out


def test_a_page_does_not_advise_to_make_itself() -> None:
    body = _Body("t", (Remarks(("s",)),))
    advice = (("Next", "to read on"), ("Why", "reasons"), ("Empty", ""))
    screen = _FirstScreen(head="h", verdict=("v",), figures=(("a", "1", ""),), advice=advice, to_page="make a page")
    text = render(Document(1, lambda _: body, first=lambda _: screen))
    assert "reasons" in text
    assert "to read on" in text
    assert "make a page" not in text
    assert screen.advised() == (*advice[:2], ("Next", "make a page"))


@pytest.mark.parametrize("label", OF_TABLE)
def test_what_a_table_shows_stands_at_it(label: str) -> None:
    """Not in a part that is folded: rows that are left out would make sums of a column look wrong."""
    advice = (("Why", "reasons"), (label, "2 of 8 rows; shares of all"))
    figures, header = (("a", "1"), ("b", "2")), ("name", "count")

    def page(figures: tuple[tuple[str, ...], ...]) -> str:
        screen = _FirstScreen(head="h", verdict=("v",), figures=figures, header=header, advice=advice)
        return render(Document(1, lambda _: _Body("t", ()), first=lambda _: screen))

    text = page(figures)
    table = text.partition('<section id="figures">')[2].partition("</section>")[0]
    assert "<p>2 of 8 rows; shares of all</p>" in table
    assert text.count("2 of 8 rows") == 1
    assert "reasons" not in table
    folded = page(()).partition("What binds, and what to do next")[2]
    assert "2 of 8 rows" in folded


def test_the_quarters_of_a_fleet_say_which_they_are() -> None:
    """In the open, as in a terminal."""
    told = re.search(r"Columns +(6 of 8 quarters, [^;]*);", ffplan("fleet two-sites").out)
    assert told is not None
    text = ffplan("fleet two-sites -f html").out
    section = text.partition('<section id="figures">')[2].partition("</section>")[0]
    assert f"<p>{told[1]};" in section
    assert section.count('<th scope="row"') == 6


def test_the_command_line_makes_pages(tmp_path: Path) -> None:
    done = ffplan("design", "superpod-h100-4su", "-f", "html")
    assert done.code == 0
    assert done.out.startswith("<!DOCTYPE html>")
    assert 'alt="superpod-h100-4su: racks"' in done.out
    assert "designs/superpod-h100-4su.yaml" in done.out
    target = tmp_path / "size.html"
    assert ffplan("fabric size --endpoints 500 --switch qm8700 -f html -o", str(target)).code == 0
    assert target.read_text().count("<table>") >= 1


def test_charts_of_a_sweep() -> None:
    """A front of two metrics, a heat map of two axes, and lines over every axis and metric that differs."""
    asked = ("--vary", "nodes[0].count=400..1200:100", "--vary", "fabric.oversubscription=1,2,3")
    front = ("--pareto", "cost.total:min,fabric.bisection_gbyte_s:max")
    run = ffplan("sweep", "pcie-a100-three-tier", *asked, *front, "-f", "json")
    found = json.loads(run.out)
    axes = dict(text.split("=") for text in (asked[1], asked[3]))
    report = sweep("pcie-a100-three-tier", axes, pareto={"cost.total": "min", BISECTION: "max"}).report
    assert report.to_dict() | {"design": found["design"]} == found
    shown = {chart.title: chart for chart in _charts_of(report)}
    assert list(shown) == [
        "Front",
        "cost.total over fabric.oversubscription and nodes[0].count",
        "Parallel coordinates",
    ]
    scatter, heat, lines = shown.values()
    own = [p for p in scatter.points if p.series != "other points"]
    costs = sorted(p["metrics"]["cost.total"] for p in found["front"])
    assert sorted(p.x or 0.0 for p in own) == pytest.approx(costs)
    assert len(heat.points) == 27
    least = min(m["least"] for m in found["metrics"] if m["path"] == "cost.total")
    assert min(p.value for p in heat.points) == pytest.approx(least)
    assert {p.value for p in lines.points} >= {0.0, 1.0}
    assert all(0.0 <= p.value <= 1.0 for p in lines.points)
    for chart in shown.values():
        assert "<svg" in _to_svg(chart)


def test_a_sweep_along_one_axis_has_no_grid() -> None:
    report = sweep("pcie-a100-three-tier", {"nodes[0].count": [400, 500, 600]}).report
    assert [chart.kind for chart in _charts_of(report)] == ["parallel"]


def test_names_between_backticks_are_code_and_nothing_else_is() -> None:
    assert worded("run `ffplan check` <b>`x`</b> and `") == (
        "run <code>ffplan check</code> &lt;b&gt;<code>x</code>&lt;/b&gt; and `"
    )
    assert worded("`<script>`") == "<code>&lt;script&gt;</code>"


def test_large_numbers_of_an_axis_are_short() -> None:
    points = (_Point("a", 612e6, series="servers"), _Point("b", 1.5e9, series="servers"))
    svg = _to_svg(_Chart(title="t", kind="stack", unit="USD", points=points))
    shown = re.sub(r'aria-label="[^"]*"', "", svg)
    assert re.search(r">[0-9]00 mn<", shown)
    assert re.search(r">1(\.[0-9]+)? bn<", shown)
    assert "000,000<" not in shown
