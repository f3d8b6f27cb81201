"""Resolution of a design file: every catalogue id becomes a part."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ffplan.base.errors import InputError
from ffplan.base.formatting import plural
from ffplan.catalog.library import FileSystem, Library
from ffplan.catalog.named import naming
from ffplan.catalog.parts import Accelerator, Cpu, Link, Nic, Part, Server, StorageServer, Switch
from ffplan.catalog.prices import PriceBook
from ffplan.catalog.read import METHODS
from ffplan.design.faults import _breakout_faults, _currency_faults, _design_faults, _fabric_faults, _group_faults
from ffplan.design.money_sections import _money_sections, _plain_section, _section_faults
from ffplan.design.networks import _network_document, _nic_faults, _spread_slots, _without_nics, network_design
from ffplan.design.resolved import FabricParts, ResolvedDesign, ResolvedGroup, ResolvedNetwork
from ffplan.design.schema import Design, Floor, NodeGroup
from ffplan.design.site import _cooling_faults, _floor_links, _with_heights
from ffplan.design.tier_faults import _port_faults, _scale_up_faults, _tier_switch_faults
from ffplan.inputs.validate import validate

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.catalog.store import Catalog
    from ffplan.design.ownership_schema import Ownership, Rent
    from ffplan.inputs.document import Document

P = TypeVar("P", bound=Part)
DEFAULT_PROFILE = "owned-2026"
"""Default ownership profile."""


class _Resolver:
    """Collects every wrong reference before the design is refused."""

    def __init__(self, document: Document, catalog: Catalog) -> None:
        self.document = document
        self.catalog = catalog
        self.naming = naming(catalog)
        self.faults: list[Finding] = []
        self.floor: Floor | None = None
        self.apart = False
        """Whether storage nodes are on a separate network instead of the compute fabric."""

    def part(
        self, model: type[P], name: str, path: tuple[str | int, ...], document: Document | None = None
    ) -> P | None:
        try:
            return self.catalog.get(model, name, document or self.document, path)
        except InputError as error:
            self.faults.extend(error.findings)
            return None

    def inner(self, model: type[P], name: str, server: str, path: tuple[str | int, ...]) -> P | None:
        try:
            return self.catalog.get(model, name, self.catalog.entry(server).document, path)
        except InputError as error:
            self.faults.extend(error.findings)
            return None

    def _in_one_rack(self, position: int, group: NodeGroup, server: Server | StorageServer) -> NodeGroup:
        """Return a group low enough for the nodes that a scale-up switch joins to share a rack, unless its height is
        stated.
        """
        stated = "rack_units" in self.document.data["nodes"][position]
        if self.floor is None or group.rack_units is None or stated or not isinstance(server, Server):
            return group
        most = max(1, self.floor.rack_units // server.rack_nodes)
        return group.model_copy(update={"rack_units": min(group.rack_units, most)})

    def group(self, position: int, group: NodeGroup, path: tuple[str | int, ...] | None = None) -> ResolvedGroup | None:
        path = path or ("nodes", position, "server")
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
        file_system = None
        if isinstance(server, StorageServer):
            file_system = self.inner(FileSystem, server.file_system, server.id, ("service", "file_system"))
        accelerator = None
        if isinstance(server, Server) and server.accelerator is not None:
            accelerator = self.inner(Accelerator, server.accelerator, server.id, ("accelerator",))
        if accelerator is not None:
            self.own_library(accelerator)
        networks = ("both", "storage") if group.role == "storage" else ("both", "compute")
        fabric_nics = tuple(i for i, slot in enumerate(server.nics) if slot.network in networks)
        if group.role == "storage" and self.apart:
            fabric_nics = ()
        elif not fabric_nics:
            self.faults.append(
                self.document.finding(
                    "reference-kind",
                    path,
                    f"`{server.id}` has no NIC for this fabric",
                    "choose a server with a NIC whose network is `compute` or `both`",
                )
            )
        resolved = ResolvedGroup(
            group=self._in_one_rack(position, group, server) if path == ("nodes", position, "server") else group,
            position=position,
            server=server,
            cpus=tuple(cpu for cpu in cpus if cpu),
            nics=tuple(nic for nic in nics if nic),
            accelerator=accelerator,
            fabric_nics=fabric_nics,
            file_system=file_system,
        )
        # with an unknown NIC, slots and parts no longer match
        return resolved if group.nics is None or len(resolved.nics) < len(server.nics) else self.fewer(resolved)

    def fewer(self, group: ResolvedGroup) -> ResolvedGroup:
        """Return a group reduced to its stated number of NICs on the fabric."""
        count, slots = group.group.nics or 0, group.fabric_nics
        if count > len(slots):
            fault = f"`{group.server.id}` has {plural(len(slots), 'NIC')} for this fabric, not {count:,}"
            remedy = f"use up to {len(slots)}, or leave `nics` out"
            self.faults.append(
                self.document.finding("reference-kind", ("nodes", group.position, "nics"), fault, remedy)
            )
            return group
        kept = _spread_slots(slots, count)
        gone = tuple(slot for slot in slots if slot not in kept)
        server, nics = _without_nics(group.server, group.nics, gone)
        return replace(
            group,
            server=server,
            nics=nics,
            # positions move down by the slots removed before them
            fabric_nics=tuple(slot - sum(removed < slot for removed in gone) for slot in kept),
            left_out=tuple(group.nics[slot] for slot in gone),
        )

    def fabric(self, spec: Design, document: Document) -> FabricParts | None:
        """Resolve the switches and links of the fabric; None if any is unknown."""
        fabric, before = spec.fabric, len(self.faults)

        def part(model: type[P], name: str | None, *path: str) -> P | None:
            return None if name is None else self.part(model, name, ("fabric", *path), document)

        switch = part(Switch, fabric.switch, "switch")
        spine = part(Switch, fabric.spine.switch, "spine", "switch")
        core = part(Switch, fabric.core.switch, "core", "switch")
        endpoint = part(Link, fabric.link.endpoint, "link", "endpoint")
        between = part(Link, fabric.link.inter_switch, "link", "inter_switch")
        if switch is None or endpoint is None or len(self.faults) > before:
            return None
        links: dict[str, Link | None] = {"endpoint": endpoint, "inter_switch": between or endpoint}
        self.faults += _scale_up_faults(document, switch, spine, core)
        self.faults += _tier_switch_faults(spec, document, switch, spine, core)
        self.faults += _breakout_faults(spec, document, switch, links, self.catalog)
        return FabricParts(
            switch=switch,
            endpoint_link=endpoint,
            inter_switch_link=between or endpoint,
            spine_switch=spine,
            core_switch=core,
        )

    def network(self, spec: Design, position: int) -> ResolvedNetwork | None:
        network, document = spec.networks[position], _network_document(self.document, position)
        view = spec.model_copy(update={"fabric": network.fabric, "nodes": (), "floor": None})
        self.faults += _fabric_faults(view, document)
        parts = self.fabric(view, document)
        return None if parts is None else ResolvedNetwork(network=network, position=position, parts=parts)

    def libraries(self, spec: Design, default: str) -> tuple[Library, ...]:
        """Resolve the communication libraries.

        `nccl` means `default`, the library of the accelerators' maker.
        """
        libraries = []
        for position, name in enumerate(spec.communication.libraries if spec.communication else ()):
            method = default if name == "nccl" else name.removesuffix("-nvlink")
            library = self.part(Library, method, ("communication", "libraries", position))
            if library is not None:
                libraries.append(library)
        return tuple(libraries)

    def money(self, spec: Design) -> tuple[Ownership | None, Rent | None]:
        """Validate the sections on ownership and rent."""
        try:
            return _money_sections(spec, self.document, self.naming)
        except InputError as error:
            self.faults.extend(error.findings)
            return None, None

    def cooled(self, spec: Design, owned: Ownership | None) -> Design:
        """Return the design with its ownership profile's PUE for its cooling."""
        cooling = spec.site.cooling
        if spec.site.pue is not None or cooling is None:
            return spec
        from ffplan.catalog.ownership import OwnershipProfile

        name = owned.profile if owned is not None else DEFAULT_PROFILE
        path = ("ownership", "profile") if owned is not None else ("site", "cooling")
        profile = self.part(OwnershipProfile, name, path)
        if profile is None:
            return spec
        if cooling not in profile.pue_by_cooling:
            message = f"the profile `{name}` has no PUE for `{cooling}`"
            self.faults.append(self.document.finding("schema-choice", ("site", "cooling"), message, "give `pue`"))
            return spec
        value = float(profile.pue_by_cooling[cooling].value)
        return spec.model_copy(update={"site": spec.site.model_copy(update={"pue": value})})

    def section(self, name: str, spec: Design) -> Any:
        try:
            return _plain_section(name, spec, self.document, self.naming)
        except InputError as error:
            self.faults.extend(error.findings)
            return None

    def own_library(self, accelerator: Accelerator) -> None:
        """Refuse an accelerator whose library is unknown, or passes no messages between accelerators."""
        name = accelerator.library
        if METHODS.get(name) == "nccl" and self.catalog.kind_of(name) == "library":
            return
        library = self.inner(Library, name, accelerator.id, ("library",))
        if library is not None and library.method != "nccl":
            self.faults.append(
                self.catalog.entry(accelerator.id).document.finding(
                    "catalog-library",
                    ("library",),
                    f"the library `{name}` has the method `{library.method}`; one of method `nccl` is wanted here",
                    "name the library that passes messages between the accelerators",
                )
            )


