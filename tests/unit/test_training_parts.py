"""Memory and pipelines of training, against the printed tables."""

from __future__ import annotations

import numpy as np
import pytest

from ffplan.perf.memory import layer_activation_bytes, stage_layers, state_bytes
from ffplan.perf.pipeline import bubble, dualpipe_bubble

GIB = 2.0**30


def test_states_under_zero() -> None:
    assert [state_bytes(1.0, 8, stage) for stage in range(4)] == [16, 4 + 12 / 8, 2 + 14 / 8, 2]
    assert state_bytes(1.0, 1, 0, gradient=4.0) == 18
    assert state_bytes(1e9, np.array([1, 4]), 3).tolist() == [16e9, 4e9]


@pytest.mark.parametrize(
    ("layers", "hidden", "heads", "gpus", "stages", "chunks", "micro", "printed"),
    [
        (48, 6144, 64, 8, 1, 1, 4, (45.56, 59.25, 9.56)),
        (105, 20480, 128, 280, 35, 3, 1, (31.64, 114.02, 23.08)),
    ],
)
def test_korthikanti_figures_1_and_7(
    layers: int, hidden: int, heads: int, gpus: int, stages: int, chunks: int, micro: int,
    printed: tuple[float, float, float],
) -> None:  # fmt: skip
    """States at 18 bytes of 12 L h^2; activations without and with sequence parallelism and selective recompute."""
    states = state_bytes(12 * layers * hidden**2 / gpus, 1, 0, gradient=4.0)
    kept = stage_layers(layers, stages, chunks)
    plain, spare = (
        layer_activation_bytes(2048, micro, hidden, heads, 8, sequence_parallel=sp, recompute=how) * kept
        for sp, how in ((False, "none"), (True, "selective"))
    )
    assert [round(value / GIB, 2) for value in (states, plain, spare)] == list(printed)


@pytest.mark.parametrize(
    ("hidden", "heads", "printed"),
    [
        (6144, 64, (66.84, 49.42, 16.18, 7.64)), (12288, 96, (62.04, 56.53, 18.49, 8.71)),
        (20480, 128, (58.31, 62.04, 20.27, 9.42)), (25600, 160, (58.31, 62.04, 20.27, 9.42)),
    ],
)  # fmt: skip
def test_korthikanti_shares_of_tensor_parallelism_alone(
    hidden: int, heads: int, printed: tuple[float, float, float, float]
) -> None:
    """Read off a figure; the formulas give 0.15 points less or more."""

    def kept(*, sequence_parallel: bool, recompute: str) -> float:
        return float(
            layer_activation_bytes(
                2048, 1, hidden, heads, 8, sequence_parallel=sequence_parallel, recompute=recompute
            )
        )  # fmt: skip

    base = kept(sequence_parallel=False, recompute="none")
    found = [
        kept(sequence_parallel=sp, recompute=how) / base * 100
        for sp, how in ((True, "none"), (False, "selective"), (True, "selective"), (False, "full"))
    ]
    assert found == pytest.approx(printed, abs=0.15)


def test_bubbles() -> None:
    assert bubble("1f1b", 4, 8) == 3 / 8
    assert bubble("interleaved", 4, 8, 3) == 1 / 8
    assert [bubble(name, 4, 9) for name in ("zb-h1", "zb-2p", "zb-v", "v-half", "v-min")] == pytest.approx(
        [1 / 9, 0, 0, 1 / 6, 2 / 9]
    )
    assert dualpipe_bubble(16, 2.0, 1.0, 2.5) == pytest.approx(7 * 1.5)
    assert bubble("1f1b", np.array([1, 5]), 4).tolist() == [0, 1]


def test_fire_flyer_llama_steps_follow_the_bubble() -> None:
    """64 to 256 GPUs: 256, 128 and 64 micro-batches in 4 stages give 64.1, 32.4 and 16.6 s of 64.1, 32.5 and 17.4."""
    base = 64.118 / (1 + bubble("1f1b", 4, 256)) / 256
    predicted = [base * m * (1 + bubble("1f1b", 4, m)) for m in (256, 128, 64)]
    assert predicted == pytest.approx([64.118, 32.43, 16.59], rel=1e-3)
