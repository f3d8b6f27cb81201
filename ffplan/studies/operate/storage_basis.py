"""Storage of a design: its groups of servers, each with its own copies and drives, and the rates of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number
from ffplan.base.record import record
from ffplan.catalog.library import FileSystem
from ffplan.catalog.parts import StorageServer
from ffplan.design.networks import node_rate
from ffplan.fabric.family import storage_network
from ffplan.reliability.storage import NICS_OF_SERVERS, THINNED, capacity, of_group, storage_rates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.parts import Nic
    from ffplan.design.resolved import ResolvedDesign, ResolvedGroup
    from ffplan.fabric.sizing.plan import FabricPlan

_OWN = ("both", "storage")


@record
class _ServerKind:
    """Storage servers that are alike, whatever groups of the design they are in."""

    name: str
    """As `of_group` has it; empty where all servers are alike."""
    server: StorageServer
    file_system: FileSystem
    servers: int
    nics: int
    """NICs of a server [1]."""
    nic_gbyte_s: float
    """What they carry, one direction [GB/s]."""
    copies: float
    """Copies of all data on it [1]."""
    usable: float
    """Part of the capacity left after them [1]."""

    @property
    def drives(self) -> int:
        """Drives of all these servers."""
        return self.servers * int(self.server.drives.count.value)

    @property
    def raw_bytes(self) -> float:
        """Capacity of the drives [byte]."""
        return float(capacity(self.drives, 1, self.server.drives.capacity.value, 1.0))

    @property
    def usable_bytes(self) -> float:
        """Capacity for data [byte]."""
        return float(capacity(self.drives, 1, self.server.drives.capacity.value, self.copies, self.usable))


@record
class _StorageBasis:
    alike: tuple[_ServerKind, ...]
    """Its servers by kind, in an order that is not the design's."""
    planned: bool
    """Whether the design plans them, on its own fabric; otherwise the ownership profile sizes them,
    on a network beside."""
    service: _ServerKind
    """The servers whose file system is taken for a node and a checkpoint: of several, where a client writes least."""
    read: dict[str, Number]
    """Terms of reading without the service's efficiency [GB/s]; by kind of servers if they are unlike."""
    write: dict[str, Number]
    client_gbyte_s: float
    """What the NICs of a compute node carry to storage, one direction [GB/s]."""
    client_assumed: bool
    """Whether a NIC is assumed, since the server's file has none for storage."""
    in_every_zone: bool
    on_fabric: bool

    @property
    def servers(self) -> int:
        return sum(kind.servers for kind in self.alike)

    @property
    def drives(self) -> int:
        return sum(kind.drives for kind in self.alike)

    @property
    def nics(self) -> int:
        return sum(kind.servers * kind.nics for kind in self.alike)

    @property
    def raw_bytes(self) -> float:
        return sum(kind.raw_bytes for kind in self.alike)

    @property
    def usable_bytes(self) -> float:
        return sum(kind.usable_bytes for kind in self.alike)

    @property
    def line_gbyte_s(self) -> float:
        """What the NICs of all servers carry, one direction [GB/s]."""
        return sum(kind.servers * kind.nic_gbyte_s for kind in self.alike)

    @property
    def systems(self) -> tuple[FileSystem, ...]:
        """File systems on the servers, the one whose client is taken first."""
        found = {kind.file_system.id: kind.file_system for kind in (self.service, *self.alike)}
        return tuple(found.values())


def _line(nic: Nic, rate: float) -> float:
    return float(min(rate, nic.rate.value))


def _client(design: ResolvedDesign, groups: Sequence[ResolvedGroup], beside: float | None) -> tuple[float, bool]:
    """Return the rate from a compute node to storage [GB/s], and whether a NIC is assumed: the fastest of the servers.

    Storage that the design does not plan has a separate network with the rate `beside` per node.
    """
    group = design.compute
    if beside is not None:
        return beside, False
    port = design.port_gbyte_s * design.stripes
    total = 0.0
    for slot, (place, nic) in enumerate(zip(group.server.nics, group.nics, strict=True)):
        if place.network in _OWN:
            total += _line(nic, port if slot in group.fabric_nics else nic.rate.value)
    if total:
        return total, False
    return max(_line(group.nics[0], group.nics[0].rate.value) for group in groups), True