def _joined(groups: list[ResolvedGroup]) -> tuple[ResolvedGroup, ...]:
    """Merge groups of equal nodes in place of the first, so that their division in the file has no effect."""
    equal: dict[tuple[Any, ...], list[ResolvedGroup]] = {}
    for group in groups:
        seats = (group.group.role, group.group.per_rack, group.group.rack_units)
        equal.setdefault((*seats, *group.kind), []).append(group)
    return tuple(
        replace(
            members[0],
            group=members[0].group.model_copy(update={"count": sum(member.group.count for member in members)}),
            written=tuple(member.position for member in members),
        )
        for members in equal.values()
    )


def _resolve_group(
    document: Document, catalog: Catalog, group: NodeGroup, path: tuple[str | int, ...]
) -> ResolvedGroup:
    resolver = _Resolver(document, catalog)
    resolved = resolver.group(0, group, path)
    if resolver.faults or resolved is None:
        raise InputError(*resolver.faults)
    return resolved


def _validated(document: Document, catalog: Catalog) -> Design:
    """Return the fields of a design, aliases of parts as their ids."""
    try:
        return validate(Design, document, naming=naming(catalog))
    except InputError:
        strict = naming(catalog, strict=True)
        faults: list[Finding] = []
        try:
            validate(Design, document, naming=strict)
        except InputError as error:
            faults += error.findings
        raise InputError(*faults, *_section_faults(document, strict)) from None


