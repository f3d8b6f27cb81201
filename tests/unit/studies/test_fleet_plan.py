"""Fleets over quarters: dates, money and shortfalls by hand, one answer with `cost` and `serve`, and other dates."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml

import ffplan
from ffplan.cost.horizon import regrets, standing, value_left, within_quarter
from ffplan.design.fleet_file import month_text
from tests.support import ROOT, valid
from tests.support import ffplan as run

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.results.fleet_plan import FleetPlan

MONTHS_OF_QUARTER, QUARTER_DAYS = 3, 365 / 4
FIXED = {"lead_time": "0 months", "commissioning": "0 months"}


def cluster(**changed: Any) -> dict[str, Any]:
    return (
        {"name": "h100", "design": "superpod-h100-4su", "order": "2027-01", "use": {"run": "100 %"}} | FIXED | changed
    )


def fleet_file(folder: Path, *clusters: dict[str, Any], **changed: Any) -> Path:
    """Write a fleet with a training job, or other demand."""
    demand = [{"name": "run", "train": "llama3.1-70b", "tokens": ["2T"]}]
    content = {"kind": "fleet", "name": "mine", "start": "2027-01", "quarters": 4, "clusters": list(clusters)}
    path = folder / "fleet.yaml"
    path.write_text(yaml.safe_dump(content | {"demand": demand} | changed, sort_keys=False))
    return path


def planned(folder: Path, *clusters: dict[str, Any], **changed: Any) -> FleetPlan:
    return ffplan.fleet(fleet_file(folder, *clusters, **changed), draws=2000)


def test_what_stands_in_a_quarter() -> None:
    """From the middle of February to the end of July of the first two quarters and a part."""
    assert standing(1.5, 7.0, 4)[:, 0] == pytest.approx([0.5, 1.0, 1 / 3, 0.0])
    assert standing(np.array([-9.0, 11.0]), 99.0, 4).tolist() == [[1, 0], [1, 0], [1, 0], [1, pytest.approx(1 / 3)]]


def test_a_month_lies_in_one_quarter() -> None:
    assert within_quarter(np.array([2.9, 3.0, -1.0, 12.0]), 4).astype(int).tolist() == [
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
    ]


def test_what_is_left_of_a_price() -> None:
    """100 with 20 % left after 4 years: 60 after 2, and never less than 20."""
    assert value_left(100.0, 0.2, np.array([0.0, 2.0, 4.0, 9.0]), 4.0) == pytest.approx([100, 60, 20, 20])


def test_regret_of_two_choices() -> None:
    """Costs 1 or 5 against 3 always: regrets are 0 and 2 in the first, 2 and 0 in the second."""
    assert regrets(np.array([[1.0, 5.0], [3.0, 3.0]])) == pytest.approx([1.0, 1.0])


def test_months_are_written_as_read() -> None:
    assert month_text(2027 * 12) == "2027-01"
    assert month_text(2027 * 12 + 11) == "2027-12"


def test_a_cluster_costs_and_trains_what_cost_says(tmp_path: Path) -> None:
    """Purchase, year and tokens of a quarter are those of `ffplan cost`: tokens over days, in the hours with jobs."""
    plan = planned(tmp_path, cluster(), quarters=1)
    alone = ffplan.costs("superpod-h100-4su", "llama3.1-70b", 2e12, draws=2000)
    assert alone.tco is not None
    assert alone.run is not None
    row, tco = plan.clusters[0], alone.tco
    assert row.purchase.p50 == pytest.approx(tco.purchase.p50)
    assert (row.purchase.p10, row.purchase.p90) == pytest.approx((tco.purchase.p10, tco.purchase.p90))
    assert row.year.p50 == pytest.approx(tco.year, rel=0.02)
    assert row.facility_peak_kw == pytest.approx(alone.power.facility_peak_kw)
    days = 2e12 / row.capacity["run"].p50 * QUARTER_DAYS
    assert days == pytest.approx(
        alone.run.days.p50 / tco.utilisation, rel=0.05
    )  # drawn hours with jobs, not likely ones
    assert plan.quarters[0].energy_mwh.p50 == pytest.approx(alone.power.energy_mwh_year / 4, rel=0.02)
    assert plan.quarters[0].carbon_t.p50 == pytest.approx(alone.power.carbon_t_year / 4, rel=0.2)  # the grid is skewed


def test_dates_by_hand(tmp_path: Path) -> None:
    """Ordered in January with five months of lead and one of commissioning: July, paid in June."""
    late = cluster(lead_time="5 months", commissioning="1 months", retire="2027-12")
    plan = planned(tmp_path, late)
    row = plan.clusters[0]
    assert (row.ready, row.retire) == ("2027-07", "2027-12")
    assert row.ready_months.p50 == pytest.approx(6)
    assert [quarter.purchase.p50 > 0 for quarter in plan.quarters] == [False, True, False, False]
    assert [quarter.running.p50 > 0 for quarter in plan.quarters] == [False, False, True, True]
    shares = [quarter.accelerators / row.accelerators for quarter in plan.quarters]
    assert shares == pytest.approx([0, 0, 1, 2 / 3])
    # of a life of 48 months or so 5 are over
    assert 0.85 < plan.totals.book_value.p50 / row.purchase.p50 < 0.95
    assert plan.quarters[0].demand["run"].missing == 1
    # short in the first quarter whatever is ordered then: half a year late
    assert (row.needed, row.late, row.order_by) == ("2027-01", 1.0, "2026-07")


def test_what_is_missing_is_rented(tmp_path: Path) -> None:
    """No cluster before July: two quarters of 2T, at the hours that the same accelerators need for them."""
    plan = planned(tmp_path, cluster(order="2027-07"), shortfall="$3/hour")
    row = plan.clusters[0]
    tokens_hour = row.capacity["run"].mean / (row.accelerators * 8760 / 4)
    assert plan.totals.shortfall is not None
    used = ffplan.costs("superpod-h100-4su", draws=2000).tco
    assert used is not None
    expected = 2 * 2e12 / tokens_hour * 3 * used.utilisation
    assert plan.totals.shortfall.p50 == pytest.approx(expected, rel=0.05)  # by mean hours with jobs, not likely ones
    assert plan.shortfall_hour == {"run": 3.0}


def test_choices_are_what_other_files_cost(tmp_path: Path) -> None:
    """The cost of an order two quarters later is the cost as planned of a file that orders it then."""
    first = planned(tmp_path, cluster(), cluster(name="more", order="2027-04"))
    moved = planned(tmp_path, cluster(), cluster(name="more", order="2027-10"))
    later = next(choice for choice in first.clusters[1].choices if choice.shift == 2)
    stays = next(choice for choice in moved.clusters[1].choices if choice.shift == 0)
    assert later.cost == pytest.approx(stays.cost)
    never = next(choice for choice in first.clusters[1].choices if choice.shift is None)
    alone = planned(tmp_path, cluster())
    assert never.cost == pytest.approx(next(c.cost for c in alone.clusters[0].choices if c.shift == 0))
    best = min(first.clusters[1].choices, key=lambda choice: choice.cost)
    assert best.regret == min(choice.regret for choice in first.clusters[1].choices)
    for choice in first.clusters[1].choices:  # what a choice costs more on average it regrets at least
        assert choice.regret >= choice.cost - best.cost - 1


def test_an_order_that_was_placed_does_not_move(tmp_path: Path) -> None:
    row = planned(tmp_path, cluster(order="2026-12")).clusters[0]
    assert (row.placed, row.choices, row.order_by) == (True, (), None)


def test_two_equal_clusters_are_a_count_of_two(tmp_path: Path) -> None:
    """Splitting an order, or another order of the file, changes no total and no quarter."""
    half = cluster(use={"run": "50 %"}, name="half")
    both = planned(tmp_path, cluster(count=2, name="both"), half)
    split = planned(tmp_path, half, cluster(name="one"), cluster(name="two"))
    assert _numbers(both.totals) == pytest.approx(_numbers(split.totals))
    for one, other in zip(both.quarters, split.quarters, strict=True):
        assert _numbers(one) == pytest.approx(_numbers(other))


def _numbers(row: Any) -> list[float]:
    text = json.dumps(row, default=lambda value: {name: getattr(value, name) for name in value.__dataclass_fields__})
    return [float(part) for part in text.replace("{", ",").replace("}", ",").replace(":", ",").split(",") if _is(part)]


def _is(text: str) -> bool:
    try:
        return abs(float(text)) < float("inf")
    except ValueError:
        return False


def test_a_site_changes_energy_and_power_alone(tmp_path: Path) -> None:
    sites = {"cold": {"power": "1 MW", "pue": 1.05, "grid": 10, "electricity_price": "$0.02/kWh"}}
    plain, cold = planned(tmp_path, cluster()), planned(tmp_path, cluster(site="cold"), sites=sites)
    assert cold.totals.carbon_t.p50 < plain.totals.carbon_t.p50 / 10
    assert cold.totals.running.p50 < plain.totals.running.p50
    assert cold.totals.purchase == plain.totals.purchase
    assert cold.quarters[0].demand == plain.quarters[0].demand
    assert (cold.sites[0].limit_kw, cold.sites[0].over) == (1000, 1)


def test_demand_keeps_its_quantile(tmp_path: Path) -> None:
    """A demand that is likely met in each quarter is as likely met in all of them, not less."""
    probe = planned(tmp_path, cluster()).clusters[0].capacity["run"].p50
    tokens = {"low": f"{probe * 0.6:.0f}", "likely": f"{probe * 0.9:.0f}", "high": f"{probe * 1.2:.0f}"}
    plan = planned(tmp_path, cluster(), demand=[{"name": "run", "train": "llama3.1-70b", "tokens": [tokens]}])
    short = [quarter.demand["run"].short for quarter in plan.quarters]
    assert 0.05 < short[0] < 0.95
    assert short == pytest.approx([short[0]] * 4)
    assert plan.totals.met == pytest.approx(1 - short[0])


def test_more_of_anything_never_leaves_more_undone(tmp_path: Path) -> None:
    wide = {"name": "run", "train": "llama3.1-70b", "tokens": [{"low": "2T", "likely": "6T", "high": "20T"}]}
    chances = [
        planned(tmp_path, cluster(count=count, **changed), demand=[wide]).totals.met
        for count, changed in ((1, {"use": {"run": "40 %"}}), (1, {}), (2, {}), (4, {}))
    ]
    assert chances == sorted(chances)
    assert chances[0] < chances[-1]


def test_serving_is_what_the_search_of_a_fleet_finds(tmp_path: Path) -> None:
    """Copies on all nodes but those in repair, each at its largest rate within the targets with an even chance."""
    chat = {"name": "chat", "serve": "llama3.1-8b", "rate": ["100/s"], "ttft": "2 s", "tpot": "50 ms"}
    row = planned(tmp_path, cluster(use={"chat": "50 %"}, design="l40s-8-roce"), demand=[chat]).clusters[0]
    copies, rest = row.plan["chat"].split(" x ")
    tensor = int(rest.split(",")[0].removeprefix("TP"))
    served = ffplan.serve(
        "l40s-8-roce", "llama3.1-8b", search=True, ttft=2.0, tpot=0.05, precision="bf16", prompt=1024, output=1024
    )
    best = served.rows[served.best]
    rate = row.capacity["chat"].p50 * 2 / (int(copies) * tensor)
    # percentiles of a run at random lie below the even load of the search, by less than half
    assert 0.5 < rate / (best.rate_s / (served.copies * served.plan.gpus)) < 1.05
    assert row.capacity["chat"].p10 < row.capacity["chat"].p50 < row.capacity["chat"].p90


def test_the_shipped_fleet_prints_one_screen_and_a_contract() -> None:
    shown = run("fleet", "two-sites")
    assert shown.code == 0
    assert len(shown.out.splitlines()) <= 24
    assert max(map(len, shown.out.splitlines())) <= 80
    printed = run("fleet", "two-sites", "--format", "json", "--draws", "500")
    valid(printed.out, "fleet-plan")
    assert json.loads(printed.out) == ffplan.fleet("two-sites", draws=500).to_dict()


CHAT = {"name": "chat", "serve": "llama3.1-8b", "rate": ["30/s"], "ttft": "2 s", "tpot": "50 ms"}


def test_a_month_without_a_server_is_short(tmp_path: Path) -> None:
    """One cluster serves to April, the next from June: nothing stands in May, whatever the average of the quarter."""
    first = cluster(name="first", retire="2027-05", use={"chat": "100 %"})
    then = cluster(name="then", order="2027-06", use={"chat": "100 %"})
    plan = planned(tmp_path, first, then, demand=[CHAT])
    rows = [quarter.demand["chat"] for quarter in plan.quarters]
    assert [row.short for row in rows] == [0, 1, 0, 0]
    assert rows[1].capacity.p90 == 0
    assert rows[1].missing == pytest.approx(1 / 3)
    assert plan.totals.met == 0


def written(folder: Path, name: str, rent: str = "", capital: str = "") -> str:
    """Write the design of `cluster()`, for rent or with another cost of capital, and return its file name."""
    text = (ROOT / "designs/superpod-h100-4su.yaml").read_text()
    if rent:
        text = text.replace("cost:\n  price_book: usd-2026\n", "") + f"\nrent: {{price: $3/hour, {rent}}}\n"
    (folder / name).write_text(text + (f"\nownership: {{capital: {capital}}}\n" if capital else ""))
    return name


RENT_YEAR = 3 * 1016 * 8760
"""Rent of a year of the design of `cluster()` at 3 $ an accelerator-hour."""


@pytest.mark.parametrize("upfront", [0.0, 0.4, 1.0])
def test_a_rent_is_paid_to_the_end_of_its_term(upfront: float, tmp_path: Path) -> None:
    """Its cash is its price, and it costs what `cost` says, with interest; who retires early pays on."""
    design = written(tmp_path, "rented.yaml", f"term: 3-year, upfront: {upfront}")
    year = ffplan.costs(tmp_path / design, draws=2000).tco
    assert year is not None
    whole = planned(tmp_path, cluster(design=design))
    early = planned(tmp_path, cluster(design=design, retire="2027-04"))
    assert whole.totals.cash.p50 == whole.totals.running.p50 == pytest.approx(RENT_YEAR)
    row = whole.clusters[0]
    assert row.year.p50 == pytest.approx(year.year, rel=0.02)
    assert (row.year.p50 > 1.02 * RENT_YEAR) == bool(upfront)
    assert whole.totals.shortfall is not None
    stays = next(choice for choice in row.choices if choice.shift == 0)
    assert stays.cost - whole.totals.shortfall.mean == pytest.approx(row.year.mean)
    assert (whole.totals.purchase.p50, early.totals.cash.p50) == (0, whole.totals.cash.p50)
    assert early.quarters[1].demand["run"].capacity.p90 == 0


@pytest.mark.parametrize("rent", ["", "term: on-demand", "term: 1-year, upfront: 40 %", "term: 3-year, upfront: 100 %"])
def test_cash_holds_no_interest(rent: str, tmp_path: Path) -> None:
    """Another cost of capital changes no payment, of a purchase or of a rent, once or renewed."""
    cheap, dear = (
        planned(tmp_path, cluster(design=written(tmp_path, "own.yaml", rent, capital))) for capital in ("1 %", "30 %")
    )
    assert cheap.totals.cash == dear.totals.cash
    assert [quarter.running for quarter in cheap.quarters] == [quarter.running for quarter in dear.quarters]
    assert (dear.clusters[0].year.p50 > cheap.clusters[0].year.p50) == (not rent or "upfront" in rent)


SHORT = {"lead_time": "3 months", "commissioning": "1 months", "retire": "2027-06"}
"""Delivered in April and ready in May, in use for a month."""


def test_a_purchase_that_comes_after_its_retirement_costs_its_price(tmp_path: Path) -> None:
    """Ordered in April or July, it is delivered in July or October and never works."""
    plan = planned(tmp_path, cluster(**SHORT))
    row = plan.clusters[0]
    assert (row.ready, row.retire, row.unused) == ("2027-05", "2027-06", 0)
    cost = {choice.shift: choice.cost for choice in row.choices}
    assert cost[1] - cost[None] == cost[2] - cost[None] == pytest.approx(row.purchase.mean)
    far = planned(tmp_path, cluster(**{**SHORT, "lead_time": "4 months", "commissioning": "0 months"}), quarters=3)
    costs = {choice.shift: choice.cost for choice in far.clusters[0].choices}
    assert costs[2] == pytest.approx(costs[None])  # delivered in November, after the plan


@pytest.mark.parametrize(("term", "months"), [("1-year", 5), ("3-year", 5), ("on-demand", 0)])
def test_a_rent_that_comes_after_its_retirement_costs_a_term(term: str, months: int, tmp_path: Path) -> None:
    """Ordered in April, it would be ready in August: a term is paid, of a year five months of it within the plan."""
    design = written(tmp_path, "rented.yaml", f"term: {term}")
    cost = {
        choice.shift: choice.cost for choice in planned(tmp_path, cluster(**SHORT, design=design)).clusters[0].choices
    }
    assert cost[1] - cost[None] == pytest.approx(months * RENT_YEAR / 12, abs=1)


def test_an_order_that_may_come_after_its_retirement(tmp_path: Path) -> None:
    """Its month is the file's, the chance of it is told, and what never worked draws no power and has no book value."""
    slow = cluster(lead_time={"low": "1 months", "likely": "2 months", "high": "20 months"}, retire="2027-06")
    sites = {"here": {"power": "9 MW"}}
    path = fleet_file(tmp_path, cluster(), {**slow, "name": "slow", "site": "here"}, sites=sites)
    plan = ffplan.fleet(path, draws=2000)
    row = next(one for one in plan.clusters if one.name == "slow")
    assert row.retire == "2027-06" < row.ready
    # by the months of a triangle: (20 - 5)^2 / ((20 - 1) (20 - 2)) are above 5
    assert row.unused == pytest.approx(15**2 / (19 * 18), abs=0.03)
    other = tmp_path / "other"
    other.mkdir()
    later = ffplan.fleet(fleet_file(other, cluster(), {**slow, "name": "slow", "retire": "2029-01"}), draws=2000)
    worked = 1 - row.unused
    assert plan.totals.book_value.mean == pytest.approx(worked * row.purchase.mean, rel=0.1)
    assert plan.totals.purchase == later.totals.purchase
    peaks = [quarter.facility_peak_kw.mean - plan.clusters[0].facility_peak_kw for quarter in plan.quarters]
    assert peaks[1] == pytest.approx(worked * row.facility_peak_kw, rel=0.05)
    assert peaks[2:] == pytest.approx([0, 0])
    said = f"slow: {100 * row.unused:.0f} % likely ready only after it retires in 2027-06"
    for more in ((), ("--full",)):
        assert said in " ".join(run("fleet", str(path), "--draws", "2000", *more).out.split())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"lead_time": "9 months", "retire": "2027-03"}, "ready in 2027-10 only"),
        ({"order": "2028-01"}, "ordered after the last quarter, which ends with 2027-12"),
        ({"order": "2025-01", "retire": "2026-12"}, "retires before the fleet starts"),
        ({"use": {"run": "0 %"}}, "a share of 0 %"),
        ({"order": "2015-03"}, "its life ends before the fleet starts"),
        ({"design": "superpod-h100"}, r"fleet.yaml:\d+:\d+: error: no file and no shipped design"),
    ],
)
def test_clusters_that_can_do_nothing(changed: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(ffplan.InputError, match=words):
        planned(tmp_path, cluster(**changed))


def test_what_serves_nothing_says_why(tmp_path: Path) -> None:
    """A copy takes all nodes of the design, of which one is in repair now and then."""
    big = {**CHAT, "serve": "deepseek-v3", "ttft": "30 s", "tpot": "2 s"}
    with pytest.raises(ffplan.InputError, match=r"no copy fits beside 1 spare\b"):
        planned(tmp_path, cluster(design="l40s-8-roce", use={"chat": "100 %"}), demand=[big])


def test_fields_of_serving_are_refused_beside_training(tmp_path: Path) -> None:
    odd = {"name": "run", "train": "llama3.1-70b", "tokens": ["2T"], "isl": 5}
    with pytest.raises(ffplan.InputError, match="`isl` belongs to `serve`"):
        planned(tmp_path, cluster(), demand=[odd])


def test_a_demand_may_begin_late_and_be_one_value(tmp_path: Path) -> None:
    """No tokens in the first half year, for which nothing has to stand."""
    late = [{"name": "run", "train": "llama3.1-70b", "tokens": [0, 0, "2T", "2T"]}]
    plan = planned(tmp_path, cluster(order="2027-07"), demand=late)
    assert [quarter.demand["run"].missing for quarter in plan.quarters] == [0, 0, 0, 0]
    assert run("fleet", str(fleet_file(tmp_path, cluster(order="2027-07"), demand=late))).code == 0
    single = planned(tmp_path, cluster(), demand=[{**late[0], "tokens": "2T"}])
    assert single.quarters == planned(tmp_path, cluster(), demand=[{**late[0], "tokens": ["2T"]}]).quarters


@pytest.mark.parametrize(
    ("site", "words"),
    [({"power": "0 MW"}, "no power"), ({"electricity_price": "£0.08/kWh"}, "sites.here.electricity_price|GBP")],
)
def test_sites_that_are_none(site: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(ffplan.InputError, match=words) as caught:
        planned(tmp_path, cluster(site="here"), sites={"here": site})
    assert "fleet.yaml" in str(caught.value)


def test_a_site_over_its_power_is_in_the_verdict(tmp_path: Path) -> None:
    easy = [{"name": "run", "train": "llama3.1-70b", "tokens": "1B"}]
    path = fleet_file(tmp_path, cluster(site="here"), sites={"here": {"power": "1 MW"}}, demand=easy)
    shown = run("fleet", str(path))
    assert shown.code == 1
    assert "100 % risk that site here is over its power." in " ".join(shown.out.split())


def test_as_many_draws_as_memory_holds(tmp_path: Path) -> None:
    with pytest.raises(ffplan.UsageError, match="at most 500,000 for 4 quarters"):
        ffplan.fleet(fleet_file(tmp_path, cluster()), draws=500_001)


def test_a_late_order_is_named_where_the_quarter_is_short(tmp_path: Path) -> None:
    """Ordered in January with a wait of six months, for a demand of January that nothing meets until July."""
    slow = cluster(lead_time="6 months")
    easy = [{"name": "run", "train": "llama3.1-70b", "tokens": ["1T"]}]
    late = run("fleet", str(fleet_file(tmp_path, slow, demand=easy)))
    assert "h100: 100 % likely late for 2027-01, short without it, even if ordered at the start" in " ".join(
        late.out.split()
    )
    ready = cluster(name="old", order="2026-01")
    calm = run("fleet", str(fleet_file(tmp_path, ready, slow, demand=easy)))
    assert "likely late" not in calm.out


@pytest.mark.parametrize("tokens", ["1B", "100T"])
def test_late_is_the_same_on_the_screen_in_full_and_in_json(tokens: str, tmp_path: Path) -> None:
    """Ready in the middle of a quarter whose tokens it trains in the rest of it, it is too late for none."""
    demand = [{"name": "run", "train": "llama3.1-70b", "tokens": [0, 0, tokens, tokens]}]
    path = fleet_file(tmp_path, cluster(lead_time="7 months"), demand=demand)
    row = ffplan.fleet(path, draws=500).clusters[0]
    assert (row.ready, row.needed) == ("2027-08", "2027-07")
    assert row.late == float(tokens == "100T")
    for more in ((), ("--full",)):
        shown = " ".join(run("fleet", str(path), "--draws", "500", *more).out.split())
        assert ("h100: 100 % likely late for 2027-07" in shown) == (tokens == "100T"), shown


def test_what_the_columns_are(tmp_path: Path) -> None:
    """A delivery that a sixth of the draws have by March stands beside a median of 0 kW, and is explained."""
    sure = run("fleet", str(fleet_file(tmp_path, cluster(), quarters=1)), "--draws", "500")
    assert "USD on average, peak in the median; capacity over demand" in " ".join(sure.out.split())
    lead = {"low": "1 months", "likely": "2 months", "high": "20 months"}
    path = str(fleet_file(tmp_path, cluster(lead_time=lead), quarters=1))
    shown = " ".join(run("fleet", path, "--draws", "500").out.split())
    assert "(0 kW beside a purchase: nothing stands in most draws)" in shown
    assert run("fleet", path, "--draws", "500", "--full").out.startswith("Fleet mine, 1 quarter from 2027-01")


def test_a_fleet_that_meets_its_demand_is_fine(tmp_path: Path) -> None:
    easy = [{"name": "run", "train": "llama3.1-70b", "tokens": ["1B"]}]
    assert run("fleet", str(fleet_file(tmp_path, cluster(), demand=easy))).code == 0


def test_what_is_no_fleet(tmp_path: Path) -> None:
    run_design = run("fleet", "designs/fire-flyer-2.yaml")
    assert (run_design.code, run_design.err.count("error:")) == (2, 1)
    assert "this is not a fleet file" in run_design.err


def test_draws_are_what_the_help_says() -> None:
    none = run("fleet", "two-sites", "--draws", "0")
    assert (none.code, "--draws: input should be greater than or equal to 1" in none.err) == (2, True)
    assert "0 for none" not in run("fleet", "--help").out


@pytest.mark.parametrize("likely", ["0", "1k"])
def test_a_demand_that_is_likely_none_may_come(likely: str, tmp_path: Path) -> None:
    """Its plan is of the largest run that is possible; with nothing likely, half of the draws or more have none."""
    demand = [{"name": "run", "train": "llama3.1-70b", "tokens": {"low": 0, "likely": likely, "high": "1T"}}]
    plan = planned(tmp_path, cluster(), demand=demand)
    certain = planned(tmp_path, cluster(), demand=[{**demand[0], "tokens": "1T"}])
    assert plan.clusters[0].plan == certain.clusters[0].plan
    assert plan.clusters[0].capacity == certain.clusters[0].capacity
    assert plan.totals.met >= certain.totals.met


def test_designs_lie_beside_the_fleet_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_bytes((ROOT / "designs/superpod-h100-4su.yaml").read_bytes())
    assert planned(tmp_path, cluster(design="mine.yaml")).clusters[0].design == "superpod-h100-4su"


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"chance": 1.0}, "at least 0.5 and at most 0.99"), ({"draws": 0}, "a whole number from 1")],
)
def test_what_python_refuses(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ffplan.UsageError, match=words):
        ffplan.fleet("two-sites", **changed)
