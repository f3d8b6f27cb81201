"""Limits held against figures of a hand: kept, broken, partial and unknown, each to the word."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ffplan.base.errors import Finding, InputError, Severity
from ffplan.base.outcomes import MissingFigure
from ffplan.catalog.evidence import PriceFigure, Source
from ffplan.catalog.store import Catalog
from ffplan.check.limit import DesignLimit, _unknown_job, _unrated, compare
from ffplan.check.policy import NO_POLICY, named_limits, with_limits
from ffplan.check.rules import RULES
from ffplan.design.resolve import resolve
from ffplan.design.schema import Limits as Declared
from ffplan.inputs.quantities import Money
from ffplan.studies.operate import goodput_job
from tests.support import ROOT, document

TEXT = "name: x\nlimits:\n  capex: 9\n  goodput: 1\n  it_power: 2\n  price_age: 3\n  power_per_rack: 4\n"
LINES = {name.strip(): row for row, line in enumerate(TEXT.splitlines(), 1) for name in [line.partition(":")[0]]}
RULE = {rule.id: rule for rule in RULES}
LOAD = DesignLimit(
    field="it_power",
    title="",
    why="",
    example="",
    good="",
    fix="",
    what="the load",
    remedy="less",
    printed_unit="tons",
)
LEAST = replace(LOAD, field="goodput")
"""Of goodput more is better, so that its limit is a minimum."""
BROKEN, PARTIAL = "above the limit of at most 100 tons", "the limit cannot be checked: the load is at least"


def design(**fields: Any) -> Any:
    return SimpleNamespace(document=document(TEXT), **{"reliability": None, **fields})


def held(limit: DesignLimit, actual: float | None, bound: float, **words: str) -> list[Finding]:
    """Return the findings on a figure that is held against a limit."""
    rule = replace(limit.rule(), find=lambda _: compare(limit, actual, bound, **words))
    examined: Any = SimpleNamespace(design=design())
    return list(rule.check(examined))


@pytest.mark.parametrize(
    ("actual", "limit", "least", "missing", "words"),
    [
        (100.0, 100.0, False, "", ""),
        (99.0, 100.0, False, "", ""),
        (101.0, 100.0, False, "", f"the load is 101 tons, {BROKEN}"),
        (101.0, 100.0, True, "", ""),
        (100.0, 100.0, True, "", ""),
        (99.0, 100.0, True, "", "the load is 99 tons, below the limit of at least 100 tons"),
        (99.0, 100.0, False, "no ship", f"{PARTIAL} 99 tons, with no ship"),
        (101.0, 100.0, False, "no ship", f"the load is at least 101 tons, {BROKEN}"),  # the rest can only add
        (0.0, 100.0, True, "", "the load is 0 tons, below the limit of at least 100 tons"),
        (123456.7, 100.0, False, "", f"the load is 123,457 tons, {BROKEN}"),
        (100.123456, 100.0, False, "", f"the load is 100.12 tons, {BROKEN}"),
    ],
)
def test_a_limit_of_tons(actual: float, limit: float, least: bool, missing: str, words: str) -> None:
    row = LEAST if least else LOAD
    found = held(row, actual, limit, missing=missing)
    assert [item.message for item in found] == ([words] if words else [])
    for item in found:
        rule = f"limit-{row.field.replace('_', '-')}"
        assert (item.rule, item.line, item.severity) == (rule, LINES[row.field], Severity.ERROR)
        assert item.remedy == ("add the missing parts with `--catalog`" if "cannot" in words else "less")


@pytest.mark.parametrize(
    ("unknown", "message", "remedy"),
    [
        ("", "the load is not known", "weigh it"),
        ("it sank", "it sank", "complete the design, or drop the limit"),
    ],
)
def test_a_figure_that_is_not_known(unknown: str, message: str, remedy: str) -> None:
    (found,) = held(replace(LOAD, field="capex", remedy="weigh it"), None, 5.0, unknown=unknown)
    assert found.message == f"the limit cannot be checked: {message}"
    assert (found.remedy, found.rule, found.line) == (remedy, "limit-capex", LINES["capex"])


@pytest.mark.parametrize(("actual", "found"), [(1e6 - 1e-4, 0), (1e6 - 1e-2, 1)])
def test_a_least_has_the_slack_of_its_last_digits_too(actual: float, found: int) -> None:
    assert len(held(LEAST, actual, 1e6)) == found


@pytest.mark.parametrize(
    ("watts", "limit", "missing", "words"),
    [
        (9_000.0, 8_000.0, 0, "the power is 9,000 W, above the limit of at most 8,000 W"),
        (12_340.0, 9_999.0, 0, "the power is 12.34 kW, above the limit of at most 9,999 W"),
        (
            7_000.0,
            8_000.0,
            2,
            "the limit cannot be checked: the power is at least 7,000 W, with no `power.0` of `box` and `power.1` of "
            "`box`",
        ),
        (7_000.0, 8_000.0, 0, ""),
        (None, 8_000.0, 0, "the limit cannot be checked: the power is not known"),
    ],
)
def test_a_limit_of_power(watts: float | None, limit: float, missing: int, words: str) -> None:
    lacks: Any = tuple(MissingFigure(path=f"power.{at}", part="box") for at in range(missing))
    found = held(replace(LOAD, what="the power", printed_unit=""), watts, limit, missing=_unrated(lacks))
    assert [item.message for item in found] == ([words] if words else [])


def test_a_limit_is_placed_where_its_address_stands() -> None:
    text = "name: x\nlimits:\n  run.days: 9\n  capex: 1\n"
    spec = SimpleNamespace(limits=SimpleNamespace(run_days=5.0, capex=1.0))
    held_to: Any = SimpleNamespace(design=SimpleNamespace(document=document(text), spec=spec))
    found = [
        finding
        for name in ("run_days", "capex")
        for finding in replace(LOAD, field=name, holder=lambda limit, _: compare(limit, 9.0, 5.0)).rule().check(held_to)
    ]
    assert [(item.path, item.line) for item in found] == [("limits.run.days", 3), ("limits.capex", 4)]


@pytest.mark.parametrize(
    ("field", "message", "remedy"),
    [
        ("run.day: 9", "the field `run.day` is not known here", "did you mean `run.days`?"),
        ("step_times: 9 s", "the field `step_times` is not known here", "did you mean `step_time`?"),
        ("run_days: 9\n  run.days: 8", "the field `run.days` is given twice, under two names", "keep one of them"),
    ],
)
def test_a_limit_has_one_of_its_two_names(field: str, message: str, remedy: str) -> None:
    text = (ROOT / "designs" / "superpod-h100-4su.yaml").read_text()
    with pytest.raises(InputError) as caught:
        resolve(document(f"{text}\nlimits:\n  {field}\n"), Catalog())
    (fault,) = caught.value.findings
    assert (fault.message, fault.remedy) == (message, remedy)


def cost(total: float | None, *missing: str, lines: int = 1) -> Any:
    lacks = [SimpleNamespace(part=name) for name in missing]
    return SimpleNamespace(total=total, currency="USD", missing=lacks, lines=[object()] * lines)


@pytest.mark.parametrize(
    ("amount", "missing", "words", "remedy"),
    [
        (9.0, (), "", ""),
        (11.0, (), "the purchase is 11 USD, above the limit of at most 10 USD", "spend less, or raise the limit"),
        (
            9.0,
            ("nic", "link"),
            "the limit cannot be checked: the purchase is at least 9 USD, with no price of `nic` and `link`",
            "add the missing parts with `--catalog`",
        ),
        (None, (), "the limit cannot be checked: the purchase is not known", "name a price book"),
    ],
)
def test_a_limit_of_money(amount: float | None, missing: tuple[str, ...], words: str, remedy: str) -> None:
    """Of a design without accelerators, to whose parts nothing is added."""
    spec = SimpleNamespace(limits=SimpleNamespace(capex=usd(10.0)))
    priced = None if amount is None else cost(amount, *missing)
    examined: Any = SimpleNamespace(design=design(spec=spec), assessment=SimpleNamespace(cost=priced), site=(None, ""))
    found = list(RULE["limit-capex"].check(examined))
    assert [item.message for item in found] == ([words] if words else [])
    assert all(item.remedy.startswith(remedy) for item in found)


def job(goodput: float | None, *, limit: float | None = 0.9, workload: bool = True) -> Any:
    """Return a design whose workload keeps so much of its time; None where it has no step time."""
    own = SimpleNamespace(tokens=None) if workload else None
    outcome = SimpleNamespace(outcome=SimpleNamespace(goodput=goodput))
    return SimpleNamespace(
        design=design(workload=own, spec=SimpleNamespace(limits=SimpleNamespace(goodput=limit))),
        timed=None if goodput is None else object(),
        recovery=None if goodput is None else outcome,
    )


@pytest.mark.parametrize(
    ("examined", "words"),
    [
        (job(0.95), ""),
        (
            job(0.905),
            "the likely goodput of the workload, 90.5 %, holds the limit of 90.0 %; its median does not "
            "(median 89.5 %, P10 to P90 85.5 % to 90.3 %)",
        ),
        (job(0.92), ""),
        (
            job(0.85),
            "the likely goodput of the workload (median 84.0 %, P10 to P90 80.0 % to 84.8 %) is 0.85 of its time, "
            "below the limit of at least 0.9 of its time",
        ),
        (job(None), "the limit cannot be checked: the workload has no step time"),
        (job(None, workload=False), "the limit cannot be checked: the design has no `workload`"),
        (job(0.1, limit=None), ""),
    ],
)
def test_a_limit_of_the_workload(examined: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws are 0.05 below the likely value up to as much: the median 0.01 below."""

    def drawn(found: Any, *_: Any) -> Any:
        return SimpleNamespace(goodput=found.outcome.goodput - np.array([0.05, 0.05, 0.01, 0.002, 0.002]))

    monkeypatch.setattr(goodput_job, "drawn_outcome", drawn)
    assert [item.message for item in RULE["limit-goodput"].check(examined)] == ([words] if words else [])


