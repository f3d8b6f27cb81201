"""Models of the parts that go into a server or a fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from ffplan.catalog.evidence import (
    BandwidthFigure,
    ComputeFigure,
    CountFigure,
    DataFigure,
    DurationFigure,
    EfficiencyFigure,
    Figure,
    FractionFigure,
    LengthFigure,
    PositiveDurationFigure,
    PowerFigure,
    Source,
    TransfersFigure,
)
from ffplan.catalog.rates import DEFAULT_FILE_SYSTEM, CollectiveRates, StorageService, TrainingRates
from ffplan.catalog.rates import Protocol as LibraryProtocol
from ffplan.inputs.model import Count, Frozen, Identifier, Many, Text
from ffplan.inputs.part_ids import AcceleratorId, NicId, ProcessorId

if TYPE_CHECKING:
    from collections.abc import Iterator


class Part(Frozen):
    """Fields of every part."""

    kind_words: ClassVar[str] = "part"

    kind: str
    """Kind of part."""
    id: Identifier
    """Id that designs and other parts use; also the file name."""
    name: Text
    """Name for people."""
    vendor: Text
    """Maker, or the project that built it."""
    sources: dict[str, Source]
    """Sources of the figures below, by key."""
    note: Text | None = None
    """Remarks for planners."""
    announced: bool = False
    """True for a part that is announced but not on sale; reports say so."""

    def __repr__(self) -> str:
        """Return kind and id; `ffplan catalog show` prints the rest."""
        return f"{type(self).__name__}({self.id!r})"

    def figures(self) -> Iterator[tuple[tuple[str | int, ...], Figure]]:
        """Yield every figure of the part with its path in the file."""
        yield from _walk_figures(self, ())


def _walk_figures(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Figure]]:
    """Yield (path, figure) for every figure inside `value`."""
    if isinstance(value, Figure):
        yield path, value
    elif isinstance(value, Frozen):
        for field in type(value).model_fields:
            yield from _walk_figures(getattr(value, field), (*path, field))
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from _walk_figures(child, (*path, key))
    elif isinstance(value, tuple | list):
        for position, child in enumerate(value):
            yield from _walk_figures(child, (*path, position))


PciId = Annotated[str, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{4}$")]
Protocol = Literal["infiniband", "ethernet", "omni-path", "nvlink"]
"""Protocol of a switch or a NIC; NVLink connects a scale-up domain, never a fabric."""
FABRICS: tuple[Protocol, ...] = ("infiniband", "ethernet")
"""Protocols of a NIC that names none."""
CpuId = Annotated[str, Field(pattern=r"^[A-Za-z]{2,12}:[0-9]{1,3}:[0-9]{1,3}$")]
Precision = Literal["fp64", "tf32", "bf16", "fp16", "fp8", "int8", "fp4"]


class PcieLink(Frozen):
    """The PCIe link of a device."""

    generation: CountFigure
    """PCIe generation."""
    lanes: CountFigure
    """Lanes."""
    bandwidth: BandwidthFigure
    """Practical rate of the link, one direction [GB/s]."""


class Accelerator(Part):
    """A GPU or another accelerator."""

    kind_words: ClassVar[str] = "accelerator"

    kind: Literal["accelerator"]
    memory: DataFigure
    """Device memory [byte]; vendors print GB but mean GiB."""
    memory_bandwidth: BandwidthFigure
    """Device memory bandwidth [GB/s]."""
    peak: dict[Precision, ComputeFigure]
    """Dense peak by precision [TFLOP/s]."""
    gemm: dict[Precision, ComputeFigure] = Field(default_factory=dict)
    """Measured matrix-multiplication rate by precision [TFLOP/s]."""
    nvlink: BandwidthFigure | None = None
    """Scale-up bandwidth, one direction [GB/s]; for bridged cards, through the bridge."""
    pcie: PcieLink | None = None
    """PCIe link to the host."""
    library: Identifier = "nccl"
    """Catalogue id of the communication library that its maker ships."""
    collectives: CollectiveRates | None = None
    """Rates of collectives between accelerators of this kind; left out where not measured."""
    training: TrainingRates | None = None
    """Constants of training on accelerators of this kind; left out where not calibrated."""
    pci_ids: Many[PciId] = ()
    """PCI ids it shows, as vendor:device."""
    power: PowerFigure | None = None
    """Thermal design power [W]; left out where unknown."""
    chip: Identifier | None = None
    """Kind of chip whose long GEMMs are limited by power: accelerators with the same chip run them in
    proportion to `power`. Left out where GEMMs stay below the limit, or the limit feeds more than the accelerator."""
    process: Identifier | None = None
    """Family of its semiconductor process: chips of one maker and family use the same energy per operation, so that
    GEMMs of accelerators with a `chip` run in proportion to `power`."""


class RootPortLimits(Frozen):
    """Rates between a PCIe root port (host bridge) and the CPU."""

    one_way: BandwidthFigure
    """Largest rate in one direction [GB/s]."""
    both_way_share: FractionFigure
    """Sum of both directions when both are active, as a fraction of `one_way`; a full-duplex port has 200 %."""


class Cpu(Part):
    """A CPU, one socket."""

    kind_words: ClassVar[str] = "CPU"

    kind: Literal["cpu"]
    arch: Literal["x86_64", "arm64"] = "x86_64"
    """Instruction set."""
    cpuid: Many[CpuId] = ()
    """Vendor, family and model, as in AuthenticAMD:143:49; CPUs of one generation share them."""
    cores: CountFigure
    """Cores."""
    memory_channels: CountFigure
    """Memory channels."""
    memory_rate: TransfersFigure
    """Largest supported memory transfer rate [MT/s]."""
    memory_efficiency: EfficiencyFigure
    """Fraction of the theoretical memory bandwidth that copies and reductions reach."""
    root_port: RootPortLimits | None = None
    """Limits of one of its root ports, unless a server says otherwise; left out where unknown."""
    gpu_nic_peer: BandwidthFigure | None = None
    """GPU to NIC peer-to-peer bandwidth through the CPU, one direction [GB/s]; left out where unknown."""
    gpu_nic_peer_both_way_share: FractionFigure | None = None
    """Sum of both directions of one GPU and NIC, as a fraction of `gpu_nic_peer`; left out, full duplex."""
    socket_fabric: BandwidthFigure | None = None
    """Rate between devices of two sockets, one direction [GB/s]; left out where unknown."""
    power: PowerFigure | None = None
    """Thermal design power [W]; left out where unknown."""


Cooling = Literal["air", "rear-door", "cold-plate", "immersion"]
"""Cooling of servers."""


class Nic(Part):
    """A network adapter; one port."""

    kind_words: ClassVar[str] = "NIC"

    kind: Literal["nic"]
    rate: BandwidthFigure
    """Line rate, one direction [GB/s]."""
    line_efficiency: EfficiencyFigure
    """Fraction of the line rate that payload reaches."""
    tree_efficiency: EfficiencyFigure | None = None
    """Fraction of the line rate under trees, where several flows meet; left out if equal."""
    fabrics: Many[Protocol] = ()
    """Supported protocols; InfiniBand and Ethernet if omitted."""
    built_in: bool = False
    """True for a NIC inside the accelerator, such as Gaudi's: its traffic never crosses PCIe."""
    tuned: bool = False
    """True if its NCCL plugin rates trees over two or three nodes at their actual speed; NCCL's own estimate is
    half of it."""
    library_protocols: Many[LibraryProtocol] = ("ll", "ll128", "simple")
    """Protocols that NCCL runs over it: its plugin switches the others off."""
    hop_latency: DurationFigure | None = None
    """Latency of a hop over this NIC beyond the library's own figure [s]; 0 if omitted."""
    proxy_message: PositiveDurationFigure | None = None
    """Host time to post a message that a kernel sends, per GPU [s]; omitted if kernels post
    their own messages (IBGDA), or unknown."""
    pci_ids: Many[PciId] = ()
    """PCI ids it shows, as vendor:device."""
    power: PowerFigure | None = None
    """Power [W]; left out where unknown."""


