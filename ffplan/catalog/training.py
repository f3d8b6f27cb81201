"""What training reaches on one kind of accelerator: one calibrated set, saying what it was fitted on."""

from __future__ import annotations

from ffplan.catalog.evidence import CountFigure, DurationFigure, EfficiencyFigure
from ffplan.inputs.model import Frozen, Identifier


class TrainingRates(Frozen):
    """Constants of the step time on accelerators of this kind."""

    set: Identifier
    """Name of the set; accelerators of one kind share it."""
    matrix: EfficiencyFigure
    """Share of the dense 16-bit peak that large matrix products reach within a training step."""
    matrix_fp8: EfficiencyFigure | None = None
    """The same of the FP8 peak."""
    matrix_tf32: EfficiencyFigure | None = None
    """The same of the TF32 peak."""
    attention: EfficiencyFigure | None = None
    """Share of the dense 16-bit peak that fused attention reaches; that of matrix products if omitted."""
    memory: EfficiencyFigure
    """Share of the memory bandwidth that element-wise operations reach."""
    units: CountFigure
    """Multiprocessors, over which the tiles of a matrix product are spread."""
    kernel: DurationFigure
    """Time that a matrix product takes beyond its operations, with the small kernels around it, forward [s]."""
    overlap: EfficiencyFigure | None = None
    """Share of its own time that a collective of the accelerators costs the computing that hides it; nothing if
    omitted."""
    launch: DurationFigure | None = None
    """Time in which the host launches one layer, forward and backward [s]; none where it never holds a step up."""
    launch_parallel: DurationFigure | None = None
    """The same beyond it with tensor parallelism [s]."""
    launch_step: DurationFigure | None = None
    """Time in which it launches what belongs to no layer, for each micro-batch [s]."""

    def reached(self, precision: str) -> EfficiencyFigure | None:
        """Return the share of its peak that large matrix products reach at a precision; None where it is not known."""
        other = {"fp8": self.matrix_fp8, "tf32": self.matrix_tf32}
        return other.get(precision, self.matrix)
