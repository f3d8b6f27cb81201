"""Copies of a token that cross the network on their way to experts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from ffplan.collectives.expert_dispatch import expected_hits
from ffplan.training.microbatch import TrainRun, network_copies
from tests.support import shape_named
from tests.unit.training.test_layer import plans, speeds


def run(model: str, dispatcher: str = "", usual: str = "alltoall") -> TrainRun:
    at = replace(speeds(), dispatcher=usual)
    return TrainRun(shape_named(model), plans(dispatcher=dispatcher), at, cast("Any", None))


def test_alltoall_sends_every_copy() -> None:
    assert network_copies(run("deepseek-v3"), 8.0) == 1
    assert network_copies(run("deepseek-v3", "alltoall", "deepep"), 8.0) == 1


def test_deepep_sends_a_token_to_a_node_once() -> None:
    """DeepSeek-V3 on 8 nodes: at most 4, one of which C(96, 8) / C(128, 8) = 9.6 % of tokens miss."""
    found = float(network_copies(run("deepseek-v3", "deepep"), 8.0))
    missed = np.prod([(96 - at) / (128 - at) for at in range(8)])
    assert found == pytest.approx(4 * (1 - missed) / 8)
    assert found == pytest.approx(0.4536, abs=0.0001)


def test_without_groups_every_node_may_be_reached() -> None:
    found = float(network_copies(run("llama4-maverick", "hybrid"), 16.0))
    assert found == pytest.approx(float(expected_hits(16, 128, 8, 1)))


def test_within_a_node_nothing_is_saved() -> None:
    assert list(np.asarray(network_copies(run("deepseek-v3", "", "deepep"), np.array([1.0, 2.0])))) == [
        1.0,
        pytest.approx(float(expected_hits(1, 128, 128, 8)) / 8),
    ]
