"""Constants fitted on kernels: known ones come back, and what rows do not tell is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan.calibration.fit import FitError
from ffplan.calibration.kernel_fit import BOUNDS, _fit_kernels, _starting_values, _timed_groups, _units_of
from ffplan.calibration.kernel_times import _attention_operations, _attention_seconds, _rates_at, _with_kernel
from ffplan.calibration.measured_errors import _fit_link
from ffplan.catalog.stacks import AttentionRates
from ffplan.catalog.store import Catalog
from ffplan.measuring.kernels import AttentionCall
from tests.unit.calibration.recordings import KNOWN, LINK, START, accelerator, made_up, transcribed

if TYPE_CHECKING:
    from ffplan.measuring.recording import CopyRow, Recording

pytest.importorskip("scipy")
EXACT, NOISY = made_up(noise=0.0), made_up(noise=0.02)


def test_known_constants_come_back() -> None:
    found = _fit_kernels(EXACT, accelerator())
    assert set(found.errors) == set(KNOWN)
    assert not found.kept
    for name, value in KNOWN.items():
        assert found.values[name] == pytest.approx(value, rel=2e-4), name
    assert found.kernel == pytest.approx(6e-6 + 2 * 2.5e-6, rel=1e-3)


@pytest.mark.parametrize("seed", [2, 3])
def test_known_constants_come_back_within_the_noise(seed: int) -> None:
    """Batches scatter by 5 %, medians of five or more by less; every constant lies within two standard errors, or 2 %.

    A fit that ignored the noise, or that took its errors for smaller than they are, would miss one of them.
    """
    found = _fit_kernels(made_up(noise=0.05, seed=seed), accelerator())
    for name, value in KNOWN.items():
        low, high = found.ends(name)
        assert low * 0.99 <= value <= high * 1.01, (name, low, value, high)
        assert found.values[name] == pytest.approx(value, rel=0.1), name


def test_other_constants_make_another_fit() -> None:
    """The fit reads the times: constants a fifth lower come back as well."""
    lower = {name: value * 0.8 for name, value in KNOWN.items()}
    found = _fit_kernels(made_up(noise=0.0, known=lower), accelerator())
    for name, value in lower.items():
        assert found.values[name] == pytest.approx(value, rel=5e-4), name


def test_gemms_that_leave_multiprocessors_idle_are_shown_and_not_fitted() -> None:
    """4,096 x 256 has 64 tiles of 128 x 128, and 4,096 x 1,024 has 256: the H100 has 132 multiprocessors."""
    timed = _timed_groups(EXACT, accelerator())["gemm bf16"]
    used = {(row.m, row.n): bool(use) for row, use in zip(timed.rows, timed.used, strict=True)}
    assert (used[4096, 256], used[4096, 512], used[4096, 1024]) == (False, False, True)
    rows = [
        row.model_copy(update={"median_us": row.median_us * (1.0 if use else 9.0)})
        for row, use in zip(timed.rows, timed.used, strict=True)
    ]
    slower = EXACT.model_copy(update={"gemms": tuple(rows)})
    assert _fit_kernels(slower, accelerator()).values["matrix"] == pytest.approx(KNOWN["matrix"], rel=1e-3)


def test_what_the_rows_do_not_tell_is_kept() -> None:
    """Three large GEMMs say nothing of a kernel's own time; without small kernels there is no `kernel`."""
    large = tuple(row for row in NOISY.gemms if row.dtype == "bf16" and min(row.m, row.n, row.k) >= 8192)
    assert len(large) == 3
    found = _fit_kernels(NOISY.model_copy(update={"gemms": large, "memory": (), "attention": ()}), accelerator())
    assert "gemm" in found.kept
    assert set(found.errors) | set(found.kept) == {"matrix", "stream", "gemm"}
    before = _starting_values(accelerator())
    for name in found.kept:
        assert found.values[name] == before[name], name
    assert found.values["matrix"] == pytest.approx(KNOWN["matrix"], rel=0.05)
    assert found.kernel is None


@pytest.mark.parametrize("copies", [1, 6, 60])
def test_copies_of_one_gemm_tell_nothing_apart(copies: int) -> None:
    row = max((row for row in EXACT.gemms if row.dtype == "bf16"), key=lambda row: row.m * row.n * row.k)
    only = EXACT.model_copy(update={"gemms": (row,) * copies, "memory": ()})
    found = _fit_kernels(only, accelerator())
    assert found.errors == {}
    assert set(found.kept) == {"matrix", "stream", "gemm"}


def test_a_row_again_and_again_tells_no_more() -> None:
    """The whole plan three times over: the same constants with the same errors."""
    rows = {name: getattr(NOISY, name) * 3 for name in ("gemms", "memory")}
    once, thrice = (_fit_kernels(of, accelerator()) for of in (NOISY, NOISY.model_copy(update=rows)))
    assert thrice.values == pytest.approx(once.values, rel=1e-3)
    assert thrice.errors == pytest.approx(once.errors, rel=1e-2)


def test_exact_rows_have_the_noise_of_a_measurement() -> None:
    found = _fit_kernels(EXACT, accelerator())
    low, high = found.ends("matrix")
    assert low < 0.999 * KNOWN["matrix"] < 1.001 * KNOWN["matrix"] < high