def resolve(document: Document, catalog: Catalog) -> ResolvedDesign:
    """Resolve every id of the design in `document` against `catalog`.

    Raises:
        InputError: with a located finding for every fault of schema, reference or currency.
    """
    spec = _with_heights(_validated(document, catalog))
    resolver = _Resolver(document, catalog)
    resolver.faults += _design_faults(spec, document)
    owned, rent = resolver.money(spec)
    workload = resolver.section("workload", spec)
    serving = resolver.section("serving", spec)
    reliability = resolver.section("reliability", spec)
    # from here on the design has a PUE, unless that is a fault
    spec = resolver.cooled(spec, owned)
    # before the groups: storage on a separate network needs no NIC for the fabric
    resolver.floor = spec.floor
    resolver.apart = any(network.name == "storage" for network in spec.networks)
    groups = [resolver.group(position, group) for position, group in enumerate(spec.nodes)]
    parts = resolver.fabric(spec, document)
    networks = [resolver.network(spec, position) for position in range(len(spec.networks))]
    choices = [resolver.part(Link, name, path) for name, path in _floor_links(spec)]
    prices = resolver.part(PriceBook, spec.cost.price_book, ("cost", "price_book")) if spec.cost else None
    resolver.faults += _currency_faults(spec, document, prices)
    whole = _joined([group for group in groups if group is not None])
    resolver.faults += _cooling_faults(spec, owned, whole, document)
    first = next((group for group in whole if group.group.role == "compute"), None)
    libraries = resolver.libraries(spec, first.accelerator.library if first and first.accelerator else "nccl")
    for group in whole:
        communicates = spec.communication is not None and group is first
        resolver.faults += _group_faults(group, catalog, communicates=communicates)
    if resolver.faults:
        raise InputError(*resolver.faults)
    assert parts is not None
    cables = tuple(link for link in choices if link is not None)
    design = ResolvedDesign(
        document=document,
        spec=spec,
        groups=whole,
        parts=parts,
        libraries=libraries,
        prices=prices,
        networks=tuple(network for network in networks if network is not None),
        cable_choices=cables,
        ownership=owned,
        rent=rent,
        workload=workload,
        serving=serving,
        reliability=reliability,
    )
    # port faults need all parts; they do not depend on the number of switches, hence 1
    seen = (network_design(design, network, 1) for network in design.networks)
    faults = tuple(fault for fabric in (design, *seen) for fault in _port_faults(fabric))
    faults += tuple(fault for network in design.networks for fault in _nic_faults(design, network))
    if faults:
        raise InputError(*faults)
    return design
