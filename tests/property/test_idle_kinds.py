"""Idle hardware of another kind makes no job cheaper, lighter or cleaner: over random clusters, owned and rented."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.cost.account import RunJob, account_run
from ffplan.cost.sensitivity import likely
from ffplan.design.resolve import resolve
from ffplan.studies.cost.cost import accounted, ledger_for
from ffplan.studies.cost.ledger import CostRequest
from tests.property.test_designs import CATALOG
from tests.support import document, examples

if TYPE_CHECKING:
    from ffplan.cost.account import RunOutcome

NODES = "  - {{role: compute, server: {server}, count: {count}}}\n"
DESIGN = """name: unlike
nodes:
{nodes}fabric:
  family: fat-tree
  switch: qm9700
  link: {{endpoint: 400g-dac, inter_switch: 400g-dr4}}
  tiers: 2
site: {{pue: {pue}, electricity_price: $0.08/kWh}}
{paid}
"""
PAID = (
    "cost: {price_book: usd-2026}",
    "cost: {price_book: usd-2026}\nownership: {facility: own}",
    "cost: {price_book: usd-2026}\nownership: {facility: racks}",
    "rent: {price: $2.10/hour, term: 3-year, upfront: 0.5}",
    "rent: {price: $2.10/hour, term: on-demand}",
)


def job_on(nodes: list[tuple[str, int]], pue: float, paid: str, gpus: int) -> tuple[RunOutcome, float]:
    """Return a job on a cluster, and what an accelerator-hour costs there."""
    groups = "".join(NODES.format(server=server, count=count) for server, count in nodes)
    text = DESIGN.format(nodes=groups, pue=pue, paid=paid)
    ledger = ledger_for(resolve(document(text), CATALOG), CATALOG, CostRequest(draws=0))
    account = accounted(ledger, ledger.inputs, None, CostRequest(draws=0))
    run = account_run(
        ledger.account,
        RunJob(gpus=gpus, tokens=1e12, tokens_s=1e6, tflops_gpu=400.0),
        account.year,
        likely(ledger.inputs),
    )
    return run, float(account.year.hour)


@examples(25)
@given(
    st.integers(4, 24),
    st.lists(st.tuples(st.sampled_from(["l40s-8gpu", "hgx-b200-8nic"]), st.integers(1, 3)), min_size=1, max_size=2),
    st.floats(1.0, 1.6),
    st.sampled_from(PAID),
    st.integers(1, 32),
)
def test_idle_nodes_of_another_kind_never_help_a_run(
    count: int, idle: list[tuple[str, int]], pue: float, paid: str, gpus: int
) -> None:
    least = [("hgx-h100-8nic", count)]
    alone, hour = job_on(least, pue, paid, gpus)
    # fewer of each than of the nodes that jobs run on
    beside, more = job_on([*least, *dict(idle).items()], pue, paid, gpus)
    assert beside.hours == pytest.approx(alone.hours)
    assert more >= hour * (1 - 1e-12)
    for field in ("cost", "per_million", "energy_mwh", "carbon_t", "carbon_energy_t", "water_m3", "petaflop_day"):
        assert getattr(beside, field) >= getattr(alone, field) * (1 - 1e-12), field


def test_forty_eight_idle_accelerators_by_hand() -> None:
    """160 of 208 accelerators run jobs: each bears 208 / 160 of the mean accelerator's hour."""
    nodes = [("hgx-h100-8nic", 20), ("l40s-8gpu", 6)]
    text = DESIGN.format(
        nodes="".join(NODES.format(server=server, count=count) for server, count in nodes), pue=1.3, paid=PAID[0]
    )
    ledger = ledger_for(resolve(document(text), CATALOG), CATALOG, CostRequest(draws=0))
    account = accounted(ledger, ledger.inputs, None, CostRequest(draws=0))
    assert (ledger.account.bearing, ledger.account.accelerators) == (160, 208)
    assert account.year.hour == pytest.approx(account.year.year / (160 * 8760 * account.v["utilisation"]))
