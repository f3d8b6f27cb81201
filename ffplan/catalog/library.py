"""Communication libraries and file systems: the rates of their transfers."""

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
from ffplan.catalog.rates import Protocol
from ffplan.inputs.model import Frozen, Identifier, Many
from ffplan.inputs.quantities import Fraction

Place = Literal["base", "nvlink", "pcie", "network"]


class Sends(Frozen):
    """Channels of a send to one peer, and their rates."""

    channels: CountFigure
    """Most channels inside a node."""
    channel: BandwidthFigure
    """Rate of one of them [GB/s]."""
    part: DataFigure
    """Piece of a message from which on a send uses twice the channels [byte]."""
    network: BandwidthFigure
    """Rate between nodes while some GPUs of a node send [GB/s]."""
    network_full: BandwidthFigure
    """Rate between nodes while all GPUs of a node send [GB/s]."""


class NodeRates(Frozen):
    """A rate by the number of nodes, of three or more as measured on four."""

    two_nodes: BandwidthFigure
    """On two nodes [GB/s]."""
    more_nodes: BandwidthFigure
    """On three nodes or more [GB/s]."""


class Library(Part):
    """A communication library: constants of its latency and its choice of algorithm."""

    kind_words: ClassVar[str] = "library"

    kind: Literal["library"]
    extends: Identifier | None = None
    """Library whose constants apply where this one omits them."""
    method: Literal["nccl", "hfreduce", "deepep"]
    """Method: rings and trees between accelerators, reduction in host memory, or tokens sent to experts."""
    latency: dict[Place, dict[Identifier, dict[Protocol, DurationFigure]]] = Field(default_factory=dict)
    """Latency of a call (base) and of each hop, by algorithm and protocol [s]."""
    measured: dict[Place, dict[Identifier, dict[Protocol, DurationFigure]]] = Field(default_factory=dict)
    """Measured latency if different from the constant that the library chooses by, in the same form [s]."""
    share: dict[Identifier, dict[Protocol, EfficiencyFigure]] = Field(default_factory=dict)
    """Fraction of a protocol's bandwidth left for data; 1 if omitted."""
    fill: dict[Protocol, FractionFigure] = Field(default_factory=dict)
    """Weight of the filling of the pipeline inside a node, by protocol; 0 if omitted."""
    fill_ring: dict[Protocol, FractionFigure] = Field(default_factory=dict)
    """The same of rings and sends; `fill` if omitted."""
    fill_exchange: dict[Protocol, FractionFigure] = Field(default_factory=dict)
    """The same of all-to-all; `fill_ring` if omitted."""
    sends: Sends | None = None
    """Channels of a send to one peer; without limit if omitted."""
    nvls_ranks: CountFigure | None = None
    """Fewest ranks of a node for reduction in its switch; any number if omitted."""
    ring_hop: DurationFigure | None = None
    """Least latency of a hop inside a node, for each of its GPUs in use, in rings that pass several nodes once [s]; 0
    if omitted."""
    ring_hop_most: DurationFigure | None = None
    """Upper limit of this latency [s]; unlimited if omitted."""
    ring_many: EfficiencyFigure | None = None
    """Fraction of the scale-up rate that such rings over four nodes or more reach; 1 if omitted."""
    ring_pair: EfficiencyFigure | None = None
    """Fraction of a ring's rate that two ranks behind one scale-up switch reach; 1 if omitted."""
    slot: DataFigure | None = None
    """Largest piece that a hop between nodes holds, per NIC channel [byte]."""
    ring_plateau: FractionFigure | None = None
    """Factor on the latency of Simple allreduce rings over several nodes."""
    tree_estimate: EfficiencyFigure | None = None
    """Factor on trees in the library's choice of algorithm; their time does not contain it."""
    tree_corrections: dict[Protocol, Many[Fraction]] = Field(default_factory=dict)
    """Further factor on them by size of the message: from 64 bytes on, one for each doubling [1]."""
    channel_limits: dict[Identifier, dict[Identifier, dict[Protocol, NodeRates]]] = Field(default_factory=dict)
    """Most of a channel in the choice over several nodes, by accelerator's chip, algorithm and protocol [GB/s]."""
    ll_nodes: dict[Literal["AMD", "Intel"], NodeRates] = Field(default_factory=dict)
    """Largest bus bandwidth of protocol LL over several nodes, by CPU maker; Intel's for others [GB/s]."""
    link_share: EfficiencyFigure | None = None
    """Fraction of the scale-up links' rate assumed for accelerators without a measured rate."""
    overhead: dict[Literal["AMD", "Intel"], DurationFigure] = Field(default_factory=dict)
    """Least latency of a hop inside a node of a multi-node job, by CPU maker; three times as much for Simple
    [s]."""
    chunk: DataFigure | None = None
    """Chunk of HFReduce's pipeline [byte]."""
    hop: DurationFigure | None = None
    """Latency of a hop of HFReduce's tree [s]."""
    zone_hops: CountFigure | None = None
    """Stages that crossing zones adds to HFReduce's pipeline."""
    band_small: FractionFigure | None = None
    """Measured times over modelled ones below 16 MiB, sources left out: median, P10 and P90 [1]; unknown if omitted."""
    band_large: FractionFigure | None = None
    """The same from 16 MiB on [1]."""
    fixed: DurationFigure | None = None
    """Fixed time of a call that sends directly to its targets [s]."""


class WayRates(Frozen):
    """Rates of reading and writing."""

    read: BandwidthFigure
    """Reading [GB/s]."""
    write: BandwidthFigure
    """Writing data, copies not counted [GB/s]."""


class FileSystem(Part):
    """A file system or object store, as its clients see it."""

    kind_words: ClassVar[str] = "file system"

    kind: Literal["file-system"]
    client: WayRates
    """Rate of one compute node's client, regardless of its NICs [GB/s]."""
    efficiency: EfficiencyFigure
    """Achieved rate over the NICs' rate [1]."""
    whole: WayRates | None = None
    """Largest rate of all clients together, for any number of servers [GB/s]; left out if only the servers
    bind."""
    checkpoint: WayRates | None = None
    """Rates at which one checkpoint was loaded (`read`) and saved (`write`) [GB/s]; left out if only clients
    bind."""


__all__ = ["FileSystem", "WayRates"]
