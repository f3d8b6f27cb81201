"""Bounds behave like bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.base.outcomes import Term
from ffplan.collectives.bottleneck import port_rate
from ffplan.collectives.bounds import bound, double_tree_load, rate, ring_factor
from ffplan.collectives.hfreduce import hfreduce_ledger, ledger_total

POSITIVE = st.floats(min_value=0.01, max_value=1e4)


@given(st.lists(POSITIVE, min_size=1, max_size=6), st.floats(min_value=1.0, max_value=10.0))
def test_more_of_any_resource_never_lowers_the_bound(capacities: list[float], factor: float) -> None:
    def result(values: list[float]) -> float:
        return float(
            bound(
                *[
                    Term(name=str(i), label="", gbyte_s=v, low_gbyte_s=v, high_gbyte_s=v, derivation="")
                    for i, v in enumerate(values)
                ]
            ).gbyte_s
        )

    before = result(capacities)
    assert before == min(capacities)
    for position in range(len(capacities)):
        raised = [v * factor if i == position else v for i, v in enumerate(capacities)]
        assert result(raised) >= before


@given(POSITIVE, st.floats(0.1, 2.0), POSITIVE, POSITIVE)
def test_a_root_port_never_carries_more_than_its_limits(
    one_way: float, share: float, inward: float, outward: float
) -> None:
    b = float(port_rate(one_way, share, inward, outward))
    assert b * max(inward, outward) <= one_way * (1 + 1e-9)
    assert b * (inward + outward) <= one_way * max(1.0, share) * (1 + 1e-9)
    assert float(port_rate(one_way, share, inward, inward)) * 2 * inward <= one_way * share * (1 + 1e-9)
    assert float(port_rate(one_way, share, inward, 0.0)) == pytest.approx(one_way / inward)


@given(st.integers(1, 16), st.integers(1, 16), st.integers(4, 10_000))
def test_the_ledger_follows_its_closed_form(copies: int, reads: int, nodes: int) -> None:
    assert ledger_total(hfreduce_ledger(copies, reads, double_tree_load(nodes))) == 2 * copies + 1 + 2 + 2 + 1 + reads


@given(st.lists(st.integers(2, 10**6), min_size=1, max_size=6), POSITIVE)
def test_one_formula_any_shape(ranks: list[int], capacity: float) -> None:
    array = np.asarray(rate(capacity, ring_factor(np.array(ranks))))
    assert array.tolist() == pytest.approx([rate(capacity, ring_factor(n)) for n in ranks])
