"""Better parts never slow the fastest algorithm, dearer ones never cheapen, and a design equals itself."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ffplan
from ffplan.catalog.library import Library
from ffplan.catalog.store import Catalog
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import CollectiveQuery, fastest, time_choices
from ffplan.results.comparison import Ratios
from ffplan.studies.compare import compare as study
from tests.support import DESIGNS, assess_file, document, examples, host_named

if TYPE_CHECKING:
    from ffplan.node.host import Host

CATALOG = Catalog()
LIBRARIES = {name: CATALOG.get(Library, name, document("{}"), ()) for name in ("nccl", "rccl", "hfreduce")}
HOSTS = ("fire-flyer-2-node", "fire-flyer-2-node-nvlink", "dgx-a100-320gb", "hgx-h100-8nic", "mi300x-8nic")
OPERATIONS = (
    "allreduce",
    "all-gather",
    "reduce-scatter",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "all-to-all",
    "sendrecv",
)


def doubled(host: Host, what: str) -> Host:
    """Return a node with one rate doubled."""
    if what == "nics":
        return replace(host, nic_gbyte_s=tuple(2 * rate for rate in host.nic_gbyte_s))
    if what == "pcie":
        return replace(host, pcie=tuple(2 * end for end in host.pcie) if host.pcie else None)  # type: ignore[arg-type]
    return replace(host, memory_gbyte_s=tuple(2 * end for end in host.memory_gbyte_s))  # type: ignore[arg-type]


@examples(120)
@given(
    st.sampled_from(HOSTS),
    st.sampled_from(OPERATIONS),
    st.sampled_from(["nics", "pcie", "memory"]),
    st.integers(1, 300),
    st.integers(1, 8),
    st.floats(3, 34),
)
def test_a_doubled_rate_never_slows_the_fastest_algorithm(
    name: str, operation: str, what: str, nodes: int, ranks: int, power: float
) -> None:
    if nodes * ranks < 2:
        return
    host = host_named(name)
    own = host.accelerator.library if host.accelerator else "nccl"
    query = CollectiveQuery(operation=operation, library=LIBRARIES[own])
    one, two = (
        fastest(time_choices(query, RankLayout(host=item, nodes=nodes, per_node=ranks), 2**power)).time
        for item in (host, doubled(host, what))
    )
    assert two <= one * (1 + 1e-12)
    if operation == "allreduce" and ranks == len(host.gpus) and name.startswith("fire"):
        query = CollectiveQuery(operation=operation, library=LIBRARIES["hfreduce"])
        one, two = (
            fastest(time_choices(query, RankLayout(host=item, nodes=nodes, per_node=ranks), 2**power)).time
            for item in (host, doubled(host, what))
        )
        assert two <= one * (1 + 1e-12)


@examples(40)
@given(st.sampled_from(["qm8700", "hdr-aoc", "fire-flyer-2-node"]), st.lists(st.floats(0, 1e6), min_size=2, max_size=6))
def test_dearer_parts_never_cheapen(part: str, prices: list[float]) -> None:
    ordered = np.sort(np.array(prices))
    many = ffplan.assess_many("fire-flyer-2", {f"prices.{part}": ordered})
    assert (np.diff(many["cost.total"]) >= -1e-9).all()


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_compared_with_itself_is_all_ones(name: str) -> None:
    one, two = assess_file(name), assess_file(name)
    comparison = study.compare((one, two), ("a", "b"), 0)
    for label in ("a", "b"):
        found = {item.name: getattr(comparison.ratios[label], item.name) for item in fields(Ratios)}
        assert {name: value for name, value in found.items() if value not in (None, 1.0)} == {}
    partial = one.power.missing or (one.cost is not None and one.cost.missing)
    assert bool(comparison.incomparable) == bool(partial)
