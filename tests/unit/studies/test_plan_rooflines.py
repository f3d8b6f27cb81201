"""Rooflines of plans on four H100 SuperPOD units, against the scaling book's worked problems."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support import ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path


def critical(design: Path, *options: str) -> float:
    """Return the tokens of a GPU from which computing binds, as the book counts."""
    run = ffplan("train", str(design), *options, "-f", "json")
    return float(json.loads(run.out)["rows"][0]["rooflines"][0]["critical"])


@pytest.mark.parametrize(
    ("tensor", "pipeline", "tokens"),
    [
        (8, 1, 2472),  # ZeRO 3: 989e12 / 400e9, at the leaf
        (8, 4, 309),  # 32 x 12.8 TB/s / 256 at the leaf: 1.6 TB/s
        (8, 32, 77),  # 256 x 25.6 TB/s / 1024 at the spine: 6.4 TB/s
    ],
)
def test_sharded_reductions_run_at_the_rate_of_the_level_that_binds(
    tmp_path: Path, tensor: int, pipeline: int, tokens: float
) -> None:
    """Scaling book, chapter on GPUs, question 2: 8-way within nodes and 32-way between them leave 77 tokens a GPU."""
    design = vary_design(tmp_path, "superpod-h100-4su", ("count: 127", "count: 128"))
    sizes = ["--gpus", "1024", "--batch", "1536", "--tp", str(tensor), "--pp", str(pipeline)]
    sharded = ["--zero", "3"] if pipeline == 1 else []
    assert critical(design, "--model", "gpt3-175b", *sizes, *sharded) == pytest.approx(tokens, rel=0.005)


def rooflines(design: str, gpus: int) -> dict[str, float]:
    """Return the critical tokens of data parallelism on one node."""
    run = ffplan(f"train {design} --model megatron-1.7b --zero 0 --batch 64 --gpus {gpus} -f json")
    return {item["name"]: item["critical"] for item in json.loads(run.out)["rows"][0]["rooflines"]}


def test_a_switch_that_reduces_halves_the_tokens_of_data_parallelism() -> None:
    """Gradients of 4 bytes: C g / (4 W) with NVLS, 989e12 x 4 / (4 x 450e9) = 2,198; twice that without, on A100 with
    312e12 and 300 GB/s 2 x 312e12 x 4 / (4 x 300e9) = 2,080. The book's have gradients of 2 bytes and reduce in the
    switch: 1,099 and 520."""
    found = rooflines("superpod-h100-4su", 8)
    assert found["data"] == pytest.approx(989e12 * 2 / (4 * 450e9), rel=1e-3)
    assert found["data-here"] == pytest.approx(989e12 * 4 / (4 * 450e9), rel=1e-3)
    found = rooflines("dgx-a100-10k", 8)
    assert found["data"] == pytest.approx(312e12 * 2 / (4 * 300e9), rel=1e-3)
    assert found["data-here"] == pytest.approx(2 * 312e12 * 4 / (4 * 300e9), rel=1e-3)
