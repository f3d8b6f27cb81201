"""Design, files, assumptions and recalled figures behind a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import ceil_div
from ffplan.base.formatting import listed, percent, plural
from ffplan.catalog.parts import Server
from ffplan.catalog.prices import PriceBook
from ffplan.cost.power import HOURS_PER_YEAR
from ffplan.design.site import assumed_floor, liquid_share
from ffplan.fabric.sizing.endpoints import rails_of
from ffplan.fabric.sizing.striping import policy_words, switches_by_policy
from ffplan.results.result import CatalogFile, DesignInfo, UnverifiedFigure
from ffplan.studies.basis.job_layout import most_gpus, node_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.catalog.store import Catalog
    from ffplan.cost.power import PowerPlan
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan


def design_info(design: ResolvedDesign) -> DesignInfo:
    """Return a design's name, purpose, file and hash."""
    return DesignInfo(
        name=design.spec.name,
        description=design.spec.description,
        file=design.document.file,
        sha256=design.document.sha256,
    )


def files_read(catalog: Catalog) -> tuple[CatalogFile, ...]:
    """Return every catalogue file read so far, by id."""
    return tuple(
        CatalogFile(entry.part.id, entry.part.kind, entry.document.file, entry.document.sha256)
        for entry in catalog.used
    )


def files_of(catalogs: Iterable[Catalog]) -> tuple[CatalogFile, ...]:
    """Return every catalogue file that several catalogues have read so far, by id, each once."""
    files = {(file.id, file.path, file.sha256): file for catalog in catalogs for file in files_read(catalog)}
    return tuple(files[key] for key in sorted(files))


def _fabric(design: ResolvedDesign, plan: FabricPlan, sold: int) -> Iterator[str]:
    spec = design.spec.fabric
    if spec.inter_zone:
        yield (
            f"Inter-zone switches ({spec.inter_zone.switches}) and links per zone ({spec.inter_zone.links_per_zone}) "
            "are inputs of the design; each such link takes a leaf port."
        )
    elif spec.zones > 1:
        yield "The zones are separate: no traffic passes between them, and an allreduce stays within one."
    if spec.tiers == 3:
        policy = policy_words(spec.core_policy, switches_by_policy(design))
        yield f"Core switches follow the policy `{spec.core_policy}`." if not policy else f"{policy}."
    shape = plan.dragonfly
    if shape is not None:
        join = "links join" if shape.pair_links > 1 else "link joins"
        yield (
            f"Balanced dragonfly: {shape.groups} groups of {shape.routers} routers, each with {shape.endpoints} "
            f"endpoints and {shape.global_links} global links; {shape.pair_links} {join} two groups."
        )
        yield (
            "Between groups, half of the global links carry a collective, as adaptive routing takes detours; links "
            "inside a group are assumed not to bind. Nodes fill group after group."
        )
    if spec.family == "rail-only":
        shared = design.rails // plan.planes
        on = f"{shared} rails share each switch; the switches" if shared > 1 else "The rails"
        yield f"{on} are separate: traffic between them is forwarded inside the nodes."
    elif spec.planes_by == "port":
        yield f"Each NIC has one port in every one of {plan.planes} planes and spreads its traffic evenly over them."
    elif plan.planes > 1:
        yield "Each NIC belongs to one plane; NICs are spread evenly over the planes."
    if sold < plan.inter_switch_cables:
        yield (
            f"{plan.links - plan.links_by_tier['endpoint']:,} links between switches take {sold:,} cables as sold, "
            "pairs of modules: a module serves a whole port, whichever way its parts lead."
        )
    if design.spec.floor is not None:
        yield "Cables follow the floor plan: the cheapest of `floor.links` that reaches, in place of `fabric.link`."
        if assumed := [*assumed_floor(design.spec.floor), *design.assumed_heights]:
            yield f"Assumed of the floor plan: {', '.join(assumed)}."
    group = design.compute
    planned = {network.network.name for network in design.networks}
    slots = [slot for slot_number, slot in enumerate(group.server.nics) if slot_number not in group.fabric_nics]
    left = sum(slot.network not in planned for slot in slots)
    if left:
        yield (
            f"{left} of {len(group.nics)} NICs of `{group.server.id}` belong to another network, which is "
            "neither counted nor priced."
        )
    if group.left_out:
        slots_left, priced = len(group.left_out), design.prices is None or group.left_out[0].id in design.prices.items
        taken = "price and power are taken off" if priced else "the book has no price to take off"
        yield f"{plural(slots_left, 'NIC')} of each `{group.server.id}` are left out; {taken} the server's."
    if "storage" in planned:
        yield "Storage has a separate network: its servers are not on the compute fabric."
    if planned:
        yield (
            "Ports of other networks without a NIC in the server run at the rate of their switch ports; "
            "`route` shows the compute fabric alone, as all exports do but lists of cables and inventories."
        )


def announced(catalog: Catalog) -> tuple[str, ...]:
    """Name the parts of a study that are announced but not sold yet, in a sentence."""
    names = [entry.part.id for entry in catalog.used if entry.part.announced]
    if not names:
        return ()
    parts = listed(f"`{name}`" for name in names)
    return (f"Announced, not yet sold: {parts}; figures and prices of such parts are their makers' and analysts'.",)


