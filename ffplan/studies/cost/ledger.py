"""From a design to its account: request, parts, powers and inputs, before any number is drawn."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.base.outcomes import DRAWS, MissingFigure, MissingPrice, NodePower, gap_words
from ffplan.base.record import record
from ffplan.catalog.parts import Server
from ffplan.catalog.prices import TERM_YEARS
from ffplan.cost.account import Account
from ffplan.cost.bom import Item, bill_of_materials, cable_items, switch_items
from ffplan.cost.inputs import FACILITY, NEEDED, Input, error_input, price_inputs, profile_inputs, rent_input
from ffplan.cost.power import PowerPlan, node_power, plan_power
from ffplan.cost.rent import MONTHS, RentTerm
from ffplan.cost.site import SitePlan, plan_site
from ffplan.design.ownership import ResolvedOwnership, resolve_ownership
from ffplan.design.resolved import ResolvedDesign
from ffplan.design.site import liquid_share
from ffplan.fabric.family import links_of, plan_fabric, plan_networks
from ffplan.fabric.sizing.plan import FabricPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ffplan.base.array_math import Number
    from ffplan.catalog.prices import PriceBook
    from ffplan.catalog.store import Catalog


@record
class CostRequest:
    """Draws, seed and years."""

    draws: int = DRAWS
    seed: int = 0
    years: float | None = None
    """Life in place of the profile's [year]."""


