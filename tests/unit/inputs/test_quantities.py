from __future__ import annotations

import pytest
from pydantic_core import PydanticCustomError

from ffplan.inputs import dimensions as d
from ffplan.inputs import quantities as q
from tests.support import read_yaml


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("200 Gb/s", d.BANDWIDTH, 25.0),
        ("200Gb/s", d.BANDWIDTH, 25.0),
        ("200 Gbps", d.BANDWIDTH, 25.0),
        ("9 GiB/s", d.BANDWIDTH, 9.663676416),  # 9 * 1.024**3
        ("1.8 TB/s", d.BANDWIDTH, 1800.0),
        ("3.2 Tb/s", d.BANDWIDTH, 400.0),
        ("2.5 kW", d.POWER, 2500.0),
        ("0 W", d.POWER, 0.0),
        ("4 MW", d.POWER, 4e6),
        ("186 MiB", d.DATA, 186 * 2**20),
        ("512 GB", d.DATA, 512e9),
        ("15.36 TB", d.DATA, 15.36e12),
        ("1 PFLOP/s", d.COMPUTE, 1000.0),
        ("3200 MT/s", d.TRANSFERS, 3200.0),
        ("30 m", d.LENGTH, 30.0),
        ("2.8 m2", d.AREA, 2.8),
        ("100ft2", d.AREA, 9.290304),
        ("1,250 W", d.POWER, 1250.0),
        (".25 kW", d.POWER, 250.0),
    ],
)
def test_quantities_as_people_write_them(text: str, dimension: d.Dimension, expected: float) -> None:
    assert q.parse_quantity(text, dimension) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("200 GB", "is an amount of data; a bandwidth is wanted"),
        (200, "has no unit; a bandwidth is wanted"),
        ("200 gb/s", "units tell b (bit) from B (byte)"),
        ("200 furlongs", "the unit `furlongs` is not known"),
        ("-200 Gb/s", "is negative"),
        ("0 Gb/s", "is out of range"),
        ("1e300 Gb/s", "is out of range"),
        ("1e-320 Gb/s", "is out of range"),
        ("nan Gb/s", "is not a bandwidth"),
        ("inf Gb/s", "is not a bandwidth"),
        ("1e999 Gb/s", "too large to be finite"),
        ("1e308 TB/s", "too large to be finite"),
        (True, "is not a bandwidth"),
        (None, "nothing is not a bandwidth"),
        ("3:1", "is not a bandwidth"),
        ("", "is not a bandwidth"),
    ],
)
def test_wrong_bandwidths_say_what_is_wrong(text: object, message: str) -> None:
    with pytest.raises(PydanticCustomError) as caught:
        q.parse_quantity(text, d.BANDWIDTH)
    assert caught.value.context is not None
    assert message in caught.value.context["message"]
    assert caught.value.context["remedy"]


@pytest.mark.parametrize(("text", "expected"), [("3:1", 3.0), ("1:1", 1.0), ("1.067:1", 1.067), (2, 2.0), ("1:2", 0.5)])
def test_ratios(text: object, expected: float) -> None:
    assert q.parse_ratio(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text", ["3", "1:0", "0:1", "1e9:1", "1:1e9", -1, 0, float("inf"), float("nan"), True, "a:b", None, "-3:1"]
)
def test_wrong_ratios(text: object) -> None:
    with pytest.raises(PydanticCustomError):
        q.parse_ratio(text)


@pytest.mark.parametrize(("text", "expected"), [("40 %", 0.4), ("40%", 0.4), (0.4, 0.4), ("200 %", 2.0)])
def test_fractions(text: object, expected: float) -> None:
    assert q._parse_fraction(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["-40 %", -0.1, 0, "0 %", "201 %", float("nan"), "40", True, None])
