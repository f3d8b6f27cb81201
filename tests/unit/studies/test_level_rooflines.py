"""`design --rooflines`: the level table of the scaling book for any design."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path


def levels(design: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ffplan("design", design, "--rooflines", "-f", "json").out)["levels"]
    return found


def test_the_superpod_of_the_book(tmp_path: Path) -> None:
    """1,024 H100: 3.6, 12.8, 25.6 TB/s; 450, 50, 25 GB/s each; 1,098 and 1,236 tokens at 989 TFLOP/s."""
    rows = levels(str(vary_design(tmp_path, "superpod-h100-4su", ("count: 127", "count: 128"))))
    assert [row["level"] for row in rows] == ["node", "leaf", "spine"]
    assert [row["accelerators"] for row in rows] == [8, 256, 1024]
    assert [row["gbyte_s"] for row in rows] == pytest.approx([3600, 12_800, 25_600])
    assert [row["gbyte_s_each"] for row in rows] == pytest.approx([450, 50, 25])
    assert [row["allreduce_gbyte_s"] for row in rows] == pytest.approx([450, 400, 400])
    assert [row["data_tokens"] for row in rows] == pytest.approx([1098, 1236, 1236], rel=2e-3)
    assert rows[-1]["sharded_tokens"] == pytest.approx(2472, rel=2e-3)


@pytest.mark.parametrize("design", ["fire-flyer-2", "gb200-nvl72-16", "l40s-8-roce", "dragonfly-a100", "tpu-v6e-pod"])
def test_outer_levels_never_ask_for_a_smaller_batch(design: str) -> None:
    rows = levels(design)
    assert [row["accelerators"] for row in rows] == sorted(row["accelerators"] for row in rows)
    for inner, outer in pairwise(rows):
        assert outer["allreduce_gbyte_s"] <= inner["allreduce_gbyte_s"]
        assert outer["data_tokens"] >= inner["data_tokens"]
    assert all(row["sharded_tokens"] == pytest.approx(2 * row["data_tokens"]) for row in rows)


def test_the_table_stands_only_where_it_is_asked_for() -> None:
    assert "TB/s  GB/s each" not in ffplan("design superpod-h100-4su").out
    assert "TB/s  GB/s each" in ffplan("design superpod-h100-4su --rooflines").out
