"""Faults of a design beyond its schema: roles, tiers, zones, currencies, servers with mismatched parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.base.formatting import number
from ffplan.catalog.parts import Link, Server
from ffplan.design.schema import Design, limit_path
from ffplan.design.tier_faults import RAILED, _tier_field_faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.catalog.parts import Cpu, Switch
    from ffplan.catalog.prices import PriceBook
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedGroup
    from ffplan.inputs.document import Document


def _site_faults(spec: Design, document: Document) -> Iterator[Finding]:
    """Yield a site without PUE, or with two."""
    if spec.site.pue is None and spec.site.cooling is None:
        message = "the field `pue` is missing"
        remedy = "add `pue: 1.25`, or `cooling: air`, `rear-door`, `cold-plate` or `immersion`"
        yield document.finding("schema-missing-field", ("site",), message, remedy)
    if spec.site.pue is not None and spec.site.cooling is not None:
        message = "`cooling` has no effect beside `pue`"
        yield document.finding("schema-choice", ("site", "cooling"), message, "keep one of the two", key=True)


def _design_faults(spec: Design, document: Document) -> Iterator[Finding]:
    """Yield faults that need no catalogue."""
    if not any(group.role == "compute" for group in spec.nodes):
        yield document.finding(
            "design-roles", ("nodes",), "no group of nodes has the role `compute`", "add the compute nodes"
        )
    yield from _site_faults(spec, document)
    yield from _fabric_faults(spec, document)
    yield from _network_faults(spec, document)
    yield from _phase_faults(spec, document)
    for position, group in enumerate(spec.nodes):
        if group.rack_units is not None and spec.floor is None:
            yield document.finding(
                "design-floor",
                ("nodes", position, "rack_units"),
                f"the {group.role} nodes have `rack_units`, and there is no floor",
                "add `floor: {}`, or remove `rack_units`",
            )
    if spec.communication:
        libraries = spec.communication.libraries
        for position, library in enumerate(libraries):
            if library in libraries[:position]:
                yield document.finding(
                    "schema-choice",
                    ("communication", "libraries", position),
                    f"`{library}` is listed twice",
                    "list each library once",
                )


def _fabric_faults(spec: Design, document: Document) -> Iterator[Finding]:
    yield from _tier_faults(spec, document)
    if spec.fabric.family != "dragonfly" and "tiers" in spec.fabric.model_fields_set:
        yield from _tier_field_faults(spec, document)
    yield from _family_faults(spec, document)
    yield from _zone_faults(spec, document)


def _network_faults(spec: Design, document: Document) -> Iterator[Finding]:
    """Yield side networks that are listed twice, have no ports, or cannot be joined by a node group."""
    roles = {group.role for group in spec.nodes}
    names = [network.name for network in spec.networks]
    for position, network in enumerate(spec.networks):
        if network.name in names[:position]:
            path = ("networks", position, "name")
            yield document.finding("schema-choice", path, f"`{network.name}` stands twice", "keep one of the two")
        ports = network.ports
        if not any(getattr(ports, role) for role in roles) and not ports.switches:
            yield document.finding(
                "design-roles",
                ("networks", position, "ports"),
                f"nothing joins the network `{network.name}`",
                "give the ports that a node has on it, such as `compute: 1`",
            )
        lacks = [role for role in ("compute", "storage") if not getattr(ports, role)]
        if network.name == "storage" and "storage" not in roles:
            yield document.finding(
                "design-roles",
                ("networks", position, "name"),
                "a `storage` network, and no storage nodes",
                "plan them under `nodes` with `role: storage`, or leave the network out",
            )
        elif network.name == "storage" and lacks:
            yield document.finding(
                "design-roles",
                ("networks", position, "ports"),
                f"the {lacks[0]} nodes have no port on the `storage` network",
                f"give their number of ports: `{lacks[0]}: 1`",
            )


def _tier_faults(spec: Design, document: Document) -> Iterator[Finding]:
    fabric = spec.fabric
    if fabric.family == "dragonfly":
        return
    if "tiers" not in fabric.model_fields_set:
        yield document.finding(
            "schema-missing-field",
            ("fabric",),
            "the field `tiers` is missing in `fabric`",
            "add `tiers:`",
        )
        return
    if fabric.tiers == 1 and fabric.oversubscription != 1:
        yield document.finding(
            "design-tiers",
            ("fabric", "oversubscription"),
            "one tier has no uplinks to oversubscribe",
            "remove `oversubscription`, or use two tiers",
            key=True,
        )
    if fabric.tiers < 3 and "core_policy" in fabric.model_fields_set:
        yield document.finding(
            "design-tiers",
            ("fabric", "core_policy"),
            f"a fabric with `tiers: {fabric.tiers}` has no core switches",
            "remove `core_policy`, or use three tiers",
            key=True,
        )
    if fabric.tiers < 3 and fabric.spine_oversubscription != 1:
        yield document.finding(
            "design-tiers",
            ("fabric", "spine_oversubscription"),
            f"the spines of a fabric with `tiers: {fabric.tiers}` have no uplinks to oversubscribe",
            "remove `spine_oversubscription`, or use three tiers",
            key=True,
        )
    if fabric.link.inter_switch is None and (fabric.tiers > 1 or fabric.inter_zone):
        yield document.finding(
            "schema-missing-field",
            ("fabric", "link"),
            "the field `inter_switch` is missing in `fabric.link`",
            "name the links between switches: `inter_switch:`",
        )


_OF_TREES = (
    "tiers",
    "zones",
    "inter_zone",
    "core_policy",
    "oversubscription",
    "spine_oversubscription",
    "scalable_unit",
    "leaf",
    "spine",
    "core",
)


def _dragonfly_faults(spec: Design, document: Document) -> Iterator[Finding]:
    fabric = spec.fabric
    for field in _OF_TREES:
        if field in fabric.model_fields_set:
            yield document.finding(
                "design-family",
                ("fabric", field),
                f"`{field}` belongs to trees; a balanced `dragonfly` follows from its endpoints and the switch",
                f"remove `{field}`, or use a family of trees",
                key=True,
            )
    if fabric.link.inter_switch is None:
        yield document.finding(
            "schema-missing-field",
            ("fabric", "link"),
            "the field `inter_switch` is missing in `fabric.link`",
            "name the links between switches: `inter_switch:`",
        )


def _family_faults(spec: Design, document: Document) -> Iterator[Finding]:
    fabric = spec.fabric
    if fabric.family == "dragonfly":
        yield from _dragonfly_faults(spec, document)
        return
    if fabric.family == "rail-only" and (fabric.planes > 1 or fabric.planes_by == "port"):
        field = "planes" if fabric.planes > 1 else "planes_by"
        yield document.finding(
            "design-family",
            ("fabric", field),
            "a `rail-only` fabric has one plane for each NIC of a compute node",
            f"remove `{field}`, or use another family",
            key=True,
        )
    elif fabric.planes_by == "port" and fabric.planes == 1:
        yield document.finding(
            "design-family",
            ("fabric", "planes_by"),
            "NICs with a port in every plane need more than one plane",
            "set `planes: 2` or more, or remove `planes_by`",
            key=True,
        )
    if fabric.scalable_unit is not None and (fabric.family not in RAILED or fabric.tiers == 1):
        yield document.finding(
            "design-family",
            ("fabric", "scalable_unit"),
            "only a `rail-optimised` or `top-of-rack` fabric of two or three tiers is built from scalable units",
            "remove `scalable_unit`, or write `family: rail-optimised`",
            key=True,
        )


def _whole_port_links(catalog: Catalog, rate: float) -> list[Link]:
    """Return the links of the catalogue that carry `rate` [GB/s]; files with faults are left out."""
    links = []
    for name in catalog.ids_of("link"):
        try:
            part = catalog.entry(name).part
        except InputError:
            continue
        if isinstance(part, Link) and part.rate.value == rate:
            links.append(part)
    return links


def _watts(link: Link) -> float:
    """Return the power of a link's end [W]; it sorts passive before active copper."""
    return link.power_per_end.value if link.power_per_end else 0.0


