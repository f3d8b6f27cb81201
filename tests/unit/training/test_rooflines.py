"""Rooflines of training, and rates of attention."""

from __future__ import annotations

import numpy as np
import pytest

from ffplan.catalog.parts import Accelerator
from ffplan.catalog.stacks import AttentionRates
from ffplan.catalog.store import Catalog
from ffplan.collectives.switch_reduction import sharded_speedup
from ffplan.training.accelerator_rates import (
    UncalibratedError,
    _attention_rate,
    _AttentionCurve,
    accelerator_rates,
    attention_curve,
)
from ffplan.training.mfu import (
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


CATALOG = Catalog()


def accelerator(name: str) -> Accelerator:
    part = CATALOG.entry(name).part
    assert isinstance(part, Accelerator)
    return part


def curve(table: str, kernel: str, peak: float = 312e12) -> _AttentionCurve:
    found = attention_curve(CATALOG.entry(table).part, kernel, peak)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_measured_points_come_back() -> None:
    """FlashAttention 2 on A100, causal, heads of 128: 173 TFLOP/s at 4,096 tokens."""
    fa2 = curve("attention-a100", "fa2")
    assert _attention_rate(fa2, 128, 4096, causal=True, back=False) == pytest.approx(173e12)
    assert _attention_rate(fa2, 64, 8192, causal=False, back=True) == pytest.approx(175e12)


def test_lengths_between_and_beyond() -> None:
    """In the middle of log s the mean of both; outside the measured lengths as at their ends."""
    fa2 = curve("attention-a100", "fa2")
    middle = _attention_rate(fa2, 128, np.sqrt(2048 * 4096), causal=True, back=False)
    assert middle == pytest.approx((155 + 173) / 2 * 1e12)
    assert _attention_rate(fa2, 128, 100, causal=True, back=False) == pytest.approx(99e12)
    assert _attention_rate(fa2, 128, 1e6, causal=True, back=False) == pytest.approx(203e12)


def test_widths_of_heads() -> None:
    """Between 64 and 128 on a line; half as wide as the narrowest, half its rate."""
    fa2 = curve("attention-a100", "fa2")
    at = {width: _attention_rate(fa2, width, 2048, causal=True, back=False) for width in (32, 64, 96, 128, 192)}
    assert at[96] == pytest.approx((at[64] + at[128]) / 2)
    assert at[32] == pytest.approx(at[64] / 2)
    assert at[192] == at[128]


def test_a_relative_reaches_the_same_fraction() -> None:
    fa2 = curve("attention-a100", "fa2", 624e12)
    assert _attention_rate(fa2, 128, 4096, causal=True, back=False) == pytest.approx(346e12)


def test_arrays_of_widths_and_lengths() -> None:
    fa2 = curve("attention-a100", "fa2")
    widths, lengths = np.array([[64.0], [128.0]]), np.array([1024.0, 4096.0, 16384.0])
    found = _attention_rate(fa2, widths, lengths, causal=True, back=False)
    assert np.asarray(found) / 1e12 == pytest.approx(np.array([[119, 156, 171], [133, 173, 189]]))


def test_forward_and_backward_of_cudnn_on_h100_add_up() -> None:
    """cudnn-frontend, causal, 16,384 tokens: forward 587, backward 498, both 520; forward here is of another run."""
    cudnn = curve("attention-h100", "cudnn", 989.4e12)
    ahead, behind = (_attention_rate(cudnn, 128, 16384, causal=True, back=back) for back in (False, True))
    assert behind == pytest.approx(498e12)
    assert 3.5 / (1 / ahead + 2.5 / behind) == pytest.approx(520e12, rel=0.03)


def test_a_kernel_that_was_not_measured_is_refused() -> None:
    table = CATALOG.entry("attention-a100").part
    assert isinstance(table, AttentionRates)
    assert attention_curve(table, "fa3", 1.0) is None
    with pytest.raises(UncalibratedError, match="no rates of fa3"):
        accelerator_rates(accelerator("a100-sxm-80gb"), "bf16", kernels=table, kernel="fa3")


def test_one_rate_stands_where_there_is_no_table() -> None:
    assert accelerator_rates(accelerator("h100-sxm-80gb"), "bf16").curve is None


@pytest.mark.parametrize(
    ("causal", "measured", "known"), [(True, "both", True), (True, "forward", False), (False, "both", False)]
)
def test_a_kernel_counts_once_both_passes_under_a_mask_are_measured(causal: bool, measured: str, known: bool) -> None:
    whole = CATALOG.entry("attention-a100").part
    assert isinstance(whole, AttentionRates)
    one = whole.tables[0].model_copy(update={"causal": causal, "measured": measured})
    found = attention_curve(whole.model_copy(update={"tables": (one,)}), one.kernel, 312e12)
    assert (found is not None) == known
