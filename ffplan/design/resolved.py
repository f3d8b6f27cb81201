"""A design in which every catalogue id has become a part.

Where many designs are assessed at once, counts and figures are arrays of one shape in place of numbers.
"""

from __future__ import annotations

from ffplan.base.array_math import minimum, real
from ffplan.base.record import record
from ffplan.catalog.library import Library
from ffplan.catalog.parts import Accelerator, Cpu, Link, Nic, Server, StorageServer, Switch
from ffplan.catalog.prices import PriceBook
from ffplan.design.schema import Design, NodeGroup
from ffplan.inputs.document import Document


@record
class ResolvedGroup:
    """A node group with its parts."""

    group: NodeGroup
    position: int
    """Position under `nodes` in the design file."""
    server: Server | StorageServer
    cpus: tuple[Cpu, ...]
    """CPUs, one per socket."""
    nics: tuple[Nic, ...]
    """NICs, one per NIC slot."""
    accelerator: Accelerator | None
    fabric_nics: tuple[int, ...]
    """Positions of the NIC slots that this fabric joins."""

    def nic_rates(self, port_gbyte_s: float, stripes: int = 1) -> tuple[float, ...]:
        """Return the rate of each NIC on the fabric over `stripes` ports of that rate [GB/s]."""
        return tuple(minimum(stripes * port_gbyte_s, self.nics[slot].rate.value) for slot in self.fabric_nics)

    @property
    def accelerators_per_node(self) -> int:
        """Accelerators in one node."""
        return len(self.server.accelerators) if isinstance(self.server, Server) else 0


@record
class ResolvedDesign:
    """A design with every catalogue id resolved."""

    document: Document
    spec: Design
    groups: tuple[ResolvedGroup, ...]
    switch: Switch
    endpoint_link: Link
    inter_switch_link: Link
    """Equal to the endpoint link where the design names none, and then not used."""
    libraries: tuple[Library, ...]
    """Constants of the libraries under `communication`, in their order."""
    prices: PriceBook | None
    cable_choices: tuple[Link, ...]
    """Cables and optics that the floor plan may choose from."""

    @property
    def radix(self) -> int:
        """Ports of a switch, each split by the breakout."""
        return int(self.switch.ports.value) * self.spec.fabric.breakout

    @property
    def planes(self) -> int:
        """Planes; of a `rail-only` fabric, one for each NIC of a compute node."""
        if self.spec.fabric.family == "rail-only":
            return max(len(group.fabric_nics) for group in self.groups if group.group.role == "compute")
        return self.spec.fabric.planes

    @property
    def trunk_links(self) -> int:
        """Links from each zone to the inter-zone switches, in one plane."""
        trunk = self.spec.fabric.inter_zone
        return trunk.links_per_zone if trunk else 0

    @property
    def side_by_side(self) -> bool:
        """True where every compute node is in every zone: zones carry its traffic in parallel, as planes do."""
        return all(group.group.zones == "every" for group in self.groups if group.group.role == "compute")

    @property
    def stripes(self) -> int:
        """Ports of a NIC: one, or one in every plane."""
        return self.planes if self.spec.fabric.planes_by == "port" else 1

    @property
    def port_gbyte_s(self) -> float:
        """Rate of a switch port with its link to a NIC, one direction, after breakout [GB/s]."""
        return real(minimum(self.switch.rate.value, self.endpoint_link.rate.value)) / self.spec.fabric.breakout

    @property
    def link_gbyte_s(self) -> float:
        """Rate of a link between switches, one direction, after breakout [GB/s]."""
        return real(minimum(self.switch.rate.value, self.inter_switch_link.rate.value)) / self.spec.fabric.breakout

    @property
    def compute(self) -> ResolvedGroup:
        """The first group of compute nodes; every design has one."""
        return next(group for group in self.groups if group.group.role == "compute")

    @property
    def accelerators(self) -> int:
        """Accelerators of the compute nodes."""
        compute = [group for group in self.groups if group.group.role == "compute"]
        return sum(group.accelerators_per_node * group.group.count for group in compute)
