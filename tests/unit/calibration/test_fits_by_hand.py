"""Fits of rows so simple that the best constants can be worked out by hand."""

from __future__ import annotations

import math
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ffplan.base.errors import InputError
from ffplan.calibration import calibrate, fit, joint, leave_one_out
from ffplan.calibration.calibrate import Calibration, CalibrationRequest, _units, _value
from ffplan.calibration.fit import BOUNDS, Fit, FitError, _before, _start, solver
from ffplan.calibration.joint import FP8, _JointFit
from ffplan.calibration.leave_one_out import Kinds, _band, _held
from ffplan.calibration.overlay import KEY, START
from ffplan.catalog.evidence import DurationFigure
from ffplan.catalog.stacks import StackRates
from ffplan.results.accuracy import CalibrationReport, Constant
from ffplan.studies.train import nearest_accelerator
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

SOFT = 0.05


def source(name: str, rows: Sequence[float], **fields: Any) -> Any:
    """Return runs of a source; each row is the logarithm of the constant at which its time comes out."""
    return SimpleNamespace(file=SimpleNamespace(id=name), rows=np.array(rows), **fields)


def fitted(monkeypatch: pytest.MonkeyPatch, *sources: Any, first: float = 0.5, name: str = "matrix") -> Fit:
    """Fit one constant to rows whose time is that of the measured one over the constant."""
    monkeypatch.setattr(fit, "timed", lambda replay: np.ones(len(replay.rows), dtype=bool))
    monkeypatch.setattr(fit, "_fitted_rates", lambda values, *_: values)
    monkeypatch.setattr(fit, "_relative_times", lambda replay, values, *_: np.exp(replay.rows) / values[name])
    monkeypatch.setattr(fit, "_before", lambda *_: None)
    base: Any = SimpleNamespace(**{name: SimpleNamespace(value=first)})
    pytest.importorskip("scipy")
    return fit.fit(list(sources), names=(name,), units=1, base=base)


def test_a_source_with_four_times_the_rows_counts_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logarithms of the best rate: one row at 0, four at 0.003, so 0.002 below and above half a peak."""
    half = math.log(0.5)
    found = fitted(monkeypatch, source("one", [half]), source("four", [half + 0.003] * 4))
    assert math.log(found.values["matrix"] / 0.5) == pytest.approx(0.002, rel=0.01)
    assert (found.rows, found.notes, found.before) == (5, {}, None)
    assert found.after == pytest.approx((0.002 + 4 * 0.001) / 5, rel=0.01)


def test_a_row_far_off_pulls_less_than_its_square(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows agree, a third is far off. Its pull is that of a soft loss, the weighted scale: of the two each pulls
    y / sqrt(1 + y^2) back, 2 y / sqrt(1 + y^2) = 1, y = 1 / sqrt(3) of 5 % / 3^-1/4."""
    half = math.log(0.3)
    found = fitted(monkeypatch, source("s", [half, half, half + 1.0]), first=0.3)
    shift = math.log(found.values["matrix"] / 0.3)
    assert shift == pytest.approx(SOFT * 3**0.25 / math.sqrt(3), rel=0.02)


@pytest.mark.parametrize(
    ("best", "note"), [(2.0, "the most that the fit allows"), (0.01, "the least that the fit allows")]
)
def test_a_constant_stays_in_its_range(monkeypatch: pytest.MonkeyPatch, best: float, note: str) -> None:
    found = fitted(monkeypatch, source("s", [math.log(best)] * 2))
    least, most, _ = BOUNDS["matrix"]
    assert found.values["matrix"] == pytest.approx(most if best > 1 else least, rel=1e-3)
    assert found.notes == {"matrix": note}


def test_as_many_rows_as_constants_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    found = fitted(monkeypatch, source("s", [math.log(0.4)]))
    assert found.values["matrix"] == pytest.approx(0.4)
    with pytest.raises(FitError, match=r"0 row\(s\) cannot tell 1 constants: matrix"):
        fitted(monkeypatch, source("s", []))


