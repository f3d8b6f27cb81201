"""`compare --serve`: figures are those of `serve`, the verdict by hand, and what cannot be compared."""

from __future__ import annotations

import json
from math import log, log1p
from statistics import NormalDist
from typing import TYPE_CHECKING

import pytest

from tests.support import ROOT, ffplan, ffplan_once, valid

if TYPE_CHECKING:
    from pathlib import Path

LOAD = ("--model", "llama3.1-70b", "--isl", "2048", "--osl", "512", "--ttft", "2s", "--tpot", "40ms")
PAIR = ("superpod-h100-4su", "superpod-b200-4su")


def test_figures_are_those_of_serve_and_the_verdict_follows() -> None:
    run = ffplan_once("compare", *PAIR, "--serve", *LOAD, "-f", "json")
    assert run.code == 0, run.err
    valid(run.out, "serve-comparison")
    found = json.loads(run.out)
    for side in found["sides"]:
        best = ("--search", "--precision", "bf16", "-f", "json")
        served = json.loads(ffplan("serve", side["label"], *LOAD, *best).out)
        row = served["rows"][served["best"]]
        assert side["plan"] == served["plan"]
        assert (side["ttft_s"], side["tpot_s"], side["cost"]) == (row["ttft_s"], row["tpot_s"], row["cost"])
        assert side["output_tokens_s_mw"] == pytest.approx(row["output_tokens_s_mw"])
        assert side["users_rack"] == pytest.approx(row["concurrency"] * served["copies"] / side["racks"])
    costs = {side["label"]: side["cost"]["per_million_output_all"] for side in found["sides"]}
    verdict, bands = found["verdict"], [side["band"] for side in found["sides"]]
    assert (verdict["cheapest"], verdict["other"]) == ("superpod-b200-4su", "superpod-h100-4su")
    assert verdict["ratio"] == pytest.approx(costs[PAIR[1]] / costs[PAIR[0]])
    # the 90th percentile of a normal lies 1.2816 deviations up
    spread = sum((log1p(band) / 1.28155) ** 2 for band in bands) ** 0.5
    assert verdict["chance"] == pytest.approx(NormalDist().cdf(-log(verdict["ratio"]) / spread), rel=1e-4)
    assert found["sides"][0]["capex"] == json.loads(ffplan("cost", PAIR[0], "-f", "json").out)["tco"]["purchase"]["p50"]


def test_the_screen_fits_and_names_the_winner() -> None:
    out = ffplan("compare", *PAIR, "--serve", *LOAD).out
    assert out.count("\n") <= 24
    assert "superpod-b200-4su serves llama3.1-70b" in " ".join(out.split())
    assert "cheaper a token than superpod-h100-4su" in " ".join(out.split())


def test_a_design_that_cannot_serve_says_why() -> None:
    tight = (*LOAD[:-1], "12ms", "-f", "json")
    run = ffplan("compare", "superpod-h100-4su", "fire-flyer-2", "--serve", *tight)
    found = json.loads(run.out)
    assert [side["label"] for side in found["sides"]] == ["superpod-h100-4su"]
    assert "no plan meets the targets" in found["unserved"][0]["reason"]
    assert found["verdict"] is None
    assert ffplan("compare", *PAIR, "--serve", *LOAD[:-1], "1us").code == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--serve",), "--serve needs a --model"),
        (("--serve", "--model", "llama3.1-70b", "--batch", "8"), "--batch has an effect on training only"),
        (("--isl", "8"), "--isl has an effect with --serve only"),
        (("--serve", "--model", "llama3.1-70b", "--at", "p95"), "--at: no `p95`"),
        (("--serve", "--model", "llama3.1-70b", "--precision", "fp7"), "--precision: no `fp7`"),
    ],
)
def test_what_cannot_be_compared(options: tuple[str, ...], message: str) -> None:
    run = ffplan("compare", *PAIR, *options)
    assert run.code == 2
    assert message in run.err


def test_the_page_draws_every_plan_that_no_other_beats() -> None:
    """Along the line of a side, more speed to a user never comes with more throughput, and its best plan is on it."""
    run = ffplan_once("compare", *PAIR, "--serve", *LOAD, "-f", "json")
    choices = {side["label"]: side["choices"] for side in json.loads(run.out)["sides"]}
    for label in PAIR:
        line = sorted((choice["output_tokens_s_user"], choice["output_tokens_s_gpu"]) for choice in choices[label])
        assert len(line) > 10
        assert [throughput for _, throughput in line] == sorted((value for _, value in line), reverse=True)
    page = ffplan("compare", *PAIR, "--serve", *LOAD, "-f", "html").out
    assert "Throughput against speed to a user" in page
    assert page.count("<svg") > ffplan("serve", PAIR[0], *LOAD, "-f", "html").out.count("<svg")


def test_pools_are_compared_on_the_same_purchase() -> None:
    """A side with pools beside each without has the figures of `serve --disaggregate`, and costs the same to buy."""
    both = ("--serve", *LOAD, "--disaggregate", "-f", "json")
    run = ffplan("compare", *PAIR, *both)
    valid(run.out, "serve-comparison")
    sides = {side["label"]: side for side in json.loads(run.out)["sides"]}
    assert list(sides) == [PAIR[0], f"{PAIR[0]}, pools", PAIR[1], f"{PAIR[1]}, pools"]
    apart = sides[f"{PAIR[0]}, pools"]
    alone = ("--disaggregate", "--precision", "bf16", "-f", "json")
    served = json.loads(ffplan("serve", PAIR[0], *LOAD, *alone).out)
    row = served["rows"][served["best"]]
    assert (apart["pools"], apart["copies"]) == (served["pools"], served["copies"])
    assert (apart["ttft_s"], apart["cost"]) == (row["ttft_s"], row["cost"])
    assert apart["capex"] == sides[PAIR[0]]["capex"]


def test_amounts_in_two_currencies_say_which(tmp_path: Path) -> None:
    """Bare numbers in a column would set euros beside dollars."""
    text = (ROOT / "designs" / "superpod-h100-4su.yaml").read_text()
    euros = "  currency: EUR\n  exchange: {USD: 0.9 EUR}\n  electricity_price: 0.09 EUR/kWh\n"
    dollars = "  currency: USD\n  electricity_price: $0.08/kWh\n"
    assert dollars in text
    for label, site in (("one", dollars), ("two", euros)):
        own = text.replace(dollars, site).replace(f"name: {PAIR[0]}", f"name: {label}")
        (tmp_path / f"{label}.yaml").write_text(own)
    files = (str(tmp_path / "one.yaml"), str(tmp_path / "two.yaml"))
    run = ffplan("compare", *files, "--serve", *LOAD, "--full")
    tables = run.out.partition("Average tokens/s")[0].splitlines()
    for label, currency in (("one", "USD"), ("two", "EUR")):
        found = [line.count(f" {currency}") for line in tables if line.startswith(f"  {label} ")]
        assert found == [1, 4], run.out + run.err
