"""Verdicts on memory, worked by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.base.formatting import GIB
from ffplan.catalog.models import Transformer
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.design.training import PlanFields
from ffplan.studies.train.software import software_of
from ffplan.training.memory_margins import UNKNOWN_MARGINS, _peak_and_temporary, temporary_of, worst_of
from ffplan.training.parallel_plan import parallel_plans
from tests.support import document, ffplan

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.training.memory_margins import MemoryMargins

SEVEN = {"layers": 32, "hidden": 4096, "heads": 32, "ffn": 11008, "gated": True, "vocabulary": 32000, "sequence": 4096}
"""Llama 2 7B."""
MODEL = f"""kind: model
id: seven
name: seven
vendor: x
sources: {{shape: {{title: x, date: "2023-07", grade: datasheet, status: V}}}}
parameters: {{value: 6.74e09, source: shape}}
transformer: {json.dumps(SEVEN)}
"""
V100 = """name: v100
nodes: [{role: compute, server: dgx-1-v100, count: 1}]
fabric: {family: fat-tree, switch: qm8700, tiers: 1, link: {endpoint: hdr-dac, inter_switch: hdr-aoc}}
site: {pue: 1.25}
"""


def margins_of(stack: str | None) -> MemoryMargins:
    """Return the margins of a stack, or those of a plan that names none."""
    catalog = Catalog()
    part = catalog.entry("h100-sxm-80gb").part
    assert isinstance(part, Accelerator)
    return software_of(catalog, part, stack, document("{}")).margins


def report_of(*command: str) -> dict[str, Any]:
    run = ffplan(*command, "-f", "json")
    assert run.code == 0, run.err
    report: dict[str, Any] = json.loads(run.out)
    return report


def first_row(*options: str) -> dict[str, Any]:
    row: dict[str, Any] = report_of("train", *options)["rows"][0]
    return row


def test_adams_temporary_is_4_bytes_of_a_parameter_of_the_shard() -> None:
    """6.74 billion parameters, ZeRO 2 on eight ranks: 4 x 6.74e9 / 8 bytes are 3.14 GiB; on the host they are none."""
    shape, margins = Transformer.model_validate(SEVEN), margins_of(None)
    for plan, expected in (
        (PlanFields(zero=2), 3.14),
        (PlanFields(zero=2, optimizer_dtype="bf16"), 3.14),
        (PlanFields(zero=0), 25.1),
        (PlanFields(zero=2, offload="optimizer"), 0.0),
    ):
        taken = float(_peak_and_temporary(shape, parallel_plans(plan, 8.0), margins)[1]) / GIB
        assert taken == pytest.approx(expected, rel=0.002)
    shard = 6.74e9 / 8 * 12.0  # bytes of the optimizer's states
    alone = float(temporary_of(shard, parallel_plans(PlanFields(zero=2), 8.0), margins)) / GIB
    assert alone == pytest.approx(3.14, rel=0.002)


def test_a_plan_that_ran_out_of_memory_is_at_the_edge(tmp_path: Path) -> None:
    """7B under ZeRO 2 on eight V100 of 32 GB allocated 28.28 GiB, and died of the 3.14 GiB of Adam's temporary."""
    design = tmp_path / "v100.yaml"
    design.write_text(V100)
    options = "--gpus 8 --batch 64 --zero 2 --precision fp16 --grad-dtype bf16 --recompute full"
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "seven.yaml").write_text(MODEL)
    row = first_row(str(design), "--model", "seven", "--catalog", str(tmp_path / "parts"), *options.split())
    assert row["memory_gib"] < row["limit_gib"] == 30
    assert row["memory_verdict"] == "edge"
    assert row["transient_gib"] == pytest.approx(3.14, abs=0.01)
    assert row["reserved_low_gib"] == pytest.approx(1.02 * row["memory_gib"])
    assert row["reserved_high_gib"] == pytest.approx(1.30 * row["memory_gib"])
    assert "Adam takes 3.1 GiB for a moment" in row["memory_words"]


