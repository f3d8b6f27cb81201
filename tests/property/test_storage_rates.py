"""No rate of storage passes any of its parts, and more nodes never pass the servers or their file system."""

from __future__ import annotations

from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ffplan.base.errors import InputError
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.reliability.storage import Way, checkpoint_terms
from ffplan.studies.operate.goodput_basis import goodput_basis
from ffplan.studies.operate.goodput_job import job_on, recovery
from ffplan.studies.operate.storage import study_storage
from ffplan.studies.operate.storage_rates import nodes_terms, servers_terms, service_of
from tests.property.test_designs import designs
from tests.support import document, examples

CATALOG = Catalog()
SERVERS = ("fire-flyer-3fs-node", "nvme-16x15tb-2x200g")
WAYS: tuple[Way, ...] = get_args(Way)


@pytest.mark.deep
@examples(40)
@given(designs(), st.sampled_from(SERVERS), st.integers(1, 4), st.floats(1e6, 1e12))
def test_no_rate_of_storage_passes_its_parts(text: str, server: str, nodes: int, parameters: float) -> None:
    try:
        design = resolve(document(text.replace(SERVERS[0], server)), CATALOG)
        basis = goodput_basis(design, CATALOG)
    except InputError:
        assume(False)
    storage = basis.storage
    assert storage is not None
    report = study_storage(design, CATALOG, None)
    service = {way: service_of(basis, way) for way in WAYS}
    assert report.client_gbyte_s <= min(storage.client_gbyte_s, float(service["read"].client)) * (1 + 1e-9)
    assert report.client_write_gbyte_s <= min(storage.client_gbyte_s, float(service["write"].client)) * (1 + 1e-9)
    assert report.clients_gbyte_s <= report.storage.read_gbyte_s <= min(storage.read.values())
    assert report.clients_write_gbyte_s <= report.storage.write_gbyte_s <= min(storage.write.values())
    assert report.zone_read_gbyte_s <= report.storage.read_gbyte_s
    assert all(max(row.limited_gbyte_s, row.free_gbyte_s) <= report.client_gbyte_s for row in report.incast)
    for way in WAYS:
        most = servers_terms(basis, way)[0].gbyte_s
        rates = [nodes_terms(basis, way, count)[0].gbyte_s for count in (nodes, 10 * nodes, 10_000 * nodes)]
        assert all(few <= many <= most for few, many in pairwise(rates))
        assert nodes_terms(basis, way, nodes, least=True)[0].gbyte_s <= rates[0]
    each = design.compute.accelerators_per_node
    job = job_on(basis, min(nodes, design.compute.group.count) * each, parameters)
    one = recovery(basis, job).outcome
    saved = float(one.checkpoint_bytes) / float(one.persist_s) / 1e9
    terms = checkpoint_terms(job.write_gbyte_s, service["write"], nodes=job.writers, nics_gbyte_s=job.writers_gbyte_s)
    assert saved <= min(float(rate) for rate in terms.values()) * (1 + 1e-9)
    assert terms[one.persist_binds] == min(terms.values())
