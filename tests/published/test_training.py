"""Replayed training runs: what the model reaches on each source. Aims not reached yet are said where they stand."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest

from ffplan.calibration.calibrate import runs
from ffplan.calibration.fit import BOUNDS
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.design.training import PlanFields
from ffplan.inputs.document import read_document
from ffplan.inputs.validate import validate
from ffplan.studies.train.setup import TrainRequest
from ffplan.studies.train.train import train
from ffplan.studies.trust.measurement import _score
from ffplan.training.memory_margins import peak_bytes
from ffplan.validation.cases import SIZES, TIMES, TrainingFile
from ffplan.validation.measured_system import CaseParts
from ffplan.validation.training_replay import TrainingReplay, prepare_replay
from ffplan.validation.training_rows import _replay_training, replayed_times
from tests.left_out import case_paths
from tests.support import ROOT, model_named

if TYPE_CHECKING:
    from ffplan.results.accuracy import AccuracyRow, Score


FILES = sorted((ROOT / "catalogs" / "measurements" / "training").glob("*.yaml"))


@cache
def rows(source: str, names: tuple[str, ...] = TIMES) -> tuple[AccuracyRow, ...]:
    document = read_document(ROOT / "catalogs" / "measurements" / "training" / f"{source}.yaml")
    return tuple(_replay_training(validate(TrainingFile, document), document, Catalog(), names))


def summary(source: str, names: tuple[str, ...] = TIMES) -> Score:
    found = _score(source, "", rows(source, names))
    assert found is not None
    return found


def prepared(source: str) -> dict[str, TrainingReplay]:
    """Return the tables of a file, made ready, by name."""
    document = read_document(ROOT / "catalogs" / "measurements" / "training" / f"{source}.yaml")
    file, bench = validate(TrainingFile, document), CaseParts(Catalog(), document)
    return {table.id: prepare_replay(bench, file, table, ("tables", at)) for at, table in enumerate(file.tables)}


@pytest.mark.parametrize(
    ("source", "count", "most"),
    [
        ("automodel-h100", 3, 0.056),
        ("bloom", 15, 0.046),
        ("deepseek-v3", 1, 0.01),
        ("dgxc-gb200", 9, 0.041),
        ("dgxc-h100", 42, 0.031),
        ("fire-flyer", 9, 0.019),
        ("fsdp-h100", 18, 0.055),
        ("korthikanti", 6, 0.048),
        ("llama3-405b", 3, 0.05),
        ("megatron-bridge-dense", 4, 0.086),
        ("megatron-bridge", 5, 0.084),
        ("megatron-core", 11, 0.06),
        ("megatron-sc21-fig13", 5, 0.208),
        ("megatron-sc21-zero3", 3, 0.038),
        ("megatron-sc21", 8, 0.029),
        ("mlperf-gpt3", 5, 0.031),
        ("mosaic-a100-80gb", 17, 0.08),
        ("mosaic-a100-sequences", 12, 0.046),
        ("mosaic-a100", 19, 0.043),
        ("mosaic-h100-few", 23, 0.065),
        ("mosaic-h100", 18, 0.024),
        ("nemo-2407", 7, 0.031),
        ("nemotron4", 4, 0.047),
        ("simumax-b200", 26, 0.046),
        ("torchtitan-a100", 2, 0.013),
        ("torchtitan-h100", 12, 0.049),
        ("vtrain-multi-node", 51, 0.068),
        ("vtrain-single-node", 457, 0.093),
    ],
)
def test_every_source(source: str, count: int, most: float) -> None:
    """With the constants fitted on all; errors of each source predicted without it: tests/published/left-out.json."""
    found = summary(source)
    assert found.n == count
    assert found.mape < most


def test_eager_pytorch() -> None:
    """torchtitan without a compiler takes 16 % longer, and counted operations that stream 9 %."""
    found = {row.case: row for row in rows("torchtitan-h100") if row.gpus == 8}
    slower = found["llama3-8b"].measured / found["llama3-8b-eager"].measured
    assert slower == pytest.approx(1.157, abs=0.001)
    model = found["llama3-8b"].model / found["llama3-8b-eager"].model
    assert model == pytest.approx(1.094, abs=0.005)


def test_every_source_names_its_software() -> None:
    """Published runs name a stack, so that none rests on what predictions take without one."""
    for path in FILES:
        file = validate(TrainingFile, read_document(path))
        timed = [table for table in file.tables if set(table.columns) & set(TIMES)]
        assert all(table.plan.stack is not None for table in timed), path


@pytest.mark.deep
def test_rows_that_rest_on_an_unpublished_setting_are_counted_apart() -> None:
    """Fire-Flyer's micro-batches, ZeRO and units; vTrain's network; chunks of Llama 3 and Megatron-Core."""
    assumed = {path.stem for path in FILES if any(row.kind == "assumed" for row in rows(path.stem))}
    assert {"fire-flyer", "vtrain-multi-node", "llama3-405b", "megatron-core"} <= assumed
    assert not {"dgxc-h100", "mosaic-h100", "torchtitan-h100", "simumax-b200"} & assumed


def largest_gap(noise: float = 0.0) -> tuple[int, int, float]:
    """Return groups with more rows than unknowns, their rows, and the largest distance [1] from m (L a + c) + L b + e.

    m are micro-batches and L layers; a group shares width, micro-batch, and degrees, with one replica. `noise` is the
    standard deviation of errors added to the logarithms.
    """
    file = validate(TrainingFile, read_document(next(path for path in FILES if path.stem == "vtrain-single-node")))
    drawn = np.random.default_rng(1)
    (table,) = file.tables
    groups: dict[tuple[float, ...], list[tuple[float, float, float]]] = {}
    for row in table.rows:
        at = {name: float(value or 0) for name, value in zip(table.columns, row, strict=True)}
        if at["data"] == 1:
            key = tuple(at[name] for name in ("hidden", "tensor", "pipeline", "micro_batch"))
            groups.setdefault(key, []).append((at["layers"], at["batch"] / at["micro_batch"], at["seconds"]))
    found, seen, worst = 0, 0, 0.0
    for rows_here in groups.values():
        layers, m, seconds = np.array(rows_here).T
        seconds = seconds * np.exp(noise * drawn.standard_normal(len(m)))
        terms = np.stack([m * layers, m, layers, np.ones_like(m)], axis=1)
        if len(m) > np.linalg.matrix_rank(terms):
            solved = np.linalg.lstsq(terms / seconds[:, None], np.ones_like(m), rcond=None)[0]
            found, seen = found + 1, seen + len(m)
            worst = max(worst, float(np.abs(terms @ solved / seconds - 1).max()))
    return found, seen, worst


def test_rows_of_one_node_of_vtrain_are_sums() -> None:
    """No measurement follows four numbers to the last digit (six here, nanoseconds in the source): it was computed."""
    found, seen, worst = largest_gap()
    assert (found, seen) == (21, 114)
    assert worst < 5e-6
    assert largest_gap(noise=1e-3)[2] > 1e-3  # one part in a thousand would show
    assert {row.kind for row in rows("vtrain-single-node")} == {"arithmetic"}
    assert {row.kind for row in rows("vtrain-multi-node")} == {"assumed"}


def test_recipes_that_nothing_was_fitted_on() -> None:
    """Grok 1 before its recipe was tuned: FlashAttention 2, experts under four-way tensor parallelism; within 6 %."""
    found = [row for row in rows("dgxc-h100") if row.case == "grok1-314b"]
    assert {row.kind for row in found} == {"predicted"}
    assert max(abs(row.error) for row in found) < 0.06


def test_constants_stand_on_no_bound() -> None:
    """A constant at the end of its range would say that the model is wrong."""
    catalog, seen = Catalog(), 0
    for name in catalog.ids_of("accelerator"):
        part = catalog.entry(name).part
        assert isinstance(part, Accelerator)
        if part.training is None:
            continue
        for key in ("matrix", "matrix_fp8", "memory"):
            figure = getattr(part.training, key)
            if figure is not None:
                low, high, _ = BOUNDS[key]
                assert 1.02 * low < figure.value < 0.99 * high, (name, key)
                seen += 1
    assert seen > 20


def test_digitised_runs_are_far_off() -> None:
    """Fig. 13 of Narayanan et al.: steps at either end took up to 60 % longer than modelled; no explanation yet."""
    assert 0.19 < summary("megatron-sc21-fig13").mape < 0.3


def test_zero_3_of_2021_uses_one_nic_of_a_node() -> None:
    """Narayanan et al., Table 2: ZeRO-3 without model parallelism; through all NICs it would be twice as fast."""
    errors = [row.error for row in rows("megatron-sc21-zero3")]
    assert len(errors) == 3
    assert max(abs(error) for error in errors) < 0.227


def test_memory() -> None:
    """SimuMax: aim 4 %; Korthikanti's activations to the printed digit."""
    found = summary("simumax-b200", SIZES)
    assert found.n == 13
    assert found.mape < 0.02
    kept = [row for row in rows("korthikanti-memory", SIZES) if row.unit == "activations_gib"]
    assert len(kept) == 4
    for row in kept:
        assert round(row.model, 2) == row.measured