def test_wrong_fractions(text: object) -> None:
    with pytest.raises(PydanticCustomError):
        q._parse_fraction(text)


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("$36,000", 36000.0, "USD"),
        ("$120 M", 120e6, "USD"),
        ("1.2 bn USD", 1.2e9, "USD"),
        ("350 paper-unit", 350.0, "paper-unit"),
        ("€5", 5.0, "EUR"),
        ("$5 USD", 5.0, "USD"),
        ("EUR 90M", 90e6, "EUR"),
        ("USD 1.2 bn", 1.2e9, "USD"),
        ("CNY5 CNY", 5.0, "CNY"),
        ("42.7 mn USD", 42.7e6, "USD"),  # as reports print it
    ],
)
def test_money(text: str, amount: float, currency: str) -> None:
    assert q.parse_money(text) == q.Money(amount, currency)


def test_energy_price() -> None:
    assert q.parse_money("$0.08/kWh", per="kWh") == q.Money(0.08, "USD")
    assert q.parse_money("0.5 CNY / kWh", per="kWh") == q.Money(0.5, "CNY")


@pytest.mark.parametrize(
    "text",
    [
        36000,
        "36000",
        "$-5",
        "-$5",
        "$5 EUR",
        "five dollars",
        "$0.08/kWh",
        "$1e16",
        "$15 million",
        "USD 5 EUR",
        "90 mn",
        "usd 5",
        None,
    ],
)
def test_wrong_money(text: object) -> None:
    with pytest.raises(PydanticCustomError):
        q.parse_money(text)


def test_a_price_per_kwh_is_not_an_amount() -> None:
    with pytest.raises(PydanticCustomError):
        q.parse_money("$5", per="kWh")


def test_what_is_printed_has_no_control_characters_and_is_short() -> None:
    assert q.describe("a\x1b[31mb") == "`a?[31mb`"
    assert len(q.describe("x" * 500)) < 70


@pytest.mark.parametrize(("text", "value"), [("40 %", 0.4), (0.25, 0.25), (0, 0.0), ("100 %", 1.0), (1, 1.0)])
def test_shares(text: object, value: float) -> None:
    assert q.parse_share(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["101 %", 1.01, -0.1, "x", True, None])
def test_what_is_no_share(text: object) -> None:
    with pytest.raises(PydanticCustomError):
        q.parse_share(text)


@pytest.mark.parametrize(("text", "value"), [("4 years", 4.0), ("18 months", 1.5), ("1 year", 1.0), ("0 months", 0.0)])
def test_spans(text: str, value: float) -> None:
    assert q.parse_years(text) == value


@pytest.mark.parametrize("text", ["4", 4, "51 years", "3 days", "-1 years"])
def test_what_is_no_span(text: object) -> None:
    with pytest.raises(PydanticCustomError):
        q.parse_years(text)


def test_prices_of_other_units() -> None:
    assert q.parse_money("$150/kW-month", per="kW-month") == q.Money(150.0, "USD")
    assert q.parse_money("€2.5 M / year", per="year") == q.Money(2.5e6, "EUR")
    with pytest.raises(PydanticCustomError, match="a price per W is wanted"):
        q.parse_money("$10/kWh", per="W")
    with pytest.raises(PydanticCustomError, match="not a price per kWh"):
        q.parse_money("$10/kWh")


def test_money_is_ordered_by_its_amount() -> None:
    assert q.Money(1.0, "USD") < q.Money(2.0, "EUR")


@pytest.mark.parametrize(("text", "value"), [("-10 %", -0.1), ("+ 5 %", 0.05), (-0.2, -0.2), (0, 0.0), ("- 0 %", 0.0)])
def test_changes(text: object, value: float) -> None:
    assert q._parse_change(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["-95 %", 3.5, "x", None, "--5 x"])
def test_what_is_no_change(text: object) -> None:
    with pytest.raises(PydanticCustomError):
        q._parse_change(text)


@pytest.mark.parametrize("per", sorted(q.PER_EXAMPLES))
def test_every_example_of_a_price_can_be_copied_into_braces(per: str) -> None:
    """A comma would end the value there."""
    example = f"{q.PER_EXAMPLES[per]}/{per}"
    read = read_yaml(f"rent: {{extras: {example}, term: on-demand}}")["rent"]
    assert read == {"extras": example, "term": "on-demand"}
    assert q.parse_money(read["extras"], per=per).amount > 0
