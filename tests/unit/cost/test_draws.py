"""Draws, tornado and break-evens."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ffplan.cost.draws import _quantile, drawn, ends, normal, sample, triangular
from ffplan.cost.inputs import Input, error_input
from ffplan.cost.sensitivity import domain, flips, likely, tornado


def wide(name: str, low: float, middle: float, high: float, shape: str = "triangular", key: str = "") -> Input:
    return Input(
        input=name,
        key=key or name,
        label=name,
        unit="1",
        likely=middle,
        low=low,
        high=high,
        distribution=shape if low < high else "fixed",
        source="test",
        status="given",
        date=None,
    )


def test_a_triangular_distribution_by_hand() -> None:
    """From 0 to 2 around 1: P12.5 is 0.5, the median 1, P87.5 is 1.5."""
    assert triangular(np.array([0.0, 0.125, 0.5, 0.875, 1.0]), 0.0, 1.0, 2.0) == pytest.approx([0, 0.5, 1, 1.5, 2])
    assert triangular(np.array([0.25]), 0.0, 2.0, 2.0) == pytest.approx([1.0])


def test_normal_deviates_by_the_tables() -> None:
    found = normal(np.array([0.5, 0.9, 0.95, 0.01, 0.001, 0.975]))
    assert found == pytest.approx([0.0, 1.2815516, 1.6448536, -2.3263479, -3.0902323, 1.9599640], abs=1e-6)


def test_one_quantile_over_all_shapes() -> None:
    """Two figures of one key stay at one quantile, whatever their shapes."""
    shapes = [
        wide("x", 1.0, 2.0, 4.0, shape, key=f"k@{shape}") for shape in ("triangular", "pert", "uniform", "normal")
    ]
    draws = [np.asarray(drawn(item, 500, 1)) for item in shapes]
    for values in draws[1:]:
        assert (np.argsort(values) == np.argsort(draws[0])).all()


def test_an_input_of_one_design_keeps_its_bounds() -> None:
    """Where two designs differ, the input's name says whose it is; what it may be stays."""
    assert domain(wide("pue@mine", 1.1, 1.25, 1.5)) == (1.0, 3.0)
    assert domain(wide("utilisation@mine", 0.6, 0.8, 0.9)) == (0.01, 1.0)


@pytest.mark.parametrize("shape", ["triangular", "pert", "uniform", "normal", "lognormal"])
def test_the_ends_are_p10_and_p90_of_the_draws(shape: str) -> None:
    item = wide("x", 2.0, 3.0, 5.0, shape)
    values = np.asarray(drawn(item, 200_000, 7))
    low, high = ends(item)
    assert float((values < low).mean()) == pytest.approx(0.1, abs=0.004)
    assert float((values < high).mean()) == pytest.approx(0.9, abs=0.004)
    if shape in ("normal", "lognormal"):
        assert float((values < 5.0).mean()) == pytest.approx(0.95, abs=0.003)
        assert float((values < 2.0).mean()) == pytest.approx(0.05, abs=0.003)
    else:
        assert values.min() >= 2.0
        assert values.max() <= 5.0


def test_one_key_is_one_draw_and_the_seed_decides() -> None:
    one, two = wide("a", 1, 2, 3, key="k"), wide("b", 1, 2, 3, key="k")
    both = sample((one, two), 100, 1)
    assert (np.asarray(both["a"]) == np.asarray(both["b"])).all()
    assert (np.asarray(drawn(one, 100, 1)) == np.asarray(drawn(one, 100, 1))).all()
    assert (np.asarray(drawn(one, 100, 1)) != np.asarray(drawn(one, 100, 2))).any()
    own = wide("c", 2, 4, 6, key="k@other")
    assert np.asarray(drawn(own, 100, 1)) == pytest.approx(2 * np.asarray(both["a"]))
    assert drawn(wide("d", 4, 4, 4), 100, 1) == 4.0


