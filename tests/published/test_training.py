"""Replayed training steps: what the model reaches on each source. Aims not reached yet are said where they stand."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.accuracy.scores import score
from ffplan.accuracy.training import TrainingFile, replay_training
from ffplan.catalog.library import Library
from ffplan.catalog.store import Catalog
from ffplan.inputs.document import read_document
from ffplan.inputs.validate import validate
from ffplan.perf.collective import Wish, evaluate
from ffplan.perf.job import Job
from ffplan.perf.step import step_time
from tests.support import ROOT, host_named

if TYPE_CHECKING:
    from ffplan.tables import Score


@cache
def summary(source: str) -> Score:
    document = read_document(ROOT / "catalogs" / "measurements" / "training" / f"{source}.yaml")
    found = score(source, "", replay_training(validate(TrainingFile, document), document, Catalog()))
    assert found is not None
    return found


def test_vtrain_on_one_node() -> None:
    """457 plans, launch-bound half of them: aim 10 %; vTrain's own simulator has 8.4 %, Calculon 38.9 %."""
    assert summary("vtrain-single-node").n == 457
    assert summary("vtrain-single-node").mape < 0.085


def test_vtrain_on_several_nodes() -> None:
    """51 plans, none refused: aim 7 %, not reached; vTrain's own simulator has 14.7 %, Calculon 9.8 % of 103 of 109."""
    assert summary("vtrain-multi-node").n == 51
    assert summary("vtrain-multi-node").mape < 0.09


def test_megatron_and_korthikanti_are_predicted() -> None:
    """Nothing was fitted on them: aim 5 %, reached by Korthikanti alone."""
    assert summary("megatron-sc21").mape < 0.07
    assert summary("korthikanti").mape < 0.05


def hfreduce_seconds(size: float, nodes: int) -> float:
    """Return the time of an allreduce of HFReduce over nodes of Fire-Flyer 2, for messages of any size."""
    library = Catalog().entry("hfreduce").part
    assert isinstance(library, Library)
    job = Job(host_named("fire-flyer-2-node"), np.array([float(nodes)]), np.array([8.0]))
    grid = evaluate(Wish("allreduce", library), job, np.array([size]))
    assert grid is not None
    return float(grid.pick(grid.time)[0, 0])


def scaled(first: tuple[int, float], gpus: list[int], batch: int, stages: int, parameters: float) -> list[float]:
    """Return step times at other scales: the smallest run gives the time of a micro-batch, the rest is computed.

    Eight data-parallel ranks of one stage sit on a node, as Fire-Flyer maps them; gradients are BF16.
    """

    def gradients(count: int) -> float:
        return hfreduce_seconds(2 * parameters / stages, max(1, count // stages // 8))

    def micro_batches(count: int) -> float:
        return batch / (count / stages)

    each = (first[1] - gradients(first[0])) / (micro_batches(first[0]) + stages - 1)
    return [float(step_time(each, 0.0, micro_batches(n), stages, 1, gradients(n))) for n in gpus]


def test_fire_flyer_llama_13b_scales_by_bubble_and_hfreduce() -> None:
    """Each within 4 %, from the run on 64 GPUs alone; 128 GPUs are second-hand."""
    steps = scaled((64, 64.118), [64, 128, 256, 512], 4096, 4, 13.0e9)
    assert steps == pytest.approx([64.118, 32.5, 17.448, 9.717], rel=0.04)


def test_fire_flyer_deepseek_moe_scales_by_bubble_and_hfreduce() -> None:
    """320 GPUs within 2 %, 640 off by 9.2 %: aim 7 %, not reached, since more than gradients grows with the ranks."""
    steps = scaled((40, 79.615), [320, 640], 4608, 10, 16.4e9)
    assert steps[0] == pytest.approx(10.71, rel=0.02)
    assert steps[1] == pytest.approx(6.535, rel=0.095)
