"""The inside of a server as a topology file describes it."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.interop.topology.pcie import PcieRate
from ffplan.interop.topology.scale_up import ScaleUpFound


@record
class PciDevice:
    """A GPU or NIC of the XML."""

    bus: str
    """Bus id; empty of a NIC without PCI."""
    pci_id: str
    """vendor:device, as in 10de:20b0; empty where the file does not say."""
    name: str
    """Name of its first interface; empty of GPUs, and where the file does not say."""
    number: int | None
    """`dev` of a GPU or an interface."""
    link: PcieRate | None
    """Its own PCIe link, to the switch or the CPU; None where the file does not say."""
    gbyte_s: float | None = None
    """Rate of a NIC's fastest port [GB/s]; None of GPUs, and where the file does not say."""
    ports: int = 1
    """Ports of a NIC that run at this rate [1]."""
    line: int = 0

    @property
    def rate_words(self) -> str:
        """Rate of its ports in words; empty where the file does not say."""
        if not self.gbyte_s:
            return ""
        return f"{f'{self.ports} ports of ' if self.ports > 1 else ''}{8 * self.gbyte_s:,.0f} Gb/s"


@record
class RootPortFound:
    """A root port with what lies behind it."""

    gpus: tuple[PciDevice, ...]
    nics: tuple[PciDevice, ...]

    @property
    def switched(self) -> bool:
        """True where its devices share a PCIe switch: several lie behind one port."""
        return len(self.gpus) + len(self.nics) > 1


@record
class SocketFound:
    """A CPU socket."""

    cpu: str
    """Vendor, family and model in words; empty where the file does not say."""
    cpuid: str
    """vendor:family:model, as catalogued CPUs list them; empty where the file does not say."""
    numa: tuple[int, ...]
    """Its NUMA nodes."""
    ports: tuple[RootPortFound, ...]


@record
class ServerTopology:
    """The inside of a server as a topology file describes it."""

    sockets: tuple[SocketFound, ...]
    scale_up: ScaleUpFound
    coherent: bool
    """True where GPUs have a coherent link to the CPU: C2C, or NVLink of POWER9."""
    management: tuple[PciDevice, ...]
    """NICs that are left out: up to 10 Gb/s, or without a card."""
    warnings: tuple[str, ...]
    """What the file says oddly, in words."""
    hosts: int = 1
    """Servers that share its scale-up network, of which this is the first [1]."""

    @property
    def gpus(self) -> tuple[PciDevice, ...]:
        """All GPUs, in the order of the file."""
        return tuple(gpu for socket in self.sockets for port in socket.ports for gpu in port.gpus)

    @property
    def nics(self) -> tuple[PciDevice, ...]:
        """All NICs of fabrics, in the order of the file."""
        return tuple(nic for socket in self.sockets for port in socket.ports for nic in port.nics)