class Switch(Part):
    """A switch as bought: one box, ports of one rate."""

    kind_words: ClassVar[str] = "switch"

    kind: Literal["switch"]
    product_lines: Many[Text] = ()
    """Product line and chip, such as `Spectrum-4`; it is found by them, and by the words of its name."""
    fabric: Protocol
    """Protocol; `nvlink` for a switch of a scale-up domain, which cannot join a fabric."""
    ports: CountFigure
    """Ports (the radix) at `rate`."""
    rate: BandwidthFigure
    """Rate of one port, one direction [GB/s]."""
    splits: CountFigure | None = None
    """Most ports that one port can be split into; left out where unknown."""
    power: PowerFigure | None = None
    """Typical power of the box without transceivers [W]; left out where unknown."""
    power_max: PowerFigure | None = None
    """Maximum power [W]."""


class Link(Part):
    """A cable with its ends, or fibre with two transceivers."""

    kind_words: ClassVar[str] = "link"

    kind: Literal["link"]
    medium: Literal["dac", "aoc", "optics"]
    """Copper, active optical cable, or pluggable optics with fibre."""
    cable: Literal["active-copper", "twisted-pair", "single-mode", "multimode"] | None = None
    """Cable type other than passive copper and active optical; left out where unknown."""
    rate: BandwidthFigure
    """Rate, one direction [GB/s]."""
    reach: LengthFigure
    """Longest run [m]."""
    power_per_end: PowerFigure | None = None
    """Power drawn from the port at each end [W]; left out where unknown."""


