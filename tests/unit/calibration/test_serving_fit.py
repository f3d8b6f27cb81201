"""The joint fit of serving engines: it finds constants that made times, and leaves what no row says to its prior."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ffplan.calibration.serving_fit import NAMES, PRIORS, Fit, _Observation, _observed, predicted
from ffplan.catalog.store import Catalog
from ffplan.inputs.document import read_document
from ffplan.inputs.validate import validate
from ffplan.serving.load import _Loop, closed_loop, middle_step
from ffplan.serving.requests import Requests
from ffplan.validation.serving_cases import ServingFile
from ffplan.validation.serving_replay import (
    ServedPoint,
    ServedRun,
    _row,
    _served_run,
    _static_batch,
    median_prompts,
    modelled,
    points_of,
)
from tests import engines
from tests.support import ROOT

FOLDER = ROOT / "catalogs" / "measurements" / "serving"


def observations(name: str) -> list[_Observation]:
    return engines.observations([str(FOLDER / f"{name}.yaml")], Catalog())


def timed(served: ServedRun, one: _Observation) -> float:
    """Return the time that the fit computes for an observation with the shipped constants [s]."""
    rates = served.served.rates
    constants = {name: float(getattr(rates, "matrix" if name.startswith("matrix") else name)) for name in NAMES}
    return float(predicted([one], [constants])[0])


def formula(served: ServedRun, point: ServedPoint) -> float:
    """Return the time of a token by the formulas of loads [s]."""
    if served.run.load == "static":
        return _static_batch(served.served, served.chunk, point) / point.output
    if "batch" in served.run.columns:
        return modelled(served, point)["itl_ms"] / 1e3
    loop, group = loop_of(served, point), point.load / served.run.data
    step = middle_step(served.served, loop.requests, group).total
    others = group - 1 if served.run.load == "closed" else group
    return float(step + loop.added(others / point.output, step))


def loop_of(served: ServedRun, point: ServedPoint) -> _Loop:
    requests = Requests(prompt=point.prompt, output=point.output, chunk=served.chunk)
    return _Loop(served=served.served, requests=requests, seen=1.0, others=0.0, variation=0.0, residual=0.0)


FILES = ("aiconfigurator-silicon", "inferencex-latest", "ml-energy-v3", "trtllm-1-0", "dstack-405b", "trtllm-2026")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("stages", [None, 2])
def test_the_fit_computes_the_times_of_the_formulas(name: str, stages: int | None) -> None:
    """Of dense models and experts, stages, attention groups, mixed steps or not, and every load."""
    document = read_document(FOLDER / f"{name}.yaml")
    for position, run in enumerate(validate(ServingFile, document).runs):
        plan = run if stages is None or run.prefill is not None else run.model_copy(update={"pipeline": stages})
        served = _served_run(plan, Catalog(), document, ("runs", position))
        point = next(points_of(served))
        assert timed(served, _observed(served, point, name)[0]) == pytest.approx(formula(served, point), rel=2e-3), (
            run.id
        )
        if "ttft_ms" in run.columns:
            alone, loop = replace(point, load=float(run.data)), loop_of(served, point)
            service = loop.service(middle_step(served.served, loop.requests, 1.0).total)
            first = next(one for one in _observed(served, alone, name) if one.terms["first"])
            assert timed(served, first) == pytest.approx(served.served.rates.first + service, rel=2e-3), run.id


@pytest.mark.parametrize("mixed", [True, False])
def test_the_fit_is_near_the_mean_of_a_load(*, mixed: bool) -> None:
    ratios = []
    for name in ("aiconfigurator-silicon", "inferencex-latest", "inferencex-history"):
        document = read_document(FOLDER / f"{name}.yaml")
        for position, run in enumerate(validate(ServingFile, document).runs):
            served = _served_run(run, Catalog(), document, ("runs", position))
            for point in points_of(served):
                if served.served.mixed is mixed and point.load / run.data > 64:
                    requests = Requests(prompt=point.prompt, output=point.output, chunk=served.chunk)
                    mean = closed_loop(served.served, requests, point.load, 1e4).tpot
                    ratios.append(timed(served, _observed(served, point, name)[0]) / float(mean))
    assert len(ratios) > 10
    assert np.median(ratios) == pytest.approx(1, abs=0.02)


def test_constants_that_made_the_times_are_found_again() -> None:
    seen = observations("aiconfigurator-silicon")
    truth = Fit(seen)
    made = [replace(one, seconds=float(time)) for one, time in zip(seen, truth.predicted(seen), strict=True)]
    again = Fit(made).predicted(made)
    errors = np.abs(again / [one.seconds for one in made] - 1)
    # first tokens have few rows, and lean on their priors
    assert np.median(errors) < 0.01
    assert errors.max() < 0.15


def test_the_fit_is_near_what_was_measured() -> None:
    seen = [one for one in observations("aiconfigurator-silicon") if not one.terms["first"]]
    errors = np.abs(Fit(seen).predicted(seen) / [one.seconds for one in seen] - 1)
    assert np.median(errors) < 0.05


def test_an_unknown_group_has_the_base_values() -> None:
    fit = Fit(observations("trtllm-0-9"))
    base = fit.constants((None, None, None, None))
    assert fit.constants(("x", "x", "x", "x")) == base
    assert set(base) == set(NAMES)
    # no row of that file has experts, nor latent attention: the prior stays
    assert base["expert_layer"] == pytest.approx(PRIORS["expert_layer"][0])
    assert base["latent_layer"] == pytest.approx(PRIORS["latent_layer"][0])


def test_prompts_of_the_median_step() -> None:
    assert [median_prompts(rate) for rate in (0.5, 0.7, 1.7, 10.0)] == [0, 1, 2, 10]


def test_a_static_batch_is_its_prompts_and_its_steps() -> None:
    document = read_document(FOLDER / "trtllm-0-9.yaml")
    file = validate(ServingFile, document)
    served = _served_run(file.runs[0], Catalog(), document, ("runs", 0))
    points = list(points_of(served))
    whole = _static_batch(served.served, 8192.0, points[0])
    longer = _static_batch(served.served, 8192.0, replace(points[0], output=2 * points[0].output))
    assert whole < longer < 2.2 * whole


def first_token(**changes: Any) -> dict[str, float]:
    """Return the terms of a first token of a run of four requests on one group."""
    document = read_document(FOLDER / "aiconfigurator-silicon.yaml")
    run = validate(ServingFile, document).runs[0].model_copy(update=changes)
    served = _served_run(run, Catalog(), document, ("runs", 0))
    return next(one.terms for one in _observed(served, next(points_of(served)), "x") if one.terms["first"])


def test_a_mean_first_token_has_the_wait_of_the_first_requests() -> None:
    # one in ten waits for 1.5 others on average, of which a chunk of 8,192 tokens holds 1.11
    columns, point = ("concurrency", "ttft_ms", "tpot_ms"), ((4.0, 317.0, 9.15),)
    mean = first_token(columns=columns, points=point)
    assert mean["prompts"] == pytest.approx(1.15)
    assert mean["launches"] == mean["alone"] == pytest.approx(1 + 0.15 * 0.9)
    median = first_token(columns=columns, points=point, statistic="median")
    assert (median["prompts"], median["launches"], median["alone"], median["steps"]) == (1, 1, 1, 0)
    # an engine that mixes both: a step of those that decode
    mixed = first_token(columns=columns, points=point, statistic="median", engine="vllm-2026")
    assert (mixed["launches"], mixed["alone"], mixed["steps"]) == (1, 0, 1)
    # its own prompt passes both stages; of others a stage has half
    piped = first_token(columns=columns, points=point, pipeline=2)
    assert piped["prompts"] == pytest.approx(1.075)
    assert piped["launches"] == pytest.approx(1 + 0.075 * 0.9)


def test_a_first_token_has_half_of_the_steps_between_looks() -> None:
    columns = ("concurrency", "poll", "ttft_ms", "tpot_ms")
    assert first_token(columns=columns, points=((4.0, 10.0, 317.0, 9.15),))["steps"] == 4.5
    # alone it finds the engine idle
    assert first_token(columns=columns, points=((1.0, 10.0, 317.0, 9.15),))["steps"] == 0


@pytest.mark.parametrize("name", ["aiconfigurator-silicon", "inferencex-history", "inferencex-latest"])
def test_settings_that_no_source_states_are_not_called_seen(name: str) -> None:
    document = read_document(FOLDER / f"{name}.yaml")
    file = validate(ServingFile, document)
    for position, run in enumerate(file.runs):
        served = _served_run(run, Catalog(), document, ("runs", position))
        settings = {
            "poll": "poll" in run.columns,
            "chunk": run.chunk,
            "cache": run.cache == "fp8" and "cache" in run.open,
        }
        for setting in (key for key, value in settings.items() if value):
            assert setting in run.open, run.id
            assert file.assumed[setting].status in ("D", "R"), run.id
        if settings["poll"]:
            values = modelled(served, point := next(points_of(served)))
            assert _row(file, served, point, "ttft_ms", values["ttft_ms"]).kind == "assumed"


def test_steps_that_carry_prompts() -> None:
    seen = observations("aiconfigurator-silicon")[0]
    # three others of 922 tokens: each token meets 3 / 922 prompts
    assert seen.terms["prompts"] == pytest.approx(3 / 921.6)
    assert seen.terms["launches"] == seen.terms["alone"] == pytest.approx(1 - np.exp(-3 / 921.6))
    chunked = [one for one in observations("dstack-405b") if one.case.endswith("-32784")]
    # a batch of four prompts of 32,784 tokens fills 16 chunks of 8,192, over 2,048 tokens
    assert chunked[0].terms["launches"] == pytest.approx(4 * 32784 / 8192 / 2048)
