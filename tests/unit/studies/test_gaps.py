"""A missing price, GEMM rate or power is a named gap: the rest is reported, and sums are marked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import ffplan
from ffplan.base.plain import plain
from ffplan.catalog.prices import PriceBook
from ffplan.catalog.store import Catalog
from tests.support import ROOT, assess_file, overlay_part, valid, vary_design
from tests.support import ffplan as run

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.base.errors import Finding
    from ffplan.results.design import Assessment

UNPRICED = ("hgx-b200-8nic", "hgx-h200-8nic", "mi300x-8nic", "gb200-nvl72-tray")


def on_server(folder: Path, server: str, *changes: tuple[str, str]) -> Path:
    return vary_design(folder, "fire-flyer-next", ("server: hgx-h100-8nic", f"server: {server}"), *changes)


def words(text: str) -> str:
    """Return a text without its line breaks."""
    return " ".join(text.split())


def found(assessment: Assessment, rule: str) -> list[Finding]:
    return [item for item in assessment.findings if item.rule == rule]


@pytest.mark.parametrize("server", UNPRICED)
def test_a_server_without_a_price_leaves_a_full_report(tmp_path: Path, server: str) -> None:
    path = on_server(tmp_path, server)
    text = run("design", str(path), "--full")
    assert text.code == 0, text.err
    assert f"partial: no price of `{server}`" in text.out
    assert "4,096 x no price" in text.out
    report = valid(run("design", str(path), "--format", "json").out, "assessment")
    cost: Any = report["cost"]
    assert cost["missing"] == [{"category": "servers", "part": server, "quantity": 4096}]
    assert (cost["servers"], cost["node_price"]) == (None, None)
    assert cost["total"] == cost["network"] == sum(line["total"] for line in cost["lines"]) > 0
    assert report["communication"]
    assert report["power"]


def test_check_warns_of_each_price_that_is_missing(tmp_path: Path) -> None:
    path = on_server(tmp_path, "hgx-b200-8nic")
    (warning,) = found(assess_file(path), "price-missing")
    assert warning.severity == "warning"
    assert "has no price for `hgx-b200-8nic` (4,096 servers); the cost is partial" in warning.message
    assert (run("check", str(path)).code, run("check", str(path), "--fail-on", "warning").code) == (0, 1)
    assert not found(assess_file("fire-flyer-next"), "price-missing")


@pytest.mark.parametrize(
    ("limit", "rule", "words"),
    [
        ("capex: $2000M", "limit-capex", "cannot be checked: the purchase is at least"),
        ("capex: $1M", "limit-capex", "USD, above the limit of at most 1,000,000 USD"),
        ("cost_per_accelerator: $50000", "limit-cost-per-accelerator", "with no price of `hgx-b200-8nic`"),
    ],
)
def test_a_limit_on_a_partial_cost(tmp_path: Path, limit: str, rule: str, words: str) -> None:
    """A sum that lacks a price holds no limit, but one that is broken already stays broken."""
    path = on_server(tmp_path, "hgx-b200-8nic", ("site:\n", f"limits:\n  {limit}\nsite:\n"))
    (finding,) = found(assess_file(path), rule)
    assert words in finding.message
    assert finding.severity == "error"


def test_nothing_with_a_price(tmp_path: Path) -> None:
    path = vary_design(
        tmp_path, "fire-flyer-2", ("server: fire-flyer-2-node", "server: hgx-b200-8nic"), ("1250", "125")
    )
    path.write_text(path.read_text().replace("qm8700", "qm9700").replace("hdr-aoc", "400g-aoc"))
    text = words(run("design", str(path), "--full").out)
    assert "nothing has a price in `fire-flyer-2-relative`; partial: no price of" in text
    cost = assess_file(path).cost
    assert cost is not None
    assert (cost.total, cost.servers, cost.network, cost.per_accelerator) == (0, None, None, None)


def test_no_ratio_of_totals_between_a_partial_and_a_whole_cost(tmp_path: Path) -> None:
    path = on_server(tmp_path, "hgx-b200-8nic", ("name: fire-flyer-next", "name: blackwell"))
    text = run("compare", "fire-flyer-next", str(path), "--full").out.splitlines()
    assert text[0] == "Totals are not comparable."
    assert "The cost of blackwell is partial: no price of `hgx-b200-8nic`." in " ".join(text[:4])
    assert any(line.startswith("planned parts") and line.endswith("83.38 mn, partial") for line in text)
    report: Any = valid(run("compare", "fire-flyer-next", str(path), "--format", "json").out, "comparison")
    ratios = report["ratios"]["blackwell"]
    assert [ratios[name] for name in ("cost_total", "cost_per_accelerator", "cost_servers", "node_price")] == [None] * 4
    assert ratios["cost_network"] == 1
    assert report["incomparable"] == ["The cost of blackwell is partial: no price of `hgx-b200-8nic`."]


def test_no_ratio_of_totals_over_different_scopes(tmp_path: Path) -> None:
    path = vary_design(
        tmp_path,
        "fire-flyer-next",
        ("name: fire-flyer-next", "name: bare"),
        ("price_book: usd-2024", "price_book: usd-2024\n  exclude: [endpoint-links]"),
    )
    text = run("compare", "fire-flyer-next", str(path), "--full").out.splitlines()
    assert text[0] == "Totals are not comparable."
    assert "different scopes: without endpoint links against everything" in " ".join(text[:4])
    report = json.loads(run("compare", "fire-flyer-next", str(path), "--format", "json").out)
    ratios = report["ratios"]["bare"]
    assert (ratios["cost_total"], ratios["cost_network"], ratios["cost_servers"]) == (None, None, 1)


def test_a_lone_gemm_rate_is_named_where_it_is_missing(overlay: Path) -> None:
    overlay_part(overlay, "a100-pcie-40gb", ("  tf32: {value: 107 TFLOP/s, source: paper, note: Table II}\n", ""))
    design = words(run("design", "fire-flyer-2", "--full", "--catalog", str(overlay)).out)
    assert "no rate of `a100-pcie-40gb` in TF32" in design
    text = run("compare", "dgx-a100-10k", "fire-flyer-2", "--full", "--catalog", str(overlay)).out
    assert "GEMM performance is over FP16 only" in words(text)


def test_a_missing_power_marks_the_sums_it_belongs_to(overlay: Path, tmp_path: Path) -> None:
    """The power of the switch is part of the cluster's; that of the CPU of a component sum only."""
    overlay_part(overlay, "qm8700", ('power: {value: 253 W, source: recalled, note: "typical, passive cables"}\n', ""))
    path = vary_design(tmp_path, "fire-flyer-2", ("it_power: 4 MW", "it_power: 3.3 MW"))
    a, whole = assess_file(path, str(overlay)), assess_file("fire-flyer-2")
    assert [(item.part, item.path) for item in a.power.missing] == [("qm8700", "power")]
    assert whole.power.it_kw - a.power.it_kw == pytest.approx(122 * 0.253)
    assert not whole.power.missing
    (finding,) = found(a, "limit-it-power")
    assert "the limit cannot be checked" in finding.message
    assert "with no `power` of `qm8700`" in finding.message
    assert "partial: no `power` of `qm8700`" in words(run("design", str(path), "--full", "--catalog", str(overlay)).out)


