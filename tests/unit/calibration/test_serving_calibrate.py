"""Calibration of a serving engine: what made the times is found, few rows stay at the prior, others are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.calibration.serving_calibrate import _ServingResult, calibrate_serving
from ffplan.calibration.serving_fit import NAMES
from ffplan.calibration.serving_release import _release_rates, _with_constants
from ffplan.calibration.serving_runs import ServingRequest, _MeasuredSetup, _setup_of, _stated_run, model_id
from ffplan.catalog.engines import Engine
from ffplan.catalog.store import Catalog
from ffplan.results.serving_runs import BenchmarkRun
from ffplan.validation.serving_replay import modelled, points_of

if TYPE_CHECKING:
    from pathlib import Path

REQUEST = ServingRequest(engine="vllm-2026", accelerator="h100-sxm-80gb")
TODAY = "2026-11-27"
FACTORS = {"weights": 0.94, "cache": 1.08, "layer": 1.25, "sequence": 0.8, "matrix": 1.1, "first": 1.2}
"""What the made-up setup's constants are, as parts of the release's."""


def run_of(line: int, tensor: int, concurrency: float, prompt: float, output: float) -> BenchmarkRun:
    return BenchmarkRun(
        "runs.jsonl",
        line,
        "vllm bench serve",
        model="Qwen/Qwen3-32B",
        precision="bf16",
        tensor=tensor,
        prompt=prompt,
        output=output,
        shortest=0.8,
        load="closed",
        concurrency=concurrency,
        ttft_ms=1.0,
        tpot_ms=1.0,
    )


def timed(run: BenchmarkRun, engine: Engine, catalog: Catalog) -> BenchmarkRun:
    """Return a run with the times that an engine's constants make of it."""
    setup = _setup_of(catalog, [run], REQUEST)
    served = _stated_run(catalog, run, REQUEST).served(
        _MeasuredSetup(engine, setup.accelerator, setup.library),
        "closed",
        {"concurrency": run.concurrency or 0.0, "tpot_ms": 1.0},
    )
    values = modelled(served, next(points_of(served)))
    return replace(run, ttft_ms=values["ttft_ms"], tpot_ms=values["tpot_ms"])


@pytest.fixture(scope="module")
def release() -> Engine:
    part = Catalog().entry("vllm-2026").part
    assert isinstance(part, Engine)
    return part


def truth(engine: Engine, factors: dict[str, float]) -> Engine:
    rates = _release_rates(engine, "h100-sxm-80gb")
    return _with_constants(
        engine, "h100-sxm-80gb", {name: getattr(rates, name).value * factor for name, factor in factors.items()}
    )


def made(engine: Engine, loads: tuple[tuple[int, float, float, float], ...]) -> list[BenchmarkRun]:
    catalog = Catalog()
    return [timed(run_of(line, *load), engine, catalog) for line, load in enumerate(loads, 1)]


LOADS = tuple(
    (tensor, concurrency, prompt, output)
    for tensor in (2, 4, 8)
    for concurrency in (1.0, 4.0, 8.0, 32.0, 96.0)
    for prompt, output in ((256.0, 512.0), (4096.0, 512.0))
)


def test_constants_that_made_the_runs_are_found_again(release: Engine) -> None:
    engine = truth(release, FACTORS)
    result = calibrate_serving(Catalog(), made(engine, LOADS), REQUEST, TODAY)
    errors = {row.measure: row for row in result.report.errors}
    assert errors["tpot"].before > 0.05
    assert errors["tpot"].after < 0.015
    assert errors["tpot"].left_out is not None
    assert errors["tpot"].left_out < 0.03
    assert errors["ttft"].after < 0.5 * errors["ttft"].before
    wanted = _release_rates(engine, "h100-sxm-80gb")
    found = {row.name: row.after / getattr(wanted, row.name).value for row in result.report.constants}
    for name in FACTORS:
        assert found[name] == pytest.approx(1, abs=0.1), name
    # dense models in 16 bit tell nothing of these
    assert {"experts", "matrix_fp8", "matrix_fp4", "expert_layer", "latent_layer"} <= set(result.report.kept)


