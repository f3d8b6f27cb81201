"""Texts that are written, rates of storage, and the insides of nodes."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from itertools import pairwise
from typing import get_args

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from ffplan.base.control_characters import FORMULA, HIDDEN, plain_cell, visible
from ffplan.base.errors import InputError
from ffplan.base.plain import csv_parts
from ffplan.catalog.library import Library
from ffplan.catalog.store import Catalog
from ffplan.collectives.bottleneck import sustained_rate
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import CollectiveQuery, chosen, fastest, time_choices
from ffplan.design.resolve import resolve
from ffplan.inputs.composer import compose
from ffplan.inputs.document import comment, quoted, scalar
from ffplan.inputs.model import IDENTIFIER
from ffplan.node.resources import resources
from ffplan.reliability.storage import Way, _checkpoint_terms
from ffplan.studies.collective.allreduce import _ledger_of
from ffplan.studies.operate.goodput_basis import _nodes_terms, _servers_terms, _service_of, goodput_basis
from ffplan.studies.operate.goodput_job import job_on, recovery
from ffplan.studies.operate.storage import study_storage
from tests.property.test_designs import designs
from tests.support import document, examples, host_named

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
    service = {way: _service_of(basis, way) for way in WAYS}
    assert report.client_gbyte_s <= min(storage.client_gbyte_s, float(service["read"].client)) * (1 + 1e-9)
    assert report.client_write_gbyte_s <= min(storage.client_gbyte_s, float(service["write"].client)) * (1 + 1e-9)
    assert report.clients_gbyte_s <= report.storage.read_gbyte_s <= min(storage.read.values())
    assert report.clients_write_gbyte_s <= report.storage.write_gbyte_s <= min(storage.write.values())
    assert report.zone_read_gbyte_s <= report.storage.read_gbyte_s
    assert all(max(row.limited_gbyte_s, row.free_gbyte_s) <= report.client_gbyte_s for row in report.incast)
    for way in WAYS:
        most = _servers_terms(basis, way)[0].gbyte_s
        rates = [_nodes_terms(basis, way, count)[0].gbyte_s for count in (nodes, 10 * nodes, 10_000 * nodes)]
        assert all(few <= many <= most for few, many in pairwise(rates))
        assert _nodes_terms(basis, way, nodes, least=True)[0].gbyte_s <= rates[0]
    each = design.compute.accelerators_per_node
    job = job_on(basis, min(nodes, design.compute.group.count) * each, parameters)
    one = recovery(basis, job).outcome
    saved = float(one.checkpoint_bytes) / float(one.persist_s) / 1e9
    terms = _checkpoint_terms(job.write_gbyte_s, service["write"], nodes=job.writers, nics_gbyte_s=job.writers_gbyte_s)
    assert saved <= min(float(rate) for rate in terms.values()) * (1 + 1e-9)
    assert terms[one.persist_binds] == min(terms.values())


BRIDGED = host_named("fire-flyer-2-node-nvlink")
NCCL = Catalog().get(Library, "nccl", document("{}"), ())
ALGORITHM = {"all-to-all": "direct", "sendrecv": "send", "gather": "star", "scatter": "star"}
OPERATIONS = ("allreduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "gather", "scatter", "sendrecv")


@given(st.sampled_from(OPERATIONS), st.integers(1, 200), st.integers(1, 8), st.floats(3, 34), st.booleans(), st.data())
def test_a_bridge_never_slows_the_fastest_algorithm(
    operation: str, nodes: int, ranks: int, power: float, adjacent: bool, data: st.DataObject
) -> None:
    """Neither what NCCL could choose nor what it chooses: its cost model sees bridges only where nothing else is."""
    if nodes * ranks < 2:
        return
    pairs = data.draw(st.integers(0, 4))
    query = CollectiveQuery(operation=operation, library=NCCL)
    times, own = [], []
    for host in (replace(BRIDGED, pairs=()), replace(BRIDGED, pairs=BRIDGED.pairs[:pairs]), BRIDGED):
        job = RankLayout(host=host, nodes=nodes, per_node=ranks, adjacent=1.0 * adjacent)
        found = time_choices(query, job, 2**power)
        times.append(fastest(found).time)
        own.append(chosen(found).time)
        lines = _ledger_of(query, job, ALGORITHM.get(operation, "ring"))
        assert all(line.inward >= 0 <= line.outward for line in lines)
    assert times[0] * (1 + 1e-9) >= times[1] or ranks > 2 * pairs
    assert times[0] * (1 + 1e-9) >= times[2]
    assert own[0] * (1 + 1e-9) >= own[2]
    if nodes == 1 and ranks == 2 and adjacent:
        assert times[2] < times[0]


@given(st.integers(2, 8), st.sampled_from(OPERATIONS[:4]))
def test_a_mesh_is_no_faster_than_a_switch_of_its_links(ranks: int, operation: str) -> None:
    mesh = host_named("mi300x-8nic")
    switch = replace(mesh, mesh=False)
    query = CollectiveQuery(operation=operation, library=NCCL)
    rates = []
    for host in (mesh, switch):
        job = RankLayout(host=host, nodes=1, per_node=ranks)
        rates.append(sustained_rate(resources(host), _ledger_of(query, job, "ring")))
    assert rates[0] <= rates[1]
    assert (rates[0] == rates[1]) == (ranks == len(mesh.gpus))


ANY = st.text(st.characters(codec=None), max_size=40) | st.text(
    "'\"\\:{}[],#&*!|>%@`-? \n\t~=+0123456789.eE", max_size=12
)


@given(ANY)
def test_quoted_text_is_one_line_and_read_back(text: str) -> None:
    wanted = visible(text.replace("\n", " "))
    line = quoted(text)
    assert "\n" not in line
    document = f"before: 1\nkey: {line}\nafter: [{line}, 2]\n"
    for read in (yaml.safe_load(document), compose(document, "x.yaml").data):
        assert read == {"before": 1, "key": wanted, "after": [wanted, 2]}


@given(ANY | st.sampled_from(["yes", "on", "0o7", "1e3", "null", "~", "1_000", "2026-11-22", "12:30", "<<", "="]))
def test_values_are_texts_to_every_reader(text: str) -> None:
    document = f"key: {scalar(text)}\nflow: {{a: {scalar(text)}}}\n"
    wanted = visible(text.replace("\n", " "))
    for read in (yaml.safe_load(document), compose(document, "x.yaml").data):
        assert read == {"key": wanted, "flow": {"a": wanted}}


@given(st.from_regex(IDENTIFIER, fullmatch=True))
def test_ids_stay_texts(text: str) -> None:
    assert yaml.safe_load(f"id: {scalar(text)}") == {"id": text.removesuffix("\n")}


@given(ANY)
def test_comments_end_with_their_line(text: str) -> None:
    assert yaml.safe_load(f"a: 1  # {comment(text)}\nb: 2\n") == {"a": 1, "b": 2}
    assert not re.search(f"[{HIDDEN}\n\t]", comment(text))


@given(st.lists(ANY, min_size=1, max_size=4))
def test_no_cell_of_csv_is_a_formula(texts: list[str]) -> None:
    (row,) = list(csv.reader(io.StringIO("".join(csv_parts(["a"] * len(texts), [texts])), newline="")))[1:]
    for cell, text in zip(row, texts, strict=True):
        assert cell.removeprefix("'") == plain_cell(text).removeprefix("'")
        assert not set(cell) & {"\n", "\r"}
        assert not cell.startswith(FORMULA) or re.fullmatch(r"[-+]?[0-9.]*", cell)
