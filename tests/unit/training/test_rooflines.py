"""Rooflines of the scaling book, for the H100 with 989 TFLOP/s and the B200."""

from __future__ import annotations

import numpy as np
import pytest

from ffplan.collectives.switch_hierarchy import sharded_speedup
from ffplan.training.rooflines import (
    data_parallel_tokens,
    expert_parallel_tokens,
    scattered_tokens,
    sharded_tokens,
    tensor_parallel_ways,
)

H100 = 989e12


def test_batches_of_data_parallelism() -> None:
    assert data_parallel_tokens(H100, 450) == pytest.approx(1098, abs=1)
    assert data_parallel_tokens(H100, 400) == pytest.approx(1236, abs=1)
    assert sharded_tokens(H100, 400) == pytest.approx(2472, abs=1)


def test_batches_of_larger_gradients_and_rings() -> None:
    """4 bytes twice over 400 GB/s beside 4 operations: 2 C / W; gathers of 2 with scatters of 4: 6 / 4 C / W."""
    assert data_parallel_tokens(H100, 400, 4.0, in_network=False) == pytest.approx(2 * H100 / 400e9)
    assert sharded_tokens(H100, 400, 4.0) == pytest.approx(1.5 * H100 / 400e9)
    assert sharded_tokens(H100, 400, 4.0, 4.0) == pytest.approx(2 * H100 / 400e9)


def test_bytes_may_be_arrays() -> None:
    each = np.array([2.0, 4.0])
    assert sharded_tokens(H100, 400, each) == pytest.approx([sharded_tokens(H100, 400, g) for g in (2.0, 4.0)])
    assert scattered_tokens(H100, 400, each, 2.0) == pytest.approx(
        [scattered_tokens(H100, 400, g, 2.0) for g in (2.0, 4.0)]
    )


def test_batches_of_shared_optimiser_states() -> None:
    """Scattered gradients of 4 bytes beside 4 operations, gathered parameters of 2 beside 2: C / W both."""
    assert scattered_tokens(H100, 400, 4.0) == pytest.approx(H100 / 400e9)
    assert scattered_tokens(H100, 400, 2.0) == pytest.approx(0.5 * H100 / 400e9)
    assert scattered_tokens(H100, 400, 2.0, 2.0) == pytest.approx(H100 / 400e9)


def test_tensor_parallelism() -> None:
    """F = 16,384 leaves 9 ways with the divisor that the book prints, which needs 898 in place of 989 TFLOP/s."""
    assert 16384 / tensor_parallel_ways(16384, 898e12, 450, 8) == pytest.approx(1746, abs=1)
    assert tensor_parallel_ways(16384, 898e12, 450, 8) == pytest.approx(9.4, abs=0.05)
    assert tensor_parallel_ways(16384, H100, 450, 8) == pytest.approx(8.5, abs=0.05)


def test_deepseek_v3_on_its_roofline() -> None:
    """256 experts, 8 of them a token, 64-way over 8 nodes: 4,944 a GPU, 10 M on 2,048; it trained with 63 M."""
    each = expert_parallel_tokens(256, 8, H100, 400, sharded_speedup(64, 8))
    assert each == pytest.approx(4944, abs=3)
    assert each * 2048 == pytest.approx(10.1e6, rel=5e-3)
    assert each * 2048 < 4096 * 15360


def test_b200_halves_them() -> None:
    """2,250 TFLOP/s over 900 GB/s: the book rounds 1,250 to half of 1,098, as if compute were the same."""
    assert data_parallel_tokens(H100, 900) == pytest.approx(549, abs=1)
    assert data_parallel_tokens(2250e12, 900) == pytest.approx(1250)
    assert np.asarray(data_parallel_tokens(H100, np.array([450, 900]))).tolist() == pytest.approx(
        [1098.9, 549.4], abs=0.1
    )
