"""`ffplan cost`, `compare --tokens` and `train --tokens` as their users meet them."""

from __future__ import annotations

import csv
import json
import re
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.catalog.prices import PriceBook
from ffplan.catalog.store import Catalog
from ffplan.design.ownership import resolve_ownership
from ffplan.design.resolve import resolve
from ffplan.inputs.document import read_document
from ffplan.studies.cost.ledger import _ledger_of
from ffplan.studies.explain.catalog import audit
from tests.support import ROOT, ffplan, ffplan_once, overlay_part, vary_design

if TYPE_CHECKING:
    from pathlib import Path

POD = "superpod-h100-4su"
COST = "cost:\n"
TODAY = date(2026, 11, 28)
JOB = "--model llama3-70b --tokens 2T"


def cost(arguments: str) -> Any:
    run = ffplan_once(f"cost {arguments} --format json")
    assert run.code == 0, run.err
    return json.loads(run.out)


def test_train_compare_and_cost_give_one_number() -> None:
    """The same quantity from three commands is one number."""
    one = cost(f"{POD} {JOB} --batch 1016")["run"]
    two = json.loads(ffplan(f"train {POD} {JOB} --batch 1016 --search --top 1 --format json").out)["run"]
    money = json.loads(ffplan(f"compare {POD} deepseek-v3-2048 {JOB} --batch 1016 --format json").out)["money"]
    three = money["sides"][0]["run"]
    assert one == two == three
    assert money["sides"][0]["hour"] == cost(f"{POD} {JOB} --batch 1016")["tco"]["per_accelerator_hour"]
    scale = next(row for row in money["scales"] if (row["gpus"], row["batch"]) == (1016, 1016))
    assert scale["sides"][0]["cost_per_million_tokens"] == pytest.approx(one["cost_per_million_tokens"]["likely"])


def test_a_run_scales_with_its_tokens_and_its_bands_are_ordered() -> None:
    one, two = (cost(f"{POD} --model llama3-70b --tokens {tokens}")["run"] for tokens in ("1T", "2T"))
    for field in ("days", "cost", "energy_mwh", "carbon_t", "accelerator_hours"):
        assert two[field]["likely"] == pytest.approx(2 * one[field]["likely"])
        assert one[field]["p10"] < one[field]["p50"] < one[field]["p90"]
    assert two["cost_per_million_tokens"]["likely"] == pytest.approx(one["cost_per_million_tokens"]["likely"])
    hours = one["days"]["likely"] * 24 * one["gpus"]
    assert one["accelerator_hours"]["likely"] == pytest.approx(hours)


def test_the_cash_flow_adds_up() -> None:
    tco = cost(f"{POD} --years 4")["tco"]
    flow = tco["cash_flow"]
    assert sum(row["capex"] for row in flow) == pytest.approx(tco["capex"])
    assert flow[-1]["cumulative"] == pytest.approx(sum(row["capex"] + row["opex"] - row["residual"] for row in flow))
    assert [row["month"] for row in flow] == list(range(len(flow)))
    assert flow[5]["capex"] == pytest.approx(tco["capex"])  # lead time of five months
    assert len(flow) == 4 * 12 + 7 + 1


def test_phases_buy_the_whole_design() -> None:
    found = cost("site-h100-100k --draws 0")
    first, second = found["phases"]
    assert (first["accelerators"], second["accelerators"]) == (50_176, 100_352)
    counts: dict[str, float] = {}
    for phase in (first, second):
        for line in phase["lines"]:
            counts[line["part"]] = counts.get(line["part"], 0) + line["quantity"]
    whole: dict[str, float] = {}
    for line in found["bom"]["lines"]:
        if line["part"]:
            whole[line["part"]] = whole.get(line["part"], 0) + line["quantity"]
    assert counts == whole
    assert (first["spare_ports"], second["spare_ports"]) == (0, 0)  # every leaf is full
    assert first["it_rated_kw"] < second["it_rated_kw"] == pytest.approx(found["power"]["it_rated_kw"])
    assert first["capex"] + second["capex"] == pytest.approx(found["tco"]["capex"])
    assert first["reserve"]
    assert second["reserve"] == []
    text = " ".join(ffplan("cost site-h100-100k --draws 0 --full").out.split())
    assert "first-half buys 6,398 hgx-h100-8nic, 3,418 sn5600" in text
    assert "whole buys 6,397 hgx-h100-8nic, 825 sn5600" in text
    assert sum(row["capex"] for row in found["tco"]["cash_flow"]) == pytest.approx(found["tco"]["capex"], rel=1e-6)


