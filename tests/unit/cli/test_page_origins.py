"""Where the headline figures of a page come from: the value of the result, unit, equation, sources and grades."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import pytest

from ffplan.base.plain import number_at
from ffplan.cli.page_origins import ASSESSED, COMPARED, origins
from ffplan.inputs.changes import steps
from ffplan.report.chart import Source
from ffplan.report.page.notes import Notes
from ffplan.studies.compare.compare import compare
from tests.support import assess_file, ffplan

if TYPE_CHECKING:
    from ffplan.report.chart import Origin

PRICE = Source(
    part="qm9700", path="ports", value="64", grade="datasheet", status="V", source="a sheet <1>", date="2024"
)


def of(found: tuple[Origin, ...], path: str, column: int = 0) -> Origin:
    return next(item for item in found if (item.path, item.column) == (path, column))


def test_a_figure_has_value_unit_equation_and_parts() -> None:
    report = assess_file("superpod-h100-4su")
    found = origins(report, (report,), [(PRICE,)])
    bisection = of(found, "fabric.bisection_gbyte_s")
    assert bisection.value == "25,400 GB/s"
    assert bisection.formula == "B = min(endpoints, links * rate) / 2"
    assert bisection.source.startswith("[4]: a full fat tree")
    assert bisection.parts == ("qm9700, ports: 64 (a sheet <1>, 2024; datasheet, V)",)
    total = of(found, "cost.total")
    assert (total.value, total.formula) == ("38,299,000 USD", "sum of the lines")
    assert (
        "48 x qm9700, unit price: 50,000 USD (price book usd-2026, a price of 2024-08; measured, status V)"
        in total.parts
    )
    power = of(found, "power.it_kw")
    assert "127 compute nodes, hgx-h100-8nic, one node: 7,650 W (= 0.75 x rated)" in power.parts
    assert of(found, "site.energy_mwh_year").value.endswith(" MWh")
    assert of(found, "communication[0].algbw_gbyte_s").row == "nccl"
    assert not [item for item in found if not item.meaning]


@pytest.mark.parametrize("design", ["superpod-h100-4su", "fire-flyer-2"])
def test_rows_of_a_report_have_the_figures_of_the_result(design: str) -> None:
    """Every row that the table of paths names is in the report of some design, with the value of its path."""
    report = assess_file(design)
    for item in origins(report, (report,), [()]):
        value = number_at(report, steps(item.path))
        assert value is not None
        assert float(re.sub("[^0-9.e+-]", "", item.value.split()[0].replace(",", ""))) == pytest.approx(value, rel=1e-4)
    page = ffplan("design", design, "-f", "html").out
    notes = set(re.findall(r'<th scope="row">([^<]*)<sup>', page))
    shown = set(re.findall(r'<th scope="row">([^<]*)<', page.partition('id="fabric"')[0]))
    named = {row for table in ASSESSED.values() for row in table} | {item.library for item in report.communication}
    more = {
        "GEMM measured",
        "all at peak",
        "all in GEMMs",
        "  bound",
        "storage node",
        "servers",
        "switches",
        "inter switch links",
        "endpoint links",
    }
    scales = {f"{row.gpus:,}" for item in report.communication for row in item.scales}
    assert notes == (named | more | scales) & shown
    assert len(notes) >= 14


def test_columns_of_a_comparison_have_their_own_designs() -> None:
    one, two = assess_file("superpod-h100-4su"), assess_file("fire-flyer-2")
    found = origins(compare((one, two), ("a", "b"), 0), (one, two), [(), ()])
    pair = [of(found, "fabric.switches.total", column) for column in (0, 1)]
    assert [(item.design, item.value) for item in pair] == [("a", "48"), ("b", "122")]
    notes = Notes(found)
    at = notes.find("Cluster", "switches")
    assert at is not None
    tips = notes.tips(at, 3)
    assert [tip.splitlines()[0] for tip in tips if tip] == [
        "a: fabric.switches.total = 48",
        "b: fabric.switches.total = 122",
    ]
    assert tips[2] == ""
    assert notes.find("Compute node", "switches") is None
    assert f'<li id="note-{at + 1}"><b>switches</b><p>a: fabric.switches.total = 48<br>' in notes.text()


def test_a_page_of_a_comparison_names_every_row() -> None:
    page = ffplan("compare superpod-h100-4su fire-flyer-2 -f html").out
    notes = re.findall(r'<th scope="row">([^<]*)<sup><a href="#note-([0-9]+)"', page)
    named = {row for table in COMPARED.values() for row in table}
    ratios = {"GEMM performance", "node relative price", "GEMM cost-performance"}
    assert {unescape(row) for row, _ in notes} == (named - {"storage price"}) | ratios
    assert [int(number) for _, number in notes] == sorted(int(number) for _, number in notes)
    assert {f'id="note-{number}"' in page for _, number in notes} == {True}
    long = re.findall(r'<td title="([^"]*)"', page)
    assert max(len(unescape(line)) for tip in long for line in tip.splitlines()) <= 160
    assert any("datasheet, V)" in tip for tip in long)


def test_results_without_designs_have_no_notes() -> None:
    assert origins({"a": 1}, (), []) == ()
    page = ffplan("size --endpoints 500 --switch qm8700 -f html").out
    assert "Headline figures" not in page