def test_times_of_launching_are_tried_from_above_and_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three starts, a factor of three apart, for what has several minima; one for all else."""
    starts: list[list[float]] = []

    def solve(_: Any, first: Any, **__: Any) -> Any:
        starts.append(np.exp(first).tolist())
        return SimpleNamespace(cost=len(starts) % 3, x=first)

    monkeypatch.setattr(fit, "solver", lambda: solve)
    monkeypatch.setattr(fit, "timed", lambda _: np.ones(9, dtype=bool))
    monkeypatch.setattr(fit, "_fitted_rates", lambda values, *_: values)
    monkeypatch.setattr(fit, "errors", lambda *_: np.array([-0.1, 0.3]))
    runs: Any = [source("s", [])]
    found = fit.fit(runs, names=("matrix", "launch"), units=1)
    assert starts == [pytest.approx(pair) for pair in ([0.7, 1e-3], [0.7, 1e-3 / 3], [0.7, 3e-3])]
    assert found.values == pytest.approx({"matrix": 0.7, "launch": 3e-3})  # the cheapest was the third
    assert found.after == pytest.approx(0.2)
    starts.clear()
    fit.fit(runs, names=("matrix", "kernel"), units=1)
    assert starts == [pytest.approx([0.7, 2e-5])]


def test_a_fit_starts_from_what_is_known() -> None:
    base: Any = SimpleNamespace(matrix=SimpleNamespace(value=0.6), kernel=None)
    assert np.exp(_start(("matrix", "kernel", "memory"), base)).tolist() == pytest.approx([0.6, 2e-5, 0.5])
    assert np.exp(_start(("overlap",), None)).tolist() == pytest.approx([0.15])


def test_errors_before_are_of_whole_sets_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "errors", lambda *_: np.array([-0.1, 0.3]))
    whole = {"matrix": 1, "memory": 1, "kernel": 1}
    assert _before([], SimpleNamespace(**whole)) == pytest.approx(0.2)  # type: ignore[arg-type]
    assert _before([], None) is None
    for name in whole:
        assert _before([], SimpleNamespace(**{**whole, name: None})) is None  # type: ignore[arg-type]

    def fails(*_: Any) -> Any:
        raise ValueError

    monkeypatch.setattr(fit, "errors", fails)
    assert _before([], SimpleNamespace(**whole)) is None  # type: ignore[arg-type]


def test_rows_of_a_source_are_those_of_all_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "timed", lambda replay: np.ones(len(replay.rows), dtype=bool))
    tables = [source("a", [1.0]), source("b", [1.0, 1.0]), source("a", [1.0, 1.0])]
    assert fit._rows_of_sources(tables) == {"a": 3, "b": 2}


def test_a_fit_without_scipy_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(FitError, match=r"pip install scipy`"):
        solver()


def stacked(name: str, best: dict[str, float], stack: str = "", precision: str = "bf16", rows: int = 1) -> Any:
    """Return runs of a source on a stack, with the logarithms of the constants at which their times come out."""
    base = SimpleNamespace(set="gpu", matrix=SimpleNamespace(value=0.5), memory=SimpleNamespace(value=0.5))
    return source(
        name,
        [0.0] * rows,
        best=best,
        plans=SimpleNamespace(precision=precision),
        accelerator=SimpleNamespace(training=base),
        software=SimpleNamespace(stack=SimpleNamespace(id=stack, constants={}) if stack else None),
    )


def together(
    monkeypatch: pytest.MonkeyPatch, *sources: Any, kin: _JointFit | None = None
) -> dict[tuple[str, str], float]:
    """Fit constants jointly; a row is as far off as its constants are, one after the other. Return their logarithms."""

    def ratios(replay: Any, found: _JointFit) -> Any:
        stack = joint._stack_name(replay)
        logs = []
        for name, best in replay.best.items():
            key = (stack, name) if (stack, name) in found.values else ("", name)
            logs.append(math.log(found.values[key]) - best)
        return np.exp(np.repeat(logs, len(replay.rows)))

    pytest.importorskip("scipy")
    monkeypatch.setattr(joint, "_ratios", ratios)
    monkeypatch.setattr(fit, "timed", lambda replay: np.ones(len(replay.rows), dtype=bool))
    found = joint._joint_fit(list(sources), kin)
    assert found.rows == sum(len(item.rows) for item in sources)
    return {key: math.log(value) for key, value in found.values.items()}


def test_a_source_of_32_rows_counts_as_two_of_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """n^(1 - 0.8): 32^0.2 = 2. One row at 0, 32 at 0.003: the best is two thirds of the way."""
    half = math.log(0.5)
    one, many = stacked("a", {"matrix": half}), stacked("b", {"matrix": half + 0.003}, rows=32)
    found = together(monkeypatch, one, many)
    assert found["", "matrix"] - half == pytest.approx(0.002, rel=0.02)


def test_stacks_are_drawn_to_what_they_have_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is drawn from its own best by (4 % / 35 %)^2 of what is left; the common value is their mean."""
    half = math.log(0.5)
    found = together(
        monkeypatch,
        stacked("a", {"memory": half - 0.02}, "slow"),
        stacked("b", {"memory": half + 0.02}, "fast"),
        stacked("c", {"matrix": half}),
    )
    slow, common, fast = (found[key, "memory"] - half for key in ("slow", "", "fast"))
    assert common == pytest.approx(0.0, abs=1e-5)
    assert fast == pytest.approx(-slow, rel=1e-3)
    assert (0.02 - fast) / fast == pytest.approx((0.04 / 0.35) ** 2, rel=0.05)


