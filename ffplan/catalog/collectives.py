"""Rates of collectives between accelerators of one kind."""

from __future__ import annotations

from ffplan.catalog.evidence import BandwidthFigure, CountFigure, DurationFigure, FractionFigure
from ffplan.inputs.model import Frozen


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