def test_a_constant_on_a_bound_is_refused() -> None:
    """Copies faster than the memory: the most that a fraction can be, which is no measurement."""
    fast = tuple(row.model_copy(update={"median_us": row.median_us / 2}) for row in EXACT.memory)
    found = _fit_kernels(EXACT.model_copy(update={"memory": fast, "gemms": ()}), accelerator())
    assert found.kept["stream"] == "the most that the fit allows"
    assert "stream" not in found.errors
    assert found.values["stream"] == pytest.approx(0.9)  # the catalogue's


def test_nothing_measured_is_nothing_fitted() -> None:
    empty = EXACT.model_copy(update={"memory": (), "gemms": ()})
    assert _fit_kernels(empty, accelerator()).errors == {}
    assert set(BOUNDS) == set(_starting_values(accelerator("mi300x")))


def test_multiprocessors_come_from_the_catalogue_or_the_device() -> None:
    assert _units_of(accelerator(), EXACT) == 132
    other = accelerator("mi300x")
    assert other.training is None
    assert _units_of(other, EXACT) == 132
    unknown = EXACT.device.model_copy(update={"multiprocessors": None})
    with pytest.raises(FitError, match="neither the catalogue nor the recording"):
        _units_of(other, EXACT.model_copy(update={"device": unknown}))


def call(way: str, *, causal: bool, batch: int = 2) -> AttentionCall:
    return AttentionCall.model_validate(
        {
            "kernel": "cudnn",
            "batch": batch,
            "heads": 16,
            "head_dim": 128,
            "length": 4096,
            "causal": causal,
            "measured": way,
        }
    )


def test_operations_of_attention_are_those_of_published_rates() -> None:
    """4 s^2 h d b forward, 10 backward, half with a causal mask: as flash-attention's benchmarks count them."""
    at = _rates_at(accelerator(), accelerator().training, "bf16")  # type: ignore[arg-type]
    whole = 4.0 * 4096**2 * 16 * 128 * 2
    assert _attention_operations(call("forward", causal=False), at) == pytest.approx(whole)
    assert _attention_operations(call("backward", causal=False), at) == pytest.approx(2.5 * whole)
    assert _attention_operations(call("both", causal=True), at) == pytest.approx(3.5 / 2 * whole)


def test_the_catalogue_gives_back_the_times_of_its_own_source() -> None:
    """The causal backward rates of cuDNN in the catalogue are those of this benchmark: no error at 4,096."""
    part, table = accelerator(), Catalog().entry("attention-h100").part
    assert isinstance(table, AttentionRates)
    assert part.training is not None
    at = _with_kernel(_rates_at(part, part.training, "bf16"), table, "cudnn", 989.4e12)
    assert at is not None
    rows = [row for row in transcribed("h100-xla-cudnn").attention if row.kernel == "cudnn" and row.causal]
    back = [row for row in rows if row.measured == "backward"]
    assert len(back) == 5
    for row in back:
        assert _attention_seconds(row, at) * 1e6 == pytest.approx(row.median_us, rel=1e-4), row.words
    assert _with_kernel(at, table, "fa9", 1e15) is None
    assert _with_kernel(at, None, "cudnn", 1e15) is None


def copies(recording: Recording, way: str) -> list[CopyRow]:
    return [row for row in recording.copies if row.direction == way]


def test_the_link_is_told_from_the_time_before_a_copy() -> None:
    for way, rate in LINK.items():
        found = _fit_link(copies(EXACT, way))
        assert found.rate == pytest.approx(rate, rel=1e-3), way
        assert found.start == pytest.approx(START, rel=1e-2), way
        assert _fit_link(copies(NOISY, way)).rate == pytest.approx(rate, rel=0.05)
        assert found.seconds(2**24) == pytest.approx(2**24 / rate + START, rel=1e-3)
        assert found.largest_error < 1e-3
    with pytest.raises(FitError, match="one size"):
        _fit_link(copies(EXACT, "both")[:1])


def test_sizes_that_are_nearly_one_do_not_tell_a_link() -> None:
    """Some bytes more are no other size: start and rate are one number."""
    first = copies(EXACT, "both")[-1]
    near = [first, first.model_copy(update={"bytes": first.bytes + 4096, "median_us": first.median_us * 1.0001})]
    with pytest.raises(FitError, match="do not tell the rate"):
        _fit_link(near)


def test_published_gemms_give_the_published_rule() -> None:
    """XLA's table on H100: 5 to 6 us a kernel by its rule of larger of operations and bytes; here 4.1, since results
    are written afterwards. Large products reach 736 to 780 TFLOP/s, and 92 % of the peak between waves and writes."""
    found = _fit_kernels(transcribed("h100-xla-cudnn"), accelerator())
    assert found.values["gemm"] == pytest.approx(4.1e-6, rel=0.05)
    assert found.values["matrix"] == pytest.approx(0.923, abs=0.01)
    assert found.kept == {"stream": "the most that the fit allows"}
    assert found.rows["matrix"] == 19


def test_steps_reach_three_quarters_of_what_kernels_reach() -> None:
    """Three published sets of GEMMs against the fractions fitted on whole steps; docs/measure.md states them."""
    pairs = {"h100-xla-cudnn": "h100-sxm-80gb", "b200-simumax": "b200", "a100-pcie-simumax": "a100-pcie-40gb"}
    found = {}
    for name, part in pairs.items():
        rates = accelerator(part).training
        assert rates is not None
        found[part] = rates.matrix.value / _fit_kernels(transcribed(name), accelerator(part)).values["matrix"]
    assert found == {
        "h100-sxm-80gb": pytest.approx(0.81, abs=0.01),
        "b200": pytest.approx(0.87, abs=0.01),
        "a100-pcie-40gb": pytest.approx(0.84, abs=0.01),
    }
