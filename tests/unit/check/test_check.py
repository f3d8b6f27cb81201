"""`ffplan check`: rules on assessed designs, thresholds and exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support import ROOT, WITHOUT_PRICES, assess_file, ffplan, overlay_part, vary_design

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = "limits:\n"


@pytest.mark.parametrize(
    ("limit", "rule", "words"),
    [
        ("capex: 11000 paper-unit", "limit-capex", "is 12,437 paper-unit, above the limit of at most 11,000"),
        ("cost_per_accelerator: 1 paper-unit", "limit-cost-per-accelerator", "1.2437 paper-unit, above"),
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


def test_a_kept_limit_is_silent() -> None:
    assert not [found for found in assess_file("fire-flyer-2").findings if found.rule.startswith("limit-")]


def test_limits_without_prices_cannot_be_checked(tmp_path: Path) -> None:
    path = vary_design(
        tmp_path, "fire-flyer-2", *WITHOUT_PRICES, ("  it_power: 4 MW", "  capex: 5 paper-unit\n  it_power: 4 MW")
    )
    a = assess_file(path)
    assert a.cost is None
    assert "name a price book" in next(found.remedy for found in a.findings if found.rule == "limit-capex")


def test_rack_power_uses_the_rated_maximum(tmp_path: Path) -> None:
    path = vary_design(
        tmp_path,
        "dgx-a100-10k",
        ("count: 1250}", "count: 1250, per_rack: 4}"),
        ("site:\n", "limits:\n  power_per_rack: 25 kW\nsite:\n"),
    )
    found = next(found for found in assess_file(path).findings if found.rule == "limit-power-per-rack")
    assert "is 26 kW, above the limit of at most 25 kW" in found.message  # 4 x 6.5 kW


def test_uneven_zones(tmp_path: Path) -> None:
    path = vary_design(tmp_path, "fire-flyer-2", ("count: 1250", "count: 1249"))
    a = assess_file(path)
    assert "zones-uneven" in {found.rule for found in a.findings}
    assert a.fabric.endpoints_per_zone == (760, 759)
    assert ffplan("check", str(path)).code == 0
    assert ffplan("check", str(path), "--fail-on", "warning").code == 1
    assert ffplan("check", str(path), "--fail-on", "info").code == 1


def test_rate_mismatch(tmp_path: Path) -> None:
    path = vary_design(tmp_path, "fire-flyer-2", ("endpoint: hdr-dac", "endpoint: 400g-dac"))
    found = next(found for found in assess_file(path).findings if found.rule == "rate-mismatch")
    assert "`400g-dac` runs at 400 Gb/s, a port of `qm8700` at 200 Gb/s" in found.message


def _mismatches(folder: Path, *changes: tuple[str, str]) -> list[str]:
    path = vary_design(folder, "fire-flyer-2", ("switch: qm8700", "switch: qm9700"), *changes)
    return [found.message for found in assess_file(path).findings if found.rule == "rate-mismatch"]


def test_one_cause_of_a_rate_mismatch_is_one_finding(tmp_path: Path) -> None:
    """Links and NICs of 200 Gb/s on ports of 400 Gb/s; then a link of another rate, which is a second cause."""
    slow = ["`hdr-dac`, `hdr-aoc` and `connectx-6-200g` run at 200 Gb/s, a port of `qm9700` at 400 Gb/s"]
    assert _mismatches(tmp_path) == slow
    assert len(_mismatches(tmp_path, ("endpoint: hdr-dac", "endpoint: hdr-aoc"))) == 1
    (found,) = _mismatches(tmp_path, ("inter_switch: hdr-aoc", "inter_switch: 400g-aoc"))
    assert found == "`hdr-dac` and `connectx-6-200g` run at 200 Gb/s, a port of `qm9700` at 400 Gb/s"


def test_a_recalled_price_is_named_once() -> None:
    """The floor plan uses `400g-aoc` for links of NICs and between switches."""
    (found,) = [found for found in assess_file("superpod-h100-4su").findings if found.rule == "recalled-prices"]
    assert found.message.count("`400g-aoc`") == 1


def test_fewer_tiers(tmp_path: Path) -> None:
    path = vary_design(tmp_path, "dgx-a100-10k", ("count: 1250", "count: 100"))
    found = next(found for found in assess_file(path).findings if found.rule == "fewer-tiers")
    assert "800 ports per zone would fit with `tiers: 2`, which holds 800" in found.message


def test_spare_ports_silence_fabric_full(tmp_path: Path) -> None:
    path = vary_design(tmp_path, "fire-flyer-2", ("count: 135", "count: 130"))
    a = assess_file(path)
    assert a.fabric.spare_ports == 10
    assert "fabric-full" not in {found.rule for found in a.findings}


def test_unjoined_zones_are_said(tmp_path: Path) -> None:
    text = vary_design(tmp_path, "fire-flyer-2").read_text()
    start, end = text.index("  inter_zone:"), text.index("  oversubscription")
    path = tmp_path / "apart.yaml"
    path.write_text(text[:start] + text[end:])
    a = assess_file(path)
    assert (a.fabric.bisection_gbyte_s, a.fabric.switches.interzone) == (0, 0)
    (found,) = [found for found in a.findings if found.rule == "zone-bottleneck"]
    assert found.message == "nothing joins the zones: no job can span them"
    assert found.severity == "warning"


def test_recalled_prices_weigh_their_share(overlay: Path) -> None:
    overlay_part(
        overlay,
        "usd-2024",
        ("roce-128x400g: {value: 45000, source: recalled", "roce-128x400g: {value: 45000, source: epoch"),
    )
    message = {f.rule: f.message for f in assess_file("fire-flyer-next", str(overlay)).findings}["recalled-prices"]
    assert message.startswith("1 % of the cost")
    assert "roce" not in message


def test_json_findings() -> None:
    run = ffplan("check", "fire-flyer-2", "tests/published/fire-flyer-2-full-counts.yaml", "--format", "json")
    assert run.code == 2
    findings = json.loads(run.out)["findings"]
    assert {"rule", "severity", "file", "line", "column", "message", "remedy", "path"} == set(findings[0])
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