class SocketMemory(Frozen):
    """Memory of one socket."""

    channels: CountFigure
    """Populated channels."""
    rate: TransfersFigure
    """Transfer rate of the modules [MT/s]."""
    dimms: CountFigure | None = None
    """Memory modules; left out where unknown."""
    capacity: DataFigure | None = None
    """Capacity [byte]; left out where unknown."""
    power_per_dimm: PowerFigure | None = None
    """Power of one module [W]; left out where unknown."""


class RootPort(Frozen):
    """A PCIe root port of a socket."""

    id: Identifier
    """Name of the port within the server."""
    pcie_switch: bool = False
    """True if its devices share a PCIe switch and communicate without the CPU."""
    limits: RootPortLimits | None = None
    """Limits of this port if different from the CPU's."""


class Socket(Frozen):
    """One CPU socket with its memory and root ports."""

    id: Identifier
    """Name of the socket within the server."""
    cpu: ProcessorId
    """Catalogue id of the CPU."""
    memory: SocketMemory
    """Its memory."""
    root_ports: Many[RootPort] = ()
    """Root ports with accelerators or NICs."""


class AcceleratorSlot(Frozen):
    """One accelerator in its place."""

    id: Identifier
    """Name within the server."""
    root_port: Identifier
    """Its root port."""


class NicSlot(Frozen):
    """One NIC in its place."""

    id: Identifier
    """Name within the server."""
    part: NicId
    """Catalogue id of the NIC."""
    root_port: Identifier | None = None
    """Its root port; needed for fabric NICs of designs with `communication`."""
    network: Literal["compute", "storage", "both"]
    """Network of the NIC; `both` if one network carries compute and storage."""


class ScaleUp(Frozen):
    """Scale-up network between the accelerators of one server."""

    pairs: Many[Annotated[tuple[Identifier, Identifier], Field(strict=False)]] = ()
    """Bridged pairs of accelerators."""
    switched: bool = False
    """True if a switch connects all accelerators of the server."""
    mesh: bool = False
    """True if a link connects every pair of accelerators of the server, without a switch."""
    links: Many[Annotated[tuple[Identifier, Identifier], Field(strict=False)]] = ()
    """Pairs of accelerators connected by links, for a ring or two halves, without switch, mesh, torus or bridge."""
    counts: Many[Count] = ()
    """Number of links per entry in `links`, in order [1]; one each if omitted."""
    torus: Many[Annotated[int, Field(ge=2, le=1000)]] = ()
    """Accelerators along each axis of a torus: [16, 20, 28] for a TPU v5p pod."""
    name: Text = "NVLink"
    """Name of the network, such as NVLink, xGMI or ICI."""
    nodes: Count = 1
    """Servers behind one switch, such as the 18 trays of an NVL72 rack; only with `switched`."""
    per_rack: Count | None = None
    """Servers of a rack where those behind one switch stand in several; only with `switched`."""
    ports: CountFigure | None = None
    """Links of an accelerator to the switches [1]; only with `switched`."""
    switches: CountFigure | None = None
    """Switch chips of a domain [1]; only with `switched`."""


