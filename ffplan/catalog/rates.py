"""Rates within the file of a part: training and collectives of an accelerator, storage of a server."""

from __future__ import annotations

from typing import Literal

from ffplan.catalog.evidence import BandwidthFigure, CountFigure, DurationFigure, EfficiencyFigure, FractionFigure
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


class NvlsRate(Frozen):
    """Rate of reduction in the scale-up switch (NVLink SHARP)."""

    busbw: BandwidthFigure
    """Bus bandwidth of a long allreduce [GB/s]."""
    ranks: CountFigure
    """Accelerators it was measured on."""
    most: BandwidthFigure | None = None
    """Largest bus bandwidth on more accelerators [GB/s]; the links' rate if omitted."""
    fill: FractionFigure | None = None
    """Weight of filling its pipeline on one node [1]; the library's if omitted."""


class LowLatencyCeiling(Frozen):
    """Largest bus bandwidth of protocol LL, by number of nodes."""

    one_node: BandwidthFigure
    """On one node [GB/s]."""
    two_nodes: BandwidthFigure | None = None
    """On two nodes [GB/s]; the library's, by CPU maker, if omitted."""
    more_nodes: BandwidthFigure | None = None
    """On three nodes or more [GB/s]; the library's, by CPU maker, if omitted."""


class CollectiveRates(Frozen):
    """Rates of collectives between accelerators of this kind; one set per kind, never per measurement."""

    links: CountFigure | None = None
    """Scale-up links of an accelerator, with one ring channel each."""
    ring: BandwidthFigure | None = None
    """Bus bandwidth of a long ring over the scale-up links [GB/s]; if omitted, a fraction of `nvlink` by library."""
    peer: BandwidthFigure | None = None
    """Rate of a copy between two accelerators over the scale-up links [GB/s]; the ring's rate if omitted."""
    send: BandwidthFigure | None = None
    """Rate of the library's long send between two accelerators [GB/s]; the rate of its channels if omitted."""
    alltoall: BandwidthFigure | None = None
    """Bus bandwidth of a long all-to-all over the scale-up links [GB/s]; the ring's rate if omitted."""
    pcie: BandwidthFigure | None = None
    """Rate of a GPU to others over PCIe, one direction [GB/s]; the rate of its PCIe link if omitted."""
    channel: BandwidthFigure | None = None
    """Largest rate of one channel, a block of threads on one multiprocessor [GB/s]; unlimited if omitted."""
    nvls: NvlsRate | None = None
    """Rates with reduction in the scale-up switch; omitted if the switch cannot reduce."""
    ll: LowLatencyCeiling | None = None
    """Largest bandwidth of protocol LL; if omitted, only its fraction of the bandwidth limits it."""
    launch: DurationFigure | None = None
    """Time from call to start on the systems measured, beyond the library's own [s]; 0 if omitted."""


Protocol = Literal["ll", "ll128", "simple"]


DEFAULT_FILE_SYSTEM = "parallel-file-system"
"""Default file system of storage servers."""


class StorageService(Frozen):
    """File system and copies of storage servers."""

    file_system: Identifier = DEFAULT_FILE_SYSTEM
    """Catalogue id of the file system or object store."""
    copies: CountFigure
    """Copies of all data; each write multiplies drive writes and NIC traffic by it."""
    usable: EfficiencyFigure | None = None
    """Share of the capacity left for data after copies; all if omitted [1]."""
    efficiency: EfficiencyFigure | None = None
    """Achieved rate over its NICs' rate, in place of the file system's [1]."""
