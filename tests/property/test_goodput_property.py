"""Jobs on random designs: `design` and `operate goodput` speak of one largest job, which has its part of the fabric."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.design.reliability_schema import Reliability
from ffplan.reliability.hazards import job_units
from ffplan.studies.basis.job_layout import most_gpus
from ffplan.studies.operate.goodput_basis import GoodputBasis, goodput_basis, reliability_summary
from ffplan.studies.operate.goodput_job import job_on, recovery
from tests.property.test_designs import CATALOG, accepted, designs
from tests.support import examples

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign

WAYS = {
    "checkpoints": st.sampled_from(["asynchronous", "synchronous", "in-memory"]),
    "restart": st.sampled_from(["requeue", "reschedule", "standby"]),
    "short_of_nodes": st.sampled_from(["shrink", "wait"]),
}


def basis_of(design: ResolvedDesign, **section: object) -> GoodputBasis:
    stated = Reliability().model_copy(update=section)
    return goodput_basis(replace(design, reliability=stated), CATALOG)


@given(designs())
@examples(120)
def test_design_and_goodput_expect_the_same_of_the_largest_job(text: str) -> None:
    design = accepted(text)
    basis = goodput_basis(design, CATALOG)
    short = reliability_summary(basis)
    job = recovery(basis, job_on(basis, most_gpus(design), 7e9))
    assert short.gpus == job.job.gpus
    assert short.spares == job.job.spares
    assert short.mtbf_hours == pytest.approx(float(job.outcome.mtbf_s) / 3600, rel=1e-9)
    assert short.nodes_in_repair == pytest.approx(float(job.outcome.in_repair), rel=1e-9)


@given(designs())
@examples(120)
def test_jobs_on_all_nodes_have_no_more_than_the_fabric(text: str) -> None:
    """One job on each kind of node and in each zone: together the links and switches that storage leaves."""
    design = accepted(text)
    basis = goodput_basis(design, CATALOG)
    plan = basis.fabric
    kinds = {group.server.id for group in design.groups if group.group.role == "compute"}
    if len(kinds) != sum(group.group.role == "compute" for group in design.groups):
        return
    every = sum(group.group.count * len(group.fabric_nics) for group in design.groups)
    compute = 0
    totals = {"upper-switch": 0.0, "inter-switch-link": 0.0, "leaf-switch": 0.0, "endpoint-link": 0.0}
    for group in design.groups:
        if group.group.role == "compute":
            assert group.accelerator is not None
            alone = replace(design, jobs_on=group.accelerator.id)
            units = job_units(alone, plan, alone.compute.group.count)
            totals = {name: total + float(units.counts[name]) for name, total in totals.items()}
            compute += group.group.count * len(group.fabric_nics)
    leaves = sum(plan.switches_by_role.get(role, 0) for role in ("leaf", "router"))
    links = plan.links - plan.links_by_tier["endpoint"]
    assert totals["inter-switch-link"] == pytest.approx(links * compute / every)
    assert totals["upper-switch"] == pytest.approx((plan.switches - leaves) * compute / every)
    assert leaves * compute / every <= totals["leaf-switch"] * (1 + 1e-12) < leaves * compute / every + len(kinds)
    assert totals["endpoint-link"] <= plan.links_by_tier["endpoint"]


@given(designs(), st.fixed_dictionaries(WAYS), st.floats(0.05, 1.0))
@examples(80)
def test_a_spare_more_never_lowers_goodput_of_a_design(text: str, ways: dict[str, str], part: float) -> None:
    design = accepted(text)
    gpus = max(1, int(part * most_gpus(design)))
    found = []
    for spares in (0, 1, 2, 5, 20):
        basis = basis_of(design, spare_nodes=spares, **ways)
        found.append(float(recovery(basis, job_on(basis, gpus, 7e9)).outcome.goodput))
    assert found == sorted(found) or max(a - b for a, b in itertools.pairwise(found)) < 1e-12