@record
class Ledger:
    """A design with its account."""

    design: ResolvedDesign
    owned: ResolvedOwnership
    fabric: FabricPlan
    power: PowerPlan
    nodes: tuple[NodePower, ...]
    """Power of the groups, and last of the storage that the design does not plan."""
    site: SitePlan
    account: Account
    planned: tuple[Item, ...]
    """Parts that the design plans and prices."""
    around: tuple[Item, ...]
    """Parts of storage, side networks and spares."""
    prices: dict[str, Input]
    inputs: tuple[Input, ...]
    missing: tuple[MissingPrice, ...]
    missing_power: tuple[MissingFigure, ...]
    names: dict[str, str]

    @property
    def unrated(self) -> tuple[str, ...]:
        """Figures of power that the catalogue lacks: powers are at least as much."""
        return gap_words(self.missing_power)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What of the cluster the costs leave out: categories outside the scope, and parts without a price."""
        scope = self.design.spec.cost
        if scope is None or self.owned.rent is not None:
            return ()
        excluded = [name.replace("-", " ") for name in scope.exclude]
        return (*excluded, *dict.fromkeys(f"`{part.part}`" for part in self.missing))

    def to_production(self, v: Mapping[str, Number]) -> tuple[Number, Number]:
        """Return the months from order to delivery, and from there to the first job [month].

        A rented fleet is ready at once, unless the design states its own.
        """
        names = ("lead_time", "commissioning")
        if self.owned.rent is not None:
            stated = {name for name in names if name in self.owned.inputs and self.owned.inputs[name].status == "given"}
            v = {name: v[name] for name in stated}
        lead, commissioning = (v.get(name, 0.0) * MONTHS for name in names)
        return lead, commissioning

    @property
    def costed(self) -> bool:
        """Whether there is anything to account: a price book or a rent."""
        return self.design.prices is not None or self.owned.rent is not None


def _needed(owned: ResolvedOwnership, catalog: Catalog) -> None:
    names = (*NEEDED, *FACILITY[owned.facility])
    document = catalog.entry(owned.profile.id).document
    lacks = [name for name in names if name not in owned.inputs]
    if lacks:
        raise InputError(
            *(
                document.finding(
                    "schema-missing-field", (), f"the profile `{owned.profile.id}` has no `{name}`", f"add `{name}`"
                )
                for name in lacks
            )
        )


def _names(design: ResolvedDesign, owned: ResolvedOwnership) -> dict[str, str]:
    parts = [group.server for group in design.groups]
    names = {part.id: part.name for part in parts}
    names |= {part.id: part.name for part in design.parts.models}
    names |= {link.id: link.name for link in design.cable_choices}
    names |= {part.id: part.name for network in design.networks for part in network.parts.models}
    if owned.storage:
        names[owned.storage.server.id] = owned.storage.server.name
    for network in owned.networks:
        names |= {network.switch.id: network.switch.name, network.link.id: network.link.name}
    return names


def _liquid(ledger_nodes: tuple[NodePower, ...], design: ResolvedDesign, owned: ResolvedOwnership) -> float:
    """Return the rated power of compute nodes that liquid takes away [W]."""
    liters = 0.0
    for group, node in zip(design.groups, ledger_nodes, strict=False):
        if group.group.role == "compute" and isinstance(group.server, Server):
            liters += liquid_share(group.server, owned.liquid) * node.count * node.maximum_w
    return liters


def _account(
    design: ResolvedDesign,
    owned: ResolvedOwnership,
    fabric: FabricPlan,
    power: PowerPlan,
    site: SitePlan,
    *,
    nodes: tuple[NodePower, ...],
    parts: tuple[tuple[str, int], ...],
) -> Account:
    steady = [node for node in nodes if node.role == "storage"]
    moving = [node for node in nodes if node.role != "storage"]
    network = power.switches_w + power.links_w + sum(plan.watts for plan in site.networks)
    constant = network + sum(node.count * node.training_w for node in steady)
    rated = sum(node.count * node.maximum_w for node in nodes) + power.network_maximum_w
    rent = owned.rent
    return Account(
        parts=parts,
        accelerators=design.accelerators,
        bearing=design.job_accelerators,
        servers=sum(node.count for node in nodes),
        switches=sum(count for _, count in switch_items(design, fabric)) + sum(p.switches for p in site.networks),
        links=site.cables,
        racks=site.racks,
        training_w=constant + sum(node.count * node.training_w for node in moving),
        idle_nodes_w=sum(node.count * node.maximum_w for node in moving if node.idle_w is None),
        idle_known_w=constant + sum(node.count * node.idle_w for node in moving if node.idle_w is not None),
        rated_w=rated + sum(plan.maximum_w for plan in site.networks),
        liquid_w=_liquid(nodes, design, owned),
        facility=owned.facility,
        rented=rent is not None,
        term=RentTerm(TERM_YEARS.get(rent.term), rent.upfront) if rent is not None else RentTerm(None),
        extras_month=rent.extras_month if rent else 0.0,
    )


def _in_scope(items: tuple[Item, ...], design: ResolvedDesign) -> tuple[Item, ...]:
    scope = design.spec.cost
    excluded = set(scope.exclude) if scope else set()
    categories = {group.server.id: "storage" if group.group.role == "storage" else "servers" for group in design.groups}
    categories |= {part.id: "switches" for part in design.parts.switches}
    categories[design.parts.endpoint_link.id] = "endpoint-links"
    categories |= {network.parts.switch.id: "switches" for network in design.networks}

    def kept(line: Item) -> bool:
        if line.category == "storage":
            return "storage" not in excluded
        if line.category == "spares" and categories.get(line.part) in excluded:
            return False
        return not (line.category == "storage-network" and "storage" in excluded)

    return tuple(bom_line for bom_line in items if kept(bom_line))


def _prices(
    design: ResolvedDesign,
    owned: ResolvedOwnership,
    planned: tuple[Item, ...],
    around: tuple[Item, ...],
) -> dict[str, Input]:
    """Return the price of every part: the design's book has it, or the profile's for what the design does not plan."""
    if design.prices is None:
        return {}
    own, side = ({line.part: None for line in items} for items in (planned, around))
    beside = [part for part in side if part not in own or owned.side_prices is design.prices]
    return _book_prices(owned, owned.side_prices, beside) | _book_prices(owned, design.prices, own | side)


def _book_prices(owned: ResolvedOwnership, book: PriceBook | None, parts: Iterable[str]) -> dict[str, Input]:
    rate = owned.rate_of(book.currency) if book else None
    if book is None or rate is None:
        return {}
    return {entry.name.removeprefix("price."): entry for entry in price_inputs(book, rate, tuple(parts))}


def _ledger_of(design: ResolvedDesign, catalog: Catalog) -> Ledger:
    owned = resolve_ownership(design, catalog)
    _needed(owned, catalog)
    fabric = plan_fabric(design)
    links = cable_items(design, fabric)
    power = plan_power(design, fabric, links)
    nodes = power.nodes
    if owned.storage:
        nodes = (*nodes, node_power(owned.storage, design.spec.site.training_power))
    scope = design.spec.cost
    whole = bill_of_materials(design, fabric, links)
    planned = tuple(item for item in whole if scope is not None and item.category not in scope.exclude)
    cables = fabric.endpoint_cables + fabric.inter_switch_cables + links_of(plan_networks(design, fabric))
    site = plan_site(design, fabric, nodes, cables, owned, planned)
    around = _in_scope((*site.items, *site.spares), design) if scope is not None else ()
    names = _names(design, owned)
    prices = _prices(design, owned, planned, around)
    counts: dict[str, int] = {}
    for line in (*planned, *around):
        if line.part in prices:
            counts[line.part] = counts.get(line.part, 0) + int(line.quantity)
    inputs = [*prices.values(), *profile_inputs(owned)]
    if owned.rent:
        inputs.append(rent_input(owned.rent.price, owned.rent.offer or design.spec.name))
    return Ledger(
        design=design,
        owned=owned,
        fabric=fabric,
        power=power,
        nodes=nodes,
        site=site,
        account=_account(design, owned, fabric, power, site, nodes=nodes, parts=tuple(counts.items())),
        planned=planned,
        around=around,
        prices=prices,
        inputs=tuple(inputs),
        missing=tuple(
            MissingPrice(item.category, item.part, item.quantity)
            for item in (*planned, *around)
            if item.part not in prices
        ),
        missing_power=power.missing,
        names=names,
    )


def _speed_inputs(ledger: Ledger, band: float, within: float, basis: str) -> tuple[Input, ...]:
    """Return the errors of the modelled speed as inputs.

    Designs of one accelerator share the error of the accelerator and its software; each has its own error besides.
    """
    accelerator = ledger.design.compute.accelerator
    name = accelerator.id if accelerator else ledger.design.spec.name
    shared = max(band**2 - within**2, 0.0) ** 0.5
    own_error = min(within, band)
    design = ledger.design.spec.name
    return (
        error_input("speed", f"speed.{name}", f"model error of {name}", shared, basis),
        error_input("speed_own", f"speed_own.{_build(ledger)}", f"model error of {design}", own_error, basis),
    )


def _build(ledger: Ledger) -> str:
    """Return the owner of a design's speed error: its servers and its fabric, not its name or its prices."""
    spec = ledger.design.spec
    servers = [f"{group.server.id} with {len(group.nics)} NICs" for group in ledger.design.groups]
    parts = [*servers, spec.fabric.model_dump_json(exclude_defaults=True)]
    return sha256("\n".join(parts).encode()).hexdigest()[:8]


