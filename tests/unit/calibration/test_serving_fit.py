"""The joint fit of serving engines: it finds constants that made times, and leaves what no row says to its prior."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ffplan.calibration.serving_fit import FRACTIONS, NAMES, PRIORS, Fit, _Observation, _observed, times
from ffplan.catalog.store import Catalog
from ffplan.inputs.document import read_document
from ffplan.inputs.validate import validate
from ffplan.serving.step import launch_seconds, prompt_seconds, step_time
from ffplan.validation.serving_cases import ServingFile
from ffplan.validation.serving_replay import _served_run, _static_batch, median_prompts, points_of
from tests import engines
from tests.support import ROOT

FOLDER = ROOT / "catalogs" / "measurements" / "serving"


def observations(name: str) -> list[_Observation]:
    return engines.observations([str(FOLDER / f"{name}.yaml")], Catalog())


@pytest.mark.parametrize("name", ["aiconfigurator-silicon", "trtllm-1-0", "dstack-405b", "trtllm-2026"])
def test_the_fit_computes_the_times_of_the_formulas(name: str) -> None:
    """Of dense models and experts, stages, attention groups and every load, with the shipped constants."""
    document = read_document(FOLDER / f"{name}.yaml")
    file = validate(ServingFile, document)
    for position, run in enumerate(file.runs):
        served = _served_run(run, Catalog(), document, ("runs", position))
        rates, point = served.served.rates, next(points_of(served))
        constants = {
            key: 1 / getattr(rates, key) if key in FRACTIONS else getattr(rates, key)
            for key in NAMES
            if not key.startswith("matrix")
        }
        constants |= dict.fromkeys(("matrix", "matrix_fp8", "matrix_fp4"), 1 / rates.matrix)
        seen = _observed(served, point, file.id)[0]
        table = {key: np.array([value]) for key, value in seen.terms.items()}
        group = point.load / run.data
        step = step_time(served.served, group, point.prompt + point.output / 2)
        prompts = seen.terms["share"] * prompt_seconds(served.served, point.prompt)
        launch = launch_seconds(served.served) / run.pipeline
        expected = float(step.total) + max(float(prompts), seen.terms["carried"] * float(launch - step.total))
        assert times(table, [constants[key] for key in NAMES])[0] == pytest.approx(expected, rel=0.002), run.id


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
    assert mean["share"] == pytest.approx(1.15)
    assert mean["carried"] == pytest.approx(1 + 0.15 * 0.9)
    median = first_token(columns=columns, points=point, statistic="median")
    assert (median["share"], median["carried"], median["steps"]) == (1, 1, 1)


def test_a_first_token_has_half_of_the_steps_between_looks() -> None:
    columns = ("concurrency", "poll", "ttft_ms", "tpot_ms")
    assert first_token(columns=columns, points=((4.0, 10.0, 317.0, 9.15),))["steps"] == 5.5
    # alone it finds the engine idle
    assert first_token(columns=columns, points=((1.0, 10.0, 317.0, 9.15),))["steps"] == 1


def test_steps_that_carry_prompts() -> None:
    seen = observations("aiconfigurator-silicon")[0]
    # three others of 922 tokens: each token meets 3 / 922 prompts
    assert seen.terms["share"] == pytest.approx(3 / 921.6)
    assert seen.terms["carried"] == pytest.approx(1 - np.exp(-3 / 921.6))
    chunked = [one for one in observations("dstack-405b") if one.case.endswith("-32784")]
    # a batch of four prompts of 32,784 tokens fills 16 chunks of 8,192, over 2,048 tokens
    assert chunked[0].terms["carried"] == pytest.approx(4 * 32784 / 8192 / 2048)