def _breakout_faults(
    spec: Design, document: Document, switch: Switch | None, links: dict[str, Link | None], catalog: Catalog
) -> Iterator[Finding]:
    """Yield a fault for each link named by its rate after the split, which would be divided again."""
    if switch is None:
        return
    port, fabric = switch.rate.value, spec.fabric
    splits = {"endpoint": fabric.breakout, "inter_switch": fabric.leaf.uplink_breakout or fabric.breakout}
    for field, link in links.items():
        breakout = splits[field]
        if breakout == 1 or link is None or link.rate.value >= port or getattr(spec.fabric.link, field) is None:
            continue
        whole = _whole_port_links(catalog, port)
        whole.sort(key=lambda item, medium=link.medium: (item.medium != medium, _watts(item), item.id))  # type: ignore[misc]
        name = f"name the cable of the whole port: `{whole[0].id}`" if whole else f"add a link of {_gbit(port)}"
        yield document.finding(
            "fabric-breakout",
            ("fabric", "link", field),
            f"`{link.id}` carries {_gbit(link.rate.value)}, and `breakout: {breakout}` splits it again; "
            f"a port of `{switch.id}` carries {_gbit(port)}",
            f"{name}; or remove `breakout`",
        )


def _gbit(gbyte_s: float) -> str:
    return f"{number(gbyte_s * 8)} Gb/s"


