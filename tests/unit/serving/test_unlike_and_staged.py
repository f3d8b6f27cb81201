"""Loads at the edges of the formulas: lone requests in a pipeline, unlike lengths, shared prefixes, uneven groups."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ffplan.serving.load import _tokens_a_step
from ffplan.serving.requests import Requests
from ffplan.serving.step import step_time
from ffplan.studies.serve.loads import Trace, traced_requests
from tests.support import ffplan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ffplan.serving.step import Served

ALONE = "serve --accelerator h100-sxm-80gb"


def rows(command: str) -> list[dict[str, Any]]:
    run = ffplan(f"{command} -f json")
    assert run.code == 0, run.err
    found: list[dict[str, Any]] = json.loads(run.out)["rows"]
    return found


@pytest.mark.parametrize("stages", [2, 4, 8])
@pytest.mark.parametrize("sequences", [1, 3, 8])
@pytest.mark.parametrize("context", [1.0, 60_250.0, 1e6])
def test_a_pass_of_a_pipeline_reads_a_whole_sequence(
    served: Callable[..., Served], stages: int, sequences: int, context: float
) -> None:
    """Fewer sequences than stages are alone in their passes: each reads what it would on one stage."""
    one, many = served(), served(pipeline=stages)
    few = min(sequences, stages)
    assert step_time(many, few, context).cache == pytest.approx(step_time(one, 1, context).cache)
    assert step_time(many, few, context).experts == pytest.approx(step_time(one, 1, context).experts)
    assert step_time(many, stages * sequences, context).cache == pytest.approx(step_time(one, sequences, context).cache)


def test_no_pipeline_shortens_a_lone_token() -> None:
    """3.05 ms of keys and values: 60,250 tokens of 131,072 bytes at 3.35 TB/s, of which the engine reaches 77 %."""
    load = f"{ALONE} --gpus 4 -m llama3-8b --tp 1 -c 1 --isl 60000 --osl 500"
    read = []
    for stages in (1, 2, 4):
        (row,) = rows(f"{load} --pp {stages}")
        read.append(next(part["seconds"] for part in row["parts"] if part["name"] == "cache"))
        assert row["tpot_s"]["p50"] == pytest.approx(row["tpot_s"]["mean"], rel=0.02)  # the run reads as much
    assert read == pytest.approx([read[0]] * 3)
    assert read[0] > 60_250 * 131_072 / 3.35e12


def test_a_tensor_group_inside_a_node_does_not_pay_for_the_network_of_its_experts() -> None:
    """Half of the calls stay on NVLink: 94 layers less one allreduce each, of 54 us over the network."""
    load = "serve superpod-h100-4su -m qwen3-235b-a22b --precision fp8 --tp 8 --dp 4 -c 64"
    times = []
    for option in ("", " --ep 32"):
        (row,) = rows(load + option)
        times.append(next(part["seconds"] for part in row["parts"] if part["name"] == "communication"))
    assert times[0] < 2e-3
    dispatched = times[1] - times[0] / 2  # the other half of the allreduces becomes dispatch and combine
    assert 94 * 2 * 40e-6 < dispatched < 94 * 2 * 60e-6


@pytest.mark.parametrize("chance", [0.9999, 1 - 1e-6, 1 - 1e-7, 1 - 1e-11, 1.0])
def test_a_draft_that_is_always_accepted_yields_all_of_it(chance: float) -> None:
    assert _tokens_a_step(3, chance) == pytest.approx(sum(chance**power for power in range(4)), rel=1e-5)


def test_a_prefix_that_all_share_takes_no_more_room_where_windows_keep_less_of_it() -> None:
    """Gemma 3 keeps 1,024 tokens in 52 of 62 layers: the longer the shared part, the more requests have room."""
    load = f"{ALONE} --gpus 1 -m gemma3-27b --tp 1 --precision fp8 --isl 60000 --osl 500 -c 1"
    most = [
        json.loads(ffplan(f"{load} --prefix-hit {hit} -f json").out)["saturation"]["concurrency"]
        for hit in ("0%", "50%", "80%")
    ]
    assert most == sorted(most)
    assert most[-1] > 3 * most[0]


def test_the_shared_prefix_is_in_use() -> None:
    """285,000 shared tokens fill most of the room; what waits for room leaves hardly any."""
    (row,) = rows(f"{ALONE} --gpus 1 -m llama3-8b --isl 300000 --osl 2000 --prefix-hit 95% --engine trtllm -c 16")
    assert row["kv"]["waiting"] > 1
    assert row["kv"]["used"] > 0.9


def test_more_requests_under_way_never_serve_fewer_where_groups_are_uneven() -> None:
    """Eleven requests in eight attention groups: three groups of two, five of one."""
    load = "serve --accelerator h200-sxm --gpus 8 -m deepseek-v3 --tp 1 --dp 8 --ep 8"
    found = rows(f"{load} -c 8,9,11,12,15,16,19,20,27,28")
    rates, times = [row["rate_s"] for row in found], [row["tpot_s"]["mean"] for row in found]
    assert all(np.diff(rates) > 0)
    assert all(np.diff(times) > -1e-9)


def test_answers_of_one_token_have_no_time_of_a_further_one() -> None:
    for command in (
        f"{ALONE} --gpus 1 -m llama3-8b --isl 512 -c 4",
        "compare superpod-h100-4su superpod-b200-4su --serve --model llama3-8b",
    ):
        run = ffplan(f"{command} --osl 1 --tpot 50ms")
        assert run.code == 2
        assert "--tpot: answers of one token have no further one; leave it out" in run.err
        assert ffplan(f"{command} --osl 1 --ttft 5s").code == 0


PROMPTS, ANSWERS = np.array([100.0, 200.0, 50_000.0, 1000.0, 300.0]), np.array([10.0, 4000.0, 20.0, 1000.0, 300.0])


def test_unlike_requests_have_room_by_the_time_that_they_stay() -> None:
    """Long prompts with short answers are seldom met: 2,145 tokens on average, where mean lengths give 10,853."""
    held = float((ANSWERS * (PROMPTS + ANSWERS / 2)).sum() / ANSWERS.sum())
    assert held == pytest.approx(2145, abs=1)
    requests = traced_requests(Trace(PROMPTS, ANSWERS), 0.0)
    assert requests.kept(whole=False) == pytest.approx(held)
    assert requests.kept(whole=True) == pytest.approx(held + float((ANSWERS**2).sum() / ANSWERS.sum()) / 2)
    alike = traced_requests(Trace(PROMPTS[:1], ANSWERS[:1]), 0.5)
    assert alike.kept(whole=False) == Requests(prompt=100, output=10, hit=0.5).kept(whole=False)


@pytest.fixture
def lengths(tmp_path: Path) -> str:
    file = tmp_path / "lengths.csv"
    pairs = zip(PROMPTS, ANSWERS, strict=True)
    file.write_text("isl,osl\n" + "".join(f"{prompt:.0f},{answer:.0f}\n" for prompt, answer in pairs))
    return str(file)


def test_a_rate_of_unlike_requests_is_refused_where_its_queue_grows(lengths: str) -> None:
    """The run serves 10 and 11 requests a second on eight GPUs, and not 14; no screen names two saturations."""
    load = f"{ALONE} --gpus 8 -m llama3-8b --tp 1 --lengths {lengths}"
    for rate in (10, 11):
        (row,) = rows(f"{load} --rate {rate}/s")
        assert row["rate_s"] == pytest.approx(rate)
    refused = ffplan(f"{load} --rate 14/s")
    assert refused.code == 1
    most = float(refused.err.split("at most ")[1].split()[0])
    assert 11 < most < 14
    report = json.loads(ffplan(f"{load} -f json").out)
    assert report["saturation"]["rate_s"] == pytest.approx(max(row["rate_s"] for row in report["rows"]), rel=0.03)
    assert not any(row["kv"]["waiting"] > 1 and row["kv"]["used"] < 0.5 for row in report["rows"])