def test_products_at_8_bits_are_drawn_to_those_at_16(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ratio of 0.93 is expected with 10 %, rows with 4 %: of what both are off, d, each gives k^2 d / (1 + 2 k^2)."""
    at, off = math.log(0.5), 0.02
    found = together(
        monkeypatch,
        stacked("a", {"matrix": at}),
        stacked("b", {"matrix_fp8": at + math.log(0.93) + off}, precision="fp8"),
    )
    k = 0.04 / 0.1
    shift = k**2 * off / (1 + 2 * k**2)
    assert found["", "matrix"] - at == pytest.approx(shift, rel=0.05)
    assert found["", "matrix_fp8"] - (at + math.log(0.93) + off) == pytest.approx(-shift, rel=0.05)


@pytest.mark.parametrize(
    ("kinds", "names"),
    [
        (("bf16",), ["matrix", "memory"]),
        (("fp16",), ["matrix", "memory"]),
        (("tf32",), ["matrix_tf32", "memory"]),
        (("fp8",), ["matrix", "matrix_fp8", "memory"]),
        (("bf16", "tf32"), ["matrix", "matrix_tf32", "memory"]),
    ],
)
def test_constants_of_a_joint_fit(kinds: tuple[str, ...], names: list[str]) -> None:
    replays = [stacked("a", {}, precision=kind) for kind in kinds]
    assert joint._names(replays) == tuple(("", name) for name in names)


def test_a_fit_begins_at_what_the_catalogue_has() -> None:
    run = stacked("a", {}, "eager")
    run.software.stack.constants["gpu"] = SimpleNamespace(memory=SimpleNamespace(value=0.3))
    other = stacked("b", {}, "graph")
    assert joint._names([run, other])[2:] == (("eager", "memory"), ("graph", "memory"))
    assert joint._given([other, run], "eager", "memory") == 0.3
    assert joint._given([run, other], "graph", "memory") is None
    assert joint._given([run, other], "", "matrix") == 0.5


def test_constants_of_a_stack_that_was_not_there_are_the_common_ones() -> None:
    """Times of launching are the catalogue's: no fit tells them."""
    found = _JointFit({("", "memory"): 0.4, ("a", "memory"): 0.3}, 9)
    known = StackRates(launch=DurationFigure.model_construct(value=1e-3, source="profile"))
    own, other = found.stack("a", known), found.stack("b", None)
    assert own.memory is not None
    assert other.memory is not None
    assert (own.memory.value, own.launch, other.memory.value, other.launch) == (0.3, known.launch, 0.4, None)


def run_of(
    group: str,
    name: str,
    *rows: float,
    stack: str = "",
    experts: bool = False,
    precision: str = "bf16",
    chip: str | None = None,
    process: str | None = None,
    power: float = 700.0,
    assumed: str | None = None,
) -> Any:
    """Return runs with errors that are known before and after a fit: after is half."""
    return SimpleNamespace(
        accelerator=SimpleNamespace(
            id=group,
            training=SimpleNamespace(set=group) if group else None,
            gemm={},
            peak={},
            chip=chip,
            process=process,
            vendor="x",
            power=SimpleNamespace(value=power),
        ),
        file=SimpleNamespace(id=name),
        table=SimpleNamespace(assumed=assumed),
        software=SimpleNamespace(stack=SimpleNamespace(id=stack) if stack else None, named=bool(stack)),
        shape=SimpleNamespace(experts=object() if experts else None, sequence=4096),
        plans=SimpleNamespace(precision=precision),
        rows=np.array(rows),
    )


@pytest.fixture
def halved(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], ...]]:
    """Fits that halve every error; what each was made on is noted."""
    seen: list[Any] = []

    def made(replays: Sequence[Any], kin: _JointFit | None = None) -> _JointFit:
        seen.append([item.file.id for item in replays] + (["beside"] if kin is not None else []))
        return _JointFit({("", "matrix"): 0.5, ("", "memory"): 0.5}, sum(len(item.rows) for item in replays))

    monkeypatch.setattr(leave_one_out, "_joint_fit", made)
    monkeypatch.setattr(leave_one_out, "_joint_errors", lambda items, _: np.concatenate([i.rows for i in items]) / 2)
    monkeypatch.setattr(leave_one_out, "timed", lambda item: np.ones(len(item.rows), dtype=bool))
    monkeypatch.setattr(leave_one_out, "errors", lambda items: np.concatenate([item.rows for item in items]))
    monkeypatch.setattr(leave_one_out, "_unnamed", lambda item: run_of("", "", *(3 * item.rows)))
    monkeypatch.setattr(nearest_accelerator, "distance", lambda a, b: abs(len(a.id) - len(b.id)))
    return seen


