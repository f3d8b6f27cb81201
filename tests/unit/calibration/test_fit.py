"""Fits of runs that the model itself timed, with constants that are known: a fit must find them again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.calibration.calibrate import CalibrationRequest, _report
from ffplan.calibration.fit import (
    BOUNDS,
    Fit,
    _determined,
    _fitted_rates,
    _waits_for_host,
    errors,
    fit,
    timed,
)
from ffplan.calibration.joint import _joint_errors, _joint_fit, _JointFit
from ffplan.calibration.leave_one_out import leave_one_out
from ffplan.catalog.rates import NAMES
from ffplan.validation.training_replay import modelled_measure
from ffplan.validation.training_rows import replayed_times
from tests.unit.validation.test_training import RUNS, prepared

if TYPE_CHECKING:
    from ffplan.validation.training_replay import TrainingReplay

H100 = RUNS.replace("dgx-a100-320gb", "hgx-h100-8nic")
TRUE = {"matrix": 0.5, "kernel": 1e-5}


def made(constants: dict[str, float] | None = None, source: str = "mine", text: str = H100) -> TrainingReplay:
    """Return runs with the seconds that the model takes with these constants in place of the catalogue's."""
    table = prepared(text.replace("id: mine", f"id: {source}"))
    rates = _fitted_rates(constants or {}, table.accelerator.training, 132)
    return replace(table, columns={**table.columns, "seconds": replayed_times(table, rates)[0]})


def shipped() -> TrainingReplay:
    """Return runs with the seconds that the model takes with the catalogue's constants, those of the stack included."""
    table = prepared(H100)
    return replace(table, columns={**table.columns, "seconds": replayed_times(table)[0]})


def test_a_fit_finds_the_constants_again() -> None:
    pytest.importorskip("scipy")
    table, calls = made(TRUE), list[int]()
    base = table.accelerator.training
    found = fit([table], names=("matrix", "kernel"), units=132, base=base, progress=calls.append)
    assert found.values == pytest.approx(TRUE, rel=1e-4)
    assert (found.rows, found.notes) == (2, {})
    assert found.before is not None
    assert found.after < 1e-5 < found.before
    assert found.before == pytest.approx(np.abs(errors([table])).mean())
    assert calls == list(range(1, len(calls) + 1))


def test_errors_are_of_the_time_in_every_unit() -> None:
    """Twice the seconds measured: the model is at half, -50 %; half the rate says the same."""
    table = shipped()
    seconds = table.columns["seconds"]
    slow = replace(table, columns={**table.columns, "seconds": 2 * seconds})
    assert errors([table]).tolist() == pytest.approx([0, 0])
    assert errors([slow]).tolist() == pytest.approx([-0.5, -0.5])
    kept = {name: value for name, value in table.columns.items() if name != "seconds"}
    rate = modelled_measure(table, "tflops", seconds) / 2
    assert errors([replace(table, columns={**kept, "tflops": rate})]).tolist() == pytest.approx([-0.5, -0.5])


def test_a_row_counts_by_its_first_measure() -> None:
    table = shipped()
    seconds = table.columns["seconds"]
    mixed = {"seconds": np.array([seconds[0], np.nan]), "mfu": modelled_measure(table, "mfu", seconds) / 4}
    both = replace(table, columns={**table.columns, **mixed})
    assert errors([both]).tolist() == pytest.approx([0.0, -0.75])
    assert timed(both).sum() == 2
    assert timed(replace(table, columns={**table.columns, "seconds": np.array([np.nan, 1.0])})).sum() == 1
    assert timed(replace(table, columns={"gpus": np.array([8.0, 8.0])})).sum() == 0


def test_what_no_row_depends_on_is_undetermined() -> None:
    """Runs at bf16 tell nothing of FP8."""
    table = made()
    found = Fit(values={"matrix": 0.5, "matrix_fp8": 0.6}, notes={}, rows=2, before=None, after=0.0)
    assert _determined([table], found, table.accelerator.training, 132) == (2, ["matrix_fp8"])


@pytest.mark.parametrize("copies", [1, 5])
def test_copies_of_one_plan_determine_no_three_constants(copies: int) -> None:
    row = "      - [8, 64, 2, 2, 2, 2, 2.5]\n"
    assert row in H100
    table = made({}, text=H100[: H100.index(row)] + row * copies)
    assert len(table.columns["seconds"]) == copies
    values = {"matrix": 0.7, "memory": 0.34, "kernel": 1.2e-5}
    found = Fit(values=values, notes={}, rows=copies, before=None, after=0.0)
    rows, blind = _determined([table], found, table.accelerator.training, 132)
    assert (rows, sorted(blind)) == (1, ["kernel", "matrix", "memory"])
    assert _determined([table], found, table.accelerator.training, 132, without=("memory", "kernel")) == (1, [])


def test_what_is_not_fitted_stays() -> None:
    base = prepared(H100).accelerator.training
    assert base is not None
    found = _fitted_rates({"matrix": 0.5}, base, 99)
    assert (found.matrix.value, found.memory, found.kernel) == (0.5, base.memory, base.kernel)
    assert found.units.value == 132  # the catalogue's
    bare = _fitted_rates({"matrix": 0.5}, None, 99)
    assert (bare.units.value, bare.memory.value, bare.kernel.value, bare.attention) == (99, 0.8, 2e-5, None)