def test_a_figure_of_a_job_is_worked_out_only_for_a_limit() -> None:
    def never(*_: Any) -> Any:
        raise AssertionError

    assert not replace(LOAD, field="goodput", holder=never).breaches(job(0.1, limit=None))
    assert _unknown_job(job(0.95)) == ""  # only a run over tokens needs them


@pytest.mark.parametrize(
    ("rack", "rated", "missing", "words", "remedy"),
    [
        (26e3, True, (), "is 26 kW, above the limit of at most 25 kW", "put fewer nodes in a rack"),
        (24e3, True, (), "", ""),
        (24e3, True, ("fans",), "", ""),  # the rating is of the whole node
        (24e3, False, ("fans",), "is at least 24 kW, with no `fans` of `box`", "add the missing parts"),
        (None, True, (), "at the nodes' maximum is not known", "add `per_rack` to the compute nodes"),
    ],
)
def test_the_power_of_a_rack(
    rack: float | None, rated: bool, missing: tuple[str, ...], words: str, remedy: str
) -> None:
    lacks = tuple(MissingFigure(path=name, part="box") for name in missing)
    node = SimpleNamespace(rack_w=rack, missing=lacks, server="box", role="compute")
    examined: Any = SimpleNamespace(
        design=design(spec=SimpleNamespace(limits=SimpleNamespace(power_per_rack=25e3))),
        assessment=SimpleNamespace(power=SimpleNamespace(nodes=[node])),
        power=SimpleNamespace(nodes=[SimpleNamespace(rated=rated)]),
    )
    found = list(RULE["limit-power-per-rack"].check(examined))
    assert len(found) == bool(words)
    for item in found:
        assert words in item.message
        assert item.remedy.startswith(remedy)


