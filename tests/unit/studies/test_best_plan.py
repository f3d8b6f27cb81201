"""The plan of a search against every plan that can be named, and costs that idle accelerators bear."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import ffplan

if TYPE_CHECKING:
    from pathlib import Path

UNLIKE = """
name: {name}
nodes:
  - {{role: compute, server: hgx-h100-8nic, count: 2}}
{more}fabric:
  {{family: fat-tree, switch: qm9700, link: {{endpoint: 400g-dr4, inter_switch: 400g-dr4}}, tiers: 1}}
site: {{pue: 1.2, currency: USD}}
communication: {{libraries: [nccl], message_size: 1 GiB}}
cost: {{price_book: usd-2026}}
"""
"""A design with nodes of one kind, or of two."""
TASK = ("--model", "llama3.1-8b", "--isl", "1000", "--osl", "200", "--ttft", "1s", "--tpot", "50ms")


def served(*options: str) -> dict[str, Any]:
    run = ffplan("serve", *options, "-f", "json")
    assert run.code == 0, run.err
    found: dict[str, Any] = json.loads(run.out)
    return found


def best(report: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = report["rows"][report["best"]]
    return row


CASES = [
    pytest.param("l40s 4 llama3.1-8b 2000 300 2s 150ms"),
    pytest.param("h100-sxm-80gb 8 llama3.1-70b 2000 500 1s 100ms", marks=pytest.mark.deep),
    pytest.param("h200-sxm 8 gpt-oss-120b 4000 500 1s 50ms", marks=pytest.mark.deep),
]


@pytest.mark.parametrize("case", CASES)
def test_no_plan_that_can_be_named_serves_more(case: str) -> None:
    """Loads are found to a hundredth, and whole copies fill the accelerators."""
    options = ("--accelerator", "--gpus", "--model", "--isl", "--osl", "--ttft", "--tpot")
    asked = dict(zip(options, case.split(), strict=True))
    within = (*(word for pair in asked.items() for word in pair), "--precision", "bf16")
    found = served(*within, "--search")
    assert best(found)["meets"]
    assert found["copies"] * found["plan"]["gpus"] == int(asked["--gpus"])
    tried = 0
    for tensor in (1, 2, 4, 8):
        for chunk in (2048, 8192, 16384):
            plan = ("--tp", str(tensor), "--chunk", str(chunk), "-f", "json")
            run = ffplan("serve", *within, *plan)
            if run.code == 0 and best(report := json.loads(run.out))["meets"]:
                tried += 1
                assert best(report)["output_tokens_s"] <= 1.03 * best(found)["output_tokens_s"], (tensor, chunk)
    assert tried


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    """Two nodes of H100, and the same with two of L40S beside them."""
    more = "  - {role: compute, server: l40s-8gpu, count: 2}\n"
    names = []
    for name, text in (("alone", ""), ("beside", more)):
        file = tmp_path / f"{name}.yaml"
        file.write_text(UNLIKE.format(name=name, more=text), encoding="utf-8")
        names.append(str(file))
    return names[0], names[1]


def test_accelerators_that_serve_nothing_make_tokens_dearer(pair: tuple[str, str]) -> None:
    """The purchase of all over the same tokens: an hour is the mean over unlike accelerators."""
    found = json.loads(ffplan("compare", *pair, "--serve", *TASK, "-f", "json").out)
    alone, beside = found["sides"]
    assert (alone["accelerators"], beside["accelerators"]) == (16, 32)
    assert alone["output_tokens_s"] == pytest.approx(beside["output_tokens_s"], rel=1e-9)
    assert alone["output_tokens_s_gpu"] == pytest.approx(2 * beside["output_tokens_s_gpu"])
    for side in (alone, beside):
        million = side["output_tokens_s"] * 3600 / 1e6
        hour = side["cost"]["accelerator_hour"] * side["accelerators"]
        assert side["cost"]["per_million_output_all"] == pytest.approx(hour / million)
        assert side["output_tokens_s_mw"] == pytest.approx(side["output_tokens_s"] / side["facility_peak_kw"] * 1e3)
        # `serve` of the same load bears the same
        plan = side["plan"]
        load = ("-c", str(round(side["concurrency"])), "--tp", str(plan["tensor"]), "--chunk", str(plan["chunk"]))
        name = pair[0] if side is alone else pair[1]
        price = best(served(name, *TASK[:6], *load))
        hours = price["cost"]["accelerator_hour"] * side["accelerators"]
        assert price["cost"]["per_million_output_all"] == pytest.approx(hours / (price["output_tokens_s"] * 3600 / 1e6))
        assert price["output_tokens_s_mw"] == pytest.approx(price["output_tokens_s"] / side["facility_peak_kw"] * 1e3)
    assert found["verdict"]["cheapest"] == "alone"


def test_accelerators_that_no_copy_uses_cost_as_much(pair: tuple[str, str]) -> None:
    """Three copies of four on 12 accelerators, and on 15: the same tokens of 15 hours."""
    task = ("--model", "llama3.1-8b", "--isl", "1000", "--osl", "200", "-c", "16", "--tp", "4")
    exact, left = (served(pair[0], *task, "--gpus", gpus) for gpus in ("12", "15"))
    assert (exact["idle"], left["idle"]) == (0, 3)
    assert best(exact)["output_tokens_s"] == pytest.approx(best(left)["output_tokens_s"])
    for kind in ("per_million_output", "per_million_input", "per_million_output_all"):
        assert best(left)["cost"][kind] == pytest.approx(15 / 12 * best(exact)["cost"][kind])
    # and of as much of the facility
    assert best(left)["output_tokens_s_mw"] == pytest.approx(12 / 15 * best(exact)["output_tokens_s_mw"])


def test_a_fleet_serves_on_the_accelerators_of_one_kind(pair: tuple[str, str], tmp_path: Path) -> None:
    """L40S beside H100 add no copy of the model."""
    capacity = []
    for name in pair:
        file = tmp_path / "fleet.yaml"
        file.write_text(
            f"""
kind: fleet
schema_version: 1
name: fleet
start: 2027-01
quarters: 4
clusters:
  - {{name: a, design: {name}, order: 2026-01, use: {{chat: 100 %}}}}
demand:
  - {{name: chat, serve: llama3.1-8b, isl: 1000, osl: 200, ttft: 1 s, tpot: 50 ms, rate: [20/s]}}
""",
            encoding="utf-8",
        )
        run = ffplan("fleet", str(file), "-f", "json", "--draws", "200")
        assert run.code in (0, 1), run.err
        capacity.append(json.loads(run.out)["clusters"][0]["capacity"]["chat"]["p50"])
    assert capacity[0] == pytest.approx(capacity[1], rel=0.01)
