"""Inputs of an account as people read them."""

from __future__ import annotations

import pytest

from ffplan.base.input_values import input_value


@pytest.mark.parametrize(
    ("name", "value", "unit", "text"),
    [
        ("price.hgx-h100-8nic", 144_988.7, "currency", "144,989 EUR"),
        ("rent", 1.859, "currency per hour", "1.86 EUR/h"),
        ("rent.aws@pod", 3.1, "currency per hour", "3.10 EUR/h"),
        ("electricity", 0.0826, "currency per kWh", "0.0826 EUR/kWh"),
        ("colocation", 150, "currency per kW-month", "150 EUR/kW-month"),
        ("utilisation", 0.85, "1", "85.0 %"),
        ("effective@pod", 1.0, "1", "100.0 %"),
        ("capital", 0.1, "1 per year", "10.0 %"),
        ("pue", 1.25, "1", "1.25"),
        ("speed", 0.88, "1", "0.88"),
        ("life", 2.06, "year", "2.06 years"),
        ("life", 1, "year", "1 year"),
        ("grid", 369, "g per kWh", "369 g/kWh"),
        ("embodied_link", 8, "kg", "8 kg"),
        ("life", None, "year", "-"),
    ],
)
def test_a_value_has_its_unit(name: str, value: float | None, unit: str, text: str) -> None:
    assert input_value(name, value, unit, "EUR") == text