def test_runs_wait_for_a_host_that_launches_slowly() -> None:
    """H100 under NeMo has no time to launch; vTrain's stack on A100 has 3.3 ms a layer, which small layers wait for."""
    assert not _waits_for_host([prepared(H100)])
    small = RUNS.replace("[8, 64, 2, 2, 2, 2,", "[8, 8, 1, 8, 1, 1,")
    assert not _waits_for_host([prepared(small)])
    assert _waits_for_host(
        [prepared(small.replace("recompute: full", "recompute: full, stack: megatron-deepspeed-2023"))]
    )


def test_a_source_is_scored_by_the_others_alone() -> None:
    """The other source reached half of the matrix rate: with its constants the model is too slow for this one."""
    pytest.importorskip("scipy")
    more, calls = H100 + "      - [64, 512, 4, 4, 8, 2, 1]\n      - [16, 32, 1, 8, 2, 1, 1]\n", []
    replays = [made({"matrix": rate}, name, more) for name, rate in (("fast", 0.6), ("slow", 0.3))]
    fast, slow = leave_one_out(replays, lambda *step: calls.append(step)).rows
    assert calls == [(0, 2, "fast"), (1, 2, "slow")]
    for row in (fast, slow):
        assert (row.set, row.n, row.fitted_on, row.why) == ("h100-sxm", 4, 4, None)
    assert fast.bias is not None
    assert slow.bias is not None
    assert slow.bias < -0.2 < 0.2 < fast.bias
    assert (fast.mape, slow.mape) == pytest.approx((fast.bias, -slow.bias))
    assert fast.shipped == pytest.approx(np.abs(errors(replays[:1])).mean())


def test_products_at_8_bits_follow_those_at_16_where_no_other_run_had_them() -> None:
    pytest.importorskip("scipy")
    eight = made({}, "eight", H100.replace("recompute: full", "precision: fp8"))
    _, two = leave_one_out([made({}, "sixteen"), eight]).rows
    assert (two.why, two.fitted_on) == (None, 2)
    assert two.mape is not None
    assert 0 < two.mape < 0.5


def test_a_joint_fit_finds_what_belongs_to_accelerator_and_stack() -> None:
    """Two stacks on one accelerator with known constants; a stack that was not among the runs gets the common one."""
    pytest.importorskip("scipy")
    more = H100 + "      - [64, 512, 4, 4, 8, 2, 1]\n      - [16, 32, 1, 8, 2, 1, 1]\n"
    found = {}
    for stack, memory in (("nemo-2024", 0.3), ("xla-2025", 0.5)):
        table = prepared(
            more.replace("recompute: full", f"recompute: full, stack: {stack}").replace("id: mine", f"id: {stack}")
        )
        base = table.accelerator.training
        assert base is not None
        known = _JointFit({("", "matrix"): 0.6, ("", "memory"): 0.4, (stack, "memory"): memory}, 0)
        seconds = replayed_times(table, known.rates(base, table.accelerator), known.stack(stack))[0]
        found[stack] = replace(table, columns={**table.columns, "seconds": seconds})
    made_of = _joint_fit(list(found.values()))
    assert made_of.rows == 8
    slow, fast = (made_of.values[stack, "memory"] for stack in ("nemo-2024", "xla-2025"))
    common = made_of.stack("unknown").memory
    assert common is not None
    assert slow < common.value < fast
    assert fast / slow == pytest.approx(0.5 / 0.3, rel=0.35)  # drawn together
    assert np.abs(_joint_errors(list(found.values()), made_of)).max() < 0.02


@pytest.mark.parametrize(
    ("share", "note"), [(1.0, "the least that the fit allows"), (1.0001, "the least that the fit allows"), (1.5, None)]
)
def test_constants_at_an_end_of_their_range_are_told(share: float, note: str | None) -> None:
    from ffplan.calibration.fit import _notes

    least, most = BOUNDS["matrix"][:2]
    assert _notes({"matrix": least * share}).get("matrix") == note
    assert _notes({"matrix": most}) == {"matrix": "the most that the fit allows"}
    assert _notes({"matrix": (least * most) ** 0.5}) == {}


def test_names_of_the_part_stay_with_fitted_figures() -> None:
    """The stack and the kernels that a catalogue's rates name are those of the fit too."""
    base = made().accelerator.training
    assert base is not None
    found = _fitted_rates({"matrix": 0.5}, base, 132)
    assert {name: getattr(found, name) for name in NAMES[1:]} == {name: getattr(base, name) for name in NAMES[1:]}
    assert base.kernels is not None
    assert base.stack is not None
    alone = _fitted_rates({"matrix": 0.5}, None, 132)
    assert all(getattr(alone, name) is None for name in NAMES[1:])


@pytest.mark.parametrize("known", [True, False])
def test_errors_before_a_fit_need_constants(known: bool) -> None:
    table = made(TRUE)
    base = table.accelerator.training if known else None
    query = CalibrationRequest(accelerator="h100-sxm-80gb", cases=(), names=None, launches=False, start=None, units=132)
    fitted = Fit(values=TRUE, notes={}, rows=2, before=0.25 if known else None, after=0.0)
    found = _report(query, fitted, base, 132, [table])
    (source,) = found.sources
    if base is None:
        assert source.before is None
        assert [item.before for item in found.constants] == [None, None]
    else:
        assert source.before == pytest.approx(np.abs(errors([table], base)).mean())
        assert found.constants[0].before == base.matrix.value
    assert source.n == 2