def test_a_cheaper_second_phase(tmp_path: Path) -> None:
    file = vary_design(tmp_path, "site-h100-100k", ("[12544]}", "[12544], price_change: -0.2}"))
    plain, cheap = cost("site-h100-100k --draws 0"), cost(f"{file} --draws 0")
    sums = [sum(line["total"] for line in found["phases"][1]["lines"]) for found in (plain, cheap)]
    assert sums[1] == pytest.approx(0.8 * sums[0], rel=1e-6)
    (line,) = [line for line in cheap["bom"]["lines"] if line["kind"] == "phases"]
    assert line["total"] == pytest.approx(-0.2 * sums[0], rel=1e-6)
    assert cheap["bom"]["total"] == pytest.approx(cheap["tco"]["capex"], rel=1e-9)
    assert cheap["tco"]["per_accelerator_hour"]["likely"] < plain["tco"]["per_accelerator_hour"]["likely"]
    assert sum(row["capex"] for row in cheap["tco"]["cash_flow"]) == pytest.approx(cheap["tco"]["capex"], rel=1e-6)


@pytest.mark.parametrize("change", [0, -20, 15])
@pytest.mark.parametrize("own", [False, True])
def test_the_parts_of_the_purchase_are_one_number_everywhere(change: int, own: bool, tmp_path: Path) -> None:
    phases = "phases:\n  - {name: a, after: 0 months, nodes: [64]}\n"
    phases += f"  - {{name: b, after: 9 months, nodes: [127], price_change: {change} %}}\n\ncost:\n"
    file = vary_design(tmp_path, POD, (COST, ("ownership: {facility: own}\n" if own else "") + phases))
    design = json.loads(ffplan(f"design {file} --format json").out)
    site, bill = design["site"], cost(f"{file} --draws 0")["bom"]
    assert site["planned"] == pytest.approx(design["cost"]["total"]) == pytest.approx(bill["hardware"])
    parts = sum(site[name] or 0.0 for name in ("planned", "phases", "stood_in", "building"))
    assert parts == pytest.approx(site["purchase"]) == pytest.approx(bill["total"])
    assert (site["phases"] > 0) - (site["phases"] < 0) == (change > 0) - (change < 0)
    assert site["per_accelerator"] == pytest.approx(site["purchase_p50"] / design["accelerators"])
    said = " ".join(ffplan(f"design {file} --section whole").out.split())
    assert ": median of the draws, P10 to P90 likely prices " in said


def building(found: Any) -> float:
    """Return the price of an own building at 11 USD/W."""
    return 11.0 * float(found["power"]["it_rated_kw"]) * 1e3


def test_a_half_empty_pod_by_hand(tmp_path: Path) -> None:
    """32 of 127 nodes: 9 of 32 leaves with 32 ports each; 256 of their 288 ports are taken, 16 spines stand at once."""
    phases = "phases:\n  - {name: a, after: 0 months, nodes: [32], lead_time: 1 months}\n"
    phases += "  - {name: b, after: 1 years, nodes: [127]}\n\ncost:\n"
    file = vary_design(tmp_path, POD, ("cost:\n", phases))
    found = cost(f"{file} --draws 0")
    first, second = found["phases"]
    assert (first["switches"], first["spare_ports"]) == (25, 32)
    assert (second["switches"], second["spare_ports"]) == (48, 8)
    assert found["tco"]["waiting"]["months"] == pytest.approx(1.0)
    assert (first["ready_month"], second["ready_month"]) == pytest.approx((1.0, 19.0))


def test_the_end_of_the_cash_flow_is_the_total() -> None:
    for name in (POD, "aws-p5-64", "site-h100-100k", "l40s-8-roce"):
        tco = cost(f"{name} --draws 0 --years 3.5")["tco"]
        assert tco["cash_flow"][-1]["cumulative"] == tco["total"]
        assert tco["years"] == 3.5
    rented = cost("aws-p5-64 --draws 0 --years 4")["tco"]
    assert rented["total"] == pytest.approx(4 * rented["year"])