def test_each_source_is_scored_by_the_others(halved: list[list[str]]) -> None:
    """Errors of 20 and -60 % of a, 10 % of b; what has no constants is left out of all."""
    runs = [run_of("gpu", "a", 0.2, -0.6), run_of("gpu", "b", 0.1), run_of("", "c", 9.0)]
    found = leave_one_out.leave_one_out(runs)
    assert halved == [["b"], ["a"]]
    a, b = found.rows
    assert (a.source, a.set, a.n, a.fitted_on, a.why) == ("a", "gpu", 2, 1, None)
    assert (a.mape, a.bias, a.max_error, a.shipped) == pytest.approx((0.2, -0.1, 0.3, 0.4))
    assert (b.mape, b.bias, b.max_error, b.shipped, b.fitted_on) == pytest.approx((0.05, 0.05, 0.05, 0.1, 2))
    assert found.mean == pytest.approx(0.125)
    assert found.by == "source"


def test_a_source_on_two_accelerators_counts_once_in_the_mean(halved: list[list[str]]) -> None:
    """Of a, three rows of 10 % there and one of 50 here: 20 % halved; b alone 40 % halved."""
    runs = [run_of("x", "a", 0.1, 0.1, 0.1), run_of("xx", "a", 0.5), run_of("x", "b", 0.4), run_of("xx", "c", 0.4)]
    found = leave_one_out.leave_one_out(runs)
    assert found.mean == pytest.approx((0.1 + 0.2 + 0.2) / 3)
    assert halved == [["b"], ["c"], ["a"], ["a"]]


def test_an_accelerator_alone_takes_constants_of_the_nearest(halved: list[list[str]]) -> None:
    """Of sets x, xxx and xxxxx, x is nearest to xxx; at the same distance the first by name."""
    runs = [run_of("x", "a", 0.1), run_of("x", "b", 0.1), run_of("xxx", "c", 0.1), run_of("xxxxxxxx", "d", 0.1)]
    leave_one_out.leave_one_out(runs, by="accelerator")
    assert halved == [["c"], ["a", "b"], ["c"]]
    halved.clear()
    leave_one_out.leave_one_out([run_of("bb", "a", 0.1), run_of("aa", "c", 0.1), run_of("x", "d", 0.1)])
    assert halved == [["c"], ["a"], ["c"]]


