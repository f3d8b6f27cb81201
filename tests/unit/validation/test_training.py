"""Measured training runs replayed: every measure of one step, and what is refused of a file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.base.errors import InputError
from ffplan.catalog.store import Catalog
from ffplan.inputs.validate import validate
from ffplan.studies.trust.measurement import accuracy_report
from ffplan.validation.cases import TIMES, TrainingFile
from ffplan.validation.measured_system import CaseParts
from ffplan.validation.replay import replay_files
from ffplan.validation.training_replay import modelled_measure, prepare_replay
from ffplan.validation.training_rows import _replay_training
from tests.support import document

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.results.accuracy import AccuracyRow
    from ffplan.validation.training_replay import TrainingReplay

CATALOG = Catalog()
RUNS = """\
kind: training-cases
id: mine
name: our runs
source: {title: "our cluster", date: "2026-11", grade: measured, status: V}
tables:
  - id: gpt
    system: {server: dgx-a100-320gb}
    model: megatron-1.7b
    plan: {recompute: full}
    columns: [gpus, batch, micro_batch, tensor, data, pipeline, seconds]
    rows:
      - [8, 64, 2, 2, 2, 2, 2.5]
      - [32, 512, 16, 1, 32, 1, 3.5]
"""


SHAPE_OF = """\
    shape:
      {{layers: 24, hidden: 2304, heads: 24, kv_heads: {heads}, ffn: 9216, vocabulary: 51200, sequence: 2048}}