def test_three_verdicts_by_micro_batch() -> None:
    """8B on H100: more sequences at a time go from what fits over the edge to what is refused."""
    seen = []
    for micro in (1, 2, 4):
        job = f"train superpod-h100-4su --model llama3-8b --gpus 8 --batch 64 --tp 2 --micro-batch {micro} -f json"
        run = ffplan(f"{job} --full")
        seen.append((run.code, json.loads(run.out)["rows"][0]["memory_verdict"] if run.code == 0 else "refused"))
    assert seen == [(0, "fits"), (0, "edge"), (1, "refused")]


def test_unknown_margins_are_said_to_be_unknown() -> None:
    """No reserve of XLA is known: what fits there is what is allocated, and the result says so."""
    assert margins_of("xla-2025").reserved is None
    job = "train superpod-h100-4su --model llama3-8b --gpus 8 --batch 64 --tp 2 --stack xla-2025 -f json"
    report = json.loads(ffplan(f"{job} --full").out)
    row = report["rows"][0]
    assert (row["reserved_low_gib"], row["reserved_high_gib"], row["transient_gib"]) == (None, None, 0)
    assert any("what xla reserves beyond that is not known here" in text for text in report["assumptions"])


def test_a_plan_counted_over_its_room_runs_where_its_stack_did() -> None:
    """Llama 3 405B on 8,192 H100, Table 4: refused with the way through, and at the edge with its stack."""
    job = "train megascale-12288 --model llama3-405b --gpus 8192 --batch 2048 --tp 8 --pp 16 --chunks 8"
    refused = ffplan(f"{job} --full")
    assert refused.code == 1
    assert "--stack meta-2024 times the plan" in refused.err
    run = ffplan(f"{job} --stack meta-2024 --full")
    assert run.code == 0
    assert "Memory is at the edge" in run.out
    assert ffplan(f"{job} --stack meta-2024 --memory 78GiB --full").code == 1


def test_a_limit_that_is_given_is_kept_to() -> None:
    job = "train superpod-h100-4su --model llama3-8b --gpus 8 --batch 64 --tp 2 --memory"
    assert ffplan(f"{job} 20GiB").code == 1


def test_states_without_a_main_copy_can_be_said() -> None:
    """Weights, gradients and both moments at 16 bits: 8 bytes a parameter."""
    job = "superpod-h100-4su --model llama3-8b --gpus 8 --batch 64 --tp 2 --micro-batch 1"
    plain = first_row(*job.split())
    low = first_row(*job.split(), *["--main-params", "none", "--optimizer-dtype", "bf16", "--grad-dtype", "bf16"])
    assert (plain["plan"]["optimizer_bytes"], low["plan"]["optimizer_bytes"]) == (12, 4)


def test_the_worst_by_hand() -> None:
    """30 % of 50 GB reserved beyond them, and 3 GB for a moment."""
    margins = replace(UNKNOWN_MARGINS, reserved=(0.19, 0.3))
    assert worst_of(50e9, 3e9, margins) == pytest.approx(68e9)


def test_whoever_takes_the_days_of_a_plan_at_the_edge_says_so() -> None:
    """`cost` names the plan that `train --search` names beside it; `compare` and `train` judge one plan alike."""
    job = "--model llama3-70b --batch 1016 --gpus 1016"
    told = report_of(f"train superpod-h100-4su {job} --search")
    run = report_of(f"cost superpod-h100-4su {job} --tokens 2T")["run"]
    assert run["sure"] == told["sure"]
    assert run["memory_words"] == told["rows"][0]["memory_words"]
    said = " ".join(ffplan(f"cost superpod-h100-4su {job} --tokens 2T").out.split())
    assert f"{100 * told['sure']['slower']:.1f} % longer" in said
    (_, size, _) = report_of(f"compare superpod-h100-4su fire-flyer-2 {job}")["training"]["sizes"]
    assert size["sides"][0]["memory_words"] == run["memory_words"]
    fits = report_of("cost superpod-h100-4su --model llama3-8b --batch 64 --gpus 64 --tokens 2T")["run"]
    assert (fits["memory_words"], fits["sure"]) == (None, None)