def test_a_missing_power_of_a_component_leaves_a_measured_sum_whole(overlay: Path) -> None:
    text = (ROOT / "catalogs/cpus/amd/epyc-7502.yaml").read_text().splitlines()
    (overlay / "epyc-7502.yaml").write_text("\n".join(line for line in text if not line.startswith("power:")) + "\n")
    a = assess_file("fire-flyer-2", str(overlay))
    assert [item.part for item in a.power.nodes[0].missing] == ["epyc-7502"]
    assert not [item for item in a.power.missing if item.part == "epyc-7502" and a.power.nodes[0].role == "storage"]
    assert a.power.per_node_w == 2500
    assert a.power.per_node_component_sum_w == 2660 - 2 * 180


def test_size_names_what_has_no_price() -> None:
    arguments = ("-n", "800", "--switch", "roce-128x400g", "--prices", "deepseek-v3-table3")
    done = run("fabric", "size", *arguments, "--link", "400g-dr4")
    assert done.code == 0
    assert "Costs are partial: no price of `roce-128x400g`." in done.out
    report: Any = valid(run("fabric", "size", *arguments, "--link", "400g-dr4", "--format", "json").out, "size")
    assert report["missing"] == ["roce-128x400g"]
    option = next(item for item in report["options"] if item["inter_switch_links"])
    assert option["cost"] == option["inter_switch_links"] * 1750
    nothing: Any = json.loads(run("fabric", "size", *arguments, "--format", "json").out)
    assert {item["cost"] for item in nothing["options"]} == {None}
    assert "Nothing has a price: no price of `roce-128x400g`." in run("fabric", "size", *arguments).out


def test_many_designs_have_the_same_partial_sums(tmp_path: Path) -> None:
    path = on_server(tmp_path, "hgx-b200-8nic")
    many = ffplan.assess_many(path, {"nodes[0].count": [64, 4096]})
    single: Any = plain(ffplan.assess(path))
    assert many["cost.total"][1] == single["cost"]["total"]
    assert "cost.servers" not in many
    assert many["power.it_kw"][1] == pytest.approx(single["power"]["it_kw"])


def test_one_server_of_the_shipped_book_has_a_price() -> None:
    """The premise of these tests; choose another server where a price is added."""
    book = Catalog().entry("usd-2024").part
    assert isinstance(book, PriceBook)
    assert not set(UNPRICED) & set(book.items)


def test_a_component_sum_with_a_gap_holds_no_limit_and_no_ratio(overlay: Path, tmp_path: Path) -> None:
    """Without figures of the whole server, its power is a component sum; without that of its CPUs, a partial one."""
    text = (ROOT / "catalogs/servers/nvidia/hgx-h100-8nic.yaml").read_text().splitlines()
    kept = [line for line in text if not line.startswith(("  training:", "  maximum:"))]
    (overlay / "hgx-h100-8nic.yaml").write_text("\n".join(line for line in kept if "  epoch:" not in line) + "\n")
    cpu = (ROOT / "catalogs/cpus/intel/xeon-8480c.yaml").read_text().splitlines()
    (overlay / "xeon-8480c.yaml").write_text("\n".join(line for line in cpu if not line.startswith("power:")) + "\n")
    path = vary_design(
        tmp_path,
        "fire-flyer-next",
        ("name: fire-flyer-next", "name: gap"),
        ("count: 4096}", "count: 4096, per_rack: 4}"),
        ("site:\n", "limits:\n  power_per_rack: 100 kW\nsite:\n"),
    )
    a = assess_file(path, str(overlay))
    (finding,) = found(a, "limit-power-per-rack")
    assert "the limit cannot be checked" in finding.message
    assert "is at least 31.84 kW, with no `power` of `xeon-8480c`" in finding.message  # 4 x (8,660 - 2 x 350) W
    assert [item.part for item in a.power.missing] == ["xeon-8480c"]
    report: Any = json.loads(
        run("compare", *("dgx-a100-10k", str(path), "--catalog", str(overlay), "--format", "json")).out
    )
    ratios = report["ratios"]["gap"]
    assert (ratios["node_power"], ratios["it_power"]) == (None, None)
    assert "The power of gap is partial: no `power` of `xeon-8480c`." in report["incomparable"]
