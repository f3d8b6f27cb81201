"""Rooflines of levels and of plans, and what a step reaches."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.catalog.read import noted
from ffplan.catalog.store import Catalog
from ffplan.cli.explain import _kept
from ffplan.design.resolve import resolve
from ffplan.design.training import PlanFields
from ffplan.inputs.document import read_document
from ffplan.studies.explain.explain import _scaled
from ffplan.studies.explain.step_inputs import Reach, Step, _reach
from ffplan.studies.train.default_job import workload_report
from tests.support import ROOT, ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path


def levels(design: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ffplan("design", design, "--rooflines", "-f", "json").out)["levels"]
    return found


def test_the_superpod_of_the_book(tmp_path: Path) -> None:
    """1,024 H100: 3.6, 12.8, 25.6 TB/s; 450, 50, 25 GB/s each; 1,098 and 1,236 tokens at 989 TFLOP/s."""
    rows = levels(str(vary_design(tmp_path, "superpod-h100-4su", ("count: 127", "count: 128"))))
    assert [row["level"] for row in rows] == ["node", "leaf", "spine"]
    assert [row["accelerators"] for row in rows] == [8, 256, 1024]
    assert [row["gbyte_s"] for row in rows] == pytest.approx([3600, 12_800, 25_600])
    assert [row["gbyte_s_each"] for row in rows] == pytest.approx([450, 50, 25])
    assert [row["allreduce_gbyte_s"] for row in rows] == pytest.approx([450, 400, 400])
    assert [row["data_tokens"] for row in rows] == pytest.approx([1098, 1236, 1236], rel=2e-3)
    assert rows[-1]["sharded_tokens"] == pytest.approx(2472, rel=2e-3)


@pytest.mark.parametrize("design", ["fire-flyer-2", "gb200-nvl72-16", "l40s-8-roce", "dragonfly-a100", "tpu-v6e-pod"])
def test_outer_levels_never_ask_for_a_smaller_batch(design: str) -> None:
    rows = levels(design)
    assert [row["accelerators"] for row in rows] == sorted(row["accelerators"] for row in rows)
    for inner, outer in pairwise(rows):
        assert outer["allreduce_gbyte_s"] <= inner["allreduce_gbyte_s"]
        assert outer["data_tokens"] >= inner["data_tokens"]
    assert all(row["sharded_tokens"] == pytest.approx(2 * row["data_tokens"]) for row in rows)


def test_the_table_stands_only_where_it_is_asked_for() -> None:
    assert "TB/s  GB/s each" not in ffplan("design superpod-h100-4su").out
    assert "TB/s  GB/s each" in ffplan("design superpod-h100-4su --rooflines").out


def critical(design: Path, *options: str) -> float:
    """Return the tokens of a GPU from which computing binds, as the book counts."""
    run = ffplan("train", str(design), *options, "-f", "json")
    return float(json.loads(run.out)["rows"][0]["rooflines"][0]["critical"])


@pytest.mark.parametrize(
    ("tensor", "pipeline", "tokens"),
    [
        (8, 1, 2472),  # ZeRO 3: 989e12 / 400e9, at the leaf
        (8, 4, 309),  # 32 x 12.8 TB/s / 256 at the leaf: 1.6 TB/s
        (8, 32, 77),  # 256 x 25.6 TB/s / 1024 at the spine: 6.4 TB/s
    ],
)
def test_sharded_reductions_run_at_the_rate_of_the_level_that_binds(
    tmp_path: Path, tensor: int, pipeline: int, tokens: float
) -> None:
    """Scaling book, chapter on GPUs, question 2: 8-way within nodes and 32-way between them leave 77 tokens a GPU."""
    design = vary_design(tmp_path, "superpod-h100-4su", ("count: 127", "count: 128"))
    sizes = ["--gpus", "1024", "--batch", "1536", "--tp", str(tensor), "--pp", str(pipeline)]
    sharded = ["--zero", "3"] if pipeline == 1 else []
    assert critical(design, "--model", "gpt3-175b", *sizes, *sharded) == pytest.approx(tokens, rel=0.005)


def rooflines(design: str, gpus: int) -> dict[str, float]:
    """Return the critical tokens of data parallelism on one node."""
    run = ffplan(f"train {design} --model megatron-1.7b --zero 0 --batch 64 --gpus {gpus} -f json")
    return {item["name"]: item["critical"] for item in json.loads(run.out)["rows"][0]["rooflines"]}


def test_a_switch_that_reduces_halves_the_tokens_of_data_parallelism() -> None:
    """Gradients of 4 bytes: C g / (4 W) with NVLS, 989e12 x 4 / (4 x 450e9) = 2,198; twice that without, on A100 with
    312e12 and 300 GB/s 2 x 312e12 x 4 / (4 x 300e9) = 2,080. The book's have gradients of 2 bytes and reduce in the
    switch: 1,099 and 520."""
    found = rooflines("superpod-h100-4su", 8)
    assert found["data"] == pytest.approx(989e12 * 2 / (4 * 450e9), rel=1e-3)
    assert found["data-here"] == pytest.approx(989e12 * 4 / (4 * 450e9), rel=1e-3)
    found = rooflines("dgx-a100-10k", 8)
    assert found["data"] == pytest.approx(312e12 * 2 / (4 * 300e9), rel=1e-3)
    assert found["data-here"] == pytest.approx(2 * 312e12 * 4 / (4 * 300e9), rel=1e-3)


@pytest.fixture(scope="module")
def far() -> Reach:
    catalog = Catalog()
    document = read_document(ROOT / "tests" / "golden" / "tight.yaml", "tight.yaml")
    used = catalog.fresh()
    design = resolve(document, used)
    report = workload_report(design, used, design.stated_workload)
    plan = _kept(report, PlanFields())
    gpus = report.rows[0].plan.gpus
    return _reach(
        Step(
            document=document,
            catalog=catalog,
            design=design,
            used=used,
            report=report,
            plan=plan,
            gpus=gpus,
            batch_given=False,
        )
    )


@pytest.mark.parametrize(
    ("part", "path", "moves"),
    [
        ("h100-sxm-80gb", ("power",), False),  # never read
        ("pytorch", ("temporary",), False),  # of memory alone
        ("attention-h100", ("tables", 36, "longest"), False),  # of another kernel
        ("h100-sxm-80gb", ("training", "matrix"), True),
        ("h100-sxm-80gb", ("collectives", "ring"), True),
        ("h100-sxm-80gb", ("collectives", "nvls", "busbw"), False),  # of an algorithm that is not chosen
        ("nccl", ("ring_many",), True),
        ("nccl", ("fill", "simple"), False),
        ("qm9700", ("rate",), False),  # the NICs are slower
    ],
)
def test_the_short_way_gives_what_a_whole_run_gives(
    far: Reach, part: str, path: tuple[str | int, ...], *, moves: bool
) -> None:
    entry = far.job.catalog.entry(part)
    made = replace(entry, part=_scaled(entry.part, path, 1.1))
    short = far.changed(made, path)
    parts = far.job.catalog.with_entry(made)
    whole = far.job.pace(resolve(far.job.document, parts), parts, None)
    assert short is not None
    assert whole is not None
    assert far.base is not None
    assert short.row == whole.row
    assert (short.row != far.base.row) == moves


def test_figures_note_that_they_are_read() -> None:
    entry = Catalog().entry("epyc-7502")
    seen: set[tuple[str, tuple[str | int, ...]]] = set()
    part = noted(entry, seen).part
    assert not seen
    assert part.memory_rate.value == entry.part.memory_rate.value  # type: ignore[attr-defined]
    assert seen == {("epyc-7502", ("memory_rate",))}
    assert part.root_port.one_way.source  # type: ignore[attr-defined]
    assert len(seen) == 1
    assert part.root_port.one_way.model_copy().range  # type: ignore[attr-defined]
    assert ("epyc-7502", ("root_port", "one_way")) in seen


def test_records_are_the_same_where_their_fields_are(far: Reach) -> None:
    assert far.base is not None
    speeds = far.base.setup.run.speeds
    assert speeds == replace(speeds)
    assert speeds != speeds.faster("matrix", 1.1)
