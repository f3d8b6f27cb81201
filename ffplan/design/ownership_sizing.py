"""What the ownership profile of a design sizes beside it: spares, storage and its network; no currency is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import round_up
from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.catalog.ownership import OwnershipProfile
from ffplan.catalog.parts import Link, Switch
from ffplan.design.networks import network_of, node_rate
from ffplan.design.ownership_schema import Ownership
from ffplan.design.resolve import resolve_group
from ffplan.design.resolved import ResolvedGroup
from ffplan.design.schema import NodeGroup

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign


@record
class OwnershipSizing:
    """What an ownership profile sizes."""

    spare_nodes: int
    """Servers bought as spares of the compute nodes [1]."""
    storage: ResolvedGroup | None
    """Servers that stand for storage which the design does not plan."""
    storage_gbyte_s: float | None
    """What a node carries to that storage, over its own network [GB/s]; None where the profile has none."""


def _bought(share: float, design: ResolvedDesign) -> int:
    """Return a share of the compute nodes [1], rounded as the bill of materials rounds it."""
    return int(share * design.compute.group.count + 0.5)


def stated_spares(design: ResolvedDesign) -> int | None:
    """Return the spare nodes that a design's reliability states [1]; None of one that states none.

    Raises:
        InputError: if its ownership states another number.
    """
    reliability, ownership = design.reliability, design.ownership
    if reliability is None or reliability.spare_nodes is None:
        return None
    wanted = int(reliability.spare_nodes)
    share = ownership.spare_nodes if ownership is not None else None
    if share is not None:
        bought = _bought(float(share.value), design)
        if bought != wanted:
            message = f"{wanted:,} spare nodes, where `ownership.spare_nodes` buys {bought:,}"
            remedy = "state spare nodes in one of the two places"
            raise InputError(
                design.document.finding("design-reliability", ("reliability", "spare_nodes"), message, remedy)
            )
    return wanted


def usual_storage(
    design: ResolvedDesign, catalog: Catalog, profile: OwnershipProfile, each: float | None
) -> ResolvedGroup | None:
    """Return the storage servers of a design that plans none, as many as its accelerators want; None of any other.

    Args:
        catalog: where the server is looked up.
        profile: the ownership profile, which names the server.
        each: accelerators that one server serves [1]; None where nothing says it.

    Raises:
        InputError: if the server is unknown.
    """
    planned = any(group.group.role == "storage" for group in design.groups)
    if profile.storage_server is None or not each or planned or not design.accelerators:
        return None
    count = min(round_up(design.accelerators / each), design.accelerators)
    document = catalog.entry(profile.id).document
    group = NodeGroup.model_construct(role="storage", server=profile.storage_server, count=count)
    return resolve_group(document, catalog, group, ("storage_server",))


def ownership_sizing(design: ResolvedDesign, catalog: Catalog) -> OwnershipSizing:
    """Return what the ownership profile of a design sizes.

    Args:
        catalog: where the profile and its parts are looked up.

    Raises:
        InputError: if there is no such profile or part, or the design states two numbers of spare nodes.
    """
    section = design.ownership or Ownership.model_construct()
    path = ("ownership", "profile") if design.ownership is not None else ()
    profile = catalog.get(OwnershipProfile, section.profile, design.document, path)

    def likely(name: str) -> float | None:
        own, usual = getattr(section, name), getattr(profile, name)
        figure = own if own is not None else usual
        return None if figure is None else float(figure.value)

    beside, rate = profile.storage_network, None
    planned = network_of(design, "storage")
    if planned is not None:
        rate = node_rate(design, planned) or None
    elif beside is not None:
        document = catalog.entry(profile.id).document
        switch = catalog.get(Switch, beside.switch, document, ("storage_network", "switch"))
        link = catalog.get(Link, beside.link, document, ("storage_network", "link"))
        rate = beside.per_node * float(min(switch.rate.value, link.rate.value)) or None
    stated = stated_spares(design)
    return OwnershipSizing(
        _bought((likely("spare_nodes") or 0.0), design) if stated is None else stated,
        usual_storage(design, catalog, profile, likely("accelerators_per_storage_server")),
        rate,
    )
