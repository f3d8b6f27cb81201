"""Published serving rates beside the model, with the shipped constants."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

import pytest

from ffplan.catalog.engines import Engine
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.serving.requests import Requests
from ffplan.studies.serve.money import token_price
from ffplan.validation.replay import case_files, replay_files

if TYPE_CHECKING:
    from ffplan.results.accuracy import AccuracyReport


@cache
def report() -> AccuracyReport:
    return replay_files("serving", case_files("serving"), Catalog())


def errors(unit: str, *, apart: bool) -> list[float]:
    """Return the errors of a quantity, of runs with prefill and decoding apart or together."""
    return [
        abs(row.error)
        for row in report().rows
        if row.unit == unit and row.scored and row.source.endswith("-pools") == apart
    ]


@pytest.mark.parametrize(
    ("unit", "most"), [("tpot_ms", 0.065), ("ttft_ms", 0.25), ("e2e_s", 0.075), ("tokens_s", 0.09)]
)
def test_median_errors_of_published_runs(unit: str, most: float) -> None:
    found = errors(unit, apart=False)
    assert len(found) > 200
    assert median(found) < most


@pytest.mark.parametrize(("unit", "most"), [("tpot_ms", 0.085), ("ttft_ms", 0.5), ("e2e_s", 0.11)])
def test_median_errors_of_runs_with_prefill_apart(unit: str, most: float) -> None:
    found = errors(unit, apart=True)
    assert len(found) > 250
    assert median(found) < most


def test_every_published_row_without_speculation_is_modelled() -> None:
    assert len(report().rows) > 1_500
    assert all(row.model > 0 for row in report().rows)


@pytest.mark.parametrize("name", Catalog().ids_of("engine"))
def test_fewer_bits_make_no_gemm_slower(name: str) -> None:
    """Rates of GEMMs at the catalogue's peaks: a search over precisions must not choose more bits for their speed."""
    catalog = Catalog()
    engine = catalog.entry(name).part
    assert isinstance(engine, Engine)
    for key, rates in engine.rates.items():
        part = catalog.entry("h100-sxm-80gb" if key == "any" else key).part
        assert isinstance(part, Accelerator)
        peaks = {str(precision): rate.value for precision, rate in part.peak.items()}
        fractions = {"bf16": rates.matrix.value, "fp8": rates.matrix_fp8.value, "fp4": rates.matrix_fp4.value}
        speeds = [peaks[bits] * fraction for bits, fraction in fractions.items() if bits in peaks]
        assert all(fewer > 0.99 * more for more, fewer in pairwise(speeds)), key


def test_deepseek_s_day_adds_up() -> None:
    # 608 and 168 billion tokens a day at the rates of a node: 95.5 and 131.4 nodes, the stated mean of 226.75
    prefill, decode = 608e9 / 86_400 / 73_700, 168e9 / 86_400 / 14_800
    assert (round(prefill, 1), round(decode, 1)) == (95.5, 131.4)
    assert prefill + decode == pytest.approx(226.75, rel=0.001)
    # 2 dollars a GPU-hour over 168 billion output tokens: 0.518 a million
    assert pytest.approx(0.518, abs=0.0005) == 226.75 * 8 * 24 * 2 / 168e3


def test_tokens_by_api_cost_what_deepseek_counts() -> None:
    # 342 billion cached, 266 billion computed and 168 billion output tokens: 562,027 dollars a day
    day = Requests(prompt=608.0, output=168.0, hit=342 / 608)
    price = token_price(Catalog(), "deepseek-r1", day)
    assert price is not None
    assert (price.provider, price.date, price.currency) == ("DeepSeek", "2025-03-01", "USD")
    assert price.per_million_output_all * 168e3 == pytest.approx(562_027, rel=5e-4)
    assert token_price(Catalog(), "llama3.1-8b", day) is None
