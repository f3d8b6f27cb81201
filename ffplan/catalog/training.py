"""What training reaches on one kind of accelerator: one calibrated set, saying what it was fitted on."""

from __future__ import annotations

from ffplan.catalog.evidence import CountFigure, DurationFigure, EfficiencyFigure
from ffplan.inputs.model import Frozen


class TrainingRates(Frozen):
    """Constants of the step time on accelerators of this kind."""

    matrix: EfficiencyFigure
    """Share of the dense peak that large matrix products reach within a training step."""
    memory: EfficiencyFigure
    """Share of the memory bandwidth that element-wise operations reach."""
    units: CountFigure
    """Multiprocessors, over which the tiles of a matrix product are spread."""
    kernel: DurationFigure
    """Time that a matrix product takes beyond its operations, forward [s]."""
    launch: DurationFigure
    """Time in which the host launches one layer, forward and backward [s]."""
    launch_parallel: DurationFigure
    """The same beyond it with tensor parallelism [s]."""
    launch_step: DurationFigure
    """Time in which it launches what belongs to no layer, for each micro-batch [s]."""
