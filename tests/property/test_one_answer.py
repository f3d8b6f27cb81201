"""The same quantity from two commands is one number, over random designs; times never beat their bounds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import ffplan
from ffplan.catalog.store import Catalog
from ffplan.check.run import examine
from ffplan.design.resolve import resolve
from ffplan.studies.collective.collective import CollectiveRequest, collective_table
from tests import support
from tests.support import examples

if TYPE_CHECKING:
    from ffplan.results.collective import CollectiveReport

DESIGN = """name: random
nodes: [{{role: compute, server: {server}, count: {count}}}]
fabric:
  {{family: {family}, switch: {switch}, tiers: 2, oversubscription: {over}:1,
   link: {{endpoint: {link}, inter_switch: {link}}}}}
communication: {{libraries: [{libraries}], message_size: {size} B}}
site: {{pue: 1.2}}
"""
SERVERS = {
    "fire-flyer-2-node": ("qm8700", "hdr-aoc", ("hfreduce", "nccl")),
    "fire-flyer-2-node-nvlink": ("qm8700", "hdr-aoc", ("hfreduce-nvlink", "hfreduce", "nccl")),
    "dgx-a100-320gb": ("qm8700", "hdr-aoc", ("nccl",)),
    "hgx-h100-8nic": ("qm9700", "400g-dr4", ("nccl",)),
    "hgx-b200-8nic": ("qm9700", "400g-dr4", ("nccl",)),
    "mi300x-8nic": ("qm9700", "400g-dr4", ("rccl",)),
    "gb200-nvl72-tray": ("qm9700", "400g-dr4", ("nccl",)),
}


@st.composite
def designs(draw: st.DrawFn) -> str:
    """Return the text of a design."""
    server = draw(st.sampled_from(sorted(SERVERS)))
    switch, link, libraries = SERVERS[server]
    return DESIGN.format(
        server=server,
        count=draw(st.integers(2, 12)) * (18 if server.startswith("gb200") else draw(st.integers(1, 6))),
        family=draw(st.sampled_from(["fat-tree", "rail-optimised"])),
        switch=switch,
        over=draw(st.sampled_from([1, 2, 3])),
        link=link,
        libraries=", ".join(libraries),
        size=draw(st.integers(1, 2**34)),
    )


@examples(40, suppress_health_check=[HealthCheck.too_slow])
@given(designs())
def test_the_time_of_a_design_is_that_of_collective_and_no_less_than_its_bound(text: str) -> None:
    catalog = Catalog()
    design = resolve(support.document(text), catalog)
    reports = examine(design, catalog).communication
    for report in reports:
        table = collective_table(
            design, catalog, [report.library], CollectiveRequest(operation="allreduce"), None, (report.message_bytes,)
        )
        row = table.rows[0]
        assert report.time_s == pytest.approx(row.time_s, rel=1e-12)
        assert report.algbw_gbyte_s == pytest.approx(row.algbw_gbyte_s, rel=1e-12)
        assert (report.algorithm, report.protocol, report.limited_by) == (row.algorithm, row.protocol, row.limited_by)
        assert report.time_s >= report.bound.time_s * (1 - 1e-12)
        assert report.fastest_time_s <= report.time_s
        assert [item.time_s for item in report.scales][-1] == report.time_s
    many = ffplan.assess_many(text, {"site.pue": [1.2, 1.3]})
    for position, report in enumerate(reports):
        assert many[f"communication[{position}].time_s"] == pytest.approx(report.time_s, rel=1e-12)
        bound = many[f"communication[{position}].bound.algbw_gbyte_s"]
        assert bound == pytest.approx(report.bound.algbw_gbyte_s, rel=1e-12)


def reported(design: str, *options: str) -> Any:
    """Return the JSON of a command."""
    return json.loads(support.ffplan(*options[:1], design, *options[1:], "-f", "json").out)


@pytest.mark.parametrize("name", ["superpod-h100-4su", "fire-flyer-2", "fire-flyer-2-nvlink", "dgx-a100-10k"])
def test_design_collective_route_check_and_compare_agree(name: str) -> None:
    timed: list[CollectiveReport] = list(support.assess_file(name).communication)
    first = timed[0]
    table = reported(name, "collective", "--library", first.library)
    assert table["rows"][0]["time_s"] == pytest.approx(first.time_s, rel=1e-9)
    other = "fire-flyer-2" if name != "fire-flyer-2" else "dgx-a100-10k"
    compared = reported(name, "compare", other)
    assert compared["designs"][0]["communication"][0]["time_s"] == pytest.approx(first.time_s, rel=1e-9)
    if name == "superpod-h100-4su":
        routed = reported(name, "route")
        assert routed["collective_s"] == pytest.approx(first.time_s, rel=1e-9)
        assert routed["congested_s"] >= routed["collective_s"]


@pytest.mark.parametrize(
    "name", ["superpod-h100-4su", "fire-flyer-2", "fire-flyer-2-180", "gb200-nvl72-16", "site-h100-100k"]
)
def test_one_purchase_and_one_power_whatever_the_command(name: str) -> None:
    """`design`, `cost`, `compare` and the limits that `check` holds; the lines of the bill add up to it by scope."""
    site = reported(name, "design")["site"]
    study = reported(name, "cost", "--draws", "0")
    assert site["purchase_p50"] == reported(name, "cost")["tco"]["purchase"]["p50"]
    lines, tco = study["bom"]["lines"], study["tco"]
    assert site["purchase"] == study["bom"]["total"] == pytest.approx(tco["capex"], abs=0.5)
    assert tco["purchase"]["likely"] == pytest.approx(tco["capex"])
    for field, scope in (("planned", "planned"), ("stood_in", "stood-in"), ("building", "building")):
        assert site[field] == pytest.approx(sum(line["total"] for line in lines if line["scope"] == scope))
    assert site["planned"] + site["stood_in"] + site["building"] == pytest.approx(site["purchase"])
    power = study["power"]
    assert site["facility_peak_kw"] == power["facility_peak_kw"]
    assert site["facility_training_kw"] == power["facility_kw"]
    assert (site["racks"], site["energy_mwh_year"]) == (power["racks"], power["energy_mwh_year"])
    assert reported(name, "compare", "superpod-b200-4su")["designs"][0]["site"] == site


@examples(15, suppress_health_check=[HealthCheck.too_slow])
@given(designs(), st.sampled_from([0.999, 1.001]))
def test_limits_hold_what_reports_print(text: str, factor: float) -> None:
    """A limit a thousandth below the purchase or a power of the report is broken, one a thousandth above is kept."""
    text += "cost: {price_book: usd-2026}\n"
    catalog = Catalog()
    site = examine(resolve(support.document(text), catalog), catalog).site
    assert site is not None
    limits = {
        "it_power": site.it_training_kw,
        "facility_peak": site.facility_peak_kw,
        "facility_training": site.facility_training_kw,
    }
    lines = [f"{name}: {value * factor:.12g} kW" for name, value in limits.items()]
    names = set(limits)
    if site.headline and not site.missing:
        lines.append(f"capex: {site.headline * factor:.12g} USD")
        names.add("capex")
    catalog = Catalog()
    held = examine(resolve(support.document(f"{text}limits: {{{', '.join(lines)}}}\n"), catalog), catalog)
    broken = {found.rule for found in held.findings if found.rule.startswith("limit-") and "above" in found.message}
    assert broken == ({f"limit-{name.replace('_', '-')}" for name in names} if factor < 1 else set())
