"""Hand-worked bounds; sources: arXiv 2408.14158 section IV-D3, nccl-tests PERFORMANCE.md."""

from __future__ import annotations

import numpy as np
import pytest

from ffplan.base.outcomes import Term
from ffplan.collectives.bottleneck import _port_rate
from ffplan.collectives.hfreduce import _hfreduce_ledger, ledger_total
from ffplan.collectives.volumes import _double_tree_load, bound, rate, ring_factor


@pytest.mark.parametrize(
    ("copies", "reads", "nodes", "total"),
    [
        (8, 2, 1250, 24),  # printed in the paper
        (8, 8, 1250, 30),  # MemcpyAsync in place of GDRCopy
        (4, 2, 1250, 16),  # bridged pairs
        (4, 4, 1250, 18),
        (8, 2, 2, 22),  # two nodes: each sends and receives the message once
        (4, 2, 2, 14),
        (8, 2, 1, 19),  # nothing leaves the node
    ],
)
def test_ledger_totals(copies: int, reads: int, nodes: int, total: int) -> None:
    assert ledger_total(_hfreduce_ledger(copies, reads, _double_tree_load(nodes))) == total


def test_ledger_lines_of_the_paper() -> None:
    lines = [(line.kind, line.operations) for line in _hfreduce_ledger(8, 2, 2)]
    assert lines == [("write", 8), ("read", 8), ("write", 1), ("read", 2), ("write", 2), ("read", 1), ("read", 2)]


def test_ledger_broadcasts() -> None:
    totals = ledger_total(_hfreduce_ledger(np.array([8, 4]), 2, np.array([[1], [2]])))
    assert np.asarray(totals).tolist() == [[22, 14], [24, 16]]


def test_ring_factor() -> None:
    assert ring_factor(1) == 0
    assert ring_factor(2) == 1
    assert ring_factor(16) == pytest.approx(1.875)


def test_double_tree_load() -> None:
    assert [_double_tree_load(nodes) for nodes in (1, 2, 3, 4, 180)] == [0, 1, 1.5, 2, 2]


def test_rate() -> None:
    assert rate(320, 24) == pytest.approx(13.333, abs=1e-3)


def test_port_rate() -> None:
    assert _port_rate(37.5, 0.864, 2, 2) == pytest.approx(8.1)
    assert _port_rate(37.5, 1.0, 2, 2) == pytest.approx(9.375)
    assert _port_rate(37.5, 2.0, 2, 2) == pytest.approx(18.75)  # full duplex: one way binds
    assert np.asarray(_port_rate(np.array([37.5, 75.0]), 0.864, 2, 2)).tolist() == pytest.approx([8.1, 16.2])


def test_a_bound_names_what_binds_and_what_is_next() -> None:
    terms = [
        Term(name=name, label=name, gbyte_s=value, low_gbyte_s=value, high_gbyte_s=value, derivation="")
        for name, value in (("a", 3.0), ("b", 1.0), ("c", 2.0))
    ]
    result = bound(*terms, None)
    assert result.gbyte_s == 1.0
    assert result.binding.name == "b"
    assert result.runner_up is not None
    assert result.runner_up.name == "c"
    assert bound(terms[0]).runner_up is None