"""


def prepared(text: str = RUNS) -> TrainingReplay:
    """Return the first table of a file, made ready."""
    source = document(text)
    file = validate(TrainingFile, source)
    return prepare_replay(CaseParts(CATALOG, source), file, file.tables[0], ("tables", 0))


def rows_of(text: str, names: tuple[str, ...] = TIMES) -> list[AccuracyRow]:
    source = document(text)
    return _replay_training(validate(TrainingFile, source), source, CATALOG, names)


def test_measures_of_a_step_by_hand() -> None:
    """64 and 512 sequences of 2,048 tokens in 2 s on 8 and 32 A100 of 312 TFLOP/s, 6 operations a parameter and token.

    A layer has 12 h^2 + 13 h parameters, the embeddings (51,200 + 2,048) h, the last norm 2 h; h = 2,304.
    """
    table = prepared(RUNS.replace("plan: {recompute: full}", "plan: {recompute: full}\n    flops: 6n"))
    two = np.array([2.0, 2.0])
    tokens, gpus = np.array([64, 512]) * 2048, np.array([8, 32])
    assert modelled_measure(table, "seconds", two) is two
    assert modelled_measure(table, "tokens_s_gpu", two) == pytest.approx(tokens / 2 / gpus)
    weights = 24 * (12 * 2304**2 + 13 * 2304) + (51200 + 2048) * 2304 + 2 * 2304
    tflops = 6 * weights * tokens / 2 / gpus / 1e12
    assert modelled_measure(table, "tflops", two) == pytest.approx(tflops, rel=1e-3)
    mfu = modelled_measure(table, "mfu", two)
    assert mfu == pytest.approx(modelled_measure(table, "tflops", two) / 312)


def test_columns_replace_what_the_plan_and_the_model_say() -> None:
    table = prepared()
    assert np.asarray(table.plans.tensor).tolist() == [2, 1]
    assert np.asarray(table.plans.data).tolist() == [2, 32]
    assert table.accelerator.id == "a100-sxm-40gb"
    text = RUNS.replace("pipeline, seconds]", "pipeline, kv_heads, seconds]").replace("2, 2, 2.5]", "2, 2, 8, 2.5]")
    wide = prepared(text.replace("32, 1, 3.5]", "32, 1, 24, 3.5]"))
    assert np.asarray(wide.shape.kv_heads).tolist() == [8, 24]
    assert np.asarray(table.shape.key_value_heads).tolist() == 24


@pytest.mark.parametrize(
    ("kinds", "title", "mape"),
    [
        (("fitted", "assumed"), "all rows", 0.2),
        (("fitted", "arithmetic"), "all measured rows", 0.1),
        (("arithmetic", "arithmetic"), "all rows", 0.2),
    ],
)
def test_rows_that_a_source_computed_count_apart(kinds: tuple[str, str], title: str, mape: float) -> None:
    """Errors of 10 and 30 %."""
    first = rows_of(RUNS)[0]
    rows = [replace(first, kind=kind, error=error) for kind, error in zip(kinds, (0.1, 0.3), strict=True)]
    total = accuracy_report("training", {first.source: "mine"}, rows).total
    assert total is not None
    assert total.title == title
    assert total.mape == pytest.approx(mape)


def test_the_last_of_the_micro_batches_of_a_run_may_be_smaller() -> None:
    """64 sequences on two ranks in micro-batches of 3 and of 4: ten and two thirds in place of eight."""
    three, four = (rows_of(RUNS.replace("[8, 64, 2,", f"[8, 64, {micro},"))[0].model for micro in (3, 4))
    assert three == pytest.approx(four, rel=0.1)


def test_a_run_may_hold_copies_of_keys_and_values() -> None:
    """Two heads of keys and values over four ranks are held twice: each rank does what it does with four."""
    text = RUNS.replace("[8, 64, 2, 2, 2, 2, 2.5]", "[8, 64, 2, 4, 1, 2, 2.5]")
    few, own = (
        rows_of(text.replace("    model: megatron-1.7b\n", SHAPE_OF.format(heads=heads)))[0].model for heads in (2, 4)
    )
    assert few == pytest.approx(own, rel=1e-6)
    with pytest.raises(InputError, match="does not divide"):
        rows_of(text.replace("    model: megatron-1.7b\n", SHAPE_OF.format(heads=3)))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[8, 64, 2, 2, 2, 2, 2.5]", "[8, 64, 2, 2, 2, 1, 2.5]", "is not 8 accelerators"),
        ("[8, 64, 2, 2, 2, 2, 2.5]", "[8, 64, 64, 2, 2, 2, 2.5]", "no whole number of micro-batches"),
        ("[8, 64, 2, 2, 2, 2, 2.5]", "[8, 64, 2, 2, null, 2, 2.5]", "`data` is not a whole number"),
        ("[8, 64, 2, 2, 2, 2, 2.5]", "[56, 64, 2, 7, 4, 2, 2.5]", "7 does not divide 24 heads"),
        ("[32, 512, 16, 1, 32, 1, 3.5]", "[32, 512, 16, 1, 1, 32, 3.5]", "32 pipeline stages for 24 layers"),
        ("seconds]", "hours]", "`hours` is not a choice"),
        (", seconds]", "]", "no column was measured"),
        ("gpus, batch", "sequence, batch", "the column `gpus` is missing"),
        ("gpus, batch", "gpus, gpus", "`batch` is missing"),
        ("pipeline, seconds", "seconds, seconds", "the column `seconds` is listed twice"),
        ("pipeline, seconds", "pipeline, pipeline", "no column was measured; the column `pipeline` is listed twice"),
        ("model: megatron-1.7b", "model: vgg16", "is not a transformer"),
        ("    model: megatron-1.7b\n", "", "neither `model` nor `shape`"),
        ("server: dgx-a100-320gb", "server: dgx-1-v100", "`v100-sxm2-32gb` has no peak for bf16"),
        ("kind: training-cases", "kind: communication-cases", "of kind `communication-cases`"),
        ("recompute: full", "recompute: full, chunks: 2", "`chunks` need several stages"),
        ("recompute: full", "recompute: full, shard: 3", "ZeRO over 3 ranks does not divide 2"),
        ("recompute: full", "recompute: full, expert: 2", "of a model without experts"),
        ("recompute: full", "recompute: full, offload: parameters", "offloaded parameters need ZeRO 3"),
        ("server: dgx-a100-320gb", "server: dgx-a100-320gb, gpus_per_node: 4", "`gpus_per_node` has no effect"),
        ("seconds]", "mfu]", "`mfu` is 2.5, more than the peak"),
    ],
)
def test_wrong_runs_are_located(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in RUNS
    file = tmp_path / "mine.yaml"
    file.write_text(RUNS.replace(old, new))
    with pytest.raises(InputError) as caught:
        replay_files("training", [(str(file), str(file))], CATALOG)
    assert all(found.file == str(file) for found in caught.value.findings)
    assert words in str(caught.value)
