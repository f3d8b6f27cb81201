"""Constants of training on one kind of accelerator: one calibrated set, fitted on published runs."""

from __future__ import annotations

from ffplan.catalog.evidence import CountFigure, DurationFigure, EfficiencyFigure
from ffplan.inputs.model import Frozen, Identifier

NAMES = ("set", "kernels", "stack")
"""Fields of `TrainingRates` that are names instead of figures."""


class TrainingRates(Frozen):
    """Constants of the step time on accelerators of this kind."""

    set: Identifier
    """Name of the set; accelerators of one kind share it."""
    matrix: EfficiencyFigure
    """Fraction of the dense 16-bit peak reached by large GEMMs within a training step."""
    matrix_fp8: EfficiencyFigure | None = None
    """Fraction of the FP8 peak that large GEMMs reach."""
    matrix_tf32: EfficiencyFigure | None = None
    """Fraction of the TF32 peak that large GEMMs reach."""
    kernels: Identifier | None = None
    """Catalogue id of its generation's table of attention kernels."""
    stack: Identifier | None = None
    """Catalogue id of the software stack of most published runs on it, for measured runs that name none."""
    attention: EfficiencyFigure | None = None
    """Fraction of the dense 16-bit peak reached by fused attention if no kernel table is named; the GEMMs' fraction
    if omitted."""
    memory: EfficiencyFigure
    """Fraction of the memory bandwidth reached by kernels other than GEMMs and attention."""
    stream: EfficiencyFigure | None = None
    """Fraction of the memory bandwidth reached by the data streams of GEMMs and optimizers; `memory` if
    omitted."""
    units: CountFigure
    """Multiprocessors that share the tiles of a GEMM."""
    kernel: DurationFigure
    """Fixed time of a GEMM with the small kernels around it, forward [s]."""
    overlap: EfficiencyFigure | None = None
    """Slowdown of computing, as a fraction of a hidden collective's time; 0 if omitted."""
    launch: DurationFigure | None = None
    """Host time to launch one layer, forward and backward [s]; omitted if it never delays a step."""
    launch_parallel: DurationFigure | None = None
    """Extra time to launch a layer with tensor parallelism [s]."""
    launch_step: DurationFigure | None = None
    """Host time to launch all work outside the layers, per micro-batch [s]."""

    def reached(self, precision: str) -> EfficiencyFigure | None:
        """Return the fraction of the peak reached by large GEMMs at a precision; None if unknown."""
        others = {"fp8": self.matrix_fp8, "tf32": self.matrix_tf32}
        return others.get(precision, self.matrix)
