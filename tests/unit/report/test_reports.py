"""Reports made by hand, and what a reader sees of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.report.accuracy import COLOURS, DOWN, TOP, points, scatter
from ffplan.report.calibrate import calibrate_document, left_out_document
from ffplan.report.document import Grid, Remarks
from ffplan.report.fabric import audit_document, differences
from ffplan.report.phrases import _plan_words
from ffplan.results.accuracy import (
    AccuracyReport,
    AccuracyRow,
    CalibrationReport,
    Constant,
    Fitted,
    LeaveOneOutReport,
    LeftOut,
    Score,
)
from ffplan.results.as_built import AuditCause, DiffReport, Miswired, Renamed, SlowLink
from ffplan.results.run import PlanRow

if TYPE_CHECKING:
    from ffplan.report.document import Document


def grids(document: Document) -> list[Grid]:
    return [block for block in document.body().blocks if isinstance(block, Grid)]


def measured(source: str, size: float | None, error: float, *, scored: bool = True) -> AccuracyRow:
    return AccuracyRow(
        source=source,
        case="c",
        what="allreduce",
        gpus=8,
        size_bytes=size,
        unit="time_us",
        measured=1.0,
        measured_high=None,
        model=1.0 + error,
        error=error,
        chosen="",
        status="V",
        kind="predicted",
        scored=scored,
        note=None,
    )


def report(*rows: AccuracyRow) -> AccuracyReport:
    names = dict.fromkeys(row.source for row in rows)
    scores = [
        Score(name=name, title=name, n=2, mape=0.125, median=0.1, bias=0, max_error=0, worst="") for name in names
    ]
    return AccuracyReport(
        schema_version="0", subject="communication", rows=rows, sources=tuple(scores), kinds=(), bands=(), total=None
    )


def test_points_of_a_scatter() -> None:
    """1 KiB to 1 MiB are ten powers over 640 px from 70: 32 KiB lies halfway. 50 % is at the top, 0 in the middle."""
    rows = (
        measured("a&b", 2.0**10, 0.0),
        measured("a&b", 2.0**20, 0.9),
        measured("c", 2.0**15, -0.25),
        measured("c", None, 0.1),
        measured("c", 2.0**12, 0.1, scored=False),
    )
    assert points(report(*rows)) == [("a&b", 2.0**10, 0.0), ("a&b", 2.0**20, 0.9), ("c", 2.0**15, -0.25)]
    text = scatter(report(*rows))
    dots = re.findall(r'<circle cx="([0-9.]+)" cy="([0-9.]+)" r="3.5" fill="(#\w+)"', text)
    middle, quarter = TOP + DOWN / 2, TOP + DOWN * 3 / 4
    assert [(float(x), float(y)) for x, y, _ in dots] == [(70.0, middle), (710.0, TOP), (390.0, quarter)]
    assert [fill for *_, fill in dots] == [COLOURS[0], COLOURS[0], COLOURS[1]]
    assert "a&amp;b: 12.5 % of 2" in text
    assert "no row has a size" in scatter(report(measured("a", None, 0.1)))


def test_constants_before_and_after() -> None:
    fitted = CalibrationReport(
        schema_version="0",
        accelerator="b200",
        rows=3,
        constants=(
            Constant(name="matrix", before=None, after=0.678, text="67.8 %", note=None),
            Constant(name="kernel", before=2e-5, after=0.0001234, text="123.4 us", note="odd", unit="s"),
        ),
        sources=(Fitted(source="s", n=3, before=None, after=0.0312, bias=-0.01),),
        before=None,
        after=0.0312,
    )
    constants, errors = grids(calibrate_document(fitted))
    assert constants.rows == (("matrix", "-", "67.8 %", ""), ("kernel", "20 us", "123.4 us", "odd"))
    assert errors.rows == (("s", "3", "-", "3.1", "-1.0"), ("all", "3", "-", "3.1", ""))
    assert calibrate_document(fitted).body().title == "calibrate: b200, 3 rows"


def left(source: str, mape: float | None, why: str | None) -> LeftOut:
    known = mape is not None
    return LeftOut(
        source=source,
        set="b",
        n=4,
        mape=mape,
        bias=0.05 if known else None,
        max_error=0.2 if known else None,
        shipped=0.03,
        fitted_on=7,
        why=why,
    )


def _without(*rows: LeftOut) -> LeaveOneOutReport:
    return LeaveOneOutReport(schema_version="0", by="source", mean=0.1, rows=rows, kinds=(), settings=(), bands=())


def test_sources_left_out() -> None:
    scored, whole = left("s", 0.1, None), left("t", None, "alone")
    rows, unscored = grids(left_out_document(_without(scored, whole)))
    assert rows.rows == (
        ("s", "b", "4", "3.0", "10.0", "+5.0", "20.0"),
        ("t", "b", "4", "3.0", "-", "", "-"),
        ("mean over sources", "", "", "", "10.0", "", ""),
    )
    assert unscored.rows == (("t", "alone"),)
    assert len(grids(left_out_document(_without(scored)))) == 1


def test_differences_of_a_fabric() -> None:
    cause = AuditCause(
        kind="slow-link",
        severity="error",
        what="1 link at 1x",
        where=("g/1", "h/1"),
        do=("reseat the cable", "replace it"),
        effect="a quarter is left",
        links=1,
    )
    found = DiffReport(
        schema_version="0",
        design="d",
        form="ibnetdiscover",
        same=1234,
        causes=(cause,),
        effect="half is left",
        by_name=7,
        by_wiring=tuple(Renamed(f"box mlx5_{n}", f"node-1/nic{n}", share) for n, share in enumerate((1.0, 0.5))),
        absent=("leaf-3",),
        unknown=(),
        missing=(("a/1", "b/1"), ("a/2", "b/2")),
        extra=(("c/1", "d/1"),),
        miswired=(Miswired("e/1", "f/1", "f/2"),),
        slow=(SlowLink(a="g/1", b="h/1", designed_gbit_s=400.0, found_gbit_s=None, lanes=1),),
        remarks=("rates are unknown",),
    )
    rows = [tuple(row.values()) for row in differences(found)]
    assert rows == [
        ("absent", "leaf-3", "", ""),
        ("missing", "a/1", "b/1", ""),
        ("missing", "a/2", "b/2", ""),
        ("extra", "c/1", "", "d/1"),
        ("miswired", "e/1", "f/1", "f/2"),
        ("slow", "g/1", "400 Gb/s to h/1", "1x"),
    ]
    body = audit_document(found).body()
    assert body.title == "d: 1,234 links as designed, 1 finding"
    first, together, told, remarks = body.blocks
    assert isinstance(together, Remarks)
    assert together.lines == ("Together: half is left.",)
    assert isinstance(first, Grid)
    assert (first.title, first.rows) == (
        "1. error: 1 link at 1x [slow-link]",
        (("do", "reseat the cable"), ("", "replace it"), ("costs", "a quarter is left")),
    )
    assert isinstance(told, Grid)
    assert told.rows == (("box", "node-1", "50%"),)
    assert isinstance(remarks, Remarks)
    assert remarks.lines == ("7 devices matched by name, 2 by wiring, from ibnetdiscover", "rates are unknown")


PLAN: dict[str, Any] = {
    **dict.fromkeys(("gpus", "tensor", "context", "expert", "expert_tensor", "pipeline", "chunks", "data"), 1),
    **dict.fromkeys(("micro_batch", "batch", "micro_batches", "sequence", "shard", "unit_layers"), 1),
    **{"sequence_parallel": True, "zero": 0, "recompute": "none", "precision": "bf16", "schedule": "1f1b"},
    **{
        "overlap": (),
        "order": (),
        "gradient_bytes": 4,
        "reduced_bytes": 4,
        "optimizer_bytes": 12,
        "recompute_parts": (),
        "weights_copy": False,
        "mtp_layers": 0,
        "routing": "random",
        "attention": "fused",
        "elementwise": "fused",
    },
    **{"offload": "none", "offload_to": "memory", "offload_layers": 0, "reducer": "nccl"},
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "one rank mb1"),
        ({"tensor": 8, "expert_tensor": 8, "pipeline": 4, "data": 2}, "tp8 pp4 dp2 mb1"),
        ({"tensor": 8, "sequence_parallel": False}, "tp8 etp1 mb1 no-sp"),
        ({"data": 8, "context": 2, "shard": 16, "zero": 1}, "cp2 dp8 mb1 zero1"),
        ({"data": 8, "context": 2, "shard": 8, "zero": 1}, "cp2 dp8 mb1 zero1 shard8"),
        ({"data": 8, "shard": 4, "zero": 3, "unit_layers": 2}, "dp8 mb1 zero3 shard4 unit2"),
        ({"pipeline": 2, "chunks": 2, "schedule": "interleaved"}, "pp2 v2 mb1"),
        ({"pipeline": 2, "schedule": "v-min", "recompute": "full"}, "pp2 mb1 full v-min"),
        ({"elementwise": "eager", "offload": "optimizer", "micro_batch": 4}, "one rank mb4 eager offload-optimizer"),
        ({"offload_layers": 3}, "one rank mb1 offload-3-layers"),
        ({"expert": 8, "mtp_layers": 1, "routing": "in-turn"}, "ep8 mb1 mtp1 in-turn"),
        ({"offload": "optimizer", "offload_to": "drives"}, "one rank mb1 offload-optimizer-to-drives"),
    ],
)
def test_a_plan_in_short(changes: dict[str, Any], words: str) -> None:
    assert _plan_words(PlanRow(**{**PLAN, **changes})) == words