def test_an_own_building_outlives_the_hardware(tmp_path: Path) -> None:
    """Four of its fifteen years are paid for: what is left of it counts at the end."""
    totals = {}
    for kind in ("own", "power"):
        new = f"ownership: {{facility: {kind}}}\n\ncost:\n"
        found = cost(f"{vary_design(tmp_path, 'l40s-8-roce', (COST, new))} --draws 0")
        totals[kind] = found["tco"]["total"]
    assert totals["own"] - totals["power"] == pytest.approx(building(found) * 4 / 15)


def test_a_partial_cost_is_set_against_nothing(tmp_path: Path) -> None:
    file = vary_design(tmp_path, POD, ("price_book: usd-2026", "price_book: usd-2026\n  exclude: [servers]"))
    found = cost(f"{file} --draws 0")
    assert found["tco"]["partial"] == ["servers"]
    assert found["tco"]["rents"] == []
    assert found["uncertainty"]["against"] is None
    assert found["headline"][0].startswith("Partial: every cost below leaves out servers")
    money = json.loads(ffplan(f"compare {POD} {file} {JOB} --format json").out)["money"]
    assert money["differences"] == []
    assert not any("cheaper" in line.replace("called cheaper", "") for line in money["headline"])


def test_the_power_factor_reaches_the_power_report(tmp_path: Path) -> None:
    file = vary_design(tmp_path, "l40s-8-roce", ("cost:\n", "ownership: {power: 0.5}\n\ncost:\n"))
    half, whole = (cost(f"{name} --draws 0")["power"] for name in (file, "l40s-8-roce"))
    assert half["it_training_kw"] == pytest.approx(whole["it_training_kw"] / 2)
    assert half["facility_kw"] == pytest.approx(whole["facility_kw"] / 2)


@pytest.mark.deep
def test_a_baseline_that_cannot_be_priced_is_replaced(tmp_path: Path) -> None:
    file = vary_design(tmp_path, POD, ("cost:\n  price_book: usd-2026\n", ""), (f"name: {POD}", "name: unpriced"))
    money = json.loads(ffplan(f"compare {file} {POD} aws-p5-64 {JOB} --format json").out)["money"]
    (found,) = money["differences"]
    assert (found["label"], found["against"]) == ("aws-p5-64", POD)
    assert any(f"{POD} replaces it" in line for line in money["headline"])


def test_another_currency_needs_a_rate_and_uses_it(tmp_path: Path) -> None:
    base = vary_design(tmp_path, "fire-flyer-2", ("  exchange: {paper-unit: $13100}", "  training_power: 0.75"))
    run = ffplan(f"cost {base}")
    assert run.code == 2
    assert "an amount in paper-unit, with no rate into USD" in run.err
    double = vary_design(tmp_path, "fire-flyer-2", ("$13100", "$26200"))
    one, two = cost("fire-flyer-2 --draws 0"), cost(f"{double} --draws 0")
    assert two["bom"]["hardware"] == pytest.approx(2 * one["bom"]["hardware"])
    assert two["bom"]["exchange_rate"] == 26_200


def test_a_rented_fleet_has_no_purchase() -> None:
    found = cost("aws-p5-64 --draws 0")
    assert found["bom"] is None
    assert found["tco"]["capex"] == 0
    assert found["tco"]["rents"] == []
    assert [row["name"] for row in found["tco"]["yearly"]] == ["rent"]
    assert found["tco"]["per_accelerator_hour"]["likely"] == pytest.approx(3.10 / 0.85)
    assert found["tco"]["waiting"]["months"] == 0
    assert found["tco"]["cash_flow"][1]["opex"] > 0


def test_the_contract_moves_no_embodied_carbon(tmp_path: Path) -> None:
    """Hardware is made once and lives as long, however long somebody rents it."""
    embodied = []
    for offer in (
        "offer: aws-p5-h100-3-year",
        "price: $2.10/hour\n  term: 1-year",
        "price: $2/hour\n  term: on-demand",
    ):
        file = vary_design(tmp_path, "aws-p5-64", ("offer: aws-p5-h100-3-year", offer))
        run = cost(f"{file} --model llama3-8b --tokens 1T --draws 0 --years 2")["run"]
        embodied.append(run["carbon_t"]["likely"] - run["carbon_energy_t"])
    assert embodied == pytest.approx([embodied[0]] * 3)
    assert embodied[0] > 0


def test_a_stated_rent_by_the_hour(tmp_path: Path) -> None:
    new = "price: $2.50/hour\n  term: on-demand\n  extras: $10,000/month"
    file = vary_design(tmp_path, "aws-p5-64", ("offer: aws-p5-h100-3-year", new))
    found = cost(f"{file} --draws 0")["tco"]
    hours = 512 * 8760 * 0.85
    assert found["per_accelerator_hour"]["likely"] == pytest.approx(2.5 + 120_000 / hours)


