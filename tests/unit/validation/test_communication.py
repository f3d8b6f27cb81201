"""Measured collectives replayed: what a case says, what is refused of it, and its error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.catalog.store import Catalog
from ffplan.inputs.validate import validate
from ffplan.validation.cases import CaseFile
from ffplan.validation.communication_replay import _signed_error, replay
from ffplan.validation.replay import case_files, replay_files
from tests.support import document

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.results.accuracy import AccuracyRow

CATALOG = Catalog()
CASE = """\
kind: communication-cases
id: mine
name: my cluster
source: {title: "nccl-tests of ours", date: "2026-11", grade: measured, status: V}
collectives:
  - id: sweep
    system: {server: hgx-h100-8nic}
    operation: allreduce
    gpus: [8, 16]
    sizes: [1 MiB, 1 GiB]
    metric: busbw_gbyte_s
    values: [[65, 440], [null, [400, 500]]]
"""


def rows_of(text: str) -> list[AccuracyRow]:
    source = document(text)
    return replay(validate(CaseFile, source), source, CATALOG)


def refused(path: Path, text: str) -> InputError:
    """Return the error of a file of cases, which names it."""
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        replay_files("communication", [(str(path), str(path))], CATALOG)
    assert all(found.file == str(path) for found in caught.value.findings)
    return caught.value


def test_signed_error() -> None:
    assert _signed_error(11, 10, 10) == pytest.approx(0.1)
    assert _signed_error(4, 3, 5) == 0
    assert _signed_error(6, 3, 5) == pytest.approx(0.2)
    assert _signed_error(2, 4, 5) == pytest.approx(-0.5)


def test_metrics_of_one_run_agree() -> None:
    """algbw = bytes over time; busbw = algbw x 2 (n - 1) / n, as nccl-tests has it: 7/4 on 8 GPUs, 15/8 on 16."""

    def model(metric: str) -> list[float]:
        return [row.model for row in rows_of(CASE.replace("metric: busbw_gbyte_s", f"metric: {metric}"))]

    sizes, factors = (2**20, 2**30, 2**30), (7 / 4, 7 / 4, 15 / 8)
    algbw = [size / (time * 1e-6) / 1e9 for size, time in zip(sizes, model("time_us"), strict=True)]
    assert model("algbw_gbyte_s") == pytest.approx(algbw)
    busbw = [rate * factor for rate, factor in zip(algbw, factors, strict=True)]
    assert model("busbw_gbyte_s") == pytest.approx(busbw)


def test_files_of_a_subject() -> None:
    """Memory was measured in files of training runs; what a user names comes in place of what ships."""
    assert case_files("memory") == case_files("training")
    assert all(name.startswith("catalogs/measurements/communication/") for _, name in case_files("communication"))
    assert case_files("training", ["a.yaml"]) == [("a.yaml", "a.yaml")]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("gpus: [8, 16]", "gpus: [1, 16]", "at least 2"),
        (
            "operation: allreduce",
            "operation: allreduce\n    library: hfreduce-nvlink\n    algorithm: tree",
            "has no tree",
        ),
        ("kind: communication-cases", "kind: server", "of kind `server`"),
        ("kind: communication-cases\n", "", "not a file of measured cases"),
        ("server: hgx-h100-8nic", "server: hgx-h100", "hgx-h100-8nic"),
        ("operation: allreduce", "operation: broadcast\n    in_network: true", "no effect"),
        ("[[65, 440], [null, [400, 500]]]", "[[null, null], [null, null]]", "no case of this file has a value"),
        ("operation: allreduce", "operation: dispatch", "needs `experts` alone"),
        ("operation: allreduce", "operation: allreduce\n    library: deepep", "has no allreduce"),
        ("operation: allreduce", "operation: allreduce\n    algorithm: nvls", "has no nvls allreduce"),
        ("metric: busbw_gbyte_s", "metric: busbw", "busbw_gbyte_s"),
        ("sizes: [1 MiB, 1 GiB]", "sizes: [1, 2]", "no unit"),
        ("id: sweep", "id: sweep\n    speed: 3", "speed"),
    ],
)
def test_wrong_cases_are_located(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in CASE
    assert words in str(refused(tmp_path / "mine.yaml", CASE.replace(old, new)))


OFFLOAD = """\
kind: communication-cases
id: mine
name: offload
source: {title: ours, date: "2026-11", grade: measured, status: V}
offloads:
  - id: a
    parameters: 8030261248
    ranks: 4
    micro_steps: 200
    message: 100 MB
    transports:
      - {name: A, system: {server: p4d-24xlarge}, wall: 900 s}
      - name: B
        system: {server: p4d-24xlarge}
        pods: [[gpu0, nic0], [gpu1, nic1], [gpu2, nic2], [gpu3, nic3]]
        wall: 2000 s
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("wall: 900 s", "wall: 1 s", "communication alone takes"),
        ("[gpu3, nic3]]", "[gpu2, nic2]]", "3 different pod(s) for 4 ranks"),
        ("[gpu3, nic3]", "[nic3, gpu3]", "has no `nic3` there"),
        ("ranks: 4", "ranks: 1000000000", "at most 10,000,000"),
        (", wall: 900 s", "", "`wall` is missing"),
    ],
)
def test_wrong_offloads_are_located(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in OFFLOAD
    assert words in str(refused(tmp_path / "mine.yaml", OFFLOAD.replace(old, new)))
