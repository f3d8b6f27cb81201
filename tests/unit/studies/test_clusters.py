"""Rates of clusters, the largest model, zones of storage."""

from __future__ import annotations

import json

import pytest

from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.cost.run import PETAFLOP_DAY, run_operations
from ffplan.studies.choose import first_designs
from ffplan.studies.choose.candidates import IDEAS, Idea, Wishes, _draft_from
from ffplan.studies.choose.first_designs import Builder, _why_not
from tests.support import assess_file, but_few, ffplan


def test_the_cluster_of_the_paper_computes_two_exaflops() -> None:
    """An et al., arXiv 2408.14158: 10,000 accelerators, Table II: 220 TFLOP/s in FP16; the dense peak is 312."""
    found = assess_file("fire-flyer-2")
    assert found.gemm_tflops["fp16"] == pytest.approx(2.2e6)
    assert found.peak_tflops["fp16"] == pytest.approx(3.12e6)
    assert "2.2 EFLOP/s" in ffplan("design fire-flyer-2 --full").out


@pytest.mark.parametrize("name", ["superpod-h100-4su", "l40s-8-roce", "tpu-v6e-pod"])
def test_a_cluster_computes_what_its_accelerators_do(name: str) -> None:
    found = assess_file(name)
    (accelerator,) = [part for item in found.catalog if isinstance(part := Catalog().entry(item.id).part, Accelerator)]
    expected = {precision: found.accelerators * figure.value for precision, figure in accelerator.peak.items()}
    assert found.peak_tflops == pytest.approx(expected)


@pytest.mark.parametrize("job", ["gpt3-175b --tokens 300B", "llama3-70b --tokens 1T --gpus 1000"])
def test_the_operations_of_a_run_times_their_price_are_its_cost(job: str) -> None:
    """Idle accelerators are paid for too, in the price of a petaFLOP/s-day."""
    run = json.loads(ffplan(f"cost superpod-h100-4su --model {job} --draws 0 -f json").out)["run"]
    assert run["operations"] == pytest.approx(run["petaflop_days"] * 86400e15)
    price = run["cost_per_petaflop_day"]["likely"]
    assert run["petaflop_days"] * price == pytest.approx(run["cost"]["likely"], rel=1e-9)


def test_gpt3_takes_its_published_operations() -> None:
    """Brown et al., arXiv 2005.14165, Table D.1: 3.14e23 FLOP, 3,640 petaFLOP/s-days, attention left out (3 %)."""
    run = json.loads(ffplan("cost superpod-h100-4su --model gpt3-175b --tokens 300B --draws 0 -f json").out)["run"]
    assert 3.14e23 < run["operations"] < 1.04 * 3.14e23
    assert 3640 < run["petaflop_days"] < 1.04 * 3640


def test_operations_by_hand() -> None:
    """6 x 175e9 operations a token, 100 tokens a second at 105 TFLOP/s: 3.15e23, 3,646 PFLOP/s-days."""
    found = run_operations(300e9, 100.0, 105.0)
    assert found == pytest.approx(6 * 175e9 * 300e9)
    assert found / PETAFLOP_DAY == pytest.approx(3645.8, abs=0.1)


@pytest.mark.parametrize("idea", [idea for idea in IDEAS if not idea.other], ids=lambda idea: idea.name)
@pytest.mark.parametrize(
    ("accelerator", "budget", "watts"),
    [
        ("h100-sxm-80gb", 45e6, 2e6),
        pytest.param("h100-sxm-80gb", None, 5e6, marks=pytest.mark.deep),
        pytest.param("a100-sxm-80gb", 160e6, None, marks=pytest.mark.deep),
        ("gb200-gpu", None, 3e6),
    ],
)
def test_one_step_more_does_not_fit(accelerator: str, budget: float | None, watts: float | None, idea: Idea) -> None:
    wishes = Wishes(
        accelerator=accelerator, gpus=None, budget=budget, watts=watts, model=None, book="usd-2026", pue=1.25
    )
    builder = Builder(wishes, Catalog(), "bid")
    built = builder.largest(idea)
    assert built is not None
    assert not _why_not(built, wishes)
    more = builder.drafts(idea, built.assessment.nodes["compute"] + builder.step)
    assert not more or _why_not(more[0], wishes)


def test_a_draft_has_the_purchase_and_the_power_of_the_whole() -> None:
    """The draft by which parts are chosen says of a design what all of its studies say."""
    wishes = Wishes(
        accelerator="h100-sxm-80gb", gpus=None, budget=None, watts=1e9, model=None, book="usd-2026", pue=1.25
    )
    builder = Builder(wishes, Catalog(), "bid")
    draft, built = builder.drafts(IDEAS[0], 100)[0], builder.build(IDEAS[0], 100)
    assert built is not None
    assert draft.text == built.text
    assert draft.purchase == built.purchase > 0
    assert draft.drawn("facility-peak") == built.drawn("facility-peak") > 0
    assert draft.drawn("it-training") == built.drawn("it-training") > 0


@pytest.mark.parametrize("idea", [IDEAS[0], IDEAS[2]], ids=lambda idea: idea.name)
@pytest.mark.parametrize("accelerator", ["gaudi3", "gb200-gpu", "mi325x"])
@pytest.mark.parametrize("nodes", but_few([18, 54, 72, 73, 144], 18, 73))
def test_tiers_that_are_not_tried_hold_no_design(accelerator: str, nodes: int, idea: Idea) -> None:
    wishes = Wishes(accelerator=accelerator, gpus=None, budget=None, watts=1e9, model=None, book="usd-2026", pue=1.25)
    builder = Builder(wishes, Catalog(), "bid")
    tried = {parts.switch.id: first_designs._tiers(idea, parts, nodes) for parts in builder.choices}
    assert all(tiers in ((1, 2, 3), (2, 3)) for tiers in tried.values())
    for parts in builder.choices:
        single = _draft_from(first_designs._text(builder, idea, parts, nodes, 1), idea, builder.catalog)
        assert (single is not None) == (1 in tried[parts.switch.id]), parts.switch.id
