"""Rates of attention kernels between and beyond measured points."""

from __future__ import annotations

import numpy as np
import pytest

from ffplan.catalog.kernels import AttentionRates
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.training.accelerator_rates import UncalibratedError, accelerator_rates
from ffplan.training.attention_rate import AttentionCurve, attention_curve, attention_rate

CATALOG = Catalog()


def accelerator(name: str) -> Accelerator:
    part = CATALOG.entry(name).part
    assert isinstance(part, Accelerator)
    return part


def curve(table: str, kernel: str, peak: float = 312e12) -> AttentionCurve:
    found = attention_curve(CATALOG.entry(table).part, kernel, peak)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_measured_points_come_back() -> None:
    """FlashAttention 2 on A100, causal, heads of 128: 173 TFLOP/s at 4,096 tokens."""
    fa2 = curve("attention-a100", "fa2")
    assert attention_rate(fa2, 128, 4096, causal=True, back=False) == pytest.approx(173e12)
    assert attention_rate(fa2, 64, 8192, causal=False, back=True) == pytest.approx(175e12)


def test_lengths_between_and_beyond() -> None:
    """In the middle of log s the mean of both; outside the measured lengths as at their ends."""
    fa2 = curve("attention-a100", "fa2")
    middle = attention_rate(fa2, 128, np.sqrt(2048 * 4096), causal=True, back=False)
    assert middle == pytest.approx((155 + 173) / 2 * 1e12)
    assert attention_rate(fa2, 128, 100, causal=True, back=False) == pytest.approx(99e12)
    assert attention_rate(fa2, 128, 1e6, causal=True, back=False) == pytest.approx(203e12)


def test_widths_of_heads() -> None:
    """Between 64 and 128 on a line; half as wide as the narrowest, half its rate."""
    fa2 = curve("attention-a100", "fa2")
    at = {width: attention_rate(fa2, width, 2048, causal=True, back=False) for width in (32, 64, 96, 128, 192)}
    assert at[96] == pytest.approx((at[64] + at[128]) / 2)
    assert at[32] == pytest.approx(at[64] / 2)
    assert at[192] == at[128]


def test_a_relative_reaches_the_same_fraction() -> None:
    fa2 = curve("attention-a100", "fa2", 624e12)
    assert attention_rate(fa2, 128, 4096, causal=True, back=False) == pytest.approx(346e12)


def test_arrays_of_widths_and_lengths() -> None:
    fa2 = curve("attention-a100", "fa2")
    widths, lengths = np.array([[64.0], [128.0]]), np.array([1024.0, 4096.0, 16384.0])
    found = attention_rate(fa2, widths, lengths, causal=True, back=False)
    assert np.asarray(found) / 1e12 == pytest.approx(np.array([[119, 156, 171], [133, 173, 189]]))


def test_forward_and_backward_of_cudnn_on_h100_add_up() -> None:
    """cudnn-frontend, causal, 16,384 tokens: forward 587, backward 498, both 520; forward here is of another run."""
    cudnn = curve("attention-h100", "cudnn", 989.4e12)
    ahead, behind = (attention_rate(cudnn, 128, 16384, causal=True, back=back) for back in (False, True))
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
