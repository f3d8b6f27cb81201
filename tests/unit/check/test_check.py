"""`ffplan check`: rules on assessed designs, thresholds, exit codes, and figures that nobody means."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.catalog.parts import Switch
from ffplan.catalog.store import Catalog
from ffplan.design.tier_faults import MOST_SPLIT, no_split
from tests.support import ROOT, WITHOUT_PRICES, assess_file, document, ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path


LIMITS = "limits:\n"


@pytest.mark.parametrize(
    ("limit", "rule", "words"),
    [
        ("capex: 11000 paper-unit", "limit-capex", "is 11,989 paper-unit, above the limit of at most 11,000"),
        # the same purchase in the currency of the site, which it is printed in
        ("capex: $150 M", "limit-capex", "is 157,052,055 USD, above the limit of at most 150,000,000"),
        ("cost_per_accelerator: $15000", "limit-cost-per-accelerator", "15,705 USD, above"),
        ("cost_per_accelerator: 1 paper-unit", "limit-cost-per-accelerator", "1.1989 paper-unit, above"),
        ("it_power: 3 MW", "limit-it-power", "3,317 kW, above the limit of at most 3,000 kW"),
        ("facility_peak: 4 MW", "limit-facility-peak", "is 4,428 kW, above the limit of at most 4,000 kW"),
        ("facility_training: 4 MW", "limit-facility-training", "is 4,146 kW, above the limit of at most 4,000 kW"),
        ("allreduce_bandwidth: 8 GB/s", "limit-allreduce-bandwidth", "is 5.5622 GB/s, below the limit of at least 8"),
        ("power_per_rack: 10 kW", "limit-power-per-rack", "the limit cannot be checked"),
        ("oversubscription: 1:2", "limit-oversubscription", "is 1 to 1, above"),
    ],
)
def test_a_broken_limit_is_found_at_the_limit(tmp_path: Path, limit: str, rule: str, words: str) -> None:
    text = (ROOT / "designs" / "fire-flyer-2.yaml").read_text()
    path = tmp_path / "design.yaml"
    path.write_text(f"{text.partition(LIMITS)[0]}{LIMITS}  {limit}\n")
    findings = [found for found in assess_file(path).findings if found.rule == rule]
    assert findings
    assert words in findings[0].message
    assert findings[0].line == path.read_text().splitlines().index(f"  {limit}") + 1
    run = ffplan("check", str(path))
    assert run.code == 1
    assert f"[{rule}]" in run.out


def test_limits_without_prices_cannot_be_checked(tmp_path: Path) -> None:
    path = vary_design(
        tmp_path, "fire-flyer-2", *WITHOUT_PRICES, ("  it_power: 4 MW", "  capex: 5 paper-unit\n  it_power: 4 MW")
    )
    a = assess_file(path)
    assert a.cost is None
    assert "name a price book" in next(found.remedy for found in a.findings if found.rule == "limit-capex")


def test_rate_mismatch(tmp_path: Path) -> None:
    path = vary_design(tmp_path, "fire-flyer-2", ("endpoint: hdr-dac", "endpoint: 400g-dac"))
    found = next(found for found in assess_file(path).findings if found.rule == "rate-mismatch")
    assert "`400g-dac` runs at 400 Gb/s, a port of `qm8700` at 200 Gb/s" in found.message


def test_a_recalled_price_is_named_once() -> None:
    """The floor plan uses `400g-aoc` for links of NICs and between switches."""
    (found,) = [found for found in assess_file("superpod-h100-4su").findings if found.rule == "recalled-prices"]
    assert found.message.count("`400g-aoc`") == 1


def test_json_findings() -> None:
    run = ffplan("check", "fire-flyer-2", "tests/published/fire-flyer-2-full-counts.yaml", "--format", "json")
    assert run.code == 2
    findings = json.loads(run.out)["findings"]
    assert {"rule", "severity", "file", "line", "column", "message", "remedy", "path", "unchecked"} == set(findings[0])
    assert [found["rule"] for found in findings if found["severity"] == "error"] == ["fabric-capacity"]
    worst = ("error", "warning", "info")
    order = [(worst.index(f["severity"]), f["file"], f["line"], f["column"], f["rule"]) for f in findings]
    assert order == sorted(order)


def test_fewer_tiers_counts_the_fullest_zone_and_names_what_to_drop(tmp_path: Path) -> None:
    text = vary_design(tmp_path, "dgx-a100-10k", ("count: 1250", "count: 9")).read_text()
    path = tmp_path / "design.yaml"
    zones = "tiers: 3\n  zones: 2\n  inter_zone: {switches: 1, links_per_zone: 4}"
    path.write_text(text.replace("tiers: 3", zones))
    (found,) = [found for found in assess_file(path).findings if found.rule == "fewer-tiers"]
    assert "44 ports per zone would fit with `tiers: 2`" in found.message  # 5 x 8 + 4; 40 are too few
    assert "write `tiers: 2` without `core_policy`" in found.remedy


CATALOG = Catalog()
WORKLOAD = "workload: {{model: llama3-8b, tokens: {tokens}}}\n"


def with_lines(folder: Path, lines: str) -> str:
    """Return the file of a shipped design with more lines."""
    path = vary_design(folder, "superpod-h100-4su")
    path.write_text(path.read_text() + lines)
    return str(path)


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ("2.6", "2.6 is below the 30 to 560 of `owned-2026` (V: codecarbon"),
        ("820", "820 is above the 30 to 560"),
        ("30", ""),
    ],
)
def test_a_grid_beyond_its_sources(grid: str, words: str, tmp_path: Path) -> None:
    done = ffplan("check", with_lines(tmp_path, f"ownership: {{grid: {grid}}}\n"))
    assert ("outside-known-range" in done.out) == bool(words)
    assert words in done.out
    assert done.code == 0


def test_a_recalled_range_bounds_nothing(tmp_path: Path) -> None:
    """The profile's 1 to 3 people for a thousand accelerators are recalled."""
    assert "outside-known-range" not in ffplan("check", with_lines(tmp_path, "ownership: {staff: 9}\n")).out