def test_allocators_reserve_more_than_is_counted() -> None:
    """The margin of the catalogue: sharded runs of 8B reserve 19 to 30 % more than is counted, one GPU 2 %."""
    found = [row.measured / row.model - 1 for row in rows("torchtitan-h100", SIZES)]
    assert len(found) == 6
    alone = 43.0 / 40.6 - 1, 55.1 / 50.3 - 1, 43.7 / 41.7 - 1, 42.8 / 41.7 - 1  # as catalogs/…/pytorch-h200.yaml notes
    reserved = prepared("torchtitan-h100")["llama3-8b-memory"].software.margins.reserved
    assert reserved == (0.02, 0.3)
    low, high = reserved
    assert low <= min(alone) < max(alone) < round(min(found), 2) == 0.19
    assert high == round(max(found), 2)


def test_unfused_kernels_keep_the_gate_after_its_activation() -> None:
    """One H200: compiled to 1 %, eager too beside rotated queries and keys of 2 h a token and layer."""
    compiled, eager = (row for row in rows("pytorch-h200", SIZES))
    assert compiled.model == pytest.approx(compiled.measured, rel=0.01)
    rotated = 2 * 2048 * 2 * 24 * 8 * 2048 / 2**30
    assert eager.model + rotated == pytest.approx(eager.measured, rel=0.01)