OWN_QUOTE = "price: $2.10/hour\n  term: 3-year\n  extras: $20k/month\n  upfront: 50 %"


@pytest.mark.parametrize("other", ["price: $9/hour\n  term: 3-year", "price: $9/hour\n  term: 1-year"])
def test_a_new_quote_keeps_what_the_design_bills_besides(other: str, tmp_path: Path) -> None:
    """The design's rent at another price, quoted again at its own, is the design."""
    book = "offer: aws-p5-h100-3-year"
    own = vary_design(tmp_path, "aws-p5-64", (book, OWN_QUOTE))
    before = cost(f"{own} --draws 0")["tco"]
    (tmp_path / "other").mkdir()
    dearer = vary_design(tmp_path / "other", "aws-p5-64", (book, f"{other}\n  extras: $20k/month\n  upfront: 0.5"))
    again = cost(f"{dearer} --draws 0 --rent 2.10:3-year")["tco"]
    assert again["yearly"] == before["yearly"]
    assert {row["name"] for row in again["yearly"]} == {"rent", "prepaid", "extras"}
    hourly = cost(f"{own} --draws 0 --rent 2.10:on-demand")["tco"]["yearly"]
    assert {row["name"] for row in hourly} == {"rent", "extras"}


PODS = "  - {role: compute, server: hgx-h100-8nic, count: 127,"
L40S = "  - {role: compute, server: l40s-8gpu, count: 6}\n" + PODS


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        (POD, (PODS, L40S), "of 2 kinds, `h100-sxm-80gb` and `l40s`, and an offer rents one"),
        ("deepseek-v3-2048", ("", ""), "`rents-2026` has no offer of `h800-sxm`"),
        ("gb200-nvl72-64", ("", ""), "none of 1 or 3 years can be signed for its accelerators"),
        (POD, ("", ""), None),
        ("aws-p5-64", ("", ""), None),
    ],
)
def test_the_reason_why_owning_is_set_against_no_rent(
    name: str, change: tuple[str, str], why: str | None, tmp_path: Path
) -> None:
    file = vary_design(tmp_path, name, change) if change[0] else name
    found = cost(f"{file} --draws 0")
    said = found["tco"]["no_rent"]
    assert (said or "").endswith(why or ""), said
    assert (said is None) == (why is None)
    screen = " ".join(ffplan(f"cost {file} --draws 0").out.split())
    assert ("set against no rent" in screen) == (why is not None)
    if said is not None:
        assert f"Owning is set against no rent: {said}." in screen
        assert f"Owning is set against no rent: {said}." in " ".join(found["headline"])


def test_own_against_rent_by_hand() -> None:
    tco = cost(f"{POD} --draws 0")["tco"]
    row = next(row for row in tco["rents"] if row["offer"] == "lambda-h100-on-demand")
    running = sum(item["amount"] for item in tco["yearly"] if item["name"] not in ("hardware", "installation")) / 12
    rent = row["price"] * 1016 * 8760 * 0.85 / 12
    assert row["break_even_months"] == pytest.approx(tco["capex"] / (rent - running))
    spot = next(row for row in tco["rents"] if row["offer"] == "nebius-h100-spot")
    assert spot["break_even_months"] is None
    assert spot["why"]
    yearly = next(row for row in tco["rents"] if row["offer"] == "aws-p5-h100-3-year")
    assert yearly["hour"] == pytest.approx(yearly["price"] / 0.85)
    assert yearly["break_even_utilisation"] is None


def test_months_from_the_order_hold_the_wait_by_hand() -> None:
    """Owning pays the bridge for 7 months and runs from then on; renting pays its rent from the order on."""
    tco = cost(f"{POD} --draws 0")["tco"]
    rows = {row["offer"]: row for row in tco["rents"]}
    bridge, dearer = rows["cudo-h100-on-demand"], rows["lambda-h100-on-demand"]
    months = tco["waiting"]["months"]
    assert months == pytest.approx(7)
    assert bridge["break_even_months_from_order"] == pytest.approx(bridge["break_even_months"] + months)
    running = sum(item["amount"] for item in tco["yearly"] if item["name"] not in ("hardware", "installation")) / 12
    rent = dearer["price"] * 1016 * 8760 * 0.85 / 12
    after = dearer["break_even_months_from_order"]
    owned = tco["capex"] + tco["waiting"]["value"] + running * (after - months)
    assert owned == pytest.approx(rent * after)
    assert rows["market-h100-3-year"]["break_even_months_from_order"] is None
    head = " ".join(cost("superpod-b200-4su --draws 0")["headline"])
    assert "It breaks even 12 months after the order, the wait for the first job included." in head