class ServerPower(Frozen):
    """Power of a whole server."""

    idle: PowerFigure | None = None
    """Power without load [W]."""
    training: PowerFigure | None = None
    """Measured average during training, or, for storage, in operation [W]."""
    maximum: PowerFigure | None = None
    """Rated maximum: the nameplate's, or the vendor's [W]."""
    liquid: EfficiencyFigure | None = None
    """Share of its heat removed by liquid; 0 for an air-cooled server [1]."""
    other: PowerFigure | None = None
    """Fans, board, NVSwitches, local disks and conversion losses, for the component sum [W]; left out where unknown."""


class Drives(Frozen):
    """Data drives of a server."""

    count: CountFigure
    """Drives."""
    capacity: DataFigure
    """Capacity of one [byte]."""
    power: PowerFigure | None = None
    """Power of one in operation [W]; left out where unknown."""
    read: BandwidthFigure | None = None
    """Read rate of one drive in large blocks [GB/s]; left out where unknown."""
    write: BandwidthFigure | None = None
    """Sustained write rate of one drive in large blocks [GB/s]; left out where unknown."""
    endurance: DataFigure | None = None
    """Data written to one drive over its life, at most [byte]; left out where unknown."""

    @property
    def gbyte_s(self) -> tuple[float, float] | None:
        """Read and write rate of all drives together [GB/s]; None if either is unknown."""
        if self.read is None or self.write is None:
            return None
        return self.count.value * self.read.value, self.count.value * self.write.value


class Server(Part):
    """A compute or management server; its inside is a tree of sockets, root ports and devices."""

    kind_words: ClassVar[str] = "server"

    kind: Literal["server"]
    sockets: Many[Socket] = ()
    """CPU sockets; left out for an appliance of unknown construction, without accelerators."""
    accelerator: AcceleratorId | None = None
    """Catalogue id of the accelerators; all of one kind."""
    accelerators: Many[AcceleratorSlot] = ()
    """Attachment of each accelerator."""
    nics: Many[NicSlot] = ()
    """Attachment of each NIC."""
    accelerator_pcie: BandwidthFigure | None = None
    """PCIe link of each accelerator, one direction, if slower than the accelerator's own [GB/s]."""
    nvlink: ScaleUp | None = None
    """NVLink or another scale-up network inside the server."""
    drives: Drives | None = None
    """Data drives, which may hold offloaded training states; left out if absent or unknown."""
    power: ServerPower
    """Power."""

    @property
    def domain_nodes(self) -> int:
        """Servers that one scale-up network joins [1]; 1 if it stays within a server."""
        return self.nvlink.nodes if self.nvlink is not None else 1

    @property
    def rack_nodes(self) -> int:
        """Servers that share a rack since one scale-up switch joins them [1]; 1 without one."""
        if self.nvlink is None or not self.nvlink.switched:
            return 1
        return self.nvlink.per_rack or self.nvlink.nodes


class StorageServer(Part):
    """A storage server."""

    kind_words: ClassVar[str] = "storage server"

    kind: Literal["storage-server"]
    sockets: Annotated[Many[Socket], Field(min_length=1)]
    """CPU sockets."""
    nics: Annotated[Many[NicSlot], Field(min_length=1)]
    """NICs."""
    drives: Drives
    """Data drives."""
    service: StorageService | None = None
    """Storage service; if omitted, one copy of all data on a default file system."""
    power: ServerPower
    """Power."""

    @property
    def file_system(self) -> str:
        """Catalogue id of its file system."""
        return self.service.file_system if self.service else DEFAULT_FILE_SYSTEM


def memory_bytes(server: Server | StorageServer) -> float | None:
    """Return the memory of all sockets of a server [byte]; None if any socket's is unknown."""
    known = [socket.memory.capacity for socket in server.sockets if socket.memory.capacity is not None]
    return float(sum(figure.value for figure in known)) if len(known) == len(server.sockets) else None