def test_accelerators_of_one_chip_stand_in_for_each_other(halved: list[list[str]]) -> None:
    """x at 500 and 700 W, and xxxx, have one chip; y is nearer to xxxx. A chip is left out whole; its sets are fitted
    beside each other.
    """
    runs = [
        run_of("x", "a", 0.1, chip="c", power=500.0),
        run_of("x", "b", 0.1, chip="c"),
        run_of("xxxx", "d", 0.1, chip="c"),
        run_of("yyy", "e", 0.1),
    ]
    found = leave_one_out.leave_one_out(runs, by="accelerator")
    assert [row.source for row in found.rows] == ["x at 500 W", "x at 700 W", "xxxx at 700 W", "yyy"]
    assert halved == [["d"], ["b", "beside"], ["a", "beside"], ["a", "b"], ["a", "b"], ["d", "beside"]]
    halved.clear()
    found = leave_one_out.leave_one_out(runs, by="chip")
    assert [(row.source, row.set, row.n) for row in found.rows] == [("c", "x", 2), ("c", "xxxx", 1)]
    assert halved == [["e"], ["e"]]  # e names no chip, so that it is not left out with one


def test_chips_of_a_process_are_left_out_together_and_scored_one_by_one(halved: list[list[str]]) -> None:
    new, old = (partial(run_of, group, chip=group, process="n5") for group in ("one", "three"))
    runs = [new("a", 0.2), old("b", 0.4), run_of("other", "d", 0.1), run_of("bare", "e", 0.1, process="n7")]
    found = leave_one_out.leave_one_out(runs, by="process")
    assert [row.source for row in found.rows] == ["one", "three", "other", "bare"]
    assert all("a" not in item and "b" not in item for item in halved[:2])
    assert found.mean == pytest.approx((0.1 + 0.2 + 0.05 + 0.05) / 4)


def test_what_is_left_out_may_be_a_stack(halved: list[list[str]]) -> None:
    runs = [run_of("x", "a", 0.2, stack="s"), run_of("x", "b", 0.2, stack="t"), run_of("x", "c", 0.2, stack="s")]
    steps: list[Any] = []
    found = leave_one_out.leave_one_out(runs, lambda *step: steps.append(step), by="stack")
    assert [(row.source, row.n) for row in found.rows] == [("s", 2), ("t", 1)]
    assert found.mean == pytest.approx(0.3)  # scored as plans that name no software, here three times as far off
    assert halved == [["b"], ["a", "c"]]
    assert steps == [(0, 2, "s"), (1, 2, "t")]


def test_chips_of_one_process_are_fitted_beside_each_other(halved: list[list[str]]) -> None:
    """The other chip's runs are fitted once for what does not name them, and without a source that is left out."""
    new, old = (partial(run_of, group, chip=group, process="n5") for group in ("one", "three"))
    runs = [new("a", 0.2), new("b", 0.2), old("b", 0.1), old("c", 0.1), run_of("other", "d", 0.1)]
    leave_one_out.leave_one_out(runs)
    assert halved[:4] == [["b", "c"], ["b", "beside"], ["c"], ["a", "beside"]]