def test_a_rented_fleet_may_have_to_be_waited_for(tmp_path: Path) -> None:
    new = "ownership: {lead_time: 2 months, delay: $100000/month}\n\nrent:\n"
    file = vary_design(tmp_path, "aws-p5-64", ("rent:\n", new))
    tco = cost(f"{file} --draws 0")["tco"]
    assert tco["waiting"]["months"] == pytest.approx(2)
    assert tco["waiting"]["value"] == pytest.approx(200_000)
    assert next(row["month"] for row in tco["cash_flow"] if row["opex"]) == 3
    run = json.loads(ffplan(f"compare {POD} {file} {JOB} --draws 0 --format json").out)["money"]
    assert [side["waiting"]["months"] for side in run["sides"]] == pytest.approx([7, 2])
    words = next(line for line in run["headline"] if line.startswith("The first job runs after"))
    assert f"7 months on {POD} and 2 months on aws-p5-64; these months cost 10.8 mn USD on {POD}" in words
    assert "200,000 USD on aws-p5-64 (the design's `delay`), which no figure above holds" in words


def test_recalled_figures_behind_the_answer_are_named() -> None:
    found = cost(f"{POD} {JOB} --draws 0")
    bom = found["bom"]
    share = sum(line["total"] for line in bom["lines"] if line["status"] == "R") / bom["total"]
    words = next(line for line in found["headline"] if line.startswith("Recalled"))
    assert bom["recalled_share"] == pytest.approx(share)
    assert f"{100 * share:.0f} % of the bill of materials" in words
    status = {row["label"]: row["status"] for row in found["uncertainty"]["inputs"]}
    top = [row["label"] for row in found["uncertainty"]["tornado"][:8]]
    for label in top:
        assert (label in words) == (status[label] == "R"), label


def test_gaps_of_power_and_of_the_wait_are_on_the_first_screen() -> None:
    words = cost("tpu-v6e-pod --model llama3-70b --tokens 2T --draws 0")["headline"]
    assert words[0].endswith("t CO2e, without the power of `tpu-v6e`, which is unknown.")
    assert words[-1] == "Recalled and unverified behind this: among the inputs that move the cost most, utilisation."
    assert any(
        line
        == "The first job runs 7 months after the order; these months have no price: no rent by the hour is known for "
        "the accelerator, and the design states no `delay`."
        for line in cost("deepseek-v3-2048 --draws 0")["headline"]
    )


def test_the_break_even_utilisation_is_one(tmp_path: Path) -> None:
    """At the utilisation that the report names, owning and renting cost the same."""
    tco = cost(f"{POD} --draws 0")["tco"]
    row = next(row for row in tco["rents"] if row["offer"] == "lambda-h100-on-demand")
    share = row["break_even_utilisation"]
    cost_scope = "cost:\n  price_book: usd-2026"
    file = vary_design(tmp_path, POD, (cost_scope, f"ownership:\n  utilisation: {share!r}\n\n{cost_scope}"))
    again = cost(f"{file} --draws 0")["tco"]
    assert again["per_accelerator_hour"]["likely"] == pytest.approx(row["price"], rel=1e-6)


def test_every_break_even_is_one(tmp_path: Path) -> None:
    """A price at which the report says both are even makes them so."""
    found = cost(f"{POD} --draws 0")
    against = found["uncertainty"]["against"]
    rent = next(row for row in found["tco"]["rents"] if row["offer"] == against)
    flip = next(row for row in found["uncertainty"]["break_even"] if row["input"] == "price.hgx-h100-8nic")
    price = round(flip["break_even"], 2)
    book = "usd-2026"
    overlay_part(tmp_path, book, ("hgx-h100-8nic: {value: 265000", f"hgx-h100-8nic: {{value: {price}"))
    text = (tmp_path / f"{book}.yaml").read_text()
    line = next(item for item in text.splitlines() if item.strip().startswith("hgx-h100-8nic:"))
    text = text.replace(line, re.sub(r"(low|high): [0-9.]+", rf"\1: {price}", line))
    (tmp_path / f"{book}.yaml").write_text(text)
    again = cost(f"{POD} --draws 0 --catalog {tmp_path}")
    assert again["tco"]["per_accelerator_hour"]["likely"] == pytest.approx(rent["hour"], rel=1e-5)