def test_a_model_error_has_its_p10_and_p90() -> None:
    item = error_input("speed", "speed", "model error", 0.1, "69 runs")
    low, high = np.quantile(np.log(np.asarray(drawn(item, 400_000, 3))), (0.1, 0.9))
    assert (low, high) == pytest.approx((-0.1, 0.1), abs=0.001)
    assert error_input("speed", "speed", "model error", 0.0, "none").fixed
    assert math.log(item.high) == pytest.approx(0.1 / 1.2816 * 1.6449, rel=1e-3)


def test_a_tornado_is_ordered_by_width() -> None:
    inputs = (wide("small", 0, 1, 2), wide("large", 0, 1, 2), wide("none", 1, 1, 1))
    found = tornado(lambda v: v["small"] + 10 * v["large"] + v["none"], inputs)
    assert [swing.input.name for swing in found] == ["large", "small"]
    low, high = ends(inputs[1])
    assert (found[0].at_low, found[0].at_high) == pytest.approx((2 + 10 * low, 2 + 10 * high))
    assert found[0].width == pytest.approx(10 * (high - low))
    assert tornado(lambda v: v["none"], (wide("none", 1, 1, 1),)) == ()


def test_break_evens_by_hand() -> None:
    """a - 2 b is even at a = 6 and at b = 0.5, with a = 1, b = 3; c acts on nothing."""
    inputs = (wide("a", 1, 1, 1), wide("b", 3, 3, 3), wide("c", 2, 2, 2))
    one, two, three = flips(lambda v: v["a"] - 2 * v["b"] + 0 * v["c"], inputs, "USD")
    assert one.value == pytest.approx(6.0, rel=1e-6)
    assert two.value == pytest.approx(0.5, rel=1e-6)
    assert (three.value, three.why) == (None, "it acts on both sides alike, or on neither")
    (never,) = flips(lambda v: v["a"] + 100, (wide("a", 1, 1, 1),), "USD")
    assert never.value is None
    assert never.why is not None
    assert "never from 0.1 to 10" in never.why
    assert flips(lambda v: v["a"], (), "USD") == ()
    assert likely(inputs) == {"a": 1, "b": 3, "c": 2}


def test_the_nearest_of_two_break_evens_is_found() -> None:
    (found,) = flips(lambda v: (v["a"] - 1.5) * (v["a"] - 8.0), (wide("a", 2, 2, 2),), "USD")
    assert found.value == pytest.approx(1.5, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "span"),
    [("utilisation", (0.01, 1.0)), ("pue", (1.0, 3.0)), ("residual", (0.0, 0.99)), ("life", (0.25, 10.0))],
)
def test_shares_are_sought_within_their_bounds(name: str, span: tuple[float, float]) -> None:
    assert domain(wide(name, 1.0 if name in ("pue", "life") else 0.5, 1.0, 1.0)) == span


def test_a_pert_distribution_has_its_mean() -> None:
    """(low + 4 likely + high) / 6, and the quantiles of Beta(2, 4): its median is 0.3138, its P90 0.5839."""
    even = (np.arange(100_000) + 0.5) / 100_000
    for low, middle, high in ((0.0, 0.25, 1.0), (2.0, 3.0, 8.0), (1.0, 1.0, 2.0)):
        values = _quantile(wide("x", low, middle, high, "pert"), even)
        assert float(values.mean()) == pytest.approx((low + 4 * middle + high) / 6, rel=1e-3)
    assert _quantile(wide("x", 0.0, 0.25, 1.0, "pert"), np.array([0.5, 0.9])) == pytest.approx(
        [0.3138, 0.5839], abs=2e-4
    )


def test_normal_deviates_over_the_whole_range() -> None:
    """The distribution function, from the error function, takes every deviate back to its probability."""
    probabilities = np.array([1e-6, 0.005, 0.02, 0.0243, 0.1, 0.3, 0.45, 0.6, 0.8, 0.97, 0.976, 0.99, 0.999999])
    for probability, deviate in zip(probabilities, np.asarray(normal(probabilities)), strict=True):
        assert 0.5 * math.erfc(-float(deviate) / math.sqrt(2)) == pytest.approx(probability, rel=1e-7)
