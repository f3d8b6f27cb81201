"""Numbers of costs worked by hand, or had from another program, where another formula would give another number."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from ffplan.base.outcomes import CostLine, MissingPrice
from ffplan.cost import draws
from ffplan.cost.bom import CostPlan
from tests.unit.cost.test_bill import ledger


def test_quantiles_of_the_normal_distribution() -> None:
    """Python's own are exact to the last digits; the approximation to 1.15e-9 of the value."""
    shares = np.array([1e-9, 1e-4, 0.01, 0.02424, 0.02426, 0.1, 0.31, 0.5, 0.69, 0.9, 0.97574, 0.97576, 0.99, 1 - 1e-6])
    wanted = np.array([NormalDist().inv_cdf(float(share)) for share in shares])
    assert draws.normal(shares) == pytest.approx(wanted, rel=2e-9, abs=1e-12)


LINE = CostLine(
    category="servers", part="s", quantity=2, unit_price=5.0, total=10.0, low=8.0, high=12.0, grade="list", status="V"
)


def test_a_total_over_accelerators_wants_a_price_and_accelerators() -> None:
    found = CostPlan(currency="USD", price_book="b", date="2026-11", excluded=(), lines=(LINE,), missing=())
    nothing = MissingPrice(category="servers", part="s", quantity=2)
    assert found.per_accelerator(4) == 2.5
    assert found.per_accelerator(0) is None
    assert replace(found, missing=(nothing,)).per_accelerator(4) == 2.5
    assert replace(found, lines=(), missing=(nothing,)).per_accelerator(4) is None
    assert replace(found, lines=()).per_accelerator(4) == 0.0


def test_ports_of_the_networks_around_fire_flyer_by_hand() -> None:
    """1,250 nodes and 135 storage nodes with two in-band ports; out-of-band one each, one a switch of the fabric and of
    the in-band network (122 and 73), two in each of the 87 racks of nodes."""
    around = {plan.name: plan.ports for plan in ledger("fire-flyer-2").site.networks}
    assert around == {"in-band": 2 * (1250 + 135), "out-of-band": 1250 + 135 + 122 + 73 + 2 * 87}
