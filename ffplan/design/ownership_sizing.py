"""Sizes from a design's ownership profile: spares, storage and its network, without any currency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import round_up
from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.catalog.ownership import OwnershipProfile
from ffplan.catalog.parts import Link, Switch
from ffplan.design.networks import _network_of, node_rate
from ffplan.design.ownership_schema import Ownership
from ffplan.design.resolve import _resolve_group
from ffplan.design.resolved import ResolvedGroup
from ffplan.design.schema import NodeGroup

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign


@record
class _OwnershipSizing:
    spare_nodes: int
    """Servers bought as spares of the compute nodes [1]."""
    storage: ResolvedGroup | None
    """Storage servers for a design that plans none."""
    storage_gbyte_s: float | None
    """Rate of a node to that storage over its separate network [GB/s]; None if the profile has no such network."""


def _bought(share: float, design: ResolvedDesign) -> int:
    """Return a share of the compute nodes [1], rounded as in the bill of materials."""
    return int(share * design.compute.group.count + 0.5)


def stated_spares(design: ResolvedDesign) -> int | None:
    """Return the spare nodes stated by a design's `reliability` [1], if any.

    Raises:
        InputError: if `ownership` states another number.
    """
    reliability, ownership = design.reliability, design.ownership
    if reliability is None or reliability.spare_nodes is None:
        return None
    spares = int(reliability.spare_nodes)
    share = ownership.spare_nodes if ownership is not None else None
    if share is not None:
        bought = _bought(float(share.value), design)
        if bought != spares:
            message = f"{spares:,} spare nodes, where `ownership.spare_nodes` buys {bought:,}"
            remedy = "state spare nodes in one of the two places"
            raise InputError(
                design.document.finding("design-reliability", ("reliability", "spare_nodes"), message, remedy)
            )
    return spares


def _default_storage(
    design: ResolvedDesign, catalog: Catalog, profile: OwnershipProfile, per_server: float | None
) -> ResolvedGroup | None:
    """Return storage servers for a design that plans none, by accelerators per server [1]; None for any other."""
    planned = any(group.group.role == "storage" for group in design.groups)
    if profile.storage_server is None or not per_server or planned or not design.accelerators:
        return None
    count = min(round_up(design.accelerators / per_server), design.accelerators)
    document = catalog.entry(profile.id).document
    group = NodeGroup.model_construct(role="storage", server=profile.storage_server, count=count)
    return _resolve_group(document, catalog, group, ("storage_server",))


def ownership_sizing(design: ResolvedDesign, catalog: Catalog) -> _OwnershipSizing:
    """Return the sizes from a design's ownership profile.

    Raises:
        InputError: if the profile or a part is unknown, or the design states two numbers of spare nodes.
    """
    section = design.ownership or Ownership.model_construct()
    path = ("ownership", "profile") if design.ownership is not None else ()
    profile = catalog.get(OwnershipProfile, section.profile, design.document, path)

    def likely(name: str) -> float | None:
        override, default = getattr(section, name), getattr(profile, name)
        figure = default if override is None else override
        return None if figure is None else float(figure.value)

    beside, rate = profile.storage_network, None
    planned = _network_of(design, "storage")
    if planned is not None:
        # no rate if compute nodes have no port on it
        rate = node_rate(design, planned) or None
    elif beside is not None:
        document = catalog.entry(profile.id).document
        switch = catalog.get(Switch, beside.switch, document, ("storage_network", "switch"))
        link = catalog.get(Link, beside.link, document, ("storage_network", "link"))
        rate = beside.per_node * float(min(switch.rate.value, link.rate.value)) or None
    stated = stated_spares(design)
    return _OwnershipSizing(
        _bought((likely("spare_nodes") or 0.0), design) if stated is None else stated,
        _default_storage(design, catalog, profile, likely("accelerators_per_storage_server")),
        rate,
    )