def _zone_faults(spec: Design, document: Document) -> Iterator[Finding]:
    fabric, trunk = spec.fabric, spec.fabric.inter_zone
    if trunk is not None and fabric.zones == 1:
        yield document.finding(
            "design-zones",
            ("fabric", "inter_zone"),
            "one zone needs nothing between zones",
            "remove `inter_zone`, or set `zones: 2`",
            key=True,
        )
    elif trunk is not None and trunk.links_per_zone % trunk.switches:
        yield document.finding(
            "fabric-divisibility",
            ("fabric", "inter_zone", "links_per_zone"),
            f"{trunk.links_per_zone} links per zone cannot be dealt evenly over {trunk.switches} inter-zone switches",
            f"use a multiple of {trunk.switches}",
        )
    for position, group in enumerate(spec.nodes):
        if group.zones == "every" and fabric.zones == 1:
            yield document.finding(
                "design-zones",
                ("nodes", position, "zones"),
                "there is one zone only",
                "remove `zones: every`, or use more zones",
            )


def _convertible(spec: Design, currency: str, target: str) -> bool:
    rate = spec.site.exchange.get(currency)
    return rate is not None and rate.currency == target


def _phase_faults(spec: Design, document: Document) -> Iterator[Finding]:
    """Yield phases that shrink, come too early or too late, or do not end at the complete design."""
    before, start = [0] * len(spec.nodes), 0.0
    for position, phase in enumerate(spec.phases):
        path = ("phases", position)
        if len(phase.nodes) != len(spec.nodes):
            yield document.finding(
                "design-phases",
                (*path, "nodes"),
                f"{len(phase.nodes)} numbers of nodes for {len(spec.nodes)} groups",
                "give one number for each group of `nodes`, in their order",
            )
            return
        same = list(phase.nodes) == before
        if same or any(now < then for now, then in zip(phase.nodes, before, strict=True)):
            yield document.finding(
                "design-phases",
                (*path, "nodes"),
                f"phase `{phase.name}` {'adds no node' if same else 'shrinks'}",
                "give the total nodes after the phase; each phase adds to the one before",
            )
        after = phase.after if position else 0.0
        if phase.after > after:
            yield document.finding(
                "design-phases",
                (*path, "after"),
                f"phase `{phase.name}` is the first order, from which `after` counts",
                "write `after: 0 months`, and count the later phases from it",
            )
        if after < start:
            yield document.finding(
                "design-phases",
                (*path, "after"),
                f"phase `{phase.name}` is ordered before the one above it",
                "put the phases in the order of their orders",
            )
        before, start = list(phase.nodes), after
    whole = [group.count for group in spec.nodes]
    if spec.phases and before != whole:
        yield document.finding(
            "design-phases",
            ("phases", len(spec.phases) - 1, "nodes"),
            f"the last phase has {before} nodes, the design {whole}",
            "let the last phase be the whole design",
        )


