"""Measured training runs: what a cell may hold, what a row is called, and how its parts are put together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ffplan.base.errors import InputError
from ffplan.training.memory import stage_bytes
from ffplan.training.memory_margins import peak_bytes
from ffplan.validation.cases import MEASURES, SIZES, TIMES, Table
from ffplan.validation.training_replay import _cell_fault, modelled_measure
from ffplan.validation.training_rows import _error, _kind, _replay_rows, _size, _words
from tests.unit.validation.test_training import RUNS, prepared, rows_of

if TYPE_CHECKING:
    from ffplan.validation.training_replay import TrainingReplay

GIB = 2**30


@pytest.mark.parametrize(
    ("name", "cell", "words"),
    [
        ("tensor", 1.0, ""),
        ("tensor", 0.0, "`tensor` is not a whole number from 1 on"),
        ("tensor", 2.5, "`tensor` is not a whole number from 1 on"),
        ("tensor", None, "`tensor` is not a whole number from 1 on"),
        ("zero", 0.0, ""),
        ("zero", 0.5, "`zero` is not a whole number from 1 on"),
        ("seconds", None, ""),
        ("seconds", 1e-9, ""),
        ("seconds", 0.0, "`seconds` is not above 0"),
        ("seconds", 5.0, ""),
        ("mfu", 1.0, ""),
        ("mfu", 45.0, "`mfu` is 45, more than the peak"),
        ("memory_gib", 0.0, "`memory_gib` is not above 0"),
    ],
)
def test_what_a_cell_may_hold(name: str, cell: float | None, words: str) -> None:
    found = _cell_fault(name, cell)
    assert (found[0] if found else "") == words
    if name == "mfu" and found:
        assert found[1] == "write a share of the peak, such as 0.45 for 45 %"


def test_what_a_table_says_by_its_silence() -> None:
    fields = {name: field.default for name, field in Table.model_fields.items()}
    assert (fields["flops"], fields["scored"]) == ("model", True)
    assert [fields[name] for name in ("arithmetic", "fitted", "assumed", "note")] == [False, False, None, None]
    assert set(TIMES) | set(SIZES) == set(MEASURES)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({}, "predicted"),
        ({"fitted": True}, "fitted"),
        ({"assumed": "x"}, "assumed"),
        ({"assumed": "x", "fitted": True}, "assumed"),
        ({"relative": "h100-sxm-80gb", "assumed": "x"}, "estimated"),
        ({"arithmetic": True, "assumed": "x", "fitted": True, "relative": "h100-sxm-80gb"}, "arithmetic"),
    ],
)
def test_the_kind_of_a_row(fields: dict[str, Any], kind: str) -> None:
    table = SimpleNamespace(**{"arithmetic": False, "assumed": None, "fitted": False, **fields})
    assert _kind(SimpleNamespace(table=table, relative=fields.get("relative"))) == kind  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "model", "measured", "error"),
    [
        ("seconds", 3.0, 2.0, 0.5),
        ("seconds", 1.0, 2.0, -0.5),
        ("tflops", 100.0, 150.0, 0.5),  # a rate too low is a time too long
        ("mfu", 0.4, 0.2, -0.5),
        ("tokens_s_gpu", 10.0, 10.0, 0.0),
        ("memory_gib", 30.0, 20.0, 0.5),
        ("states_gib", 10.0, 20.0, -0.5),
    ],
)
def test_errors_are_of_time_or_of_memory(name: str, model: float, measured: float, error: float) -> None:
    assert _error(name, model, measured) == pytest.approx(error)


def table_of(columns: str, row: str, plan: str = "recompute: full", model: str = "megatron-1.7b") -> TrainingReplay:
    text = RUNS.partition("    columns:")[0].replace("recompute: full", plan).replace("megatron-1.7b", model)
    return prepared(f"{text}    columns: [{columns}, seconds]\n    rows:\n      - [{row}, 1]\n")


@pytest.mark.parametrize(
    ("columns", "row", "plan", "words"),
    [
        ("gpus, batch", "1, 4", "recompute: full", "one rank mb1 b4"),
        ("gpus, batch, data", "8, 64, 8", "recompute: full", "dp8 mb1 b64"),
        (
            "gpus, batch, micro_batch, tensor, data, pipeline, chunks",
            "16, 64, 2, 2, 4, 2, 3",
            "recompute: full",
            "tp2 pp2 v3 dp4 mb2 b64",
        ),
        ("gpus, batch, data, zero", "8, 64, 8, 1", "recompute: full", "dp8 mb1 b64 zero1"),
        ("gpus, batch, data, sequence", "8, 64, 8, 1024", "recompute: full", "dp8 mb1 b64 s1024"),
        ("gpus, batch, data, layers", "8, 64, 8, 12", "recompute: full", "dp8 mb1 b64, L12 h2304"),
    ],
)
def test_what_a_row_is_called(columns: str, row: str, plan: str, words: str) -> None:
    """Sizes above one, micro-batch and batch; columns of a sweep; and the dimensions where they are the row's own."""
    assert _words(table_of(columns, row, plan), 0) == words


SHAPE = "{layers: 2, hidden: 512, heads: 8, kv_heads: 8, head_dim: 64, ffn: 2048, vocabulary: 1000, sequence: 128}"


