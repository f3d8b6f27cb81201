"""What a figure of the catalogue does to a step is found without timing it again where nothing can have changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ffplan.base.record import same
from ffplan.catalog.noted import noted
from ffplan.catalog.store import Catalog
from ffplan.cli.explain import _kept
from ffplan.design.resolve import resolve
from ffplan.inputs.document import read_document
from ffplan.studies.explain.explain import scaled
from ffplan.studies.explain.step_inputs import KeptPlan, Reach, reach
from ffplan.studies.train.default_job import workload_report
from tests.support import ROOT


@pytest.fixture(scope="module")
def far() -> Reach:
    catalog = Catalog()
    document = read_document(ROOT / "tests" / "golden" / "tight.yaml", "tight.yaml")
    used = catalog.fresh()
    design = resolve(document, used)
    report = workload_report(design, used, design.stated_workload)
    job = KeptPlan(
        document=document, catalog=catalog, model=report.model, plan=_kept(report), gpus=report.rows[0].plan.gpus
    )
    return reach(job, design, used)


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
    made = replace(entry, part=scaled(entry.part, path, 1.1))
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
    assert same(speeds, replace(speeds))
    assert not same(speeds, speeds.faster("matrix", 1.1))
