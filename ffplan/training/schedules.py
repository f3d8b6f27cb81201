"""Idle time of pipeline schedules.

Sources:
    [1] Narayanan et al., arXiv 2104.04473, section 2.2 (1F1B, interleaving).
    [2] Qi et al., "Zero bubble pipeline parallelism", arXiv 2401.10241, and its repository.
    [3] deepseek-ai/DualPipe, table of bubbles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffplan.base.array_math import Number


FOLDED = ("zb-v", "v-half", "v-min")
"""Schedules with two folded chunks a stage: a micro-batch passes each stage twice each way."""
SHARES = {"1f1b": 1.0, "zb-h1": 1 / 3, "zb-2p": 0.0, "zb-v": 0.0, "v-half": 1 / 2, "v-min": 2 / 3}


def bubble(schedule: str, stages: Number, micro_batches: Number, chunks: Number = 1) -> Number:
    """Return the idle time of a pipeline over its ideal time.

    Args:
        schedule: 1f1b, interleaved, zb-h1, zb-2p, zb-v, v-half or v-min.
        stages: pipeline stages p [1].
        micro_batches: micro-batches of a rank m [1].
        chunks: chunks of each stage v, for interleaving [1].

    Returns:
        Share [1].

    Equation:
        (p - 1) / m for GPipe and 1F1B, (p - 1) / (v m) interleaved; a third, none, none, a half, two thirds of
        1F1B's for ZB-H1, ZB-2P, ZB-V, V-Half, V-Min

    Source:
        [1]; [2].
    """
    plain = (stages - 1) / micro_batches
    if schedule == "interleaved":
        return plain / chunks
    return plain * SHARES[schedule]


def _dualpipe_bubble(stages: Number, backward: Number, weights: Number, both: Number) -> Number:
    """Return the idle time of DualPipe.

    Args:
        stages: pipeline stages p [1].
        backward: time of a full backward chunk B [s].
        weights: time of its part for weights W [s].
        both: time of a forward and a backward chunk that overlap F&B [s].

    Returns:
        Time [s].

    Equation:
        (p / 2 - 1) (F&B + B - 3 W)

    Source:
        [3].
    """
    return (stages / 2 - 1) * (both + backward - 3 * weights)