def _copies(server: StorageServer) -> tuple[float, float]:
    """Return copies of all data, and the part of the capacity left after them [1]."""
    service = server.service
    if service is None:
        return 1.0, 1.0
    return float(service.copies.value), service.usable.value if service.usable else 1.0


def _alike(groups: Sequence[ResolvedGroup], port: float | None) -> tuple[_ServerKind, ...]:
    """Return the servers of some groups by kind, so that neither how they are split nor their order counts.

    Args:
        port: rate of a port of the network that they are on [GB/s]; None if their NICs alone bind.
    """
    counts: dict[tuple[str, int, float], int] = {}
    of_kind: dict[tuple[str, int, float], ResolvedGroup] = {}
    for group in groups:
        on = range(len(group.nics)) if port is None else group.fabric_nics
        rate = sum(_line(group.nics[slot], group.nics[slot].rate.value if port is None else port) for slot in on)
        key = (group.server.id, len(on), rate)
        counts[key] = counts.get(key, 0) + group.group.count
        of_kind.setdefault(key, group)
    systems = {group.file_system.id for group in groups if group.file_system is not None}
    found = []
    for key in sorted(counts):
        (server_id, nics, rate), group = key, of_kind[key]
        server, system = group.server, group.file_system
        assert isinstance(server, StorageServer)
        assert system is not None
        twice = sum(other == server_id for other, _, _ in counts) > 1
        name = f"{server_id}, {rate:g} GB/s" if twice else server_id
        name += f" on {system.id}" if len(systems) > 1 else ""
        copies, usable = _copies(server)
        found.append(
            _ServerKind(
                name=name if len(counts) > 1 else "",
                server=server,
                file_system=system,
                servers=counts[key],
                nics=nics,
                nic_gbyte_s=rate,
                copies=copies,
                usable=usable,
            )
        )
    return tuple(found)


def _terms(kinds: tuple[_ServerKind, ...], oversubscription: float) -> tuple[dict[str, Number], dict[str, Number]]:
    """Return the terms of reading and of writing, the service's efficiency left out [GB/s]."""
    read: dict[str, Number] = {}
    write: dict[str, Number] = {}
    for kind in kinds:
        drives = kind.server.drives
        rates = storage_rates(
            servers=kind.servers,
            nic_gbyte_s=kind.nic_gbyte_s,
            drive_read=drives.read.value * drives.count.value if drives.read else None,
            drive_write=drives.write.value * drives.count.value if drives.write else None,
            copies=kind.copies,
            efficiency=1.0,
        )
        for into, terms in ((read, rates.read), (write, rates.write)):
            if oversubscription > 1:
                terms[THINNED] = terms[NICS_OF_SERVERS] / oversubscription
            into |= {of_group(resource, kind.name): rate for resource, rate in terms.items()}
    return read, write


def _storage_basis(
    design: ResolvedDesign, plan: FabricPlan, usual: ResolvedGroup | None, beside: float | None = None
) -> _StorageBasis | None:
    """Return the storage of a design; None if neither the design nor its profile has any."""
    planned = tuple(group for group in design.groups if group.group.role == "storage")
    groups = planned or ((usual,) if usual is not None else ())
    if not groups:
        return None
    network = storage_network(design, plan) if planned else None
    on_fabric = network.design if network is not None else design
    oversubscription = network.plan.oversubscription if network is not None else plan.oversubscription
    if planned:
        groups = tuple(group for group in on_fabric.groups if group.group.role == "storage")
    if network is not None:
        beside = node_rate(design, network.network) or None
    kinds = _alike(groups, on_fabric.port_gbyte_s if planned else None)
    read, write = _terms(kinds, oversubscription if planned else 1.0)
    client, assumed = _client(design, groups, beside if network is not None or not planned else None)
    return _StorageBasis(
        alike=kinds,
        planned=bool(planned),
        on_fabric=bool(planned) and network is None,
        service=min(kinds, key=lambda kind: (kind.file_system.client.write.value, kind.file_system.id, kind.name)),
        read=read,
        write=write,
        client_gbyte_s=client,
        client_assumed=assumed,
        in_every_zone=all(group.group.zones == "every" for group in groups),
    )
