"""The account under changes whose effect is known: money scales, prices never lower a cost, flips are flips."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.cost.account import RunJob as Run
from ffplan.cost.account import account_run, account_year
from ffplan.cost.draws import drawn, ends
from ffplan.cost.rent import break_even_months, break_even_utilisation
from ffplan.cost.sensitivity import flips, tornado
from tests.support import examples
from tests.unit.cost.test_account import ACCOUNT, VALUES
from tests.unit.cost.test_draws import wide

MONEY = (
    *("price.server", "price.switch", "cabling_labour", "rack", "rack_pdu", "liquid_cooling", "licence", "salary"),
    *("electricity", "colocation"),
)
"""Inputs that are amounts of money."""
SHAPES = ["triangular", "pert", "uniform", "normal"]
FACTORS = st.fixed_dictionaries({name: st.floats(0.5, 1.5) for name in VALUES if name not in ("discount", "residual")})


def values(factors: dict[str, float]) -> dict[str, float]:
    found = {name: value * factors.get(name, 1.0) for name, value in VALUES.items()}
    found["utilisation"], found["effective"] = min(found["utilisation"], 1.0), min(found["effective"], 1.0)
    found["pue"] = max(found["pue"], 1.0)
    found["capital"], found["residual"] = 0.1, 0.1
    return found


@examples(80)
@given(FACTORS, st.floats(0.1, 10))
def test_twice_the_money_is_twice_the_cost(factors: dict[str, float], scale: float) -> None:
    v = values(factors)
    dear = {name: value * scale if name in MONEY else value for name, value in v.items()}
    one, two = account_year(ACCOUNT, v), account_year(ACCOUNT, dear)
    assert two.year == pytest.approx(scale * one.year)
    assert two.hour == pytest.approx(scale * one.hour)
    assert two.capex == pytest.approx(scale * one.capex)
    assert two.energy_mwh == pytest.approx(one.energy_mwh)


@examples(80)
@given(FACTORS, st.sampled_from([*MONEY, "support", "staff", "pue", "capital", "freight", "installation"]))
def test_no_price_lowers_the_cost_of_an_hour(factors: dict[str, float], name: str) -> None:
    v = values(factors)
    assert account_year(ACCOUNT, {**v, name: 1.1 * v[name]}).hour >= account_year(ACCOUNT, v).hour * (1 - 1e-12)


@examples(80)
@given(FACTORS, st.sampled_from(["utilisation", "life", "residual", "discount"]))
def test_what_lowers_the_cost_of_an_hour(factors: dict[str, float], name: str) -> None:
    v = values(factors)
    more = {**v, name: min(1.05 * v[name], 1.0) if name == "utilisation" else 1.05 * v[name]}
    assert account_year(ACCOUNT, more).hour <= account_year(ACCOUNT, v).hour * (1 + 1e-12)


@examples(60)
@given(FACTORS, st.integers(1, 16), st.floats(1e9, 1e13))
def test_a_run_is_its_part_of_the_year(factors: dict[str, float], gpus: int, tokens: float) -> None:
    """All accelerators in use for a year cost the year."""
    v = values(factors)
    year = account_year(ACCOUNT, v)
    run = account_run(ACCOUNT, Run(gpus=gpus, tokens=tokens, tokens_s=1e5, tflops_gpu=300.0), year, v)
    hours = 16 * 8760 * v["utilisation"]
    assert run.cost == pytest.approx(year.year * run.hours / hours)
    assert run.per_million * tokens / 1e6 == pytest.approx(run.cost)
    assert run.carbon_t >= run.carbon_energy_t


@examples(60)
@given(FACTORS, st.floats(0.2, 20))
def test_every_break_even_makes_both_sides_even(factors: dict[str, float], rent: float) -> None:
    v = values(factors)
    inputs = tuple(wide(name, value, value, value) for name, value in v.items())

    def gap(found: dict[str, object]) -> object:
        return account_year(ACCOUNT, found).hour - rent  # type: ignore[arg-type]

    for flip in flips(gap, inputs, "USD"):  # type: ignore[arg-type]
        if flip.value is not None:
            found = account_year(ACCOUNT, {**v, flip.input.name: flip.value}).hour
            assert found == pytest.approx(rent, rel=1e-4)
        else:
            assert flip.why


@examples(60)
@given(st.floats(1, 1e9), st.floats(0, 1e6), st.floats(1, 1e7))
def test_months_to_break_even_balance_the_books(capital: float, running: float, rent: float) -> None:
    months = break_even_months(capital, running, rent)
    if rent > running:
        assert capital + running * months == pytest.approx(rent * months)
    else:
        assert months == float("inf")


@examples(60)
@given(st.floats(1, 1e9), st.floats(0, 1e6), st.floats(0.1, 50), st.integers(1, 10_000))
def test_the_utilisation_to_break_even_balances_the_books(fixed: float, used: float, price: float, count: int) -> None:
    share = break_even_utilisation(fixed, used, price, count)
    if np.isfinite(share):
        assert fixed + used * share == pytest.approx(price * count * 8760 * share)


@examples(40)
@given(
    st.floats(0.1, 10),
    st.floats(0.01, 5),
    st.floats(0.01, 5),
    st.sampled_from(["triangular", "pert", "uniform", "normal"]),
)
def test_ends_lie_in_order(middle: float, down: float, up: float, shape: str) -> None:
    item = wide("x", middle - down * middle / 6, middle, middle + up * middle, shape)
    low, high = ends(item)
    assert low < high
    values_ = np.asarray(drawn(item, 2000, 1))
    assert values_.shape == (2000,)
    assert low < np.median(values_) < high


def test_a_tornado_of_one_wide_input_is_its_own_effect() -> None:
    price = wide("electricity", 0.05, VALUES["electricity"], 0.2)
    inputs = [price, *(wide(name, value, value, value) for name, value in VALUES.items() if name != "electricity")]
    (swing,) = tornado(lambda v: account_year(ACCOUNT, v).hour, inputs)
    low, high = ends(price)
    assert swing.at_low == pytest.approx(account_year(ACCOUNT, {**VALUES, "electricity": low}).hour)
    assert swing.at_high == pytest.approx(account_year(ACCOUNT, {**VALUES, "electricity": high}).hour)