def test_a_design_against_itself_is_even() -> None:
    money = json.loads(ffplan(f"compare {POD} {ROOT}/designs/{POD}.yaml {JOB} --format json").out)["money"]
    (found,) = money["differences"]
    assert found["difference"]["likely"] == 0
    assert found["cheaper_share"] == 0  # one build, one error: no draw differs
    assert any("cost about the same for a token" in line for line in money["headline"])


def test_the_paper_pair_in_money() -> None:
    """PCIe nodes cost about half of a DGX node's; what a token costs follows from the step as well."""
    job = "--model llama2-70b --tokens 2T --batch 4096 --gpus 1024 --format json"
    money = json.loads(ffplan(f"compare fire-flyer-2 dgx-a100-10k {job}").out)["money"]
    mine, theirs = (side["hour"]["likely"] for side in money["sides"])
    assert 0.4 < mine / theirs < 0.6
    (found,) = money["differences"]
    costs = [side["run"]["cost_per_million_tokens"]["likely"] for side in money["sides"]]
    assert found["ratio"]["likely"] == pytest.approx(costs[1] / costs[0])
    assert (found["cheaper_share"] > 0.5) == (costs[1] < costs[0])
    keys = {row["input"] for row in found["break_even"]}
    assert {"electricity", "price.dgx-a100-320gb", "price.fire-flyer-2-node"} <= keys
    for row in found["break_even"]:
        assert (row["break_even"] is None) == (row["why"] is not None)


def test_one_part_is_one_draw_for_both_sides() -> None:
    """Two designs with the same server: its price moves both, and hardly their difference."""
    job = "--model llama3-70b --tokens 2T --batch 1016 --gpus 1016 --format json"
    money = json.loads(ffplan(f"compare {POD} fire-flyer-next {job}").out)["money"]
    (found,) = money["differences"]
    names = [row["input"] for row in found["tornado"]]
    assert "speed.h100-sxm-80gb" in names
    assert sum(name.startswith("speed_own.") for name in names) == 2
    assert money["draws"] == 10_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (f"cost {POD} --model llama3-70b", "--model needs --tokens"),
        (f"cost {POD} --tokens 2T", "no model, and no `workload` in the design"),
        (f"cost {POD} --batch 8", "have an effect with --model only"),
        (f"cost {POD} --model llama3-70b --tokens 0", "is out of range"),
        (f"cost {POD} --model llama3-70b --tokens many", "is not a number of tokens"),
        (f"cost {POD} --model llama3-70b --tokens 2T --gpus 5000", "one job can span 1,016"),
        (f"cost {POD} --model llama3-71b --tokens 2T", "did you mean"),
        (f"cost {POD} --model resnet-50 --tokens 2T", "tokens need a transformer"),
        (f"compare {POD} fire-flyer-next --tokens 2T", "no model, and no `workload` in a design"),
        (f"compare {POD} fire-flyer-next --tokens 2T --batch 8", "have an effect with --model only"),
        (f"compare {POD} fire-flyer-next --years 3", "have an effect with --tokens only"),
        (f"train {POD} --model resnet-50 --batch 1016 --tokens 2T", "is trained on images"),
    ],
)
def test_options_that_do_not_go_together(arguments: str, words: str) -> None:
    run = ffplan(arguments)
    assert (run.code, run.out) == (2, "")
    assert words in run.err


def test_a_design_without_prices_still_gives_days_and_energy(tmp_path: Path) -> None:
    file = vary_design(tmp_path, POD, ("cost:\n  price_book: usd-2026\n", ""))
    found = cost(f"{file} {JOB}")
    assert (found["bom"], found["tco"], found["uncertainty"]) == (None, None, None)
    assert found["run"]["cost"] is None
    assert found["run"]["days"]["likely"] > 0
    assert any("neither a price book nor a rent" in line for line in found["headline"])


