"""The worked decisions of docs/decisions.md: every figure of a headline is computed anew and stands in its section."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.api.designs import load
from ffplan.api.search import sweep
from tests.support import ROOT, ffplan

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.deep
TOKEN, DAYS = "run.cost_per_million_tokens.likely", "run.days.likely"
B200 = "superpod-b200-4su"
JOB = {"workload.model": "llama3-70b,deepseek-v3", "workload.tokens": "2T"}


@cache
def section(title: str) -> str:
    """Return a section of the page, on one line."""
    text = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    found = next(part for part in text.split("\n## ") if part.startswith(title))
    return " ".join(found.split())


def points(design: str, vary: Mapping[str, Any], *metrics: str) -> dict[tuple[str, ...], dict[str, float]]:
    """Return the metrics of every point of a sweep, by its values."""
    found = sweep(design, vary, metrics=metrics)
    assert not any(found.reason), found.reason
    keys = zip(*found.axes.values(), strict=True)
    return {key: {m: float(found.columns[m][at]) for m in metrics} for at, key in enumerate(keys)}


def holds(title: str, *words: str) -> None:
    """Assert that a section says some figures."""
    for text in words:
        assert text in section(title), text


def percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def test_nics_of_a_node() -> None:
    found = points("superpod-h100-4su", {"nodes[0].nics": "8,4,2,1", **JOB}, TOKEN, DAYS)
    title = "One NIC, four or eight"
    for nics in ("8", "4", "2", "1"):
        dense, experts = found[nics, "llama3-70b", "2T"], found[nics, "deepseek-v3", "2T"]
        row = f"| {nics} | {dense[TOKEN]:.3f} | {dense[DAYS]:.1f} | {experts[TOKEN]:.3f} | {experts[DAYS]:.1f} |"
        holds(title, row)
    for model in ("llama3-70b", "deepseek-v3"):
        assert min((found[nics, model, "2T"][TOKEN], nics) for nics in "8421")[1] == "4"
        eight, one = (found[nics, model, "2T"][TOKEN] for nics in ("8", "1"))
        holds(title, percent(one / eight - 1))


def difference(one: str, two: str, *options: str, tokens: str = "2T") -> dict[str, Any]:
    """Return how the second design's run differs from the first's in money."""
    asked = ("--tokens", tokens, "--draws", "2000", "-f", "json")
    run = ffplan("compare", one, two, *options, *asked)
    assert run.code == 0, run.err
    found: dict[str, Any] = json.loads(run.out)["money"]["differences"][0]
    return found


def flip(found: dict[str, Any], name: str) -> float:
    """Return the value of an input at which both designs cost the same."""
    return float(next(row["break_even"] for row in found["break_even"] if row["input"] == name))


@pytest.mark.parametrize(("model", "words"), [("llama3-70b", "dense"), ("deepseek-v3", "experts")])
def test_four_nics_need_a_large_batch(model: str, words: str, tmp_path: Any) -> None:
    text = (ROOT / "designs" / "superpod-h100-4su.yaml").read_text(encoding="utf-8")
    file = tmp_path / "four-nics.yaml"
    file.write_text(text.replace("count: 127,", "count: 127, nics: 4,").replace("superpod-h100-4su\n", "four-nics\n"))
    found = difference("superpod-h100-4su", str(file), "--model", model, "--gpus", "1016")
    assert found["cheaper_share"] == pytest.approx({"dense": 0.67, "experts": 0.59}[words], abs=0.02)
    holds("One NIC, four or eight", f"{words} {flip(found, 'batch'):,.0f} sequences")


def test_zones_against_three_tiers() -> None:
    title = "Zones of two tiers, or three tiers"
    base = {"nodes[0].count": "992", "workload.model": "llama3-405b,deepseek-v3", "workload.tokens": "15T"}
    optics = {"prices.400g-dr4": "620,1240,2480,4960"}
    zones = {"fabric.zones": "4", "fabric.inter_zone.switches": "8", "fabric.inter_zone.links_per_zone": "64"}
    metrics = ("fabric.switches.total", TOKEN)
    tall = points(B200, {**base, **optics, "fabric.tiers": "3"}, *metrics)
    flat = points(B200, {**base, **optics, **zones}, *metrics)
    for price in optics["prices.400g-dr4"].split(","):
        row = [f"| {int(price):,} "]
        for model in ("llama3-405b", "deepseek-v3"):
            one = next(v for key, v in flat.items() if key[1] == model and price in key)
            two = next(v for key, v in tall.items() if key[1] == model and price in key)
            more = round(100 * (one[TOKEN] / two[TOKEN] - 1), 1) + 0
            row.append(f"| {one[TOKEN]:.3f} | {two[TOKEN]:.3f} | {more:+.1f} % ")
            switches = (one["fabric.switches.total"], two["fabric.switches.total"])
        holds(title, "".join(row) + "|")
    holds(title, f"{switches[0]:.0f} switches against {switches[1]:.0f}")


@pytest.mark.parametrize(("model", "share"), [("llama3-405b", "52 %"), ("deepseek-v3", "46 %")])
def test_zones_in_the_draws(model: str, share: str, tmp_path: Any) -> None:
    files = []
    inter = "zones: 4\n  inter_zone: {switches: 8, links_per_zone: 64}"
    for name, tiers in (("tall", "tiers: 3"), ("flat", f"tiers: 2\n  {inter}")):
        text = (ROOT / "designs" / f"{B200}.yaml").read_text(encoding="utf-8").replace("count: 127", "count: 992")
        files.append(tmp_path / f"{name}.yaml")
        files[-1].write_text(text.replace("tiers: 2", tiers).replace(f"name: {B200}", f"name: {name}"))
    found = difference(*map(str, files), "--model", model, tokens="15T")
    assert percent(found["cheaper_share"]) == share
    holds("Zones of two tiers, or three tiers", share)


@pytest.mark.parametrize(("model", "share"), [("llama3-8b", "96 %"), ("llama3-70b", "99 %")])
def test_pcie_in_the_draws(model: str, share: str, tmp_path: Any) -> None:
    files = []
    for server in ("h100-pcie-8gpu", "hgx-h100-8nic"):
        text = (ROOT / "designs" / f"{B200}.yaml").read_text(encoding="utf-8").replace("hgx-b200-8nic", server)
        files.append(tmp_path / f"{server}.yaml")
        files[-1].write_text(text.replace(f"name: {B200}", f"name: {server}"))
    found = difference(*map(str, files), "--model", model)
    assert percent(found["cheaper_share"]) == share
    holds("PCIe or SXM", share)


def test_fire_flyer_in_the_draws() -> None:
    asked = ("--model", "llama2-70b", "--gpus", "1024", "--batch", "16384")
    found = difference("dgx-a100-10k", "fire-flyer-2", *asked)
    assert found["cheaper_share"] == pytest.approx(0.9995, abs=0.002)
    holds("PCIe or SXM", "over 99 % of the draws on 1,024")


def test_pcie_against_sxm() -> None:
    title = "PCIe or SXM"
    grid = {"site.electricity_price": "$0.04/kWh,$0.40/kWh", "ownership.utilisation": "0.3,0.95"}
    models = {"workload.model": "llama3-8b,llama3-70b", "workload.tokens": "2T"}
    found = points(B200, {"nodes[0].server": "h100-pcie-8gpu,hgx-h100-8nic", **models, **grid}, TOKEN)
    for model in ("llama3-8b", "llama3-70b"):
        ratios = [
            values[TOKEN] / found["hgx-h100-8nic", *key[1:]][TOKEN]
            for key, values in found.items()
            if key[0] == "h100-pcie-8gpu" and key[1] == model
        ]
        holds(title, f"{percent(min(ratios) - 1)} to {percent(max(ratios) - 1)}")
        assert min(ratios) > 1
        sxm = points(B200, {"nodes[0].server": "hgx-h100-8nic", **models}, TOKEN)["hgx-h100-8nic", model, "2T"][TOKEN]
        cheap, dear = (
            points(B200, {"nodes[0].server": "h100-pcie-8gpu", "prices.h100-pcie-8gpu": price, **models}, TOKEN)
            for price in ("100000", "200000")
        )
        low, high = (next(v[TOKEN] for key, v in rows.items() if model in key) for rows in (cheap, dear))
        price = 100_000 + 100_000 * (sxm - low) / (high - low)
        holds(title, f"{round(price, -3):,.0f} USD")


def test_pcie_a100_against_dgx() -> None:
    grid = {"site.electricity_price": "$0.04/kWh,$0.40/kWh", "ownership.utilisation": "0.3,0.95"}
    job = {"workload.model": "llama2-70b", "workload.tokens": "2T", "workload.gpus": "1024,8192"}
    money = {"site.currency": "USD", "workload.batch": "16384"}
    designs = ("fire-flyer-2", "dgx-a100-10k")
    own, dgx = (points(design, {**job, **money, **grid}, TOKEN, "train.mfu") for design in designs)
    ratios = [own[key][TOKEN] / dgx[key][TOKEN] for key in own]
    most = max(values["train.mfu"] for values in dgx.values())
    holds("PCIe or SXM", f"{percent(1 - max(ratios))} to {percent(1 - min(ratios))}", f"({percent(most)};")


def network(count: str, switch: str, tiers: str) -> tuple[float, float]:
    """Return the switches of a fabric and its price without servers [million USD]; NaN where it cannot be built."""
    parts = {"qm9700": ("1", "400g-dr4"), "th5-64x800g": ("2", "800g-2xdr4")}[switch]
    vary = {
        "nodes[0].count": count,
        "fabric.tiers": tiers,
        "fabric.scalable_unit": "null",
        "fabric.switch": switch,
        "fabric.breakout": parts[0],
        "fabric.link.endpoint": parts[1],
        "fabric.link.inter_switch": parts[1],
    }
    found = sweep(B200, vary, metrics=("fabric.switches.total", "cost.total"))
    servers = int(count) * load(B200).resolved.prices.items["hgx-b200-8nic"].value
    return float(found.columns["fabric.switches.total"][0]), (float(found.columns["cost.total"][0]) - servers) / 1e6


def built_for(nodes: int, switch: str, more: float) -> float:
    """Return the price of the cheapest fabric with some nodes, its switches dearer by some [million USD]."""
    built = [network(str(nodes), switch, tiers) for tiers in ("1", "2", "3")]
    return min(price + more * switches for switches, price in built if price == price)


def test_ports_of_a_switch() -> None:
    title = "Switches of 64 or 128 ports"
    for nodes in ("8", "16", "32", "64", "128", "256", "512", "1024"):
        row = f"| {int(nodes):,} "
        for switch in ("qm9700", "th5-64x800g"):
            built = [network(nodes, switch, tiers) for tiers in ("1", "2", "3")]
            switches, price = min((item for item in built if item[1] == item[1]), key=lambda item: item[1])
            row += f"| {switches:,.0f} | {price:.2f} "
        holds(title, row + "|")
    dear = (150_000 - 45_000) / 1e6  # the high end of the recalled price
    loses = [
        nodes
        for nodes in (16, 32, 64, 128, 256, 512)
        if built_for(nodes, "th5-64x800g", dear) > built_for(nodes, "qm9700", 0.0)
    ]
    assert loses == [32, 64, 128, 256]


def test_bridges() -> None:
    title = "NVLink bridges"
    job = {"workload.model": "llama-13b,llama2-70b", "workload.tokens": "2T", "workload.gpus": "512,4096"}
    plain, bridged = (
        points(design, job, TOKEN, "run.effective", "train.step_s")
        for design in ("fire-flyer-2", "fire-flyer-2-nvlink")
    )
    for key, one in plain.items():
        two = bridged[key]
        cells = (
            f"{100 * (1 - two['train.step_s'] / one['train.step_s']):.1f} %",
            f"{100 * (one['run.effective'] - two['run.effective']):.2f} %",
            f"{100 * (1 - two[TOKEN] / one[TOKEN]):.1f} %",
        )
        holds(title, f"| {key[0]} | {int(key[2]):,} | {' | '.join(cells)} |")
    found = difference("fire-flyer-2", "fire-flyer-2-nvlink", "--model", "llama-13b", "--gpus", "512")
    holds(title, f"{flip(found, 'price.fire-flyer-2-node-nvlink'):,.0f} USD")
    assert found["cheaper_share"] == pytest.approx(0.70, abs=0.02)


def test_own_or_rent() -> None:
    title = "Own or rent"
    found = json.loads(ffplan("cost", "superpod-h100-4su", "--draws", "0", "-f", "json").out)["tco"]
    holds(title, f"{found['per_accelerator_hour']['likely']:.2f} USD")
    rows = {row["offer"]: row for row in found["rents"]}
    drawn = json.loads(ffplan("cost", "superpod-h100-4su", "-f", "json").out)["tco"]["per_accelerator_hour"]
    holds(title, f"{drawn['p10']:.2f} to {drawn['p90']:.2f} from P10 to P90")
    assert rows["cudo-h100-on-demand"]["hour"] < drawn["p50"]
    assert rows["lambda-h100-on-demand"]["hour"] > drawn["p90"]
    assert rows["market-h100-3-year"]["hour"] < drawn["p10"]
    holds(title, f"owned for {found['years']:.0f} years")
    for offer in ("cudo-h100-on-demand", "nebius-h100-on-demand", "lambda-h100-on-demand", "median-h100-on-demand"):
        row = rows[offer]
        hour, months, part = row["hour"], row["break_even_months"], percent(row["break_even_utilisation"])
        holds(title, f"| {offer} | {hour:.2f} | {months:.0f} | {part} |")
    for offer in ("nebius-h100-spot", "market-h100-3-year"):
        assert rows[offer]["break_even_months"] is None
        holds(title, f"{rows[offer]['hour']:.2f}")


def test_racks_of_72() -> None:
    title = "When NVL72 pays"
    job = {**JOB, "workload.gpus": "1008"}
    racks, nodes = (points(design, job, TOKEN) for design in ("gb200-nvl72-16", B200))
    dear = points("gb200-nvl72-16", {"prices.gb200-nvl72-tray": "344444", **job}, TOKEN)
    tray = load("gb200-nvl72-16").resolved.prices.items["gb200-nvl72-tray"].value
    for model in ("llama3-70b", "deepseek-v3"):
        one, two = racks[model, "2T", "1008"][TOKEN], nodes[model, "2T", "1008"][TOKEN]
        slope = (dear["344444", model, "2T", "1008"][TOKEN] - one) / (344_444 - tray)
        par = tray + (two - one) / slope
        holds(title, f"| {model} | {one:.3f} | {two:.3f} | {18 * par / 1e6:.1f} |")
        found = difference(B200, "gb200-nvl72-16", "--model", model, "--gpus", "1008")
        assert found["cheaper_share"] == pytest.approx({"llama3-70b": 0.991, "deepseek-v3": 0.865}[model], abs=0.015)