def test_runs_that_the_release_made_move_nothing(release: Engine) -> None:
    result = calibrate_serving(Catalog(), made(release, LOADS[:10]), REQUEST, TODAY)
    for row in result.report.constants:
        assert row.after == pytest.approx(row.before, rel=0.02), row.name


def test_one_run_leaves_the_constants_near_the_prior(release: Engine) -> None:
    """A quarter more time in one run is explained in part; twice the time is taken for a slip."""
    run = made(release, ((4, 16.0, 1024.0, 512.0),))[0]
    slower = [replace(run, tpot_ms=factor * (run.tpot_ms or 0.0)) for factor in (1.25, 2.0)]
    some = calibrate_serving(Catalog(), slower[:1], REQUEST, TODAY)
    moves = {row.name: abs(row.after / (row.before or 1.0) - 1) for row in some.report.constants}
    assert moves
    assert max(moves.values()) < 0.3
    assert some.report.errors[0].before == pytest.approx(0.2)
    assert 0.1 < some.report.errors[0].after < 0.18
    assert some.report.errors[0].left_out is None
    result = calibrate_serving(Catalog(), slower[1:], REQUEST, TODAY)
    assert not result.report.constants
    assert any("tpot is missed" in doubt for doubt in result.doubts)


@pytest.mark.parametrize("copies", [3, 12])
def test_one_run_over_and_over_tells_what_one_tells(copies: int, release: Engine) -> None:
    """Its error is the setting's, not an average's: copies neither move further nor determine more."""
    run = made(release, ((4, 16.0, 1024.0, 512.0),))[0]
    slow = replace(run, tpot_ms=1.25 * (run.tpot_ms or 0.0))
    once, often = (
        calibrate_serving(Catalog(), [replace(slow, line=line) for line in range(1, count + 1)], REQUEST, TODAY).report
        for count in (1, copies)
    )
    assert often.rows == copies
    assert {row.name: row.after for row in often.constants} == pytest.approx(
        {row.name: row.after for row in once.constants}
    )


def test_one_setting_counts_by_the_mean_of_its_runs(release: Engine) -> None:
    run = made(release, ((4, 16.0, 1024.0, 512.0),))[0]
    one, *two = (replace(run, tpot_ms=factor * (run.tpot_ms or 0.0)) for factor in (1.2, 1.44, 1.0))
    mean, pair = (calibrate_serving(Catalog(), runs, REQUEST, TODAY).report for runs in ([one], two))
    assert {row.name: row.after for row in pair.constants} == pytest.approx(
        {row.name: row.after for row in mean.constants}
    )


def test_the_overlay_is_read_again_and_a_second_fit_starts_from_the_release(release: Engine, tmp_path: Path) -> None:
    runs = made(truth(release, FACTORS), LOADS[:12])
    first = calibrate_serving(Catalog(), runs, REQUEST, TODAY)
    (tmp_path / "vllm-2026.yaml").write_text(first.overlay)
    own = Catalog((str(tmp_path),))
    part = own.entry("vllm-2026").part
    assert isinstance(part, Engine)
    rates = part.rates["h100-sxm-80gb"]
    for row in first.report.constants:
        assert getattr(rates, row.name).value == pytest.approx(row.after, rel=1e-3)
        assert getattr(rates, row.name).source == "measured-h100-sxm-80gb"
    for name in first.report.kept:
        assert getattr(rates, name).source == "calibration"
    assert rates.runs == release.rates["h100-sxm-80gb"].runs + first.report.rows
    assert part.sources["measured-h100-sxm-80gb"].date == TODAY
    assert {name: part.rates[name] for name in part.rates if name != "h100-sxm-80gb"} == {
        name: release.rates[name] for name in release.rates if name != "h100-sxm-80gb"
    }
    again = calibrate_serving(own, runs, REQUEST, TODAY)
    assert again.overlay == first.overlay


def test_an_accelerator_without_runs_starts_from_any(release: Engine) -> None:
    runs = made(release, LOADS[:4])
    request = replace(REQUEST, accelerator="h100-pcie")
    result = calibrate_serving(Catalog(), runs, request, TODAY)
    assert result.report.prior == "any"
    assert "  h100-pcie:\n    weights: " in result.overlay
    assert all(name in result.overlay.split("  h100-pcie:\n")[1] for name in NAMES)