@pytest.mark.parametrize(("tokens", "refused"), [("2", True), ("4M", True), ("1T", False)])
def test_a_run_has_a_step_at_least(tokens: str, refused: bool, tmp_path: Path) -> None:
    done = ffplan("check", with_lines(tmp_path, WORKLOAD.format(tokens=tokens)))
    assert ("are fewer than the" in done.out) == refused
    assert done.code == (2 if refused else 0)
    line = ffplan("cost superpod-h100-4su --model llama3-8b --tokens", tokens)
    assert ("are fewer than the" in line.err) == refused
    assert line.code == (2 if refused else 0)


@given(st.sampled_from(["sn5600", "qm9700", "qm8700", "th6-128x800g"]), st.integers(1, 9))
def test_ports_split_as_their_lanes_divide(name: str, parts: int) -> None:
    switch = CATALOG.get(Switch, name, document("{}"), ())
    most = switch.splits.value if switch.splits is not None else MOST_SPLIT
    assert (no_split(switch, parts) is None) == (parts <= most and most % parts == 0)


def test_size_refuses_thirds_of_a_port() -> None:
    done = ffplan("fabric size --endpoints 100 --switch sn5600 --breakout 3")
    assert done.code == 2
    assert "do not divide into 3 equal parts, but into 1, 2, 4" in done.err


def test_staff_below_one_person_are_named() -> None:
    """Two for a thousand accelerators are 0.13 people for 64."""
    assert "Staff are 0.13 of a person" in " ".join(ffplan("cost l40s-8-roce --full").out.split())
    assert "of a person" not in ffplan("cost superpod-h100-4su --full").out
