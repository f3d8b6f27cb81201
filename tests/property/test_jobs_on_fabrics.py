"""Collectives of jobs that fill nodes, racks and leaves one after the other, the last of each partly."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.fabric.family import plan_fabric
from ffplan.inputs.document import read_document
from ffplan.studies.basis.job_layout import job_layout, most_gpus, node_of
from ffplan.studies.collective.collective import CollectiveRequest, _single, collective_table
from tests.support import ROOT, examples

if TYPE_CHECKING:
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