def test_csv_is_the_bill_of_materials() -> None:
    lines = ffplan(f"cost {POD} --draws 0 --format csv").out.splitlines()
    assert lines[0].startswith("kind,part,description,quantity,unit_price,total")
    rows = list(csv.DictReader(lines))
    assert {row["currency"] for row in rows} == {"USD"}
    bom = cost(f"{POD} --draws 0")["bom"]
    assert sum(Decimal(row["total"]) for row in rows) == Decimal(str(bom["total"]))


@pytest.mark.deep
def test_csv_of_a_comparison_has_the_run_in_money_with_units() -> None:
    words = f"compare {POD} aws-p5-64 {JOB} --draws 500"
    rows = list(csv.DictReader(ffplan(f"{words} --format csv").out.splitlines()))
    by = {(row["design"], row["metric"]): row for row in rows}
    money = json.loads(ffplan(f"{words} --format json").out)["money"]
    for side in money["sides"]:
        for name, band, unit in (
            ("run_cost", "cost", "USD"),
            ("run_days", "days", "days"),
            ("run_energy", "energy_mwh", "MWh"),
        ):
            for end, key in (("", "likely"), ("_p10", "p10"), ("_p90", "p90")):
                row = by[side["label"], f"{name}{end}"]
                assert (float(row["value"]), row["unit"]) == (side["run"][band][key], unit)
        assert float(by[side["label"], "cost_of_wait"]["value"]) == side["waiting"]["value"]
    (found,) = money["differences"]
    assert float(by["aws-p5-64", "cheaper_share"]["value"]) == found["cheaper_share"]
    assert float(by["aws-p5-64", "cost_per_million_tokens"]["ratio"]) == found["ratio"]["likely"]
    assert by[POD, "cost_per_million_tokens"]["ratio"] == "1.0"
    assert (by[POD, "cost_total"]["unit"], by[POD, "bisection"]["unit"]) == ("USD", "GB/s")
    assert by["aws-p5-64", "cost_total"]["unit"] == ""


def test_the_size_of_the_side_networks_by_hand() -> None:
    """127 nodes and 19 storage servers; in-band takes two ports of each: 292 ports are 7 leaves and 2 above."""
    catalog = Catalog()
    design = resolve(read_document(ROOT / "designs" / f"{POD}.yaml"), catalog)
    owned = resolve_ownership(design, catalog)
    assert owned.storage is not None
    assert owned.storage.group.count == 19  # 1,016 / 56
    ledger = _ledger_of(design, catalog)
    plans = {plan.name: plan for plan in ledger.site.networks}
    assert plans["in-band"].ports == 2 * (127 + 19)
    assert (plans["in-band"].switches, plans["in-band"].links) == (9, 292 + 7 * 16)
    assert plans["storage-network"].ports == 127 + 2 * 19
    assert ledger.site.racks_of["compute"] == 32
    assert ledger.account.links == ledger.site.cables


def test_the_audit_finds_what_is_planted(tmp_path: Path) -> None:
    overlay_part(tmp_path, "hgx-b200-8nic", ("maximum: {value: 14300 W", "maximum: {value: 7900 W"))
    report = audit(Catalog([str(tmp_path)]), TODAY)
    kinds = {(item.kind, item.part, item.path) for item in report.findings}
    assert ("out-of-range", "hgx-b200-8nic", "power.maximum") in kinds
    assert ("out-of-range", "b300", "peak.fp4") in kinds
    assert ("unpriced", "sn6600", "") in kinds
    assert any(item.kind == "stale" for item in report.findings)
    assert report.counts["recalled"] > 100
    assert report.figures > 1000
    only = audit(Catalog(), TODAY, "switch")
    parts = {Catalog().entry(item.part).part.kind for item in only.findings}
    assert parts == {"switch"}


def test_every_sold_part_has_a_price_in_2026() -> None:
    """`usd-2026` prices every part that is sold, or says why not; all else is announced, rented or inside another."""
    catalog = Catalog()
    unpriced = {item.part: item.what for item in audit(catalog, TODAY).findings if item.kind == "unpriced"}
    book = catalog.entry("usd-2026").part
    assert isinstance(book, PriceBook)
    assert not set(book.unpriced) & set(book.items)
    for name, words in unpriced.items():
        assert "announced" in words or words == f"in no price book: {book.unpriced[name]}", name
    assert set(book.unpriced) - {"cloudmatrix-384-node"} <= set(unpriced)  # priced by another book


