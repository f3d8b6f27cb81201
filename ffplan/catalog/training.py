"""Constants of training on one kind of accelerator: one calibrated set, with the runs that it was fitted on."""

from __future__ import annotations

from ffplan.catalog.evidence import CountFigure, DurationFigure, EfficiencyFigure
from ffplan.inputs.model import Frozen, Identifier

NAMES = ("set", "kernels", "stack")
"""Fields of `TrainingRates` that name something, and are no figures."""


class TrainingRates(Frozen):
    """Constants of the step time on accelerators of this kind."""

    set: Identifier
    """Name of the set; accelerators of one kind share it."""
    matrix: EfficiencyFigure
    """Fraction of the dense 16-bit peak that large GEMMs reach within a training step."""
    matrix_fp8: EfficiencyFigure | None = None
    """Fraction of the FP8 peak that large GEMMs reach."""
    matrix_tf32: EfficiencyFigure | None = None
    """Fraction of the TF32 peak that large GEMMs reach."""
    kernels: Identifier | None = None
    """Catalogue id of the table of attention kernels of its generation."""
    stack: Identifier | None = None
    """Catalogue id of the software stack of most published runs on it, for measured runs that say nothing of theirs."""
    attention: EfficiencyFigure | None = None
    """Fraction of the dense 16-bit peak that fused attention reaches where no table of kernels is named; the fraction
    of GEMMs if omitted."""
    memory: EfficiencyFigure
    """Fraction of the memory bandwidth that kernels other than GEMM and attention reach."""
    stream: EfficiencyFigure | None = None
    """Fraction of the memory bandwidth at which GEMMs and optimizers stream what they read and write; `memory` if
    omitted."""
    units: CountFigure
    """Multiprocessors, over which the tiles of a GEMM are spread."""
    kernel: DurationFigure
    """Time that a GEMM takes beyond its operations, with the small kernels around it, forward [s]."""
    overlap: EfficiencyFigure | None = None
    """Fraction of a hidden collective's time by which computing slows down; 0 if omitted."""
    launch: DurationFigure | None = None
    """Time in which the host launches one layer, forward and backward [s]; omitted where it never delays a step."""
    launch_parallel: DurationFigure | None = None
    """Extra time to launch a layer with tensor parallelism [s]."""
    launch_step: DurationFigure | None = None
    """Time in which the host launches everything outside the layers, for each micro-batch [s]."""

    def reached(self, precision: str) -> EfficiencyFigure | None:
        """Return the fraction of the peak that large GEMMs reach at a precision; None where unknown."""
        other = {"fp8": self.matrix_fp8, "tf32": self.matrix_tf32}
        return other.get(precision, self.matrix)