def refusals(result: _ServingResult) -> dict[int, str]:
    return {row.line: row.reason for row in result.report.refused}


def test_runs_that_cannot_be_fitted_are_left_out_with_reasons(release: Engine) -> None:
    good = made(release, ((4, 16.0, 1024.0, 512.0),))[0]
    open_run = replace(good, load="open", concurrency=None, seconds=100.0)
    runs = [
        good,
        replace(good, line=2, refused="12 of 200 requests failed"),
        replace(good, line=3, concurrency=100000.0),
        replace(open_run, line=4, rate=8.0, requests=800.0, requests_s=3.0),
        replace(open_run, line=5, rate=1.0, requests=100.0, requests_s=0.92),
        replace(good, line=6, requests=20.0),
        replace(good, line=7, tpot_ms=None),
        replace(good, line=8, load="queued", concurrency=None),
        replace(good, line=9, tensor=1, prompt=900000.0),
        replace(good, line=10, ttft_ms=None, tpot_ms=None),
    ]
    result = calibrate_serving(Catalog(), runs, REQUEST, TODAY)
    reasons = refusals(result)
    assert result.report.rows == 2  # the first, and the one whose requests arrive and leave at the same rate
    assert reasons[2] == "12 of 200 requests failed"
    assert reasons[3].startswith("above saturation: 100,000 requests under way")
    assert "8 requests/s arrived and 3 completed" in reasons[4]
    assert "20 requests in all at 16 under way" in reasons[6]
    assert "first tokens wait for each other" in reasons[7]
    assert "no output tokens per second" in reasons[8]
    assert "has no room on 1 x h100-sxm-80gb" in reasons[9]
    assert "neither a time to the first token" in reasons[10]
    with pytest.raises(InputError, match="no run is left to fit"):
        calibrate_serving(Catalog(), runs[1:2], REQUEST, TODAY)


def test_all_sent_at_once_is_a_batch_or_a_full_engine(release: Engine) -> None:
    """Fewer requests than have room are one batch; many keep the engine full; between the two nothing is steady."""
    good = made(release, ((8, 16.0, 1024.0, 512.0),))[0]
    queued = replace(good, load="queued", concurrency=None, tokens_s=2000.0)
    few = calibrate_serving(Catalog(), [replace(queued, requests=16.0)], REQUEST, TODAY)
    many = calibrate_serving(Catalog(), [replace(queued, requests=20000.0)], REQUEST, TODAY)
    assert [row.measure for row in few.report.errors] == ["tokens_s"]
    assert few.report.errors[0].before != pytest.approx(many.report.errors[0].before, rel=0.1)
    with pytest.raises(InputError, match="too short"):
        calibrate_serving(Catalog(), [replace(queued, requests=1100.0)], REQUEST, TODAY)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("meta-llama/Llama-3.1-70B-Instruct", "llama3.1-70b"),
        ("meta-llama/Meta-Llama-3-8B", "llama3-8b"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-r1"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek-v3.1"),
        ("nvidia/DeepSeek-R1-FP4", "deepseek-r1"),
        ("Qwen/Qwen3-235B-A22B-FP8", "qwen3-235b-a22b"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"),
        ("openai/gpt-oss-120b", "gpt-oss-120b"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", None),
        ("deepseek-ai/DeepSeek-V3.3", None),
        ("chat", None),
    ],
)
def test_models_by_the_names_of_servers(name: str, expected: str | None) -> None:
    assert model_id(name, Catalog().ids_of("model")) == expected


def test_files_alone_may_say_everything() -> None:
    run = replace(run_of(1, 8, 16.0, 1024.0, 512.0), accelerator="h200", software="vllm", version="0.12.0")
    setup = _setup_of(Catalog(), [run], ServingRequest())
    assert (setup.accelerator.id, setup.engine.id) == ("h200-sxm", "vllm-2026")
    with pytest.raises(InputError, match="a release of sglang"):
        _setup_of(Catalog(), [run], ServingRequest(engine="sglang-2026"))
    with pytest.raises(InputError, match="and --isl says 2048"):
        _stated_run(Catalog(), run, ServingRequest(prompt=2048))
    assert _stated_run(Catalog(), run, ServingRequest(prompt=1000)).prompt == 1024.0
