"""A search against `serve`: what one accepts the other tries, what one refuses the other refuses alike, and all copies
count.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import pytest

import ffplan as api
from ffplan.catalog.models import Model
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.results.serving import ServePlan
from ffplan.serving.placement import copies_that_fit
from ffplan.serving.requests import Requests
from ffplan.studies.serve.apart import _copies_of
from ffplan.studies.serve.links import Fleet, ServeError, fleet_of
from ffplan.studies.serve.search import _plans_of, search
from ffplan.studies.serve.setup import PlanRequest, _with_tensor, engine_of, serve_setup
from tests.support import ffplan

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.studies.serve.setup import ServeSetup

CATALOG = Catalog()
REQUESTS = Requests(prompt=1000, output=200, chunk=2048.0)
WAYS = ("tensor", "pipeline", "expert", "data", "chunk", "precision", "kv")
MODELS = ("llama2-13b", "llama3.1-8b", "mixtral-8x7b", "gpt-oss-120b")


def of(model: str, accelerator: str, gpus: int) -> tuple[Model, Fleet]:
    part, board = CATALOG.entry(model).part, CATALOG.entry(accelerator).part
    assert isinstance(part, Model)
    assert isinstance(board, Accelerator)
    return part, Fleet(accelerator=board, gpus=gpus)


@pytest.mark.parametrize("engine", ["vllm", "trtllm"])
@pytest.mark.parametrize("name", MODELS)
def test_a_search_tries_every_plan_that_serve_accepts_and_refuses_as_serve_does(name: str, engine: str) -> None:
    (model, fleet), software = of(name, "h100-sxm-80gb", 32), engine_of(CATALOG, engine)
    assert model.transformer is not None
    accepted = refused = 0
    for tensor, pipeline, data, expert in product(
        (1, 2, 3, 8, 64), (None, 1, 3, 100), (None, 1, 3, 4), (None, 1, 2, 4, 8)
    ):
        asked = PlanRequest(tensor=tensor, pipeline=pipeline, data=data, expert=expert, chunk=4096, precision="fp8")
        try:
            setup = serve_setup(CATALOG, model, software, fleet, asked, requests=REQUESTS)
        except ServeError as error:
            if "no room" in str(error):
                continue
            if data or not expert:  # else a search may find attention groups with which it fits
                refused += 1
                with pytest.raises(ServeError, match=f"^{re.escape(str(error))}$"):
                    search(CATALOG, model, software, fleet, asked, requests=REQUESTS, targets=None)
            continue
        accepted += 1
        plans = _plans_of(model.transformer, software, fleet, asked)
        sizes = setup.served.deployment
        assert any(
            (plan.tensor, plan.pipeline, plan.data, plan.expert)
            == (sizes.tensor, sizes.pipeline, sizes.data, sizes.expert)
            for plan in plans
        ), asked
    assert accepted > 5
    assert refused > 5


@pytest.mark.parametrize("accelerator", ["h100-sxm-80gb", "a100-sxm-80gb", "b200", "l40s", "mi300x"])
def test_the_published_precision_is_tried(accelerator: str) -> None:
    """So whatever has room as published has room in a search."""
    engine, models = engine_of(CATALOG, "vllm"), 0
    for name in CATALOG.ids_of("model"):
        model, fleet = of(name, accelerator, 8)
        if model.transformer is None:
            continue
        models += 1
        plans = _plans_of(model.transformer, engine, fleet, PlanRequest())
        assert model.transformer.checkpoint in {plan.precision for plan in plans}, name
    assert models > 20


@pytest.mark.parametrize("name", ["gpt-oss-120b", "gpt-oss-20b"])
def test_a_search_serves_no_less_than_the_usual_plan(name: str) -> None:
    for gpus in (1, 2, 3):
        (model, fleet), engine = of(name, "h100-sxm-80gb", gpus), engine_of(CATALOG, "vllm")
        usual = serve_setup(CATALOG, model, engine, fleet, PlanRequest(), requests=REQUESTS)
        space = search(CATALOG, model, engine, fleet, PlanRequest(), requests=REQUESTS, targets=None)
        assert space.bests[0].output_tokens_s_gpu >= 0.99 * of_all(usual, usual.most(REQUESTS)) / gpus


def of_all(setup: ServeSetup, concurrency: float) -> float:
    """Return the output tokens a second of all copies [1/s]."""
    return float(setup.means(REQUESTS, concurrency).rate) * float(REQUESTS.output) * setup.copies


@pytest.mark.parametrize(("model", "gpus"), [("qwen3-235b-a22b", 24), ("llama3.1-8b", 6), ("mixtral-8x7b", 13)])
def test_plans_come_by_the_tokens_of_all_their_copies(model: str, gpus: int) -> None:
    (part, fleet), engine = of(model, "h100-sxm-80gb", gpus), engine_of(CATALOG, "vllm")
    asked = PlanRequest(precision="fp8", chunk=2048)
    bests = search(CATALOG, part, engine, fleet, asked, requests=REQUESTS, targets=None).bests
    tokens = list[float]()
    for best in bests:
        request = replace(asked, **{name: getattr(best.plan, name) for name in WAYS})
        tensor = best.plan.tensor
        setup = _with_tensor(CATALOG, part, engine, fleet, request, tensor)
        tokens.append(of_all(setup, best.concurrency))
        assert best.output_tokens_s_gpu == pytest.approx(tokens[-1] / gpus, rel=1e-6)
    assert tokens == sorted(tokens, reverse=True)
    assert len(tokens) > 5


@pytest.mark.parametrize("design", ["gb200-nvl72-16", "superpod-h100-4su"])
@pytest.mark.parametrize(("sizes", "paces"), [((4, 16), (3.0, 11.0)), ((8, 64), (5.0, 30.0)), ((1, 5), (1.0, 7.0))])
def test_pools_are_the_smallest_unit_of_those_that_serve_most(
    design: str, sizes: tuple[int, int], paces: tuple[float, float]
) -> None:
    """Every pair of counts placed on the design's domains."""
    fleet = fleet_of(api.load(design).resolved)
    one, other = (
        ServePlan(tensor=size, pipeline=1, expert=1, data=1, gpus=size, precision="fp8", kv="fp8", chunk=2048)
        for size in sizes
    )
    found = _copies_of((one, paces[0]), (other, paces[1]), fleet)
    assert found is not None
    rates = dict[tuple[int, int], float]()
    for prefills, decodes in product(range(1, 49), repeat=2):
        units = copies_that_fit(((sizes[0], prefills), (sizes[1], decodes)), fleet.ground)
        rates[prefills, decodes] = units * min(prefills * paces[0], decodes * paces[1])
    near = [pair for pair, rate in rates.items() if rate >= 0.99 * max(rates.values())]
    assert found.size == min(prefills * sizes[0] + decodes * sizes[1] for prefills, decodes in near)
    assert found.rate == pytest.approx(rates[found.prefill.copies, found.decode.copies])


def test_recommended_copies_are_those_that_serve_finds_on_the_design(tmp_path: Path) -> None:
    options = ("--model", "deepseek-v3", "--serve", "2000/s", "--tpot", "30ms", "--ttft", "3s", "-f", "json")
    for accelerator in ("gb200-gpu", "h100-sxm-80gb"):
        folder = tmp_path / accelerator
        run = ffplan("recommend", *options, "--accelerator", accelerator, "--folder", str(folder))
        assert run.code == 0, run.err
        best = json.loads(run.out)["designs"][0]
        assert best["pools"] is None
        fleet = fleet_of(api.load(best["file"]).resolved)
        size = best["plan"]["gpus"]
        domains = fleet.gpus // fleet.domain
        each = domains * (fleet.domain // size) if size <= fleet.domain else fleet.gpus // size
        found = json.loads(ffplan("serve", best["file"], "-f", "json").out)
        assert best["copies"] <= found["copies"] <= each + fleet.domain // size
        assert found["copies"] * size + found["idle"] == fleet.gpus