def _rails(design: ResolvedDesign, plan: FabricPlan) -> str:
    """Return where the rails of a node meet, as a clause; empty for a single rail, or without leaves."""
    rails, shared = rails_of(design, design.compute), design.rails_per_leaf
    leaves = plan.switches_by_role.get("leaf", 0) // (plan.planes * plan.zones)
    if leaves == 0 or (rails == 1 and design.rails == 1):
        return ""
    if leaves == 1 and rails > 1:
        return f", {rails} rails on each switch" if plan.planes > 1 else ", all rails on one leaf"
    if shared > 1 and rails > 1:
        return ", all NICs of a node on one leaf" if shared >= rails else f", {shared} rails on each leaf"
    if leaves < rails:
        return f", {rails} rails on {leaves} leaves"
    split = design.compute.group.zones == "split"
    nodes = ceil_div(design.compute.group.count, design.spec.fabric.zones if split else 1)
    if design.spec.fabric.family == "fat-tree" and rails > 1 and nodes % plan.downlinks:
        return ", leaves filled rail after rail"
    return ", each rail on separate leaves"


def _communication(design: ResolvedDesign, plan: FabricPlan, left_out: tuple[str, ...]) -> Iterator[str]:
    communication = design.spec.communication
    if communication is None:
        return
    several = sum(group.group.role == "compute" for group in design.groups) > len(design.job_groups)
    group = f" of the largest kind, `{design.compute.server.id}`; the others take no part" if several else ""
    yield (
        f"Allreduce: all nodes{group}, ranks in the order of leaves and zones{_rails(design, plan)}; no congestion "
        "(`ffplan fabric route` shows static routing), in-network reduction (SHARP) off. The bound leaves out "
        "latency and the filling of pipelines."
    )
    domain, most = node_of(design).domain_gpus, most_gpus(design)
    if (last := most % domain) and most > domain:
        yield (
            f"The last scale-up domain holds {last} of {domain} accelerators: a library takes it for a node of fewer "
            "NICs, through which as much passes as through the others. Over whole domains it is a job of "
            f"{most - last:,}."
        )
    for name, library in zip(communication.libraries, design.libraries, strict=True):
        if name == "nccl" and library.id != name:
            yield f"`{library.id}` replaces `nccl`: it is the library of these accelerators' maker."
    yield from left_out
    if any(library.method == "hfreduce" for library in design.libraries):
        yield f"HFReduce returns results to the GPUs with {communication.hfreduce.h2d}."


def _cost(design: ResolvedDesign) -> Iterator[str]:
    scope, book = design.spec.cost, design.prices
    if scope is None or book is None:
        yield "The design names no price book, so no part has a price."
        return
    if scope.exclude:
        names = ", ".join(category.replace("-", " ") for category in scope.exclude)
        yield f"Not priced, as the design's cost scope excludes them: {names}."
    note = f": {book.currency_note}" if book.currency_note else "."
    yield f"Prices: `{book.id}` ({book.date}), in {book.currency}{note}"
    if unpriced := [f"`{link.id}`" for link in design.cable_choices if link.id not in book.items]:
        yield f"Cables are chosen by medium and not by price: no price of {listed(unpriced)}."
    if book.extends is not None:
        yield f"Prices missing in this book come from the book `{book.extends}` that it extends."


def _cooling(design: ResolvedDesign) -> Iterator[str]:
    stated = design.ownership.liquid if design.ownership else None
    if stated is None or not stated.value:
        return
    by_air = [
        f"`{group.server.id}`"
        for group in design.groups
        if isinstance(group.server, Server) and group.group.role == "compute" and liquid_share(group.server, None) == 0
    ]
    if by_air:
        yield (
            f"Liquid takes {percent(stated.value)} of the heat of {listed(by_air)}, as the design states. In the "
            "catalogue air cools them: their fans stay in the power, and cold plates are not in their price."
        )


def _power(plan: PowerPlan) -> Iterator[str]:
    for node in plan.nodes:
        if node.training_grade != "measured":
            yield f"No measured power of `{node.server}`: {node.training_w:,.0f} W ({node.training_grade}) is used."
    yield f"Energy and electricity of a year: {HOURS_PER_YEAR:,} hours at the power in training, without idle time."
    yield (
        f"Switches draw their typical power without transceivers, links at both ends; PUE {plan.pue:g} is the design's."
    )


def design_assumptions(
    design: ResolvedDesign, fabric: FabricPlan, sold: int, power: PowerPlan, left_out: tuple[str, ...]
) -> tuple[str, ...]:
    """Return every assumption that changes a result, one sentence each.

    Args:
        sold: cables between its switches as they are sold [1].
        left_out: sentences on terms that the bounds on communication leave out.
    """
    return (
        *_fabric(design, fabric, sold),
        *_communication(design, fabric, left_out),
        *_cost(design),
        *_cooling(design),
        *_power(power),
    )


def _overridden(catalog: Catalog) -> set[tuple[str, str]]:
    """Return (file, part) of the prices that an extending book overrides."""
    prices = set()
    for entry in catalog.used:
        extended = entry.document.data.get("items", ()) if entry.base else ()
        base = entry.base
        while base is not None:
            prices |= {(base.document.file, part) for part in extended}
            base = base.base
    return prices


def recalled_figures(catalog: Catalog) -> tuple[UnverifiedFigure, ...]:
    """Return the recalled figures (status R) in the catalogue files read; of a price book, only of parts used."""
    used = {entry.part.id for entry in catalog.used}
    overridden = _overridden(catalog)
    return tuple(
        UnverifiedFigure(entry.part.id, ".".join(str(step) for step in path))
        for entry in catalog.used
        for path in entry.recalled
        if not isinstance(entry.part, PriceBook)
        or (path[1] in used and (entry.document.file, path[1]) not in overridden)
    )