def test_megatron_lm_on_h800_takes_5_to_11_percent_more_than_is_counted() -> None:
    """A model of 7B with gradients at 32 bits: 69.1 GiB under DP 8, 55.7 under TP 2, 49.8 under PP 2, 28.8 under TP 8.

    Whether they are allocated or reserved is not said: they lie between what is counted and what may be reserved.
    """
    found = {row.measured: row.model for row in rows("megatron-h800", SIZES)}
    assert found == pytest.approx({69.1: 65.3, 55.7: 50.0, 49.8: 45.0, 28.8: 25.7}, abs=0.05)
    reserved = prepared("megatron-h800")["gpt-7b"].software.margins.reserved
    assert reserved is not None
    for measured, model in found.items():
        assert -0.11 < model / measured - 1 < -0.05
        assert model < measured < (1 + reserved[1]) * model


def test_no_published_plan_is_refused() -> None:
    """Llama 3 405B alone is counted beyond the room of its card, and its stack says how far."""
    over: dict[str, float] = {}
    for replay in runs(Catalog(), case_paths()):
        limit, margins = replay.software.room(replay.accelerator), replay.software.margins
        most = np.broadcast_to(peak_bytes(replay.shape, replay.plans), replay.columns["gpus"].shape) / limit - 1
        assert most.max() <= margins.counted_over, replay.file.id
        if most.max() > 0:
            over[replay.file.id] = float(most.max())
    assert set(over) == {"llama3-405b"}
    assert 0.14 < over["llama3-405b"] < 0.15


def test_fire_flyer_llama_13b() -> None:
    """128, 256 and 512 GPUs within 4 %, from one constant that was fitted on 64; 128 is second-hand."""
    found = {row.gpus: row.error for row in rows("fire-flyer") if row.case.startswith("llama-13b")}
    assert set(found) == {64, 128, 256, 512}
    assert abs(found[64]) < 0.001
    assert max(abs(error) for error in found.values()) < 0.04


def test_fire_flyer_deepseek_moe() -> None:
    """Predicted with the constant of LLaMA-13B: 40, 320 and 640 GPUs each within 7 %."""
    found = {row.gpus: row.error for row in rows("fire-flyer") if row.case.startswith("deepseek")}
    assert set(found) == {40, 320, 640}
    assert max(abs(error) for error in found.values()) < 0.065


def test_fire_flyer_plans_fit_their_cards() -> None:
    """With states shared by the eight ranks of a node both models fit into 40 GB; without, LLaMA-13B does not."""
    bench = prepared("fire-flyer")
    for table in ("llama-13b", "deepseek-moe"):
        replay = bench[table]
        room = replay.software.room(replay.accelerator)
        assert np.all(peak_bytes(replay.shape, replay.plans) < room)
    plain = replace(bench["llama-13b"].plans, zero=0)
    assert np.all(peak_bytes(bench["llama-13b"].shape, plain) > 1.6 * room)


def test_fire_flyer_vgg16() -> None:
    """32 to 512 GPUs with 50 images each: 88 % published, and half the time of torch's DDP over NCCL: 55 % here.

    Nothing is fitted: gradients are reduced in PyTorch's buckets, whole layers of 25 MiB or more.
    """
    asked = TrainRequest(model=model_named("vgg16"), plan=PlanFields(micro_batch=50, precision="tf32"), gpus=(32, 512))
    catalog = Catalog()
    design = resolve(read_document(ROOT / "designs" / "fire-flyer-2.yaml"), catalog)

    def steps(library: Literal["hfreduce", "nccl"]) -> list[float]:
        plan = asked.plan.model_copy(update={"reducer": library})
        return [row.step_s for row in train(design, catalog, replace(asked, plan=plan)).rows]

    small, large = steps("hfreduce")
    assert small / large == pytest.approx(0.88, abs=0.03)
    assert large / steps("nccl")[1] == pytest.approx(0.5, abs=0.055)


def test_fire_flyer_gpt2_medium() -> None:
    """Steps within 4 %, scaling within 3 points of 95 %, in units of eight layers.

    The unit is not published; eight layers fit the step on 16 GPUs. With units of one it would scale to 85 %.
    """
    found = {row.gpus: row for row in rows("fire-flyer") if row.case.startswith("gpt2")}
    assert max(abs(row.error) for row in found.values()) < 0.04
    assert found[16].model / found[128].model == pytest.approx(0.95, abs=0.03)
    replay = prepared("fire-flyer")["gpt2-medium-fsdp"]
    single, _ = replayed_times(replace(replay, plans=replace(replay.plans, unit_layers=1.0)))
    assert single[0] / single[1] == pytest.approx(0.853, abs=0.01)