def _held(ledger: Ledger) -> dict[str, float]:
    bought = dict(ledger.account.parts)
    extra = [ledger.owned.storage] if ledger.owned.storage else []
    groups = {group.server.id: group for group in (*ledger.design.groups, *extra)}
    counts: dict[str, float] = {}
    for name, group in groups.items():
        for nic in (*group.nics, *group.left_out):
            counts[nic.id] = counts.get(nic.id, 0.0) + bought.get(name, 0.0)
    return {name: count for name, count in counts.items() if count}


def with_nic_prices(ledger: Ledger) -> Ledger:
    """Return a design's account with servers that follow the prices of their NICs.

    It serves break-evens alone: draws leave a NIC within a server at its price, since the range of the server's price
    includes its NICs.

    Equation:
        server price = price today + sum over its NICs of (NIC price - NIC price today)

    Source:
        Definition.
    """
    held = _held(ledger)
    prices = _book_prices(ledger.owned, ledger.owned.side_prices, held)
    prices |= _book_prices(ledger.owned, ledger.design.prices, held)
    within = tuple((name, held[name], price.likely) for name, price in prices.items())
    known = {entry.name for entry in ledger.inputs}
    new = tuple(entry for entry in prices.values() if entry.name not in known)
    return replace(ledger, account=replace(ledger.account, within=within), inputs=(*ledger.inputs, *new))
