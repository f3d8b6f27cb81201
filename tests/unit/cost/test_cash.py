"""Cash over time: one account gives the months to break even, the cash flow and what stands beside it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.cost.cash import Cash, Purchase, again, one_purchase
from ffplan.studies.cost.parts import cash_flow
from tests.support import examples, ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path

MONEY = st.floats(0, 1e3)


@st.composite
def several(draw: st.DrawFn) -> Cash:
    """Return one to four purchases, whose parts make the whole cluster."""
    shares = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    parts = []
    for share in shares:
        order, lead, commissioning = draw(st.floats(0, 30)), draw(st.floats(0, 12)), draw(st.floats(0, 4))
        parts.append(
            Purchase(
                order=order,
                delivery=order + lead,
                ready=order + lead + commissioning,
                running=share / sum(shares),
                accelerators=share / sum(shares),
                price=draw(MONEY),
                wait=draw(st.none() | st.floats(0, 200)),
            )
        )
    life = draw(st.floats(1, 60))
    renewed = len(parts) == 1 and draw(st.booleans())
    later = again(parts[0], draw(MONEY), draw(st.floats(6, 70)), life) if renewed else ()
    return Cash(purchases=(*parts, *later), running=draw(st.floats(0, 20)), life=life)


def gap(cash: Cash, rent: float, month: float) -> float:
    return cash.bought(month) + cash.waited(month) + cash.ran(month) - rent * cash.rented(month)


@examples(150)
@given(several(), st.floats(0.1, 60))
def test_owning_has_cost_less_from_the_break_even_on_and_more_just_before(cash: Cash, rent: float) -> None:
    even = cash.even(rent)
    if even == float("inf"):
        assert rent <= cash.running
        return
    scale = 1e-6 * (1 + sum(part.price for part in cash.purchases) + rent * even)
    assert all(gap(cash, rent, even + step * 0.37) <= scale for step in range(300))
    before = [date for part in cash.purchases for date in (part.order, part.delivery, part.ready)]
    if even > min(before) + 1e-6:
        assert gap(cash, rent, even - 1e-4 * max(even, 1.0)) >= -scale


@examples(60)
@given(several(), st.floats(0, 0.3))
def test_the_rows_add_up_to_the_account(cash: Cash, rate: float) -> None:
    rows = cash_flow(cash, 5.0, rate)
    assert [row.month for row in rows] == list(range(len(rows)))
    assert rows[-1].month - 1 < cash.end <= rows[-1].month + 1e-6
    assert sum(row.capex for row in rows) == pytest.approx(sum(part.price for part in cash.purchases))
    whole = cash.running * sum(part.running * (cash.end - part.ready) for part in cash.purchases)
    assert sum(row.opex for row in rows) == pytest.approx(whole)
    assert rows[-1].cumulative == pytest.approx(cash.bought(cash.end) + cash.ran(cash.end) - 5.0)
    for row in rows[:-1]:
        assert row.cumulative == pytest.approx(cash.bought(row.month) + cash.ran(row.month))
        assert row.rented_months == pytest.approx(cash.rented(row.month))


@examples(60)
@given(several(), st.floats(0.1, 60))
def test_one_order_cut_in_two_changes_nothing(cash: Cash, rent: float) -> None:
    first, *rest = cash.purchases
    half = replace(
        first,
        running=first.running / 2,
        accelerators=first.accelerators / 2,
        price=first.price / 2,
        wait=None if first.wait is None else first.wait / 2,
    )
    cut = replace(cash, purchases=(half, half, *rest))
    assert cut.even(rent) == pytest.approx(cash.even(rent), rel=1e-6, abs=1e-6)
    assert cut.produced == pytest.approx(cash.produced)


def test_one_purchase_by_hand() -> None:
    """700 and 40 for a wait of seven months, 2 a month against 12: (740 - 12 * 7) / 10 months after the wait."""
    cash = Cash(purchases=(one_purchase(5, 7, 700, 40),), running=2, life=48)
    assert cash.even(12) == pytest.approx(7 + (740 - 84) / 10)
    assert cash.at_once().even(12) == pytest.approx(70)
    assert (cash.end, cash.produced) == (55, 48)


def test_two_phases_by_hand() -> None:
    """Halves ordered in months 0 and 10, each in production at once: rent is half of 20 until month 10."""
    half = Purchase(order=0, delivery=0, ready=0, running=0.5, accelerators=0.5, price=90)
    later = replace(half, order=10, delivery=10, ready=10)
    cash = Cash(purchases=(half, later), running=0, life=12)
    assert gap(cash, 20, 9) == pytest.approx(0)  # even for a month, until the second half is paid
    assert cash.even(20) == pytest.approx(10 + (180 - 100) / 20)
    assert (cash.end, cash.produced) == (22, 17)


PHASED = "phases:\n  - {name: a, after: 0 months, nodes: [64]}\n  - {name: b, after: 9 months, nodes: [127]}\n\ncost:\n"
OWN = "ownership: {facility: own}\n\ncost:\n"


@pytest.mark.parametrize("section", ["cost:\n", PHASED, OWN, PHASED.replace("cost:\n", OWN)])
def test_the_sentence_the_rows_and_the_curves_are_one(section: str, tmp_path: Path) -> None:
    """Between two rows of the cash flow both sides cross, in the month that the answer names, and for good."""
    file = vary_design(tmp_path, "superpod-h100-4su", ("cost:\n", section))
    study: Any = json.loads(ffplan(f"cost {file} --draws 0 --format json").out)
    tco = study["tco"]
    rent = next(row for row in tco["rents"] if row["signable"])
    even, rows = rent["break_even_months_from_order"], tco["cash_flow"]
    over = [row for row in rows[:-1] if row["cumulative"] + row["waited"] > rent["month"] * row["rented_months"]]
    assert over[-1]["month"] <= even <= over[-1]["month"] + 1
    assert f"breaks even {even:.0f} months after the order" in " ".join(study["headline"])
    page = ffplan(f"cost {file} --draws 0 --format html").out
    assert f"Even {even:.0f} months after the order." in page


def test_a_rent_follows_the_phases_as_long_as_they_run(tmp_path: Path) -> None:
    """Half of the cluster waits first, and the rent beside is paid for the months in production."""
    whole, phased = (
        json.loads(ffplan(f"cost {file} --draws 0 --format json").out)["tco"]
        for file in ("superpod-h100-4su", vary_design(tmp_path, "superpod-h100-4su", ("cost:\n", PHASED)))
    )
    part = 64 / 127
    assert phased["waiting"]["value"] == pytest.approx(part * whole["waiting"]["value"])
    assert phased["cash_flow"][-1]["waited"] == pytest.approx(whole["waiting"]["value"])
    assert phased["cash_flow"][20]["rented_months"] == pytest.approx(part * 20 + (1 - part) * 11)
    assert whole["production_months"] == pytest.approx(12 * whole["years"])
    assert phased["production_months"] == pytest.approx(12 * whole["years"] + 9 * part)


def test_what_is_over_before_the_hardware_is_paid_again_by_hand() -> None:
    """Terms of 24 months over a life of 60 that begins in month 7: months 31 and 55, the last one for a half."""
    first = one_purchase(5.0, 7.0, 1000.0, 0.0)
    later = again(first, 100.0, 24.0, 60.0)
    assert [(part.delivery, part.price, part.running, part.accelerators) for part in later] == [
        (31.0, 100.0, 0.0, 0.0),
        (55.0, 50.0, 0.0, 0.0),
    ]
    cash = Cash(purchases=(first, *later), running=1.0, life=60.0)
    assert (cash.end, cash.produced, cash.bought(cash.end), cash.ran(cash.end)) == (67.0, 60.0, 1150.0, 60.0)
    whole = cash.at_once()
    assert (whole.end, whole.bought(23.9), whole.bought(24.0), whole.bought(48.0)) == (60.0, 1000.0, 1100.0, 1150.0)


RENTED = """
name: rented
nodes: [{role: compute, server: hgx-h100-8nic, count: 64}]
fabric: {family: rail-optimised, switch: qm9700, link: {endpoint: 400g-dr4, inter_switch: 400g-dr4}, tiers: 2}
site: {pue: 1.3, currency: USD}
"""


@pytest.mark.parametrize(
    ("term", "years"), [("1-year", 4), ("3-year", 5), ("3-year", 2), ("3-year", 6), ("1-year", 1.5)]
)
@pytest.mark.parametrize("upfront", ["0 %", "40 %", "100 %"])
def test_a_rent_costs_its_price_however_much_is_paid_upfront(
    term: str, years: float, upfront: str, tmp_path: Path
) -> None:
    """512 accelerators at 2 USD an hour: 8.97 mn a year, renewed as long as they run."""
    file = tmp_path / "rented.yaml"
    file.write_text(f"{RENTED}rent: {{price: $2/hour, term: {term}, upfront: {upfront}}}\n")
    tco = json.loads(ffplan(f"cost {file} --years {years} --draws 0 -f json").out)["tco"]
    assert tco["total"] == pytest.approx(2 * 512 * 8760 * years)
    assert sum(row["capex"] for row in tco["cash_flow"]) == pytest.approx(tco["total"] * float(upfront[:-2]) / 100)


@pytest.mark.parametrize(
    ("life", "times"), [("2.5 years", 2.0), ("4 years", 1.25), ("5 years", 1.0), ("10 years", 0.5)]
)
def test_a_building_costs_by_the_years_that_it_stands(life: str, times: float, tmp_path: Path) -> None:
    """Built again while the hardware runs, and sold with it for the years that are left: cost is by the year."""
    owned = f"ownership: {{facility: own, building_life: {life}, life: 5.0 years}}\n\ncost:\n"
    reports = []
    for stands in (life, "5 years"):
        file = vary_design(tmp_path, "superpod-h100-4su", ("cost:\n", owned.replace(life, stands)))
        reports.append(json.loads(ffplan(f"cost {file} --draws 0 -f json").out))
    report, same = reports
    (building,) = (row["total"] for row in report["bom"]["lines"] if row["kind"] == "building")
    assert report["tco"]["total"] - same["tco"]["total"] == pytest.approx((times - 1) * building, rel=1e-6)
