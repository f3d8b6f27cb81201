"""Storage of unlike servers: a sum over the servers, whatever groups they are written in, and hand-worked designs."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.base.plain import plain
from ffplan.catalog.models import Model
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.reliability.hazards import YEAR_DAYS
from ffplan.reliability.storage import ServiceRates, server_terms, with_nics
from ffplan.studies.operate.goodput_basis import _storage_range, goodput_basis, storage_summary
from ffplan.studies.operate.goodput_job import GoodputJob, job_on, recovery
from ffplan.studies.operate.storage import study_storage
from tests.support import ROOT, document, examples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ffplan.reliability.storage import Way
    from ffplan.results.storage import StorageReport

SHIPPED = (ROOT / "catalogs" / "storage" / "generic" / "nvme-16x15tb-2x200g.yaml").read_text()
CHANGES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "full": (),
    "one-drive": (("count: {value: 16,", "count: {value: 1,"),),
    "unknown": (
        ("  read: {value: 6.5 GB/s, low: 6 GB/s, high: 7 GB/s, source: recalled}\n", ""),
        ("  write: {value: 4 GB/s, low: 2 GB/s, high: 6 GB/s, source: recalled}\n", ""),
    ),
    "three-copies": (
        ("copies: {value: 2,", "copies: {value: 3,"),
        ("endurance: {value: 28000 TB, low: 28000 TB,", "endurance: {value: 2800 TB, low: 2800 TB,"),
    ),
    "efficient": (("service:\n", "service:\n  efficiency: {value: 80 %, source: recalled}\n"),),
    "small-system": (("service:\n", "service:\n  file_system: small\n"),),
}
"""Servers of the tests, each as the shipped one with some changes."""
SMALL = """\
kind: file-system
id: small
name: A file system with a low rate of the whole
vendor: generic
sources:
  recalled: {title: "recalled, unverified", date: "2026-11", grade: estimate, status: R}
client:
  read: {value: 8 GB/s, source: recalled}
  write: {value: 4 GB/s, source: recalled}
efficiency: {value: 50 %, source: recalled}
whole:
  read: {value: 60 GB/s, source: recalled}
  write: {value: 30 GB/s, source: recalled}
"""
EACH: Mapping[str, tuple[float, float]] = {
    "full": (25.0, 12.5),
    "one-drive": (6.5, 2.0),
    "unknown": (25.0, 12.5),
    "three-copies": (25.0, 25.0 / 3),
    "efficient": (40.0, 20.0),
    "small-system": (25.0, 12.5),
}
"""What one server reads and writes [GB/s]: two NICs of 25 GB/s at 50 or 80 %, or drives of 6.5 and 4, over copies."""
WHOLE = {"small-system": (60.0, 30.0)}
DESIGN = """\
name: some
nodes:
  - {role: compute, server: hgx-h100-8nic, count: 16}
GROUPS
fabric:
  family: fat-tree
  switch: qm9700
  link: {endpoint: 400g-dac, inter_switch: 400g-dr4}
  tiers: 2