def prices(today: date | None, *dates: tuple[str | None, float], years: float | None = 0.5) -> list[Any]:
    """Return what is found of prices of these days, each of a part of so much money."""
    lines = [SimpleNamespace(part=f"p{at}", total=total) for at, (_, total) in enumerate(dates)]
    book = SimpleNamespace(
        items={f"p{at}": PriceFigure(value=1.0, source=f"s{at}") for at in range(len(dates))},
        sources={
            f"s{at}": Source(title="t", date=day, read="2026-11", grade="estimate", status="R")
            for at, (day, _) in enumerate(dates)
        },
    )
    examined: Any = SimpleNamespace(
        design=design(spec=SimpleNamespace(limits=SimpleNamespace(price_age=years)), prices=book, rent=None),
        assessment=SimpleNamespace(cost=SimpleNamespace(lines=lines, total=sum(total for _, total in dates))),
        today=today,
    )
    return list(RULE["limit-price-age"].check(examined))


def test_the_age_of_prices() -> None:
    """In November 2026, May is six months ago and December of the year before eleven; what is free has no price."""
    today = date(2026, 11, 30)
    old: list[tuple[str | None, float]] = [
        ("2026-05", 10.0),
        ("2026-04-30", 20.0),
        ("2025", 30.0),
        ("2020", 0.0),
        ("2026-11-01", 40.0),
    ]
    (found,) = prices(today, *old)
    assert found.message == ("50 % of the cost rests on prices up to 11 months old; the limit is 6: `p1` and `p2`")
    assert (found.rule, found.line) == ("limit-price-age", LINES["price_age"])
    assert prices(today, ("2025", 10.0), ("2026-11", 290.0))[0].message.startswith("3.3 % of the cost")
    assert not prices(today, ("2026-05", 10.0))
    assert not prices(None, *old)
    assert not prices(today, *old, years=None)
    assert "1 month old; the limit is 0" in prices(today, ("2026-10", 1.0), years=0.0)[0].message


