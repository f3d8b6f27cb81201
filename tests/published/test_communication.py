"""Replayed measurements: what the model must reach on each source."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from ffplan.catalog.store import Catalog
from ffplan.inputs.document import read_document
from ffplan.inputs.validate import validate
from ffplan.studies.trust.measurement import BANDS, _score
from ffplan.validation.cases import CaseFile
from ffplan.validation.communication_replay import replay
from tests.support import ROOT

if TYPE_CHECKING:
    from ffplan.results.accuracy import AccuracyRow, Score

FOLDER = ROOT / "catalogs" / "measurements" / "communication"
SWEEPS = ("nccl-h100-node", "nccl-a100-node", "nccl-aws-two-nodes", "nccl-nvls-tree", "nccl-aws-p5en")


@cache
def rows(source: str) -> tuple[AccuracyRow, ...]:
    document = read_document(FOLDER / f"{source}.yaml")
    return tuple(replay(validate(CaseFile, document), document, Catalog()))


def summary(source: str) -> Score:
    found = _score(source, "", rows(source))
    assert found is not None
    return found


def test_fire_flyer_figure_7() -> None:
    """MAPE 10 %, each within 20 %."""
    assert summary("fire-flyer-fig7").mape < 0.10
    assert summary("fire-flyer-fig7").max_error < 0.20
    assert summary("fire-flyer-fig7").n == 23


def test_nvlink_beats_plain_hfreduce_beats_nccl_at_every_size() -> None:
    model = {(row.case, row.gpus): row.model for row in rows("fire-flyer-fig7")}
    for gpus in (16, 128, 1024):
        nccl = model.get(("nccl", gpus)) or model["nccl-large", gpus]
        assert model["hfreduce-nvlink", gpus] > model["hfreduce", gpus] > nccl


@pytest.mark.parametrize("source", SWEEPS)
def test_sweeps_of_nccl_tests(source: str) -> None:
    """Within 10 % from 512 MiB, 25 % from 16 MiB; below, the time of a call differs from system to system.

    Sweeps of eight A100 differ by a fifth at 16 MiB: 277 us in this one, 232 in `vtrain-a100-allreduce`, 217 in
    `aiconfigurator-nccl`, and at 1 MiB 102, 93 and 39. Eight H100 call faster in `nccl-h100-node` than four elsewhere:
    8 bytes in 14 us against 26.
    """
    middle = 0.31 if source == "nccl-a100-node" else 0.25
    allowed = {
        "below-16-mib": {"nccl-h100-node": 1.0, "nccl-a100-node": 0.42}.get(source, 0.38),
        "from-16-mib": middle,
        "from-512-mib": 0.10,
    }
    for name, _, low, high in BANDS:
        for row in rows(source):
            if row.size_bytes and low <= row.size_bytes < high:
                assert abs(row.error) < allowed[name], row


def test_rows_that_nothing_was_fitted_on() -> None:
    """The model generalises: their mean error is hardly above that of the rows it was fitted on."""
    every = [row for path in FOLDER.glob("*.yaml") for row in rows(path.stem)]
    predicted, fitted = (
        _score(kind, "", [row for row in every if row.kind == kind]) for kind in ("predicted", "fitted")
    )
    assert predicted is not None
    assert fitted is not None
    assert predicted.n > 200
    assert predicted.mape < 0.095
    assert abs(predicted.bias) < 0.035


def test_means_over_sources() -> None:
    """Every source counts once: 8 % from 16 MiB on is the aim, 15 % below; calls are queued in some, and waited for
    in others."""
    means: dict[str, list[float]] = {"small": [], "large": []}
    for path in FOLDER.glob("*.yaml"):
        for band, low, high in (("small", 0, 16 * 2**20), ("large", 16 * 2**20, 2**60)):
            errors = [
                abs(row.error)
                for row in rows(path.stem)
                if row.scored and row.kind != "arithmetic" and low <= (row.size_bytes or 2**50) < high
            ]
            if errors:
                means[band].append(sum(errors) / len(errors))
    assert sum(means["large"]) / len(means["large"]) < 0.065
    assert sum(means["small"]) / len(means["small"]) < 0.165


@pytest.mark.parametrize(
    ("source", "most"),
    [
        ("h100-10-nodes", 0.05),
        ("h100-node-ops", 0.06),
        ("gb200-two-trays", 0.11),
        ("nccl-b200-node", 0.105),
        ("a100-sendrecv", 0.03),
        ("aws-p6-b300", 0.12),
        ("h100-ib-2-nodes", 0.19),
        ("dgx-h100-2x2", 0.19),
        ("h800-broadcast", 0.24),
    ],
)
def test_further_sweeps(source: str, most: float) -> None:
    assert summary(source).mape < most


def test_a_send_takes_one_time_over_many_sizes() -> None:
    """Eight B200: 0.8 ms from 64 to 512 MiB, since a longer message takes more channels."""
    sends = {row.size_bytes: row.model for row in rows("nccl-b200-node") if row.case == "sendrecv"}
    flat = [sends[size * 2**20] for size in (64, 128, 256)]
    assert max(flat) == pytest.approx(min(flat), rel=0.02)
    assert sends[1024 * 2**20] > 1.8 * flat[0]


def test_plateaus() -> None:
    """All-to-all on H100 is 9 % above NVIDIA's slide, and within 3 % of later sweeps from 4 GiB on."""
    assert summary("nccl-plateaus").max_error < 0.09
    found = [row.error for row in rows("h100-node-ops") if row.case.startswith("all-to-all")]
    assert max(map(abs, found)) < 0.12


def test_scaling_book() -> None:
    assert summary("scaling-book").max_error < 1e-9
    assert summary("scaling-book").n == 18


def test_zero3_over_three_transports() -> None:
    """1 : 2.4 : 4.9 within 25 %; the first ratio is predicted, the second fitted."""
    ratios = [row.model for row in rows("aws-zero3-offload") if row.scored]
    assert ratios[0] == pytest.approx(2.4, rel=0.25)
    assert ratios[1] == pytest.approx(4.9, rel=0.25)


def test_experts() -> None:
    """Within 20 % at and above 16 GPUs."""
    for row in rows("deepep-h800"):
        assert row.gpus is not None
        assert row.gpus < 16 or abs(row.error) < 0.20, row


def test_rows_that_do_not_count_say_why() -> None:
    for path in FOLDER.glob("*.yaml"):
        assert all(row.scored or row.note for row in rows(path.stem))


def test_exchanges_of_few_accelerators() -> None:
    """All-to-all on two to eight of seven kinds: from 16 MiB on channels bind on Blackwell, and links on the others."""
    errors = [
        abs(row.error)
        for row in rows("aiconfigurator-nccl")
        if "all-to-all" in row.case and row.size_bytes and row.size_bytes >= 16 * 2**20
    ]
    assert len(errors) == 110
    assert sum(errors) / len(errors) < 0.065
