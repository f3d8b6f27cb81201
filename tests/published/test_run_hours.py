"""Accelerator-hours of published training runs, over those of the fastest plan here: what `effort` rests on.

Hours: model cards of LLaMA, Llama 2 and 3 (LLaMA: arXiv 2302.13971, Table 15), BLOOM (arXiv 2211.02001), DeepSeek-V3
(arXiv 2412.19437). LLaMA, OPT, BLOOM, Llama 3.1 405B and DeepSeek-V3 name their accelerators; of Llama 2 and Llama 3
70B the number is assumed, that of LLaMA and of the 16,384 that Meta's page on Llama 3 names. Left out is Llama 3 8B,
whose hours depend on that number by a factor of three.
"""

from __future__ import annotations

import statistics
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

import ffplan
from ffplan.catalog.ownership import Effort, OwnershipProfile
from ffplan.catalog.store import Catalog

if TYPE_CHECKING:
    from ffplan.results.run import RunReport

DESIGN = """
name: {name}
nodes: [{{role: compute, server: {server}, count: {nodes}}}]
fabric: {{family: fat-tree, switch: {switch}, link: {{endpoint: {link}, inter_switch: {link}}}, tiers: {tiers}}}
communication: {{libraries: [nccl], message_size: 1 GiB}}
site: {{pue: 1.1}}
cost: {{price_book: usd-2026}}
reliability: {{profile: reliability-2026}}
"""
A100 = {"server": "dgx-a100-640gb", "switch": "qm8700", "link": "hdr-aoc", "nodes": 256, "tiers": 3}
H100 = {"server": "hgx-h100-8nic", "switch": "qm9700", "link": "400g-aoc", "nodes": 2048, "tiers": 3}
TYPICAL: dict[str, tuple[Any, float, int, float]] = {  # model: machine, tokens, batch, hours
    "llama-7b": (A100, 1.0e12, 2048, 82_432),
    "llama-13b": (A100, 1.0e12, 2048, 135_168),
    "llama-33b": (A100, 1.4e12, 2048, 530_432),
    "llama-65b": (A100, 1.4e12, 2048, 1_022_362),
    "llama2-7b": (A100, 2.0e12, 1024, 184_320),
    "llama2-13b": (A100, 2.0e12, 1024, 368_640),
    "llama2-70b": (A100, 2.0e12, 1024, 1_720_320),
    "llama3-70b": (H100, 15.0e12, 2048, 6.4e6),
    "llama3.1-405b": (H100, 15.6e12, 2048, 30.84e6),
}
FIRST: dict[str, tuple[Any, float, int, float]] = {  # GPT-3 has the shape of OPT 175B
    "bloom-176b": (A100 | {"nodes": 48, "tiers": 2}, 366e9, 2048, 1_082_880),
    "gpt3-175b": (A100 | {"nodes": 124}, 180e9, 1024, 809_472),
}
DEEPSEEK = 54.2 / 53.7
"""Days over those of `test_deepseek_v3_on_its_own_cluster`, with its own fabric, precision and schedule."""


@cache
def run_of(model: str, effort: Effort) -> RunReport:
    machine, tokens, batch, _ = (TYPICAL | FIRST)[model]
    design = ffplan.load(DESIGN.format(name=model, **machine))
    gpus = 8 * int(str(machine["nodes"]))
    run = ffplan.costs(design, model, tokens, batch=batch, gpus=gpus, effort=effort).run
    assert run is not None
    return run


def ratios(runs: dict[str, tuple[Any, float, int, float]]) -> list[float]:
    return [hours / run_of(model, "tuned").accelerator_hours.likely for model, (*_, hours) in runs.items()]


@pytest.mark.deep
def test_effort_is_what_published_runs_took() -> None:
    """Median and range of ten runs by experienced teams; two first runs took twice the time of their fastest plan."""
    profile = Catalog().entry("owned-2026").part
    assert isinstance(profile, OwnershipProfile)
    effort = profile.effort
    typical, first = sorted([*ratios(TYPICAL), DEEPSEEK]), ratios(FIRST)
    found = effort["typical"]
    assert float(found.value) == pytest.approx(statistics.median(typical), rel=0.01)
    assert [float(end) for end in found.range] == pytest.approx([typical[0], typical[-1]], rel=0.01)
    found = effort["first-run"]
    assert float(found.value) == pytest.approx(statistics.geometric_mean(first), rel=0.01)
    assert [float(end) for end in found.range] == pytest.approx(sorted(first), rel=0.01)


@pytest.mark.deep
def test_ten_to_ninety_percent_hold_most_published_runs() -> None:
    held = [
        band.p10 <= hours <= band.p90
        for model, (*_, hours) in TYPICAL.items()
        for band in (run_of(model, "typical").accelerator_hours,)
    ]
    assert 0.75 <= sum(held) / len(held) <= 0.9
