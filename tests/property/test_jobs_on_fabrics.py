"""Collectives of jobs that fill nodes, racks and leaves one after the other, the last of each partly."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from ffplan.base.errors import InputError
from ffplan.catalog.store import Catalog
from ffplan.collectives.bottleneck import sustained_rate
from ffplan.collectives.exchanges import _all_to_all
from ffplan.collectives.rank_layout import RankLayout
from ffplan.design.resolve import resolve
from ffplan.fabric.family import fabric_cuts, plan_fabric, routing_of, wire
from ffplan.fabric.routing.job_loads import all_nodes
from ffplan.inputs.document import read_document
from ffplan.node.resources import resources
from ffplan.studies.basis.job_layout import job_layout, most_gpus, node_of
from ffplan.studies.collective.collective import CollectiveRequest, _single, collective_table
from tests.support import ROOT, document, examples

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.design.resolved import ResolvedDesign

OF_RACKS = ("gb200-nvl72-16", "gb200-nvl72-64")
SHARED_BY_ALL = {"allreduce": 2.0, "all-gather": 1.0, "reduce-scatter": 1.0, "all-to-all": 1.0}
"""Bus over algorithm bandwidth of very many ranks, as nccl-tests defines it [1]."""


@cache
def shipped(name: str) -> ResolvedDesign:
    return resolve(read_document(ROOT / "designs" / f"{name}.yaml"), Catalog())


def jobs(name: str, quarters: list[int]) -> tuple[int, ...]:
    """Return numbers of accelerators that fill whole nodes of a design, the last rack as far as it goes."""
    design = shipped(name)
    each = design.compute.accelerators_per_node
    return tuple(each * (1 + nodes % (most_gpus(design) // each)) for nodes in quarters)


@given(st.sampled_from((*OF_RACKS, "fire-flyer-2", "superpod-h100-4su")), st.lists(st.integers(0), min_size=1))
@examples(50)
def test_a_job_among_others_is_the_job_alone(name: str, quarters: list[int]) -> None:
    design, ranks = shipped(name), jobs(name, quarters)
    plan, node = plan_fabric(design), node_of(design)
    together = job_layout(design, plan, node, np.array(ranks, float))
    for index, count in enumerate(ranks):
        assert _single(together, index) == job_layout(design, plan, node, float(count))


@given(st.sampled_from(OF_RACKS), st.integers(0), st.sampled_from(sorted(SHARED_BY_ALL)))
@examples(40)
def test_bus_bandwidth_is_that_of_the_ranks_and_the_printed_terms_are_theirs(
    name: str, quarter: int, operation: str
) -> None:
    """The terms bound the stream that was timed, and a rack with k NICs carries what leaves it over those alone."""
    (gpus,) = jobs(name, [quarter])
    request = CollectiveRequest(operation=operation, protocol="simple")
    table = collective_table(shipped(name), Catalog(), ["nccl"], request, (gpus,), (2.0**30,))
    (row,), (terms,) = table.rows, table.algorithms
    assert row.busbw_gbyte_s / row.algbw_gbyte_s == pytest.approx(SHARED_BY_ALL[operation] * (gpus - 1) / gpus)
    assert row.stream_s >= row.size_bytes / min(term.gbyte_s for term in terms.terms) / 1e9 * (1 - 1e-9)
    nic = next((term for term in terms.terms if term.name == "nic"), None)
    assert (nic is None) == (gpus <= 72)
    if nic is not None and operation == "all-to-all":
        last = gpus % 72 or 72
        sent = last * (gpus - last) / gpus  # by a rack, a NIC for each rank
        assert nic.gbyte_s == pytest.approx(0.96 * 50 * last / sent)


@pytest.mark.parametrize(
    ("gpus", "nic", "binds"),
    [(76, 0.96 * 4 * 50, "nic"), (128, 0.96 * 56 * 50, "nvls"), (144, 0.96 * 72 * 50, "nvls")],
)
def test_two_racks_reduce_over_the_nics_of_the_smaller(gpus: int, nic: float, binds: str) -> None:
    """A tree of two racks sends the message once each way; 4, 56 and 72 NICs of 50 GB/s at 96 %."""
    request = CollectiveRequest(operation="allreduce", algorithm="nvls-tree")
    table = collective_table(shipped("gb200-nvl72-16"), Catalog(), ["nccl"], request, (gpus,), (2.0**30,))
    assert {term.name: term.gbyte_s for term in table.algorithms[0].terms}["nic"] == pytest.approx(nic)
    assert table.rows[0].limited_by == binds


NICS = {"hgx-h100-8nic": 8, "gb200-nvl72-tray": 4, "fire-flyer-2-node": 1}
"""NICs of a node, by its server [1]."""


@st.composite
def fabrics(draw: st.DrawFn, only: str = "", by: int = 1) -> ResolvedDesign:
    """Draw a design of one zone, small leaves and any number of planes, with or without storage before its nodes, whose
    number is a multiple of `by`."""
    family = draw(st.sampled_from(["fat-tree", "rail-optimised", "top-of-rack", "rail-only"]))
    server, nics = draw(st.sampled_from([(name, nics) for name, nics in NICS.items() if name == (only or name)]))
    tiers, planes = draw(st.sampled_from([2, 2, 3])), draw(st.sampled_from([1, 1, 2]))
    leaf = {"downlinks": draw(st.integers(8, 40)), "uplinks": draw(st.integers(1, 12))}
    fabric = {"family": family, "switch": "qm9700", "tiers": tiers, "leaf": leaf}
    fabric["link"] = {"endpoint": "400g-dac", "inter_switch": "400g-dr4"}
    if planes == 2 and nics > 1 and family != "rail-only":
        fabric["planes"] = planes
    if tiers == 3:
        fabric["spine"] = {"pod_leaves": draw(st.integers(2, 12)), "uplinks": draw(st.integers(1, 4))}
    if family == "rail-optimised" and draw(st.booleans()):
        fabric["scalable_unit"] = draw(st.integers(1, 8))
    nodes = [{"role": "compute", "server": server, "count": by * draw(st.integers(2, max(4, 60 // by)))}]
    if draw(st.booleans()):
        nodes.insert(0, {"role": "storage", "server": "fire-flyer-3fs-node", "count": draw(st.integers(1, 20))})
    site = {"pue": 1.3}
    data = {"name": "drawn", "nodes": nodes, "fabric": fabric, "site": site}
    try:
        design = resolve(document(yaml.safe_dump(data)), Catalog())
        plan_fabric(design)
    except InputError:
        assume(False)
    return design


def routed(design: ResolvedDesign, nodes: int, *, rail: bool, trays: int = 1) -> float:
    """The oracle: the algorithm bandwidth that the busiest link allows, flow by flow over the wires, spread ideally."""
    fabric = wire(design, plan_fabric(design))
    ports = all_nodes(design, fabric)[:nodes]
    rails, plane = ports.shape[1], fabric.network.endpoints.plane
    # a rack of several trays is one node, with the NICs of all of them
    sender, column = np.divmod(np.arange(ports.size), rails * trays)
    one, other = np.meshgrid(np.arange(ports.size), np.arange(ports.size), indexing="ij")
    apart = (sender[one] != sender[other]) & (plane[ports.flat[one]] == plane[ports.flat[other]])
    if rail:
        apart &= column[one] == column[other]
    src, dst = ports.flat[one[apart]], ports.flat[other[apart]]
    # of a message of one byte a rank, its node sends a piece to every rank of the others
    inner, whole = design.compute.accelerators_per_node * trays, nodes // trays
    leaving = inner * (whole - 1) / whole
    load = routing_of(fabric).spread(src, dst, np.full(len(src), leaving * whole / len(src)))
    return float(1 / (load / fabric.network.links.gbyte_s.repeat(2)).max())


@given(fabrics(), st.data(), st.booleans())
@examples(400)
def test_an_all_to_all_is_bound_by_the_links_that_its_flows_cross(
    design: ResolvedDesign, data: st.DataObject, rail: bool
) -> None:
    """Never more than ideal routing carries, and no less, whether NICs bind or the links of a leaf or a pod."""
    nodes = float(data.draw(st.integers(2, design.compute.group.count)))
    host = replace(node_of(design), domain_nodes=1)
    cuts = fabric_cuts(design, plan_fabric(design), nodes)
    job = RankLayout(host=host, nodes=nodes, per_node=float(len(host.gpus)), cuts=cuts)
    links = {"nic", *(cut.name for cut in cuts)}
    known = {key: item for key, item in resources(host, cuts).items() if key[0] in links}
    bound = sustained_rate(known, _all_to_all("all-to-all", job, rail=rail), at_line_rate=True)
    assert float(bound) == pytest.approx(routed(design, int(nodes), rail=rail), rel=1e-6)


@given(fabrics("gb200-nvl72-tray", 18), st.booleans())
@examples(60)
def test_racks_are_bound_no_higher_than_their_flows(design: ResolvedDesign, rail: bool) -> None:
    """What a leaf below part of a rack sends to the rest of it stays in the rack, and may count as well."""
    nodes, host = design.compute.group.count, node_of(design)
    job = job_layout(design, plan_fabric(design), host, 4.0 * nodes)
    links = {"nic", *(cut.name for cut in job.cuts)}
    known = {key: item for key, item in resources(host, job.cuts).items() if key[0] in links}
    bound = sustained_rate(known, _all_to_all("all-to-all", job, rail=rail), at_line_rate=True)
    ideal = routed(design, nodes, rail=rail, trays=18)
    assert ideal / 2 <= float(bound) <= ideal * (1 + 1e-6)


def picked(value: Number, index: int, count: int) -> float:
    """Return one of the numbers of several jobs, which may be one for all."""
    return float(np.broadcast_to(value, count)[index])


@given(fabrics(), st.lists(st.integers(0), min_size=1, max_size=5))
@examples(100)
def test_no_rail_crosses_more_links_than_there_are(design: ResolvedDesign, drawn: list[int]) -> None:
    """Arrays of jobs cross what each of them does; a cut has no more links than the fabric, and parts are parts."""
    plan = plan_fabric(design)
    nodes = np.array([1 + number % design.compute.group.count for number in drawn])
    together = fabric_cuts(design, plan, nodes)
    for index, count in enumerate(nodes.tolist()):
        for cut, among in zip(fabric_cuts(design, plan, count), together, strict=True):
            assert among.each(partial(picked, index=index, count=len(nodes))) == cut.each(float)
            assert cut.links <= plan.links_by_tier[{"leaf_uplinks": "leaf_spine", "bisection": "spine_core"}[cut.name]]
            assert cut.sets >= 1
            assert 0 <= cut.least <= cut.fullest / cut.lane + 1e-9
            assert (cut.sets > 1) == (cut.crossing > 0 and cut.leaving(1.0, 1.0) > 0)
