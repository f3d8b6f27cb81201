"""Storage that a design does not plan stands on a separate network, in no zone of the compute fabric."""

from pathlib import Path

import pytest

import ffplan
from ffplan.studies.operate.goodput_basis import goodput_basis
from ffplan.studies.operate.goodput_job import job_on

NICS_OF_SERVERS = "NICs of the servers"
DESIGN = Path("designs/fire-flyer-2.yaml")
PLANNED = "  - {role: storage, server: fire-flyer-3fs-node, count: 135, zones: every}\n"


@pytest.mark.deep
def test_a_zone_cuts_the_storage_that_it_holds_and_no_other(tmp_path: Path) -> None:
    text = DESIGN.read_text()
    assert PLANNED in text
    path = tmp_path / "beside.yaml"
    path.write_text(text.replace(PLANNED, ""))
    planned, beside = ffplan.storage(DESIGN), ffplan.storage(path)
    assert planned.zone_read_gbyte_s == 0.5 * planned.storage.read_gbyte_s
    assert beside.zone_read_gbyte_s == beside.storage.read_gbyte_s
    assert not any("reaches that zone's NICs" in line for line in beside.assumptions)


def test_a_job_in_one_zone_reads_all_of_the_storage_beside_the_fabric(tmp_path: Path) -> None:
    path = tmp_path / "beside.yaml"
    path.write_text(DESIGN.read_text().replace(PLANNED, ""))
    for file, part in ((DESIGN, 0.5), (path, 1.0)):
        design = ffplan.load(file)
        basis = goodput_basis(design.resolved, design.catalog)
        assert basis.storage is not None
        job = job_on(basis, 1024, 70e9)
        assert job.read_gbyte_s[NICS_OF_SERVERS] == part * basis.storage.read[NICS_OF_SERVERS]


def test_planned_storage_on_a_network_of_its_own_stands_in_no_zone(tmp_path: Path) -> None:
    text = DESIGN.read_text().replace(", count: 135, zones: every}", ", count: 135}")
    own = "fabric: {family: fat-tree, switch: qm8700, link: {endpoint: hdr-aoc, inter_switch: hdr-aoc}, tiers: 3}"
    path = tmp_path / "own.yaml"
    path.write_text(f"{text}\nnetworks:\n  - name: storage\n    ports: {{compute: 1, storage: 2}}\n    {own}\n")
    design = ffplan.load(path)
    found = ffplan.storage(design)
    assert (found.storage.planned, found.shared, found.zones) == (True, False, 2)
    assert found.zone_read_gbyte_s == found.storage.read_gbyte_s
    assert not any("reaches that zone's NICs" in line for line in found.assumptions)
    basis = goodput_basis(design.resolved, design.catalog)
    assert basis.storage is not None
    assert job_on(basis, 1024, 70e9).read_gbyte_s[NICS_OF_SERVERS] == basis.storage.read[NICS_OF_SERVERS]
