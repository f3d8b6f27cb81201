"""Measured collectives are judged as their ranks sat: how many on a node, on which accelerators, and of which kind."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ffplan.catalog.named import is_another
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.inputs.document import read_document
from ffplan.interop.logs.read import read_log
from ffplan.results.acceptance import Measured
from ffplan.studies.basis.job_layout import Placement, _nics_near, most_gpus, node_of, placement_fault, placement_of
from ffplan.studies.operate.acceptance import OPERATIONS, _collective_points
from ffplan.studies.operate.acceptance_verdicts import _collective_bound
from tests.support import DESIGNS, ROOT, examples, ffplan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ffplan.design.resolved import ResolvedDesign

H100 = "NVIDIA H100 80GB HBM3"
GIB = 2.0**30


@cache
def design_of(name: str) -> tuple[ResolvedDesign, Catalog]:
    catalog = Catalog()
    return resolve(read_document(ROOT / "designs" / f"{name}.yaml"), catalog), catalog


def log_of(hosts: Mapping[str, tuple[int, ...]], busbw: float, device: str = H100, command: str = "") -> str:
    """Return a log of all_reduce_perf.

    Args:
        hosts: the device of each rank, by host.
        busbw: what it measured [GB/s].
        device: name of the accelerators.
        command: the command line, where the log has it.
    """
    ranks = [(host, number) for host, devices in hosts.items() for number in devices]
    factor = 2 * (len(ranks) - 1) / len(ranks)
    size = 8 * 2**30
    algbw = busbw / factor
    lines = [command] if command else []
    lines += ["# nThread 1 nGpus 1 minBytes 8 agg iters: 1 validation: 1 graph: 0", "#", "# Using devices"]
    lines += [
        f"#  Rank {at:2} Group  0 Pid   {5425 + at} on {host:>10} device {number:2} [{24 + number:x}:00] {device}"
        for at, (host, number) in enumerate(ranks)
    ]
    lines += ["#       size         count      type   redop    root     time   algbw   busbw #wrong"]
    lines += [f"  {size} {size // 4} float sum -1 {size / algbw / 1e3:.1f} {algbw:.2f} {busbw:.2f} 0"]
    return "\n".join(lines) + "\n"


def judged(
    tmp_path: Path, design: str, text: str, name: str = "all_reduce_perf.txt"
) -> tuple[int, list[dict[str, object]]]:
    file = tmp_path / name
    file.write_text(text)
    run = ffplan("fabric accept", design, "--measured", str(file), "-f", "json")
    assert run.code in (0, 1), run.err
    return run.code, json.loads(run.out)["judged"]


def test_one_accelerator_on_each_of_two_hosts_has_one_nic(tmp_path: Path) -> None:
    """48 of 50 GB/s is a healthy pair of nodes; two ranks of one node would have NVLink."""
    text = log_of({"hosta": (0,), "hostb": (0,)}, 48.0)
    code, (row,) = judged(tmp_path, "superpod-h100-4su", text, "02-one-gpu-per-node-all_reduce_perf.txt")
    assert (code, row["verdict"]) == (0, "pass")
    assert 40 < float(str(row["expected"])) <= 50 == row["most"]
    measured = row["measured"]
    assert isinstance(measured, dict)
    assert (measured["nodes"], measured["fewest_ranks"], measured["most_ranks"]) == (2, 1, 1)
    assert (measured["devices"], measured["accelerators"]) == ([0], [H100])
    code, (row,) = judged(tmp_path, "superpod-h100-4su", log_of({"hosta": (0,), "hostb": (0,)}, 30.0))
    assert (code, row["verdict"]) == (1, "fail")
    code, (row,) = judged(tmp_path, "superpod-h100-4su", log_of({"hosta": (0, 1)}, 48.0))
    assert (code, row["verdict"]) == (1, "fail")
    assert float(str(row["expected"])) > 200


def test_a_log_of_another_accelerator_is_not_judged(tmp_path: Path) -> None:
    command = "root@t1:/# mpirun -np 2 -H 10.0.0.1:1,10.0.0.2:1 /nccl-tests/build/all_reduce_perf -b 8 -e 1G -g 1"
    text = log_of({"test1": (0,), "test2": (0,)}, 6.43, "NVIDIA A100-PCIE-40GB", command)
    file = tmp_path / "12-a100.log"
    file.write_text(text)
    run = ffplan("fabric accept", "superpod-h100-4su", "--measured", str(file))
    assert run.code == 0, run.err
    assert "0 pass and 0 fail; 1 is not judged" in run.out.replace("are not", "is not")
    assert "measured on NVIDIA A100-PCIE-40GB, and the design has" in run.out.replace("\n", " ")
    save = ffplan(
        *("fabric accept", "superpod-h100-4su", "--measured", str(file), "--save", str(tmp_path / "cases.yaml")),
        *("--date", "2026-11-22"),
    )
    assert save.code == 2
    assert "--save leaves 1 value out" in save.err
    assert not (tmp_path / "cases.yaml").exists()


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ({"a": (0, 1, 2), "b": (0,)}, "between 1 and 3 ranks on a node"),
        ({"a": tuple(range(16))}, "16 ranks on a node, and a node of the design has 8 accelerators"),
        ({"a": (0,), "b": (0,), "c": (0,), "d": (0, 1)}, "between 1 and 2 ranks on a node"),
        ({"a": (9,), "b": (9,)}, "device 9, and a node of the design has 8 accelerators"),
    ],
)
def test_ranks_that_the_design_cannot_hold_are_not_judged(
    hosts: dict[str, tuple[int, ...]], words: str, tmp_path: Path
) -> None:
    code, (row,) = judged(tmp_path, "superpod-h100-4su", log_of(hosts, 48.0))
    assert (code, row["verdict"], words in str(row["why"])) == (0, "not judged", True), row["why"]


def test_nics_are_those_nearest_to_the_devices() -> None:
    """DGX A100 of the catalogue, and a node of one NIC: two accelerators of one PCIe switch share what is at it."""
    host = node_of(design_of("superpod-h100-4su")[0])
    assert [_nics_near(host, devices) for devices in ((0,), (5,), (0, 1), tuple(range(8)))] == [1, 1, 2, 8]
    fire_flyer = node_of(design_of("fire-flyer-2")[0])
    assert [_nics_near(fire_flyer, devices) for devices in ((0,), (0, 4), tuple(range(8)))] == [1, 1, 1]


def test_devices_that_each_rank_sees_as_its_first_say_nothing() -> None:
    """Ranks that see one accelerator each number it 0; the nodes of a log may differ."""
    for hosts in ({"a": (0, 0), "b": (0, 0)}, {"a": (0, 1), "b": (2, 3)}):
        (found,) = read_log(log_of(hosts, 48.0), "all_reduce_perf.txt")
        assert (found.devices, found.most_ranks) == ((), 2)


ABLE = [name for name in DESIGNS if name not in ("site-h100-100k",)]


@examples(60)
@given(st.data())
def test_expectations_of_any_placement(data: st.DataObject) -> None:
    """Nothing expected exceeds its bound; nodes that are filled are expected as without a placement."""
    design, catalog = design_of(data.draw(st.sampled_from(ABLE)))
    host = node_of(design)
    assume(host.gpus and host.nics)
    most = most_gpus(design) // len(host.gpus)
    assume(most >= 2)
    nodes, each = data.draw(st.integers(2, min(most, 64))), data.draw(st.integers(1, len(host.gpus)))
    ranks, operation = nodes * each, data.draw(st.sampled_from(OPERATIONS))
    size = data.draw(st.sampled_from([GIB, 8 * GIB]))
    devices = data.draw(st.permutations(range(len(host.gpus))))[:each]
    item = Measured(
        check=operation,
        value=1.0,
        host="a",
        part="",
        file="x",
        line=1,
        gpus=ranks,
        nodes=nodes,
        size_bytes=size,
        fewest_ranks=each,
        most_ranks=each,
        devices=tuple(sorted(devices)),
    )
    assert placement_fault(item, host) == ""
    placement = placement_of(item, host)
    assert (placement is None) == (each == len(host.gpus))
    given_placement = placement or Placement(nodes, float(len(host.nics)))
    points = _collective_points(design, catalog, operation, (ranks,), (size,), given_placement)
    assume(points)
    top = _collective_bound(operation, ranks, host, given_placement)
    expected = points[ranks, size]
    assert expected > 0
    if top is not None:
        assert expected <= top.most * (1 + 1e-9)
    if placement is None:
        assert expected == pytest.approx(_collective_points(design, catalog, operation, (ranks,), (size,))[ranks, size])
        filled = _collective_bound(operation, ranks, host)
        assert (top is None) == (filled is None)
        assert top is None or filled is None or top.most == pytest.approx(filled.most)


@pytest.mark.parametrize(
    ("said", "own"),
    [
        (H100, {"h100-sxm-80gb"}),
        ("NVIDIA H100 PCIe", {"h100-pcie"}),
        ("NVIDIA H100 NVL", {"h100-nvl"}),
        ("NVIDIA H200", {"h200-sxm"}),
        ("NVIDIA H20", {"h20"}),
        ("NVIDIA H800", {"h800-sxm"}),
        ("NVIDIA A100-SXM4-40GB", {"a100-sxm-40gb"}),
        ("NVIDIA A100-SXM4-80GB", {"a100-sxm-80gb"}),
        ("NVIDIA A100-PCIE-40GB", {"a100-pcie-40gb"}),
        ("NVIDIA A100 80GB PCIe", {"a100-pcie-80gb"}),
        ("Tesla V100-SXM2-32GB", {"v100-sxm2-32gb"}),
        ("NVIDIA B200", {"b200"}),
        ("NVIDIA GB200", {"gb200-gpu"}),
        ("NVIDIA GH200 480GB", {"gh200-96gb", "gh200-144gb"}),
        ("NVIDIA L40S", {"l40s"}),
        ("AMD Instinct MI300X", {"mi300x"}),
    ],
)
def test_names_of_drivers(said: str, own: set[str]) -> None:
    """Of the accelerators whose names say what they are, a driver's name fits its own alone."""
    catalog = Catalog()
    parts = [catalog.entry(name).part for name in catalog.ids_of("accelerator")]
    fits = {part.id for part in parts if isinstance(part, Accelerator) and not is_another(said, part)}
    silent = {part.id for part in parts if not any(letter.isdigit() for letter in part.name)}
    loose = {"h100-nvl", "h100-pcie"} if said == H100 else set()  # the name of the SXM part does not say so
    assert fits - silent - loose >= own
    assert fits - silent - loose - own <= {"rubin-gpu"}