def test_a_price_of_an_unknown_date_breaks_a_limit_of_age() -> None:
    """A price that was read this month and bears no date may be of any year."""
    today = date(2026, 11, 30)
    (found,) = prices(today, (None, 30.0), ("2026-10", 10.0))
    assert found.message == (
        "75 % of the cost rests on prices whose date is unknown, so the limit cannot be checked: `p0`"
    )
    assert (found.rule, found.line) == ("limit-price-age", LINES["price_age"])
    assert len(prices(today, (None, 30.0), ("2020", 10.0))) == 2
    assert not prices(today, (None, 0.0), ("2026-10", 10.0))
    assert not prices(today, (None, 30.0), years=None)


@dataclass
class Limits:
    """Limits of a design or of a policy, with what the real ones have for copies."""

    capex: Any = None
    it_power: Any = None
    goodput: Any = None
    allreduce_bandwidth: Any = None
    tokens_per_second: Any = None
    cost_per_accelerator: Any = None
    cost_per_million_tokens: Any = None
    cost_per_million_output: Any = None
    given: set[str] = field(default_factory=set)

    @property
    def model_fields_set(self) -> set[str]:
        return {name for name, value in vars(self).items() if name != "given" and value is not None}

    def model_copy(self, *, update: dict[str, Any]) -> Limits:
        return replace(self, **update)


@dataclass
class Spec:
    """The part of a design that has limits."""

    limits: Limits
    site: Any

    def model_copy(self, *, update: dict[str, Any]) -> Spec:
        return replace(self, **update)


@dataclass
class Planned:
    """A design that has prices in a currency, or a site in one."""

    spec: Spec
    prices: Any
    document: Any = field(default_factory=lambda: document(TEXT + "cost: {}\n"))


def planned(
    limits: Limits, currency: str | None = "USD", site: str | None = None, rates: dict[str, Money] | None = None
) -> Any:
    priced = SimpleNamespace(currency=currency) if currency else None
    return Planned(spec=Spec(limits=limits, site=SimpleNamespace(currency=site, exchange=rates or {})), prices=priced)