def test_a_fit_is_drawn_to_the_energy_of_its_kin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kin at 700 W reach half of 1,000 TFLOP/s; at 1,400 W of the same energy 40 % of 2,500. Rows say 42 %."""
    at = math.log(0.42)
    item, off = stacked("a", {"matrix": at}), at - math.log(0.4)
    kin = _JointFit({("", "matrix"): 0.5}, 1, SimpleNamespace())  # type: ignore[arg-type]
    monkeypatch.setattr(joint, "power_ratio", lambda *_: 1400 / 700 * 1000 / 2500)
    assert joint._expected(item.accelerator, kin) == pytest.approx(0.4)
    assert joint._expected(item.accelerator, None) is None
    assert joint._expected(item.accelerator, _JointFit({}, 1, kin.accelerator)) is None
    found = together(monkeypatch, item, kin=kin)
    k = 0.04 / 0.05
    assert found["", "matrix"] - at == pytest.approx(-(k**2) * off / (1 + k**2), rel=0.05)
    monkeypatch.setattr(joint, "power_ratio", lambda *_: None)
    assert joint._expected(item.accelerator, kin) is None


def test_rows_on_an_assumed_setting_are_counted_apart(halved: list[list[str]]) -> None:
    """Of a, 20 and -60 % as published and 40 % as assumed; of b 10 % as published; all halved."""
    runs = [run_of("gpu", "a", 0.2, -0.6), run_of("gpu", "a", 0.4, assumed="chunks"), run_of("gpu", "b", 0.1)]
    stated, guessed = leave_one_out.leave_one_out(runs).settings
    assert (stated.assumed, stated.of, stated.n) == (False, 2, 3)
    assert (guessed.assumed, guessed.of, guessed.n) == (True, 1, 1)
    assert (stated.mean, guessed.mean) == pytest.approx(((0.2 + 0.05) / 2, 0.2))
    assert halved == [["b"], ["a", "a"]]


def test_nothing_else_is_no_score(halved: list[list[str]]) -> None:
    found = leave_one_out.leave_one_out([run_of("x", "a", 0.2, -0.4)])
    (row,) = found.rows
    assert (row.mape, row.bias, row.max_error, row.fitted_on) == (None, None, None, 0)
    assert row.shipped == pytest.approx(0.3)
    assert (row.n, found.mean, found.kinds, found.settings) == (2, None, (), ())
    assert halved == []


def test_kinds_are_scored_by_rows(halved: list[list[str]]) -> None:
    assert halved == []
    kinds = Kinds(errors={})
    runs = [run_of("x", "a", 0.2, -0.6), run_of("x", "b", 0.4), run_of("x", "b", 0.4, experts=True)]
    kinds.add(runs, [run.rows / 2 for run in runs])
    kinds.add([run_of("w", "c", 1.0, stack="s")], [np.array([0.5])])
    assert [(row.set, row.stack, row.experts, row.n, row.mape, row.bias) for row in kinds.scored()] == [
        ("w", "s", False, 1, 0.5, 0.5),
        ("x", "", False, 3, pytest.approx(0.2), pytest.approx(0.0)),
        ("x", "", True, 1, pytest.approx(0.2), pytest.approx(0.2)),
    ]


@pytest.mark.parametrize(
    ("precision", "known", "values"),
    [
        ("bf16", {}, {}),
        ("fp8", {}, {"matrix_fp8": 0.5 * FP8}),
        ("fp8", {"matrix_fp8": 0.3}, {"matrix_fp8": 0.3}),
        ("tf32", {}, {"matrix_tf32": 0.5}),
    ],
)
def test_products_that_no_run_had(precision: str, known: dict[str, float], values: dict[str, float]) -> None:
    made = _JointFit({("", "matrix"): 0.5, **{("", name): value for name, value in known.items()}}, 7)
    found = leave_one_out._given([run_of("x", "a", 0.1, precision=precision)], made)
    assert found.values == {("", "matrix"): 0.5, **{("", name): value for name, value in values.items()}}
    assert found.rows == 7


def request(**changed: Any) -> CalibrationRequest:
    fields = {"accelerator": "mine", "cases": (), "names": None, "launches": False, "start": None, "units": None}
    return CalibrationRequest(**{**fields, **changed})


class Rates(SimpleNamespace):
    """Constants of a part, as far as units go."""

    def model_copy(self, *, update: dict[str, Any]) -> Rates:
        return Rates(**{**vars(self), **update})


def rates(units: float = 100.0) -> Any:
    return Rates(units=Rates(value=units), matrix=Rates(value=0.5, low=None, high=None))


@pytest.mark.parametrize(
    ("units", "start", "known", "found"),
    [
        (None, None, True, 100),
        (64, "other", True, 64),
        (64, None, False, 64),
        (None, "other", True, 100),
        (64, None, True, "the catalogue has 100 multiprocessors of `mine`: leave out --units"),
        (None, None, False, "the catalogue has no multiprocessors of `mine`: give --units"),
    ],
)
def test_multiprocessors(units: int | None, start: str | None, known: bool, found: Any) -> None:
    """Those of the catalogue, unless the constants are another part's, or there are none."""
    base = rates() if known else None
    if isinstance(found, str):
        with pytest.raises(FitError, match=found):
            _units(request(units=units, start=start), base)
        return
    own, number = _units(request(units=units, start=start), base)
    assert number == found
    assert (own is None) == (base is None)
    assert own is None or own.units.value == found