def test_a_profile_that_lacks_a_figure_is_refused(tmp_path: Path) -> None:
    overlay_part(tmp_path, "owned-2026")
    text = (tmp_path / "owned-2026.yaml").read_text()
    kept = "\n".join(line for line in text.splitlines() if not line.startswith(("life:", "  epoch:")))
    (tmp_path / "owned-2026.yaml").write_text(kept)
    run = ffplan(f"cost {POD} --catalog {tmp_path}")
    assert run.code == 2
    assert "has no `life`" in run.err


def test_a_run_that_outlives_its_hardware_says_so() -> None:
    found = cost("l40s-8-roce --model llama3-8b --tokens 100T --years 2 --draws 0")
    assert found["run"]["days"]["likely"] > 730
    assert any("longer than the 2 years" in line for line in found["headline"])
    short = cost("l40s-8-roce --model llama3-8b --tokens 10B --draws 0")
    assert not any("longer than" in line for line in short["headline"])


def test_a_book_that_has_the_missing_price_is_named(tmp_path: Path) -> None:
    file = vary_design(tmp_path, "l40s-8-roce", ("usd-2026", "usd-2024"))
    found = cost(f"{file} --draws 0")
    assert "l40s-8gpu" in found["bom"]["priced_elsewhere"]
    assert "price book has" in found["headline"][0]


def test_cooling_gives_the_pue_and_its_range(tmp_path: Path) -> None:
    design = vary_design(tmp_path, "gb200-nvl72-16", ("  pue: 1.15\n", "  cooling: cold-plate\n"))
    report = json.loads(ffplan("design", str(design), "-f", "json").out)
    assert report["power"]["pue"] == 1.15
    assert report["power"]["facility_kw"] == pytest.approx(1.15 * report["power"]["it_kw"])
    cost = json.loads(ffplan("cost", str(design), "-f", "json", "--draws", "0").out)
    assert cost["power"]["pue"] == 1.15
    (pue,) = [row for row in cost["uncertainty"]["inputs"] if row["input"] == "pue"]
    assert (pue["low"], pue["likely"], pue["high"], pue["status"]) == (1.1, 1.15, 1.2, "VS")


def test_the_floor_of_racks(tmp_path: Path) -> None:
    """As the design states it, before its floor plan (0.6 m x 3 m), before the profile (2.8 m2, recalled)."""

    def area(design: str) -> float:
        power = json.loads(ffplan("cost", design, "--draws", "0", "-f", "json").out)["power"]
        assert power["floor_m2"] == pytest.approx(power["racks"] * power["rack_area_m2"])
        return float(power["rack_area_m2"])

    stated = vary_design(tmp_path, "superpod-h100-4su", ("\nsite:", "\nownership: {rack_area: 4 m2}\nsite:"))
    assert area("superpod-h100-4su") == pytest.approx(1.8)
    assert area(str(stated)) == 4.0
    assert area("superpod-b200-4su") == 2.8


@pytest.mark.parametrize(
    ("name", "section", "whose"),
    [
        (POD, ("cost:\n", "ownership: {{life: {years} years}}\n\ncost:\n"), "that its hardware is paid for"),
        ("aws-p5-64", ("offer: aws-p5-h100-3-year", "price: $2.10/hour\n  term: {years}-year"), "of its rent"),
    ],
)
def test_a_run_that_outlives_its_hardware_is_named_everywhere(
    name: str, section: tuple[str, str], whose: str, tmp_path: Path
) -> None:
    """Its days over the years that are paid decide: in the answer, in a comparison, and in its doubt."""
    old, new = section
    job = "--model llama3-70b --tokens 30T --gpus 512"
    files = {years: vary_design(tmp_path / years, name, (old, new.format(years=years))) for years in made(tmp_path)}
    for years, file in files.items():
        run = cost(f"{file} {job} --draws 0")["run"]
        assert (run["outlives"] is not None) == (run["days"]["likely"] > 365 * int(years))
        screen = " ".join(ffplan(f"cost {file} {job} --draws 0").out.split())
        assert (whose in screen) == (run["outlives"] is not None)
    assert cost(f"{files['1']} {job} --draws 0")["run"]["outlives"].endswith(whose)
    assert cost(f"{files['3']} {job} --draws 0")["run"]["outlives"] is None
    against = ffplan(f"compare {files['1']} {files['3']} {job}").out
    assert "sure)" not in against
    assert "Too long" in against


def made(folder: Path) -> tuple[str, ...]:
    """Return the years that are tried, with a folder for each."""
    years = ("1", "3")
    for name in years:
        (folder / name).mkdir()
    return years