def of_team(**limits: Any) -> Any:
    fields: Any = SimpleNamespace(limits=Limits(**limits))
    return replace(NO_POLICY, file="ffplan.toml", folder=Path(), fields=fields)


def usd(amount: float) -> Money:
    return Money(amount, "USD")


@pytest.mark.parametrize(
    ("name", "own", "team", "held"),
    [
        ("it_power", None, 3.0, 3.0),
        ("it_power", 4.0, 3.0, 3.0),
        ("it_power", 2.0, 3.0, 2.0),
        ("goodput", 0.8, 0.9, 0.9),
        ("goodput", 0.95, 0.9, 0.95),
        ("allreduce_bandwidth", 5.0, 6.0, 6.0),
        ("tokens_per_second", 7.0, 6.0, 7.0),
        ("capex", None, usd(5.0), usd(5.0)),
        ("capex", usd(6.0), usd(5.0), usd(5.0)),
        ("capex", usd(4.0), usd(5.0), usd(4.0)),
        ("cost_per_million_tokens", None, Money(1.0, "EUR"), Money(1.0, "EUR")),  # its rule knows the run's currency
    ],
)
def test_the_stricter_limit_is_held(name: str, own: Any, team: Any, held: Any) -> None:
    """The lower of two most, the higher of two least."""
    before = planned(Limits(**{name: own}))
    after, remarks = with_limits(before, of_team(**{name: team}))
    assert getattr(after.spec.limits, name) == held
    assert getattr(before.spec.limits, name) == own
    assert not remarks


MONEY = [name for name, field in Declared.model_fields.items() if "Money" in str(field.annotation)]
"""Every limit in a currency."""
RATES = {"EUR": usd(1.2), "unit": usd(60.0)}
"""A euro is 1.2 dollars, a unit 60 dollars or 50 euros."""


@pytest.mark.parametrize(
    ("own", "team", "held"),
    [
        (None, Money(5.0, "EUR"), Money(5.0, "EUR")),
        (usd(6.1), Money(5.0, "EUR"), Money(5.0, "EUR")),  # 6.0 dollars
        (usd(5.9), Money(5.0, "EUR"), usd(5.9)),
        (Money(5.1, "EUR"), usd(6.0), usd(6.0)),
        (Money(4.9, "EUR"), usd(6.0), Money(4.9, "EUR")),
        (Money(51.0, "EUR"), Money(1.0, "unit"), Money(1.0, "unit")),
        (Money(49.0, "EUR"), Money(1.0, "unit"), Money(49.0, "EUR")),
    ],
)
@pytest.mark.parametrize("name", MONEY)
def test_of_two_currencies_the_rate_says_which_limit_is_stricter(name: str, own: Any, team: Any, held: Any) -> None:
    for priced in ("USD", "EUR", "unit"):
        before = planned(Limits(**{name: own}), priced, rates=RATES)
        after, remarks = with_limits(before, of_team(**{name: team}))
        assert (getattr(after.spec.limits, name), remarks) == (held, ())


@pytest.mark.parametrize("name", MONEY)
def test_a_limit_of_the_policy_is_never_dropped_without_a_word(name: str) -> None:
    """Without a rate between the two limits neither is the stricter: the design's own is held, the other reported."""
    own: Any = {name: Money(9.0, "EUR")}
    after, remarks = with_limits(planned(Limits(**own)), of_team(**{name: usd(5.0)}))
    assert getattr(after.spec.limits, name) == Money(9.0, "EUR")
    (one,) = remarks
    assert one.message == f"`{name}` of ffplan.toml cannot be held: it is in USD, the design's own in EUR"
    assert (one.rule, one.severity) == ("policy-limit", Severity.WARNING)


