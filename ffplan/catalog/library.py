"""Communication libraries: the constants of their times and of their choice of algorithm."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ffplan.catalog.evidence import (
    BandwidthFigure,
    CountFigure,
    DataFigure,
    DurationFigure,
    EfficiencyFigure,
    FractionFigure,
)
from ffplan.catalog.parts import Part
from ffplan.catalog.protocols import Protocol
from ffplan.inputs.model import Frozen, Identifier

Place = Literal["base", "nvlink", "pcie", "network"]


class Sends(Frozen):
    """How many channels a send to one peer has, and what they carry."""

    channels: CountFigure
    """Most channels inside a node."""
    channel: BandwidthFigure
    """Rate of one of them [GB/s]."""
    part: DataFigure
    """Piece of a message from which it takes twice as many channels [byte]."""
    network: BandwidthFigure
    """Rate between nodes while some GPUs of a node send [GB/s]."""
    network_full: BandwidthFigure
    """Rate between nodes while all GPUs of a node send [GB/s]."""


class Library(Part):
    """A communication library: constants of its latency and of its choice."""

    kind_words: ClassVar[str] = "library"

    kind: Literal["library"]
    extends: Identifier | None = None
    """Library whose constants it takes where it gives none of its own."""
    method: Literal["nccl", "hfreduce", "deepep"]
    """Method: rings and trees between accelerators, reduction in host memory, or tokens sent to experts."""
    latency: dict[Place, dict[Identifier, dict[Protocol, DurationFigure]]] = Field(default_factory=dict)
    """Latency of a call (base) and of each hop, by algorithm and protocol [s]."""
    measured: dict[Place, dict[Identifier, dict[Protocol, DurationFigure]]] = Field(default_factory=dict)
    """Latency that is measured where the constant by which the library chooses is another, in the same form [s]."""
    share: dict[Identifier, dict[Protocol, EfficiencyFigure]] = Field(default_factory=dict)
    """Fraction of the bandwidth that a protocol leaves to data; 1 if omitted."""
    fill: dict[Protocol, FractionFigure] = Field(default_factory=dict)
    """Weight of the filling of the pipeline inside a node, by protocol; 0 if omitted."""
    fill_ring: dict[Protocol, FractionFigure] = Field(default_factory=dict)
    """The same of rings and sends; `fill` if omitted."""
    fill_exchange: dict[Protocol, FractionFigure] = Field(default_factory=dict)
    """The same of all-to-all; `fill_ring` if omitted."""
    sends: Sends | None = None
    """Channels of a send to one peer; without limit if omitted."""
    nvls_ranks: CountFigure | None = None
    """Fewest ranks of a node that are reduced in its switch; any if omitted."""
    ring_hop: DurationFigure | None = None
    """Least latency of a hop of a ring that several nodes pass once, inside a node, for each of its GPUs in use [s]; 0
    if omitted."""
    ring_hop_most: DurationFigure | None = None
    """Most that this latency grows to [s]; without limit if omitted."""
    ring_many: EfficiencyFigure | None = None
    """Fraction of the scale-up rate that such rings over four nodes or more reach; 1 if omitted."""
    ring_pair: EfficiencyFigure | None = None
    """Fraction of a ring's rate that two ranks behind one scale-up switch reach; 1 if omitted."""
    slot: DataFigure | None = None
    """Largest piece that a hop between nodes holds, per NIC channel [byte]."""
    ring_plateau: FractionFigure | None = None
    """Factor on the latency of Simple allreduce rings over several nodes."""
    tree_estimate: EfficiencyFigure | None = None
    """Factor by which the library marks down trees when it chooses; the time itself has no such factor."""
    link_share: EfficiencyFigure | None = None
    """Fraction of the scale-up links' rate that is assumed where an accelerator has no measured rate."""
    overhead: dict[Literal["AMD", "Intel"], DurationFigure] = Field(default_factory=dict)
    """Least latency of a hop inside a node where a job spans several, by maker of the CPU; three times it for Simple
    [s]."""
    chunk: DataFigure | None = None
    """Piece that a stage of HFReduce's pipeline holds [byte]."""
    hop: DurationFigure | None = None
    """Latency of a hop of HFReduce's tree [s]."""
    zone_hops: CountFigure | None = None
    """Stages that crossing zones adds to HFReduce's pipeline."""
    fixed: DurationFigure | None = None
    """Fixed time of a call that goes straight to its targets [s]."""
