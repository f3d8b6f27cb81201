"""Measurements beside a curve: which match it, what they say, and that nothing else is drawn."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.inputs.document import parse_document, read_document
from ffplan.inputs.validate import validate
from ffplan.report.document import MeasuredCurve
from ffplan.report.page.sweep_charts import _scale_chart
from ffplan.results.collective import MeasuredPoint
from ffplan.validation.cases import CaseFile
from ffplan.validation.replay import measured_files, measured_points, rows_at
from tests.support import ROOT, assess_file, collective, ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.design import Assessment

CASE: dict[str, Any] = {
    "id": "a",
    "system": {"server": "hgx-h100-8nic"},
    "operation": "allreduce",
    "library": "nccl",
    "gpus": [64],
    "sizes": ["1 GiB"],
    "metric": "time_us",
    "values": [[6000.0]],
}


def file_of(**changes: Any) -> CaseFile:
    source = {"title": "t", "date": "2024", "grade": "measured", "status": "V"}
    case = {**CASE, **changes}
    data = {"kind": "communication-cases", "id": "f", "name": "n", "source": source, "collectives": [case]}
    return validate(CaseFile, parse_document(json.dumps(data).encode(), "f.yaml"))


@cache
def known(path: Path) -> tuple[ResolvedDesign, Assessment]:
    return resolve(read_document(path, path.name), Catalog()), assess_file(path)


def points(design: str | Path, library: str, *files: CaseFile) -> tuple[MeasuredPoint, ...]:
    found, assessment = known(ROOT / "designs" / f"{design}.yaml" if isinstance(design, str) else design)
    return measured_points(found, collective(assessment, library), Catalog(), list(files) or measured_files())


def test_a_case_becomes_a_point() -> None:
    (point,) = points("superpod-h100-4su", "nccl", file_of(note="cold"))
    assert (point.gpus, point.size_bytes, point.low_gbyte_s, point.high_gbyte_s) == (64, 2**30, None, None)
    assert point.gbyte_s == pytest.approx(2**30 / 6e-3 / 1e9)
    assert (point.server, point.same_server, point.nics) == ("hgx-h100-8nic", True, "8 x NVIDIA ConnectX-7 400 Gb/s")
    assert (point.case, point.source, point.date, point.status) == ("f, a", "t", "2024", "V")
    assert (point.fitted, point.note) == (False, "cold")


def test_bus_bandwidth_and_ranges_are_converted() -> None:
    (point,) = points("superpod-h100-4su", "nccl", file_of(metric="busbw_gbyte_s", values=[[[63.0, 126.0]]]))
    assert (point.low_gbyte_s, point.high_gbyte_s, point.gbyte_s) == pytest.approx((32, 64, 48))
    (point,) = points("superpod-h100-4su", "nccl", file_of(metric="algbw_gbyte_s", values=[[50]]))
    assert point.gbyte_s == 50


@pytest.mark.parametrize(
    "changes",
    [
        {"system": {"server": "hgx-h100-8nic", "accelerator": "h200-sxm"}},
        {"system": {"server": "dgx-a100-320gb"}},
        {"system": {"server": "hgx-h100-8nic", "nics": 1}},
        {"system": {"server": "hgx-h100-8nic", "nic": "connectx-6-200g"}},
        {"system": {"server": "hgx-h100-8nic", "nic_rate": "100 Gb/s"}},
        {"system": {"server": "hgx-h100-8nic", "gpus_per_node": 4}},
        {"system": {"server": "hgx-h100-8nic", "forwarding": False}},
        {"system": {"server": "hgx-h100-8nic", "zones": 2}},
        {"system": {"server": "hgx-h100-8nic", "leaf_nodes": 4, "oversubscription": 2}},
        {"operation": "all-gather"},
        {"library": "hfreduce"},
        {"algorithm": "ring"},
        {"protocol": "ll128"},
        {"in_network": True},
        {"scored": False},
        {"gpus": [8]},
        {"gpus": [20]},
        {"gpus": [1024]},
        {"sizes": ["1.021 GiB"]},
        {"sizes": ["0.979 GiB"]},
        {"sizes": ["2 GiB"]},
        {"values": [[None]]},
    ],
    ids=str,
)
def test_what_differs_is_not_drawn(changes: dict[str, Any]) -> None:
    assert points("superpod-h100-4su", "nccl", file_of(**changes)) == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"library": "auto"},
        {"algorithm": "nvls-tree", "protocol": "simple"},
        {"sizes": ["1.019 GiB"]},
        {"sizes": ["0.981 GiB"]},
        {"gpus": [1016]},
        {"gpus": [16]},
    ],
    ids=str,
)
def test_what_is_the_same_is_drawn(changes: dict[str, Any]) -> None:
    assert len(points("superpod-h100-4su", "nccl", file_of(**changes))) == 1


def test_nccl_of_an_amd_node_is_rccl() -> None:
    amd = file_of(system={"server": "mi355x-8nic"})
    assert len(points("mi355x-pod", "rccl", amd)) == 1
    assert points("superpod-h100-4su", "nccl", amd) == ()


def test_another_server_or_slower_ports_are_said_so(tmp_path: Path) -> None:
    (point,) = points("superpod-h100-4su", "nccl", file_of(system={"server": "p5-48xlarge"}))
    assert not point.same_server
    slower = vary_design(tmp_path, "superpod-h100-4su", ("  family:", "  breakout: 2\n  family:"))
    (point,) = points(slower, "nccl", file_of())
    assert not point.same_server


@pytest.mark.parametrize("design", ["fire-flyer-2", "fire-flyer-2-nvlink", "superpod-h100-4su", "megascale-12288"])
def test_shipped_measurements_have_the_accelerator_and_message_of_the_curve(design: str) -> None:
    from ffplan.catalog.parts import Server

    catalog, assessment = Catalog(), assess_file(design)
    own = resolve(read_document(ROOT / "designs" / f"{design}.yaml", design), catalog).compute.accelerator
    assert own is not None
    some = False
    for report in assessment.communication:
        for point in points(design, report.library):
            some = True
            server = catalog.entry(point.server).part
            assert isinstance(server, Server)
            assert server.accelerator == own.id
            assert abs(point.size_bytes / report.message_bytes - 1) <= 0.02
            assert report.scales[0].gpus <= point.gpus <= report.ranks
    assert some


def test_lines_have_a_point_where_something_is_measured() -> None:
    """Between 16 and 64 GPUs of H100 lies a cliff that a straight line would hide."""
    path = ROOT / "designs" / "superpod-h100-4su.yaml"
    report = collective(assess_file(path), "nccl")
    (row,) = rows_at(resolve(read_document(path, path.name), Catalog()), report, (32,))
    asked = ffplan("collective superpod-h100-4su --gpus 32 --size 1GiB -f json")
    assert json.loads(asked.out)["rows"][0]["algbw_gbyte_s"] == pytest.approx(row.algbw_gbyte_s)
    assert row.algbw_gbyte_s < 0.8 * report.scales[0].algbw_gbyte_s


def measured(**changes: Any) -> MeasuredPoint:
    point = MeasuredPoint(
        gpus=16,
        size_bytes=2.0**30,
        gbyte_s=5.0,
        low_gbyte_s=None,
        high_gbyte_s=None,
        server="s",
        nics="8 x n",
        same_server=True,
        case="f, a",
        source="A paper",
        date="2024",
        status="V",
        fitted=False,
        note="",
    )
    return replace(point, **changes)


def curve(*found: MeasuredPoint, design: int = 0) -> MeasuredCurve:
    return MeasuredCurve(
        design=design, library="nccl", requirements="x, nccl and 1 GiB", points=found, expected=((32, 7.0),)
    )


def test_the_chart_says_where_there_is_none() -> None:
    named = (("a", assess_file("superpod-h100-4su")),)
    silent, none, one = (_scale_chart(named, given) for given in ((), (curve(),), (curve(measured()),)))
    assert silent
    assert none
    assert one
    assert "measure" not in silent.note
    assert none.note.endswith("The catalogue has no measurement with x, nccl and 1 GiB.")
    assert not any(point.mark for point in (*silent.points, *none.points))
    assert "no measurement" not in one.note
    assert "Hollow" not in one.note
    (mark,) = (p for p in one.points if p.mark)
    assert (mark.x, mark.value, mark.series, mark.mark) == (16.0, 5.0, "measured, nccl, s", "filled")
    rate = next(p.value for p in one.points if p.x == 16 and not p.mark)
    assert mark.source == (
        f"measured 5 GB/s on 16 GPUs of s (8 x n), 1 GiB; the engine expects {rate:.3g} of this design. "
        "A paper (2024, V); not used in a fit."
    )
    assert [p.x for p in one.points if not p.mark] == [16, 32, 64, 256, 1016]
    assert next(p.value for p in one.points if p.x == 32) == 7.0


def test_a_measurement_that_two_designs_share_is_drawn_once() -> None:
    named = (("a", assess_file("superpod-h100-4su")), ("b", assess_file("aws-p5-64")))
    other = measured(same_server=False, source="Of b")
    found = _scale_chart(named, (curve(other), curve(measured(), design=1)))
    assert found
    assert [(p.mark, "A paper" in p.source) for p in found.points if p.mark] == [("filled", True)]
    found = _scale_chart(named, (curve(measured()), curve(other, design=1)))
    assert found
    assert [(p.mark, "A paper" in p.source) for p in found.points if p.mark] == [("filled", True)]
    found = _scale_chart(named, (curve(other), curve(measured(case="f, b"))))
    assert found
    assert len([p for p in found.points if p.mark]) == 2
    assert "Hollow marks" in found.note


def test_marks_carry_their_source_on_the_page() -> None:
    done = ffplan("design superpod-h100-4su -f html")
    assert done.code == 0
    assert (
        "<title>measured 182 GB/s on 32 GPUs of hgx-h100-8nic (8 x NVIDIA ConnectX-7 400 Gb/s), 1 GiB; the" in done.out
    )
    none = ffplan("design dgx-a100-10k -f html")
    assert "no measurement with a100-sxm-40gb, nccl and 186 MiB (within 2 %) on 16 to 10,000 GPUs" in none.out
    assert "<title>measured" not in none.out