@pytest.mark.parametrize(
    ("precisions", "fused", "published", "names"),
    [
        (("bf16",), True, False, ("matrix", "attention", "memory", "kernel")),
        (("bf16",), True, True, ("matrix", "memory", "kernel")),  # its attention is timed from published rates
        (("bf16",), False, False, ("matrix", "memory", "kernel")),
        (("tf32",), True, False, ("matrix_tf32", "memory", "kernel")),
        (("tf32", "fp16"), True, False, ("matrix", "matrix_tf32", "attention", "memory", "kernel")),
        (("fp8",), True, False, ("matrix", "matrix_fp8", "attention", "memory", "kernel")),
    ],
)
def test_constants_that_runs_can_tell(
    precisions: tuple[str, ...], fused: bool, published: bool, names: tuple[str, ...]
) -> None:
    kernels = object() if published else None
    replays: Any = [
        SimpleNamespace(
            plans=SimpleNamespace(precision=precision, fused_attention=fused), software=SimpleNamespace(kernels=kernels)
        )
        for precision in precisions
    ]
    assert fit._needed_constants(replays, launches=False) == names
    assert fit._needed_constants(replays, launches=True) == (*names, "launch", "launch_parallel", "launch_step")


def test_a_file_that_was_written_is_read_again() -> None:
    """It has constants, and a source that says what they were fitted on."""
    text = next(ROOT.glob("catalogs/accelerators/nvidia/h100-sxm-80gb.yaml")).read_text()
    calibrate._reread(text, "a.yaml")
    for key in (KEY, START):
        text = text.replace(f"\n  {key}:", f"\n  older-{key}:").replace(f"source: {key}", f"source: older-{key}")
    with pytest.raises(InputError):
        calibrate._reread(text, "a.yaml")
    bare = next(path for path in ROOT.glob("catalogs/accelerators/*/*.yaml") if "\ntraining:" not in path.read_text())
    for source in ("x", KEY):
        line = f'sources:\n  {source}: {{title: x, date: "2026", grade: derived, status: D}}\n'
        with pytest.raises(InputError):
            calibrate._reread(bare.read_text().replace("sources:\n", line), "a.yaml")


def test_a_constant_before_a_fit() -> None:
    assert (_value(rates(), "matrix"), _value(rates(), "kernel"), _value(None, "matrix")) == (0.5, None, None)