def _currency_faults(spec: Design, document: Document, book: PriceBook | None) -> Iterator[Finding]:
    """Yield a fault for every price in another currency than the price book's, or the first one named."""
    limits, site = spec.limits, spec.site
    named = [
        (("cost", "price_book"), book.currency if book else None),
        (("site", "currency"), site.currency),
        (("site", "electricity_price"), site.electricity_price.currency if site.electricity_price else None),
        *(
            (limit_path(name, document.data), limit.currency if limit else None)
            for name, limit in (("capex", limits.capex), ("cost_per_accelerator", limits.cost_per_accelerator))
        ),
    ]
    present = [(path, currency) for path, currency in named if currency]
    for path, currency in present[1:]:
        if currency != present[0][1] and not _convertible(spec, present[0][1], currency):
            first = present[0][1]
            rate = f", or state a rate: `site: {{exchange: {{{first}: 1.00 {currency}}}}}` with what one unit is worth"
            yield document.finding(
                "currency-mixed",
                path,
                f"`{'.'.join(path)}` is in {currency}, while `{'.'.join(present[0][0])}` is in {present[0][1]}",
                f"two currencies are never added: give every price in one currency{rate}",
            )


def _memory_faults(group: ResolvedGroup, document: Document) -> Iterator[Finding]:
    for position, (socket, cpu) in enumerate(zip(group.server.sockets, group.cpus, strict=True)):
        path, memory = ("sockets", position, "memory"), socket.memory
        if memory.channels.value > cpu.memory_channels.value:
            yield document.finding(
                "server-topology",
                (*path, "channels"),
                f"{memory.channels.value} memory channels on `{cpu.id}`, which has {cpu.memory_channels.value}",
                "correct the number of channels",
            )
        if memory.rate.value > cpu.memory_rate.value:
            yield document.finding(
                "server-topology",
                (*path, "rate"),
                f"memory at {memory.rate.value:g} MT/s on `{cpu.id}`, which takes {cpu.memory_rate.value:g}",
                "correct the rate",
            )


def _group_faults(group: ResolvedGroup, catalog: Catalog, *, communicates: bool) -> Iterator[Finding]:
    """Yield faults between a server and its parts, located in the server's own file."""
    server = group.server
    document = catalog.entry(server.id).document
    cpus: tuple[Cpu, ...] = group.cpus
    if len(cpus) == len(server.sockets):
        yield from _memory_faults(group, document)
    if not isinstance(server, Server) or group.accelerator is None or not communicates:
        return
    if server.nvlink is not None and group.accelerator.nvlink is None:
        yield document.finding(
            "server-topology",
            ("nvlink",),
            f"`{group.accelerator.id}` has no `nvlink` bandwidth",
            "add it to the accelerator, or remove `nvlink` here",
            key=True,
        )
    for slot in group.fabric_nics:
        if server.nics[slot].root_port is None:
            yield document.finding(
                "server-topology",
                ("nics", slot),
                f"`{server.nics[slot].id}` hangs on no root port",
                "add its `root_port`: communication is bounded by what lies between NIC and accelerator",
            )