@pytest.mark.parametrize(("bound", "broken"), [(usd(2.41), False), (usd(2.39), True), (Money(2.01, "EUR"), False)])
def test_a_cost_of_tokens_is_held_in_a_currency_with_a_rate(bound: Money, broken: bool) -> None:
    """Two euros a million tokens are 2.40 dollars."""
    limits = replace(Limits(), cost_per_million_tokens=bound, cost_per_million_output=bound)
    spec = SimpleNamespace(limits=limits, site=SimpleNamespace(exchange=RATES))
    run = SimpleNamespace(cost=1, cost_per_million_tokens=SimpleNamespace(likely=2.0), currency="EUR")
    load = SimpleNamespace(cost=SimpleNamespace(currency="EUR", per_million_output=2.0))
    examined: Any = SimpleNamespace(
        design=design(spec=spec, workload=SimpleNamespace(tokens=1e9), rent=None),
        timed=True,
        run=run,
        served=(load, ""),
        assessment=SimpleNamespace(cost=None),
    )
    for rule in ("limit-cost-per-million-tokens", "limit-cost-per-million-output"):
        found = [item.message for item in RULE[rule].check(examined)]
        assert [f"is 2.4 USD, above the limit of at most {bound.amount} USD" in item for item in found] == [1] * broken
    spec.site.exchange = {}
    for rule in ("limit-cost-per-million-tokens", "limit-cost-per-million-output"):
        found = [item.message for item in RULE[rule].check(examined)]
        assert ["priced in EUR" in item for item in found] == [True] * (bound.currency != "EUR")


@pytest.mark.parametrize(
    ("currency", "site", "words"),
    [
        ("EUR", None, "the design is priced in EUR"),
        (None, None, "the design is not priced"),
        (None, "EUR", "the design is priced in EUR"),
        ("USD", "EUR", ""),
        (None, "USD", ""),
    ],
)
def test_a_limit_in_a_currency_that_the_design_has_not(currency: str | None, site: str | None, words: str) -> None:
    after, remarks = with_limits(planned(Limits(), currency, site), of_team(capex=usd(5.0), it_power=3.0))
    assert after.spec.limits.it_power == 3.0
    assert after.spec.limits.capex == (None if words else usd(5.0))
    assert [item.message for item in remarks] == (
        [f"`capex` of ffplan.toml cannot be held: it is in USD, {words}"] if words else []
    )
    for item in remarks:
        assert (item.rule, item.severity, item.line) == ("policy-limit", Severity.WARNING, TEXT.count("\n") + 1)


def test_findings_name_the_policy_that_set_their_limit() -> None:
    """The limit that the policy changed, not the one that the design has itself, nor another rule."""
    own = planned(Limits(it_power=2.0, goodput=0.5))
    held, _ = with_limits(own, of_team(it_power=3.0, goodput=0.9))
    place = own.document
    found = tuple(place.finding(rule, (), "m", "r") for rule in ("limit-it-power", "limit-goodput", "fabric-full"))
    named = named_limits(found, own, held, of_team())
    assert [item.message for item in named] == ["m", "m, set by ffplan.toml", "m"]


SITE = SimpleNamespace(
    currency="USD",
    headline=1200.0,
    it_training_kw=104.0,
    facility_training_kw=130.0,
    facility_peak_kw=180.0,
    missing=(),
)
"""The whole site: 1,200 dollars, 104 kW of IT and 130 at the meter in training, and 180 at the peak."""


def measured(**fields: Any) -> Any:
    """Return an assessment of 100 kW of IT power of what 100 accelerators plan, at 1,000 dollars."""
    power = SimpleNamespace(it_kw=100.0, it_maximum_kw=140.0, facility_kw=125.0, pue=1.25, missing=())
    money = SimpleNamespace(total=1000.0, per_accelerator=10.0, lines=[object()], missing=())
    lead = SimpleNamespace(library="nccl", limited_by_label="NIC", algbw_gbyte_s=40.0)
    plain = {
        "accelerators": 100,
        "power": power,
        "cost": money,
        "fabric": SimpleNamespace(oversubscription=2.0),
        "communication": [lead],
    }
    return SimpleNamespace(**{**plain, **fields})


