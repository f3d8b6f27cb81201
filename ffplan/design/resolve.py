"""From a design file to a frozen object in which every id has become a part."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.catalog.parts import Accelerator, Cpu, Link, Nic, Part, Server, StorageServer, Switch
from ffplan.catalog.prices import PriceBook
from ffplan.design.faults import currency_faults, group_faults, split_faults, whole_faults
from ffplan.design.schema import Design, NodeGroup
from ffplan.inputs.document import Document
from ffplan.inputs.validate import validate

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.catalog.store import Catalog

P = TypeVar("P", bound=Part)


@record
class ResolvedGroup:
    """A node group with its parts."""

    group: NodeGroup
    position: int
    """Position under `nodes` in the design file."""
    server: Server | StorageServer
    cpus: tuple[Cpu, ...]
    """One per socket."""
    nics: tuple[Nic, ...]
    """One per NIC slot."""
    accelerator: Accelerator | None
    fabric_nics: tuple[int, ...]
    """Positions of the NIC slots that this fabric joins."""

    def nic_rates(self, port_gbyte_s: float, stripes: int = 1) -> tuple[float, ...]:
        """Return what each NIC on the fabric carries over `stripes` ports of that rate [GB/s]."""
        return tuple(min(stripes * port_gbyte_s, self.nics[slot].rate.value) for slot in self.fabric_nics)

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
    prices: PriceBook | None
    cable_choices: tuple[Link, ...]
    """Cables and optics that the floor plan may choose from."""

    @property
    def radix(self) -> int:
        """Ports of a switch, each split by the breakout."""
        return int(self.switch.ports.value) * self.spec.fabric.breakout

    @property
    def planes(self) -> int:
        """Planes; with rails alone, one for each NIC of a compute node."""
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
        """True where every compute node is in every zone: zones carry its traffic side by side, as planes do."""
        return all(group.group.zones == "every" for group in self.groups if group.group.role == "compute")

    @property
    def stripes(self) -> int:
        """Ports of a NIC: one, or one in every plane."""
        return self.planes if self.spec.fabric.planes_by == "port" else 1

    @property
    def port_gbyte_s(self) -> float:
        """What a switch port and the link to a NIC carry in one direction, after breakout [GB/s]."""
        return float(min(self.switch.rate.value, self.endpoint_link.rate.value)) / self.spec.fabric.breakout

    @property
    def link_gbyte_s(self) -> float:
        """What a link between switches carries in one direction, after breakout [GB/s]."""
        return float(min(self.switch.rate.value, self.inter_switch_link.rate.value)) / self.spec.fabric.breakout

    @property
    def compute(self) -> ResolvedGroup:
        """The first group of compute nodes; every design has one."""
        return next(group for group in self.groups if group.group.role == "compute")

    @property
    def accelerators(self) -> int:
        """Accelerators of the compute nodes."""
        compute = [group for group in self.groups if group.group.role == "compute"]
        return sum(group.accelerators_per_node * group.group.count for group in compute)


class _Resolver:
    """Collects every wrong reference before giving up."""

    def __init__(self, document: Document, catalog: Catalog) -> None:
        self.document = document
        self.catalog = catalog
        self.faults: list[Finding] = []

    def part(self, model: type[P], name: str, path: tuple[str | int, ...]) -> P | None:
        try:
            return self.catalog.get(model, name, self.document, path)
        except InputError as error:
            self.faults.extend(error.findings)
            return None

    def inner(self, model: type[P], name: str, server: str, path: tuple[str | int, ...]) -> P | None:
        """Resolve a part named inside a server's own file."""
        try:
            return self.catalog.get(model, name, self.catalog.entry(server).document, path)
        except InputError as error:
            self.faults.extend(error.findings)
            return None

    def group(self, position: int, group: NodeGroup) -> ResolvedGroup | None:
        path = ("nodes", position, "server")
        model: type[Server] | type[StorageServer] = StorageServer if group.role == "storage" else Server
        server = self.part(model, group.server, path)
        if server is None:
            return None
        cpus = [
            self.inner(Cpu, socket.cpu, server.id, ("sockets", index, "cpu"))
            for index, socket in enumerate(server.sockets)
        ]
        nics = [
            self.inner(Nic, slot.part, server.id, ("nics", index, "part")) for index, slot in enumerate(server.nics)
        ]
        accelerator = None
        if isinstance(server, Server) and server.accelerator is not None:
            accelerator = self.inner(Accelerator, server.accelerator, server.id, ("accelerator",))
        wanted = ("both", "storage") if group.role == "storage" else ("both", "compute")
        fabric_nics = tuple(i for i, slot in enumerate(server.nics) if slot.network in wanted)
        if not fabric_nics:
            self.faults.append(
                self.document.finding(
                    "reference-kind",
                    path,
                    f"`{server.id}` has no NIC for this fabric",
                    "choose a server with a NIC whose network is `compute` or `both`",
                )
            )
        return ResolvedGroup(
            group=group,
            position=position,
            server=server,
            cpus=tuple(cpu for cpu in cpus if cpu),
            nics=tuple(nic for nic in nics if nic),
            accelerator=accelerator,
            fabric_nics=fabric_nics,
        )


def resolve(document: Document, catalog: Catalog) -> ResolvedDesign:
    """Return the design of `document` with every id resolved in `catalog`.

    Raises:
        InputError: with a located finding for every fault of schema, reference or currency.
    """
    spec = validate(Design, document)
    resolver = _Resolver(document, catalog)
    resolver.faults += whole_faults(spec, document)
    groups = [resolver.group(position, group) for position, group in enumerate(spec.nodes)]
    switch = resolver.part(Switch, spec.fabric.switch, ("fabric", "switch"))
    endpoint_link = resolver.part(Link, spec.fabric.link.endpoint, ("fabric", "link", "endpoint"))
    inter_switch_link = endpoint_link
    if spec.fabric.link.inter_switch is not None:
        inter_switch_link = resolver.part(Link, spec.fabric.link.inter_switch, ("fabric", "link", "inter_switch"))
    floor = spec.floor
    choices = [
        resolver.part(Link, name, ("floor", "links", position))
        for position, name in enumerate(floor.links if floor else ())
    ]
    prices = resolver.part(PriceBook, spec.cost.price_book, ("cost", "price_book")) if spec.cost else None
    resolver.faults += split_faults(spec, document, switch)
    resolver.faults += currency_faults(spec, document, prices)
    whole = tuple(group for group in groups if group is not None)
    first = next((group for group in whole if group.group.role == "compute"), None)
    for group in whole:
        communicates = spec.communication is not None and group is first
        resolver.faults += group_faults(group, catalog, communicates=communicates)
    if resolver.faults:
        raise InputError(*resolver.faults)
    assert switch is not None
    assert endpoint_link is not None
    assert inter_switch_link is not None
    found = tuple(link for link in choices if link is not None)
    return ResolvedDesign(
        document=document,
        spec=spec,
        groups=whole,
        switch=switch,
        endpoint_link=endpoint_link,
        inter_switch_link=inter_switch_link,
        prices=prices,
        cable_choices=found,
    )
