"""The account, by hand: a cluster of two servers, every input a round number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ffplan.cost.account import Account, RunJob, _embodied_kg, account_run, account_year, mean_power, purchase
from ffplan.cost.capital import _annuity, yearly_capital
from ffplan.cost.rent import RentTerm, prepaid_year, rented_hour
from tests.formulas import declining_value

ACCOUNT = Account(
    parts=(("server", 2), ("switch", 1)),
    accelerators=16,
    bearing=16,
    servers=2,
    switches=1,
    links=16,
    racks=1,
    training_w=20_000.0,
    idle_nodes_w=24_000.0,
    idle_known_w=1_000.0,
    rated_w=26_000.0,
    liquid_w=10_000.0,
    facility="colocation",
    rented=False,
    term=RentTerm(None),
    extras_month=0.0,
)
VALUES: dict[str, float] = {
    "price.server": 300_000.0,
    "price.switch": 50_000.0,
    "discount": 0.1,
    "freight": 0.02,
    "installation": 0.03,
    "cabling_labour": 25.0,
    "rack": 3000.0,
    "rack_pdu": 1000.0,
    "liquid_cooling": 2.0,
    "support": 0.05,
    "licence": 100.0,
    "staff": 2.0,
    "salary": 250_000.0,
    "life": 4.0,
    "residual": 0.0,
    "capital": 0.0,
    "utilisation": 0.5,
    "effective": 0.8,
    "electricity": 0.1,
    "pue": 1.5,
    "colocation": 100.0,
    "idle": 0.25,
    "power": 1.0,
    "grid": 400.0,
    "water": 0.5,
    "embodied_accelerator": 100.0,
    "embodied_server": 1000.0,
    "embodied_switch": 200.0,
    "embodied_link": 5.0,
}


def test_purchase_by_hand() -> None:
    found = purchase(ACCOUNT, VALUES)
    assert found["hardware"] == 650_000
    assert found["discount"] == -65_000
    assert found["freight"] == pytest.approx(11_700)
    assert found["installation"] == pytest.approx(17_550)
    assert found["cabling_labour"] == 400
    assert found["racks"] == 5000  # a cabinet and two PDUs
    assert found["liquid_cooling"] == 20_000


def test_a_year_by_hand() -> None:
    year = account_year(ACCOUNT, VALUES)
    assert mean_power(ACCOUNT, VALUES) == (20_000, 7000)
    # 13.5 kW in the mean over half use, PUE 1.5: 177.39 MWh, 17,739 USD
    assert year.energy_mwh == pytest.approx(177.39)
    assert year.yearly["electricity"] == pytest.approx(17_739)
    assert year.yearly["hardware"] == pytest.approx(585_000 / 4)
    assert year.yearly["installation"] == pytest.approx((11_700 + 17_550 + 400 + 5000 + 20_000) / 4)
    assert year.yearly["support"] == pytest.approx(29_250)
    assert year.yearly["licences"] == 1600
    assert year.yearly["staff"] == pytest.approx(8000)
    assert year.yearly["colocation"] == pytest.approx(31_200)
    assert year.year == pytest.approx(sum(year.yearly.values()))
    assert year.hour == pytest.approx(year.year / (16 * 8760 * 0.5))
    assert year.carbon_t == pytest.approx(70.956)
    assert year.water_m3 == pytest.approx(118.26 * 0.5)
    assert _embodied_kg(ACCOUNT, VALUES) == 1600 + 2000 + 200 + 80
    assert year.embodied_t == pytest.approx(3.88)
    assert year.building == 0


def test_an_own_building_by_hand() -> None:
    own = replace(ACCOUNT, facility="own")
    year = account_year(own, {**VALUES, "building": 10.0, "building_life": 20.0})
    assert year.building == 260_000
    assert year.yearly["building"] == pytest.approx(13_000)
    assert "colocation" not in year.yearly
    racks = account_year(replace(ACCOUNT, facility="racks"), {**VALUES, "rack_rent": 1000.0})
    assert racks.yearly["colocation"] == pytest.approx(18_000)  # one rack, PUE 1.5
    alone = account_year(replace(ACCOUNT, facility="power"), VALUES)
    assert {"colocation", "building"} & set(alone.yearly) == set()


@pytest.mark.parametrize(
    ("term", "hour"),
    [
        (RentTerm(3.0), 4.0),
        (RentTerm(None), 2.0),
        # a payment of 6 for three years is 6 * 0.4 a year at 10 %: annuity 0.1 / (1 - 1.1^-3) = 0.40211
        (RentTerm(3.0, upfront=1.0), 6 * 0.4021148 / 0.5),
        (RentTerm(1.0, upfront=0.5), (1.0 + 1.1) / 0.5),
    ],
)
def test_a_rented_fleet_by_hand(term: RentTerm, hour: float) -> None:
    fleet = replace(ACCOUNT, parts=(), rented=True, term=term, extras_month=1000.0)
    year = account_year(fleet, {**VALUES, "rent": 2.0, "capital": 0.1})
    assert (year.capex, year.purchase) == (0, {})
    assert year.yearly.keys() == {"rent", "prepaid", "extras"}
    assert rented_hour(2.0, 0.5, term, 0.1) == pytest.approx(hour)
    assert prepaid_year(100.0, RentTerm(1.0, upfront=0.5), 0.1) == pytest.approx(55.0)  # 50 and a year's 10 %
    assert year.hour == pytest.approx(hour + 12_000 / (16 * 8760 * 0.5))


def test_a_run_by_hand() -> None:
    """1e12 tokens at 1e6 a second and 80 %: 1.25e6 s, 14.47 days, 5,556 hours of 16 accelerators."""
    year = account_year(ACCOUNT, VALUES)
    run = account_run(ACCOUNT, RunJob(gpus=16, tokens=1e12, tokens_s=1e6, tflops_gpu=400.0), year, VALUES)
    assert run.days == pytest.approx(14.468, abs=0.001)
    assert run.hours == pytest.approx(5555.6, abs=0.1)
    assert run.cost == pytest.approx(run.hours * year.hour)
    assert run.per_million == pytest.approx(run.cost / 1e6)
    assert run.energy_mwh == pytest.approx(5555.6 * 1250 * 1.5 / 1e6, rel=1e-4)
    assert run.carbon_energy_t == pytest.approx(run.energy_mwh * 0.4)
    made = 3880 / 16 * run.hours / (4 * 8760 * 0.5) / 1e3
    assert run.carbon_t - run.carbon_energy_t == pytest.approx(made)
    assert run.petaflop_day == pytest.approx(year.hour * 24 / 0.32)
    half = account_run(ACCOUNT, RunJob(gpus=8, tokens=1e12, tokens_s=5e5, tflops_gpu=400.0), year, VALUES)
    assert half.cost == pytest.approx(run.cost)
    assert half.energy_mwh == pytest.approx(run.energy_mwh)


def test_a_slower_machine_takes_longer_and_costs_more() -> None:
    year, job = account_year(ACCOUNT, VALUES), RunJob(gpus=16, tokens=1e12, tokens_s=1e6, tflops_gpu=400.0)
    plain, slow = (account_run(ACCOUNT, job, year, {**VALUES, **more}) for more in ({}, {"speed": 0.5}))
    assert slow.days == pytest.approx(2 * plain.days)
    assert slow.cost == pytest.approx(2 * plain.cost)
    both = account_run(ACCOUNT, job, year, {**VALUES, "speed": 0.5, "speed_own": 2.0})
    assert both.days == pytest.approx(plain.days)


def test_arrays_give_what_numbers_give() -> None:
    """One formula, any shape: every draw of an array is the account of its own numbers."""
    generator = np.random.default_rng(3)
    arrays = {name: value * generator.uniform(0.8, 1.0, 5) for name, value in VALUES.items()}
    arrays["pue"] = generator.uniform(1.1, 1.6, 5)
    job = RunJob(gpus=16, tokens=1e12, tokens_s=1e6, tflops_gpu=400.0)
    year = account_year(ACCOUNT, arrays)
    run = account_run(ACCOUNT, job, year, arrays)
    for at in range(5):
        one = {name: float(value[at]) for name, value in arrays.items()}
        alone = account_year(ACCOUNT, one)
        assert np.asarray(year.hour)[at] == pytest.approx(alone.hour)
        assert np.asarray(run.carbon_t)[at] == pytest.approx(account_run(ACCOUNT, job, alone, one).carbon_t)


def test_capital_by_hand() -> None:
    assert _annuity(0.0, 4.0) == 0.25
    assert _annuity(0.1, 1.0) == pytest.approx(1.1)
    assert yearly_capital(1000.0, 0.0, 0.0, 5.0) == pytest.approx(200)
    # 1,000 less 200 in two years at 10 %: 834.71 over two payments of 0.57619
    assert yearly_capital(1000.0, 0.2, 0.1, 2.0) == pytest.approx(480.95, abs=0.01)
    assert np.asarray(_annuity(np.array([0.0, 0.1]), 1.0)) == pytest.approx([1.0, 1.1])
    assert declining_value(100.0, 0.5, 2.0) == pytest.approx(10.0)


def test_what_no_profile_names_costs_nothing() -> None:
    """Support, licences and staff are optional: without them the year lacks just these."""
    whole = account_year(ACCOUNT, VALUES)
    less = account_year(
        ACCOUNT, {name: value for name, value in VALUES.items() if name not in ("support", "licence", "staff")}
    )
    gone = {"support", "licences", "staff"}
    assert {name: less.yearly[name] for name in gone} == dict.fromkeys(gone, 0.0)
    assert all(less.yearly[name] == whole.yearly[name] for name in whole.yearly if name not in gone)
    assert all(whole.yearly[name] > 0 for name in gone)