@pytest.mark.parametrize(
    ("after", "doubts"),
    [
        (0.15, ()),
        (0.151, ("the runs are missed by 15% on average, more than 15%",)),
        (0.3, ("the runs are missed by 30% on average, more than 15%",)),
    ],
)
def test_doubts_of_a_calibration(after: float, doubts: tuple[str, ...]) -> None:
    def constant(name: str, note: str | None) -> Constant:
        return Constant(name=name, before=None, after=1.0, text="", note=note)

    report: Any = SimpleNamespace(after=after, constants=(constant("matrix", "at an end"), constant("memory", None)))
    assert Calibration(report, "").doubts == ("matrix is at an end", *doubts)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, ""),
        ({"mine": False}, "no timed run in these files has `mine`"),
        ({"base": None, "names": ("matrix",)}, "no values for memory, kernel: fit them too, or give --start"),
        ({"base": None, "names": ("matrix", "memory", "kernel")}, ""),
        ({"names": ("launch",)}, "no run waits for its host to launch"),
        ({"names": ("launch",), "waits": True}, ""),
        ({"names": ("launch", "matrix", "memory", "kernel"), "base": None}, ""),
        ({"after": 0.5}, ""),
        ({"after": 0.51}, "the best constants miss these rows by 51% on average"),
        ({"blind": ["matrix"]}, "4 different rows cannot tell matrix: fit fewer with --only"),
        ({"different": 0}, "0 different rows cannot tell matrix: fit fewer with --only"),
    ],
)
def test_when_a_calibration_is_none(monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], words: str) -> None:
    run = SimpleNamespace(accelerator=SimpleNamespace(id="mine" if changed.get("mine", True) else "other"))
    base = changed.get("base", rates())
    made = Fit(values={}, notes={}, rows=1, before=None, after=changed.get("after", 0.1))
    replaced: dict[str, Any] = {
        "runs": lambda *_: [run],
        "_base": lambda *_: base,
        "_needed_constants": lambda *_, **__: ("matrix",),
        "_waits_for_host": lambda _: changed.get("waits", False),
        "fit": lambda *_, **__: made,
        "_determined": lambda *_, **__: (changed.get("different", 4), changed.get("blind", [])),
        "_report": lambda *_: SimpleNamespace(constants=(), after=0.1),
        "_overlay": lambda *_: "text",
    }
    for name, value in replaced.items():
        monkeypatch.setattr(calibrate, name, value)
    query = request(names=changed.get("names"), units=None if base else 9)
    if words:
        with pytest.raises(FitError, match=words):
            calibrate.calibrate(None, query)  # type: ignore[arg-type]
    else:
        assert calibrate.calibrate(None, query).overlay == "text"  # type: ignore[arg-type]


def test_a_report_is_by_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of -10 and 30 % of a, which two tables have, and of 50 % of b; twice as large before."""
    tables = [run_of("x", "a", -0.1), run_of("x", "b", 0.5), run_of("x", "a", 0.3)]
    base = rates()

    def errors(items: Sequence[Any], own: Any) -> Any:
        return np.concatenate([item.rows for item in items]) * (2 if own is base else 1)

    monkeypatch.setattr(calibrate, "errors", errors)
    monkeypatch.setattr(calibrate, "_fitted_rates", lambda *_: None)
    made = Fit(values={"matrix": 0.6, "kernel": 1e-5}, notes={"kernel": "odd"}, rows=3, before=0.6, after=0.3)
    found: CalibrationReport = calibrate._report(request(), made, base, 100, tables)
    assert [(item.source, item.n) for item in found.sources] == [("a", 2), ("b", 1)]
    assert [(item.before, item.after, item.bias) for item in found.sources] == [
        pytest.approx((0.4, 0.2, 0.1)),
        pytest.approx((1.0, 0.5, 0.5)),
    ]
    assert [(item.name, item.before, item.after, item.text, item.note) for item in found.constants] == [
        ("matrix", 0.5, 0.6, "60 %", None),
        ("kernel", None, 1e-5, "10 us", "odd"),
    ]
    assert (found.rows, found.before, found.after, found.accelerator) == (3, 0.6, 0.3, "mine")


def test_a_band_holds_four_fifths_where_every_group_counts_alike() -> None:
    """Errors of 0 to 100 %: 80 %; ten times as many rows of 10 % beside a row of 50 % count as it does."""
    assert _band([np.linspace(0, 1, 1001)], 0.8) == pytest.approx(0.8, abs=0.001)
    assert _band([np.full(10, 0.1), np.array([0.5])], 0.8) == pytest.approx(0.5, abs=0.03)
    assert _band([np.full(10, 0.1), np.array([0.5])], 0.45) == pytest.approx(0.1)


def test_what_a_band_holds_is_asked_of_others_alone() -> None:
    """Of two groups, the one with small errors lies within the band of the other, which lies beyond its."""
    assert _held([np.array([0.1, 0.1]), np.array([0.5, 0.5])], 0.8) == 0.5
    assert _held([np.linspace(0, 1, 101)] * 3, 0.8) == pytest.approx(0.8, abs=0.01)
