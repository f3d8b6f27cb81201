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