@pytest.mark.parametrize(
    ("rule", "name", "kept", "broken", "words"),
    [
        ("limit-it-power", "it_power", 104e3, 103e3, "included is 104 kW, above the limit of at most 103 kW"),
        ("limit-facility-training", "facility_training", 130e3, 129_000.0, "at PUE 1.25, is 130 kW, above the limit"),
        ("limit-facility-peak", "facility_peak", 180e3, 179_000.0, "at PUE 1.25, is 180 kW, above the limit"),
        ("limit-capex", "capex", usd(1200.0), usd(1199.0), "is 1,200 USD, above the limit of at most 1,199 USD"),
        ("limit-cost-per-accelerator", "cost_per_accelerator", usd(12.0), usd(11.0), "is 12 USD, above the limit"),
        ("limit-oversubscription", "oversubscription", 2.0, 1.9, "is 2 to 1, above the limit of at most 1.9 to 1"),
        (
            "limit-allreduce-bandwidth",
            "allreduce_bandwidth",
            40.0,
            41.0,
            "of nccl is 40 GB/s, below the limit of at least",
        ),
    ],
)
def test_each_limit_of_a_design_holds_its_own_figure(rule: str, name: str, kept: Any, broken: Any, words: str) -> None:
    for limit, said in ((kept, ""), (broken, words), (None, "")):
        spec = SimpleNamespace(limits=SimpleNamespace(**{name: limit}))
        examined: Any = SimpleNamespace(design=design(spec=spec), assessment=measured(), site=(SITE, ""))
        found = [item.message for item in RULE[rule].check(examined)]
        assert len(found) == bool(said)
        assert all(said in message for message in found)


def test_an_allreduce_that_no_library_runs_is_not_known() -> None:
    spec = SimpleNamespace(limits=SimpleNamespace(allreduce_bandwidth=1.0))
    examined: Any = SimpleNamespace(design=design(spec=spec), assessment=measured(communication=[]))
    (found,) = RULE["limit-allreduce-bandwidth"].check(examined)
    assert found.message == "the limit cannot be checked: the allreduce bandwidth is not known"
    assert found.remedy == "name a library under `communication`"
    slow: Any = SimpleNamespace(
        design=design(spec=SimpleNamespace(limits=SimpleNamespace(allreduce_bandwidth=99.0))), assessment=measured()
    )
    assert [item.remedy for item in RULE["limit-allreduce-bandwidth"].check(slow)] == [
        "relieve what binds it, the NIC, or lower the limit"
    ]


@pytest.mark.parametrize(
    ("rule", "name", "kept", "broken"),
    [
        ("limit-step-time", "step_time", 2.0, 1.9),
        ("limit-tokens-per-second", "tokens_per_second", 500.0, 501.0),
        ("limit-run-days", "run_days", 30.0, 29.0),
    ],
)
def test_each_limit_of_a_job_holds_its_own_figure(rule: str, name: str, kept: float, broken: float) -> None:
    """The first row is the workload: 2 s, 500 tokens a second, 30 days."""
    rows = [SimpleNamespace(step_s=2.0, tokens_s=500.0), SimpleNamespace(step_s=9.0, tokens_s=9.0)]
    run = SimpleNamespace(days=SimpleNamespace(likely=30.0))
    for limit, found in ((kept, 0), (broken, 1), (None, 0)):
        spec = SimpleNamespace(limits=SimpleNamespace(**{name: limit}))
        own = design(spec=spec, workload=SimpleNamespace(tokens=1e9))
        examined: Any = SimpleNamespace(design=own, timed=SimpleNamespace(rows=rows), run=run)
        assert len(list(RULE[rule].check(examined))) == found
        lost: Any = SimpleNamespace(design=own, timed=None, run=None)
        assert len(list(RULE[rule].check(lost))) == (limit is not None)
    tokens: Any = SimpleNamespace(
        design=design(spec=spec, workload=SimpleNamespace(tokens=None)), timed=SimpleNamespace(rows=rows), run=None
    )
    tokens.design.spec.limits = SimpleNamespace(**{name: broken})
    words = [item.message for item in RULE[rule].check(tokens)]
    assert ("the workload has no `tokens`" in words[0]) == (name == "run_days")
