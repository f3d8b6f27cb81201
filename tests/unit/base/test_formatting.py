from __future__ import annotations

import pytest

from ffplan.base import formatting as units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1250, "1,250"),
        (13.3333, "13.33"),
        (0.0924, "0.0924"),
        (355.5472, "355.5"),
        (1.0, "1"),
        (11605.5, "11,606"),
        (99.999, "100"),
        (0.5, "0.5"),
        (-3.25, "-3.25"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert units.number(value) == text


def test_other_forms() -> None:
    assert units.percent(0.827) == "83 %"
    assert units.times(0.0924) == "0.0924x"
    assert units.times(125.0) == "125x"
    assert units.times(None) == "-"
    assert units.data_size(186 * 2**20) == "186 MiB"
    assert units.data_size(12) == "12 B"
    assert units.duration(0.0241) == "24.1 ms"
    assert units.duration(3e-6) == "3 us"
    assert units.power(2500) == "2,500 W"
    assert units.power(3_276_331) == "3,276 kW"