site: {pue: 1.3}
"""
Groups = list[tuple[str, int]]


@pytest.fixture(scope="module")
def catalog() -> Iterator[Catalog]:
    with TemporaryDirectory() as folder:
        texts = {"small": SMALL}
        for name, changes in CHANGES.items():
            text = SHIPPED.replace("id: nvme-16x15tb-2x200g", f"id: {name}")
            for old, new in changes:
                assert old in text
                text = text.replace(old, new)
            texts[name] = text
        for name, text in texts.items():
            (Path(folder) / f"{name}.yaml").write_text(text)
        yield Catalog((folder,))


def report(groups: Groups, catalog: Catalog) -> StorageReport:
    lines = "\n".join(f"  - {{role: storage, server: {server}, count: {count}}}" for server, count in groups)
    parts = catalog.fork()
    design = resolve(document(DESIGN.replace("GROUPS", lines)), parts)
    model = parts.entry("llama3-8b").part
    assert isinstance(model, Model)
    return study_storage(design, parts, GoodputJob(model, 128, None, "not timed here"))


def told(groups: Groups, catalog: Catalog) -> dict[str, Any]:
    """Return a report without the file that it is of."""
    found = plain(report(groups, catalog))
    assert isinstance(found, dict)
    del found["design"]
    return found


def summed(groups: Groups, way: int) -> float:
    """Return what servers carry, one by one, and each file system no more than its whole."""
    small = sum(count * EACH[server][way] for server, count in groups if server in WHOLE)
    others = sum(count * EACH[server][way] for server, count in groups if server not in WHOLE)
    return min(small, WHOLE["small-system"][way]) + others


GROUPS = st.lists(st.tuples(st.sampled_from(sorted(EACH)), st.integers(1, 6)), min_size=1, max_size=5)


@examples(60)
@given(GROUPS, st.data())
def test_neither_order_nor_split_of_groups_counts(catalog: Catalog, groups: Groups, data: st.DataObject) -> None:
    expected = told(groups, catalog)
    assert told(data.draw(st.permutations(groups)), catalog) == expected
    split = [
        part for server, count in groups for part in ((server, count // 2), (server, count - count // 2)) if part[1]
    ]
    assert told(split, catalog) == expected


@examples(60)
@given(GROUPS, st.sampled_from(sorted(EACH)), st.integers(1, 6))
def test_servers_carry_their_sum_and_more_of_them_never_less(
    catalog: Catalog, groups: Groups, server: str, more: int
) -> None:
    before, after = (report(some, catalog) for some in (groups, [*groups, (server, more)]))
    for some, found in ((groups, before), ([*groups, (server, more)], after)):
        assert found.storage.read_gbyte_s == pytest.approx(summed(some, 0))
        assert found.storage.write_gbyte_s == pytest.approx(summed(some, 1))
        assert sum(group.servers for group in found.groups) == sum(count for _, count in some)
    assert after.storage.read_gbyte_s >= before.storage.read_gbyte_s
    assert after.storage.write_gbyte_s >= before.storage.write_gbyte_s
    assert before.burst is not None
    assert after.burst is not None
    if before.file_system == after.file_system:  # of several, a checkpoint has the rates of the slowest client's
        assert after.burst.save_s <= before.burst.save_s
        assert after.burst.load_s <= before.burst.load_s


@examples(40)
@given(GROUPS)
def test_every_reader_of_storage_has_the_same_rates(catalog: Catalog, groups: Groups) -> None:
    """The summary that limits and `check` read, nodes of an acceptance sheet, and the checkpoint of a job."""
    lines = "\n".join(f"  - {{role: storage, server: {server}, count: {count}}}" for server, count in groups)
    basis = goodput_basis(resolve(document(DESIGN.replace("GROUPS", lines)), catalog.fork()), catalog.fork())
    summary, found = storage_summary(basis), report(groups, catalog)
    assert summary == found.storage
    clients: tuple[tuple[Way, float], ...] = (("read", 8.0), ("write", 4.0))
    for way, client in clients:
        for nodes in (1, 5, 10_000):
            rate = min(nodes * client, summed(groups, way == "write"))
            assert _storage_range(basis, way, nodes)[0].gbyte_s == pytest.approx(rate)
    saved = recovery(basis, job_on(basis, 128, 8e9)).outcome
    rate = float(saved.checkpoint_bytes) / float(saved.persist_s) / 1e9
    assert rate == pytest.approx(min(16 * 4.0, summed(groups, 1)))


def test_fast_drives_do_not_help_slow_ones(catalog: Catalog) -> None:
    """Four full servers are bound by NICs, 100 and 50 GB/s, four with one drive by drives, 26 and 8: 126 and 58."""
    found = report([("full", 4), ("one-drive", 4)], catalog)
    assert (found.storage.read_gbyte_s, found.storage.write_gbyte_s) == pytest.approx((126.0, 58.0))
    assert found.storage.read_binds == "NICs of the servers (full), drives (one-drive)"
    assert {group.name: group.read_gbyte_s for group in found.groups} == {"full": 100.0, "one-drive": 26.0}
    assert [term.label for term in found.read[1:3]] == ["NICs of the servers", "drives"]
    assert [term.gbyte_s for term in found.read[1:3]] == pytest.approx([200.0, 442.0])


def test_drives_of_unknown_rate_are_not_those_of_others(catalog: Catalog) -> None:
    """Four servers whose NICs alone are known read 100 GB/s; four with one drive more make it 126, and not 26."""
    assert report([("unknown", 4)], catalog).storage.read_gbyte_s == pytest.approx(100.0)
    found = report([("unknown", 4), ("one-drive", 4)], catalog)
    assert (found.storage.read_gbyte_s, found.storage.write_gbyte_s) == pytest.approx((126.0, 58.0))
    assert "The rate of the drives of `unknown` is unknown: NICs alone bound it." in found.assumptions


def test_each_group_keeps_its_copies_and_its_endurance(catalog: Catalog) -> None:
    """Of 83.3 GB/s written, 50 go to two copies and 33.3 to three: 0.6 x 2 + 0.4 x 3 = 2.4 copies in the mean.

    Either takes half of the writes; 64 drives of 2,800 TB wear out ten times as fast as 64 of 28,000.
    """
    found = report([("full", 4), ("three-copies", 4)], catalog)
    burst = found.burst
    assert burst is not None
    assert found.copies == pytest.approx(2.4)
    assert burst.written_per_day == pytest.approx(2.4 * burst.bytes * 86_400 / burst.interval_s, rel=0.01)
    first, last = burst.wear
    assert (first.server, last.server) == ("three-copies", "full")
    assert first.written_per_day == pytest.approx(burst.written_per_day / 2)
    assert last.drive_life_years == pytest.approx(10 * (first.drive_life_years or 0.0))
    assert burst.drive_life_years == first.drive_life_years
    assert first.drive_life_years == pytest.approx(64 * 2800e12 / (burst.written_per_day / 2) / YEAR_DAYS)


def test_terms_of_groups_over_draws_and_zones() -> None:
    """At 10 % NICs carry 10 and 20 GB/s; at 100 % drives bind the one at 40, and 200; half in reach at 50 %: 25, 50."""
    servers = {"NICs of the servers (a)": 100.0, "drives (a)": 40.0, "NICs of the servers (b)": 200.0}
    service = ServiceRates(efficiency=np.array([0.1, 1.0]), client=1.0, whole=None, checkpoint=None)
    ((label, rates),) = server_terms(servers, service).items()
    assert label == "NICs of the servers"
    assert np.asarray(rates).tolist() == pytest.approx([30.0, 240.0])
    half = ServiceRates(efficiency=0.5, client=1.0, whole=None, checkpoint=None)
    found = server_terms(with_nics(servers, 0.5), half)
    assert min(float(np.asarray(rate)) for rate in found.values()) == pytest.approx(25.0 + 50.0)
