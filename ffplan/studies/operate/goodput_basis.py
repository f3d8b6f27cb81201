"""Fabric, hazards, storage and spares of a design, which goodput rests on. It is light: `design` reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.catalog.parts import StorageServer
from ffplan.catalog.rates import DEFAULT_FILE_SYSTEM
from ffplan.design.networks import node_rate
from ffplan.design.ownership_sizing import ownership_sizing
from ffplan.design.resolved import ResolvedDesign, ResolvedGroup
from ffplan.fabric.family import plan_fabric, storage_network
from ffplan.fabric.sizing.plan import FabricPlan
from ffplan.reliability.storage import StorageRates, capacity, storage_rates
from ffplan.studies.operate.reliability import Hazards, _hazards_beside, _hazards_of

if TYPE_CHECKING:
    from ffplan.catalog.parts import Nic
    from ffplan.catalog.store import Catalog

_OWN = ("both", "storage")
"""Networks of NICs that carry storage."""


@record
class _StorageBasis:
    groups: tuple[ResolvedGroup, ...]
    planned: bool
    """Whether the design plans them, on its own fabric; otherwise the ownership profile sizes them,
    on a network beside."""
    servers: int
    drives: int
    nics: int
    raw_bytes: float
    usable_bytes: float
    copies: float
    service: ResolvedGroup
    """The group whose file system is taken: of several, the one whose client writes least."""
    read: dict[str, float]
    """Terms of reading, the service's efficiency left out [GB/s]."""
    write: dict[str, float]
    client_gbyte_s: float
    """What the NICs of a compute node carry to storage, one direction [GB/s]."""
    client_assumed: bool
    """Whether a NIC is assumed, since the server's file has none for storage."""
    in_every_zone: bool
    on_fabric: bool
    """Whether the compute fabric carries it."""


def _line(nic: Nic, rate: float) -> float:
    return float(min(rate, nic.rate.value))


def _client(design: ResolvedDesign, groups: tuple[ResolvedGroup, ...], beside: float | None) -> tuple[float, bool]:
    """Return the rate from a compute node to storage [GB/s], and whether a NIC is assumed.

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
    first = groups[0].nics[0]
    return _line(first, first.rate.value), True


def _copies(server: StorageServer) -> tuple[float, float]:
    """Return copies of all data, and the part of the capacity left after them [1]."""
    service = server.service
    if service is None:
        return 1.0, 1.0
    return float(service.copies.value), service.usable.value if service.usable else 1.0


def _client_writes(group: ResolvedGroup) -> float:
    """Return the write rate of a group's file-system client [GB/s]."""
    assert group.file_system is not None
    return float(group.file_system.client.write.value)


def _terms(server: StorageServer, count: int, per_server: float) -> StorageRates:
    """Return the terms of the rates of equal servers, from the rate through the NICs of each [GB/s]."""
    drives = server.drives
    return storage_rates(
        servers=count,
        nic_gbyte_s=per_server,
        drive_read=drives.read.value * drives.count.value if drives.read else None,
        drive_write=drives.write.value * drives.count.value if drives.write else None,
        copies=_copies(server)[0],
        efficiency=1.0,
    )


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
    port = on_fabric.port_gbyte_s
    if planned:
        groups = tuple(group for group in on_fabric.groups if group.group.role == "storage")
    read: dict[str, float] = {}
    write: dict[str, float] = {}
    raw = usable = 0.0
    drives = nics = 0
    for group in groups:
        server = group.server
        assert isinstance(server, StorageServer)
        count = group.group.count
        on = group.fabric_nics if planned else range(len(group.nics))
        per_server = sum(_line(group.nics[slot], port if planned else group.nics[slot].rate.value) for slot in on)
        drive, copies, left, terms = server.drives, *_copies(server), _terms(server, count, per_server)
        for into, rates in ((read, terms.read), (write, terms.write)):
            for name, rate in rates.items():
                into[name] = into.get(name, 0.0) + float(rate)
        raw += float(capacity(count, drive.count.value, drive.capacity.value, 1.0))
        usable += float(capacity(count, drive.count.value, drive.capacity.value, copies, left))
        drives += count * int(drive.count.value)
        nics += count * len(on)
    if planned and oversubscription > 1:
        for into in (read, write):
            into["NICs behind oversubscribed leaves"] = into["NICs of the servers"] / oversubscription
    if network is not None:
        beside = node_rate(design, network.network) or None
    client, assumed = _client(design, groups, beside if network is not None or not planned else None)
    first = groups[0].server
    assert isinstance(first, StorageServer)
    return _StorageBasis(
        groups=groups,
        planned=bool(planned),
        on_fabric=bool(planned) and network is None,
        servers=sum(group.group.count for group in groups),
        drives=drives,
        nics=nics,
        raw_bytes=raw,
        usable_bytes=usable,
        copies=_copies(first)[0],
        service=min(groups, key=_client_writes),
        read=read,
        write=write,
        client_gbyte_s=client,
        client_assumed=assumed,
        in_every_zone=all(group.group.zones == "every" for group in groups),
    )


def _file_system_words(storage: _StorageBasis) -> list[str]:
    system = storage.service.file_system
    assert system is not None
    if system.id == DEFAULT_FILE_SYSTEM:
        return [
            f"`{storage.service.server.id}` names no file system: its rates span published systems, as one "
            "range. `service.file_system` of the server names another."
        ]
    return [f"Clients, the whole and checkpoints have the rates of the file system `{system.id}`."]


def fallback_notes(storage: _StorageBasis) -> list[str]:
    """State the fallbacks for storage that a design does not describe."""
    sentences = []
    if not storage.planned:
        server = storage.groups[0].server.id
        sentences.append(
            f"The design plans no storage: {plural(storage.servers, 'server')} `{server}` are assumed, as the "
            "ownership profile sizes it."
        )
    if storage.client_assumed:
        sentences.append("The compute server's file has no NIC for storage: one as the storage servers have is taken.")
    return sentences


@record
class GoodputBasis:
    """A design with its hazards and its storage."""

    design: ResolvedDesign
    fabric: FabricPlan
    hazards: Hazards
    storage: _StorageBasis | None
    bought_spares: int
    beside: Hazards | None = None
    """Hazards of a second profile, for its mean time between interruptions."""


def goodput_basis(
    design: ResolvedDesign, catalog: Catalog, fabric: FabricPlan | None = None, *, beside: bool = True
) -> GoodputBasis:
    """Return the fabric, hazards and storage that goodput rests on.

    Args:
        fabric: its fabric, if it is sized already.
        beside: read the second profile too.

    Raises:
        InputError: if the fabric cannot hold the design, or its ownership or reliability is wrong.
    """
    fabric = fabric or plan_fabric(design)
    sizing = ownership_sizing(design, catalog.fork())
    hazards = _hazards_of(design, catalog)
    return GoodputBasis(
        design=design,
        fabric=fabric,
        hazards=hazards,
        beside=_hazards_beside(design, catalog, hazards) if beside else None,
        storage=_storage_basis(design, fabric, sizing.storage, sizing.storage_gbyte_s),
        bought_spares=sizing.spare_nodes,
    )


def _spares_there(basis: GoodputBasis, nodes: float) -> int:
    return basis.bought_spares + max(basis.design.compute.group.count - int(nodes), 0)


def _spares_of(basis: GoodputBasis, nodes: float) -> int:
    """Return the spare nodes of a job: as the design states, or bought spares and nodes that the job leaves."""
    stated = basis.hazards.section.spare_nodes
    return stated if stated is not None else _spares_there(basis, nodes)
