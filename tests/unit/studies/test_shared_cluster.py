"""The study of jobs that share a cluster: the largest job, and waits that no job had."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.reliability.scheduler import JobTable, Shared
from ffplan.report.document import Grid
from ffplan.report.operate import utilization_document
from ffplan.studies.basis.job_layout import most_gpus
from ffplan.studies.operate.utilization import (
    UtilizationRequest,
    _cluster_rules,
    _mean_wait,
    study_utilization,
)
from tests.support import document, examples

CATALOG = Catalog()
DESIGN = """\
name: some
nodes:
  - {role: compute, server: hgx-h100-8nic, count: COUNT}
fabric:
  family: fat-tree
  switch: qm9700
  link: {endpoint: 400g-dac, inter_switch: 400g-dr4}
  tiers: 2
  zones: ZONES
site: {pue: 1.3}
"""


def request(*rows: tuple[float, float, int], days: float = 1.0) -> UtilizationRequest:
    arrivals, runs, gpus = (np.array(column) for column in zip(*rows, strict=True))
    return UtilizationRequest(
        mix=None,
        table=JobTable(arrivals.astype(float), runs.astype(float), gpus.astype(int)),
        name="some.csv",
        policies=("fifo",),
        load=1.0,
        days=days,
        drain=False,
        runs=1,
        seed=0,
        quantum_s=7200.0,
        save_s=10.0,
        load_s=60.0,
    )


@examples(30)
@given(st.integers(1, 40), st.integers(2, 5))
def test_a_job_can_hold_the_largest_zone_that_is_simulated(nodes: int, zones: int) -> None:
    """Five nodes in two zones are three and two: a job of 24 fits, as `ffplan operate goodput` has it."""
    for count in (5, max(nodes, zones)):
        design = resolve(document(DESIGN.replace("COUNT", str(count)).replace("ZONES", str(zones))), CATALOG)
        rules = _cluster_rules(design, request((0, 1, 1)), "fifo", zoned=True)
        assert sum(rules.zones) == count
        assert 8 * max(rules.zones) == 8 * -(-count // zones) == most_gpus(design)


def shared(*waits: float) -> Shared:
    return Shared(
        utilisation=0.5,
        occupied=0.5,
        fragmentation=0.5,
        wait_s=np.array(waits),
        wait_gpus=np.ones(len(waits), dtype=int),
        preemptions=0,
        unfinished=3,
    )


def test_runs_in_which_no_counted_job_starts_have_no_wait() -> None:
    """The mean of 100 s and 300 s beside an empty run is 200 s, and not 133; of empty runs alone there is none."""
    mean = _mean_wait([shared(50, 150), shared(), shared(300)])
    assert mean is not None
    assert mean.mean == pytest.approx(200.0)
    assert _mean_wait([shared(), shared()]) is None


def test_a_wait_that_no_job_had_is_unknown_and_not_nought() -> None:
    """The first job takes the whole design for longer than the day that is counted, but it began at once: its own wait
    is 0. Where even that one is not counted, no wait is known."""
    design = resolve(document(DESIGN.replace("COUNT", "2").replace("  zones: ZONES\n", "")), CATALOG)
    begun = study_utilization(design, CATALOG, request((0, 1e6, 16), (9, 1, 16)), lambda *_: None)
    assert begun.utilization[0].wait_s is not None
    assert begun.utilization[0].wait_s.mean == 0.0
    none = study_utilization(design, CATALOG, request((1e6, 1, 16)), lambda *_: None)
    assert none.utilization[0].wait_s is None
    assert "no wait is known" in none.headline[0]
    blocks = utilization_document(none).body().blocks
    use = next(block for block in blocks if isinstance(block, Grid) and block.title == "Use")
    assert use.rows[0][use.header.index("mean wait")] == "unknown"
