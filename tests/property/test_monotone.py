"""Better parts never slow the fastest algorithm, dearer ones never cheapen, and a design equals itself."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import ffplan
from ffplan.catalog.library import Library
from ffplan.catalog.store import Catalog
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import CollectiveQuery, fastest, time_choices
from ffplan.design.resolve import resolve
from ffplan.results.comparison import Ratios
from ffplan.studies.collective.collective import CollectiveRequest, collective_table, default_library
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


FEWER = """
name: fewer
nodes: [{{role: compute, server: {server}, count: {nodes}, nics: {nics}}}]
fabric:
  family: {family}
  switch: {switch}
  link: {{endpoint: {link}, inter_switch: {link}}}
  tiers: 2
  oversubscription: {over}:1
site: {{pue: 1.2, currency: USD}}
"""
SERVERS = {
    "hgx-h100-8nic": 8,
    "h800-8nic": 8,
    "mi300x-8nic": 8,
    "p5-48xlarge": 32,
    "gb200-nvl72-tray": 4,
    "l40s-8gpu": 2,
}
"""Servers with switched, meshed and no scale-up links, and their NICs."""
LINKS = (("qm8700", "hdr-aoc"), ("qm9700", "400g-dr4"))
"""Switches and links, the slower first."""


def collective_times(operation: str, **fields: object) -> list[float]:
    """Return the time of a collective over all accelerators of a design, from 1 KiB to 16 GiB, fastest choices [s]."""
    design = resolve(document(FEWER.format(**fields)), CATALOG)
    sizes = tuple(2.0**power for power in range(10, 35, 2))
    library = default_library(operation, design)
    table = collective_table(design, CATALOG, [library], CollectiveRequest(operation=operation), None, sizes)
    return [row.fastest_time_s for row in table.rows]


@examples(150)
@given(
    st.sampled_from(sorted(SERVERS)),
    st.sampled_from(["rail-optimised", "fat-tree"]),
    st.sampled_from(["allreduce", *OPERATIONS]),
    st.integers(2, 80),
    st.tuples(st.sampled_from([1, 2, 4, 8, 16]), st.integers(0, 1), st.integers(2, 4)),
)
@example("gb200-nvl72-tray", "rail-optimised", "allreduce", 64, (2, 1, 2))
def test_more_nics_faster_links_and_more_uplinks_never_slow_a_collective(
    server: str, family: str, operation: str, nodes: int, lesser: tuple[int, int, int]
) -> None:
    """Of a whole design, at the library's fastest choice; `collective` says where the library takes another."""
    nics, rate, over = lesser
    most = SERVERS[server]
    given = {"server": server, "family": family, "nodes": nodes}

    def times(nics: int, rate: int, over: int) -> list[float]:
        switch, link = LINKS[rate]
        return collective_times(operation, nics=min(nics, most), switch=switch, link=link, over=over, **given)

    before = times(nics, rate, over)
    for better in ((2 * nics, rate, over), (nics, 1, over), (nics, rate, over - 1)):
        for slow, fast in zip(before, times(*better), strict=True):
            assert fast <= slow * (1 + 1e-9), better


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