def test_memory_of_a_row() -> None:
    """All of the fullest stage; states and activations of the first."""
    replay = table_of(
        "gpus, batch, micro_batch, tensor, data, pipeline, memory_gib", "8, 64, 2, 2, 2, 2, 30", "zero: 0"
    )
    first = stage_bytes(replay.shape, replay.plans, 0)
    assert _size(replay, "memory_gib") == pytest.approx(peak_bytes(replay.shape, replay.plans))
    assert _size(replay, "activations_gib") == pytest.approx(first.activations)
    assert _size(replay, "states_gib") == pytest.approx(first.weights + first.gradients + first.optimizer)
    (row,) = _replay_rows(replay, ("memory_gib",))
    assert row.model == pytest.approx(float(np.asarray(peak_bytes(replay.shape, replay.plans)).max()) / GIB)
    assert (row.unit, row.chosen, row.measured, row.size_bytes, row.measured_high) == ("memory_gib", "", 30, None, None)
    assert row.error == pytest.approx(row.model / 30 - 1)
    # 12 h^2 + 13 h parameters a layer, 12 of 24 layers and one of two embeddings, over two ranks: 18 bytes each or less
    weights = (12 * (12 * 2304**2 + 13 * 2304) + (51200 + 2048) * 2304) / 2
    assert 16 * weights / GIB < _size(replay, "states_gib").max() / GIB < 18.2 * weights / GIB


def test_rows_of_several_measures_and_their_longest_part() -> None:
    text = RUNS.replace("pipeline, seconds]", "pipeline, seconds, memory_gib]")
    text = text.replace("2, 2.5]", "2, 2.5, 30]").replace("1, 3.5]", "1, null, null]")
    both = rows_of(text, (*TIMES, *SIZES))
    assert [(row.unit, row.gpus, row.measured) for row in both] == [("seconds", 8, 2.5), ("memory_gib", 8, 30)]
    assert (both[0].chosen, both[1].chosen) == ("products", "")
    assert both[0].source == "mine"
    assert (both[0].case, both[0].status, both[0].note) == ("gpt", "V", None)
    assert rows_of(RUNS, SIZES) == []
    late = RUNS + RUNS.partition("tables:\n")[2].replace("id: gpt", "id: late\n    scored: false\n    note: odd")
    assert [(row.case, row.scored, row.note) for row in rows_of(late)] == [
        ("gpt", True, None),
        ("gpt", True, None),
        ("late", False, "odd"),
        ("late", False, "odd"),
    ]


def test_rates_from_seconds_of_a_step() -> None:
    """Counted operations over time, GPUs and peak: half the time is twice each rate."""
    replay = prepared()
    one, two = ({name: modelled_measure(replay, name, np.array([s, s])) for name in TIMES} for s in (1.0, 2.0))
    for name in ("tflops", "mfu", "tokens_s_gpu"):
        assert one[name] == pytest.approx(2 * two[name])
    assert one["tflops"] == pytest.approx(312 * one["mfu"])
    hardware = prepared(RUNS.replace("plan: {recompute: full}", "plan: {recompute: full}\n    flops: hardware"))
    seconds = np.array([1.0, 1.0])
    ratio = modelled_measure(hardware, "tflops", seconds) / one["tflops"]
    assert ratio == pytest.approx(4 / 3, abs=0.03)  # full recomputation runs forward again, but for the head


def fault(text: str) -> str:
    with pytest.raises(InputError) as caught:
        rows_of(text)
    (found,) = caught.value.findings
    return f"{found.line}: {found.message}"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[32, 512, 16, 1, 32, 1, 3.5]", "[32, 512, 16, 1, 32, 3.5]", "13: 6 value(s) for 7 columns"),
        ("[32, 512, 16, 1, 32, 1, 3.5]", "[32, 512, 16, 1, 32, 1, 0]", "13: `seconds` is not above 0"),
        ("[32, 512, 16, 1, 32, 1, 3.5]", "[32, 512, 16, 1, 16, 1, 3.5]", "13: "),
        ("model: megatron-1.7b", f"model: megatron-1.7b\n    shape: {SHAPE}", "6: both `model` and `shape` are given"),
        ("recompute: full", "recompute: full, batch: 3", ""),
        ("server: dgx-a100-320gb", "server: fire-flyer-3fs-node", "7: "),
    ],
)
def test_faults_of_a_run_stand_at_its_row(old: str, new: str, words: str) -> None:
    assert old in RUNS
    if words:
        assert fault(RUNS.replace(old, new)).startswith(words)
    else:
        assert len(rows_of(RUNS.replace(old, new))) == 2  # a column comes before the plan


@pytest.mark.parametrize(("pipeline", "chunks", "right"), [(12, 2, True), (12, 3, False), (24, 1, True), (1, 2, False)])
def test_stages_and_chunks_that_24_layers_fill(pipeline: int, chunks: int, right: bool) -> None:
    """A layer to each chunk of a stage at least, and no chunks without stages; frameworks round the rest."""
    text = RUNS.replace("pipeline, seconds]", "pipeline, chunks, seconds]")
    gpus = f"[{pipeline}, 240, 1, 1, 1, {pipeline}, {chunks}, 2.5]"
    text = text.replace("[8, 64, 2, 2, 2, 2, 2.5]", gpus).replace("32, 1, 3.5]", "32, 1, 1, 3.5]")
    if right:
        assert len(rows_of(text)) == 2
    else:
        assert fault(text).startswith("12: ")
