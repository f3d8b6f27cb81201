"""The assessment of a resolved design."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ffplan.base.array_math import real
from ffplan.base.errors import InputError
from ffplan.base.outcomes import MissingFigure
from ffplan.base.record import record
from ffplan.base.version import __version__
from ffplan.catalog.parts import Server, memory_bytes
from ffplan.cost.bom import CostPlan, cables_sold, fabric_cables, node_price, price
from ffplan.cost.power import PowerPlan, annual_energy, plan_power
from ffplan.design.resolved import ResolvedDesign
from ffplan.fabric.family import NetworkPlan, plan_fabric, plan_networks
from ffplan.fabric.sizing import scale_up
from ffplan.fabric.sizing.plan import FabricPlan
from ffplan.fabric.sizing.striping import switches_by_policy
from ffplan.results import design as out
from ffplan.results import fabric_counts as counted
from ffplan.results.result import ToolInfo
from ffplan.studies.basis.provenance import announced, design_assumptions, design_info, files_read, recalled_figures
from ffplan.studies.collective.allreduce import allreduces, left_out, pair_times
from ffplan.studies.design.sections import _cluster_tflops, _tier_switches

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ffplan.base.errors import Finding
    from ffplan.catalog.parts import Accelerator, Link, ScaleUp, StorageServer
    from ffplan.catalog.store import Catalog
    from ffplan.results.design import SiteSummary
    from ffplan.results.storage import ReliabilitySummary, StorageSummary
    from ffplan.studies.cost.ledger import CostRequest

    T = TypeVar("T")


def _hardware(design: ResolvedDesign) -> out.Hardware:
    group = design.compute
    server = group.server
    accelerator = group.accelerator
    return out.Hardware(
        server=server.name,
        cpu=f"{len(group.cpus)} x {group.cpus[0].name}" if group.cpus else "unknown",
        memory=_host_memory(server),
        accelerator=f"{group.accelerators_per_node} x {accelerator.name}" if accelerator else "none",
        nics=_nic_words(design),
        scale_up=_scale_up_words(design),
        accelerators_per_node=group.accelerators_per_node,
        nics_on_fabric=len(group.fabric_nics),
        gemm_tflops={p: figure.value for p, figure in accelerator.gemm.items()} if accelerator else {},
        peak_tflops={p: figure.value for p, figure in accelerator.peak.items()} if accelerator else {},
        missing=_missing_memory(server) + (_missing_gemm(accelerator) if accelerator else ()),
    )


def _host_memory(server: Server | StorageServer) -> str:
    if not server.sockets:
        return "memory unknown"
    held = memory_bytes(server)
    size = "capacity unknown" if held is None else f"{held / 1e9:g} GB"
    channels = sum(socket.memory.channels.value for socket in server.sockets)
    return f"{size}, {channels} channels at {server.sockets[0].memory.rate.value:g} MT/s"


def _missing_memory(server: Server | StorageServer) -> tuple[MissingFigure, ...]:
    return tuple(
        MissingFigure(server.id, f"sockets.{position}.memory.capacity")
        for position, socket in enumerate(server.sockets)
        if socket.memory.capacity is None
    )[:1]


def _missing_gemm(accelerator: Accelerator) -> tuple[MissingFigure, ...]:
    return tuple(
        MissingFigure(accelerator.id, f"gemm.{precision}")
        for precision in out.COMPARED_PRECISIONS
        if precision in accelerator.peak and precision not in accelerator.gemm
    )


def _nic_words(design: ResolvedDesign) -> str:
    group = design.compute
    return ", ".join(f"{count} x {name}" for name, count in Counter(nic.name for nic in group.nics).items())


def _single_links(network: ScaleUp) -> int:
    return sum(network.counts) or len(network.links)


def _scale_up_words(design: ResolvedDesign) -> str:
    server, accelerator = design.compute.server, design.compute.accelerator
    if not isinstance(server, Server) or server.nvlink is None or accelerator is None:
        return "none"
    rate = f" at {accelerator.nvlink.value:g} GB/s each way" if accelerator.nvlink else ""
    if server.nvlink.torus:
        return f"{server.nvlink.name} torus of {' x '.join(map(str, server.nvlink.torus))}{rate}"
    if server.nvlink.mesh:
        return f"{server.nvlink.name} mesh joins all {len(server.accelerators)}{rate}"
    if server.nvlink.links:
        return f"{_single_links(server.nvlink)} {server.nvlink.name} links between two{rate}"
    if server.nvlink.switched:
        if server.nvlink.nodes > 1:
            joined = len(server.accelerators) * server.nvlink.nodes
            return f"{server.nvlink.name} switch joins {joined} over {server.nvlink.nodes} nodes{rate}"
        return f"{server.nvlink.name} switch joins all {len(server.accelerators)}{rate}"
    return f"{len(server.nvlink.pairs)} {server.nvlink.name} pairs{rate}" if server.nvlink.pairs else "none"


def _domain_counts(
    kind: str, size: int, network: ScaleUp, rate: float | None
) -> tuple[int | None, int | None, float | None]:
    """Return switch chips and links of a domain [1], and the bandwidth across an even split of it [GB/s]."""
    if kind == "switch":
        chips = int(network.switches.value) if network.switches else None
        links = int(scale_up.switch_links(size, network.ports.value)) if network.ports else None
        return chips, links, real(scale_up.switch_bisection(size, rate)) if rate else None
    if kind == "torus":
        axes = tuple(network.torus)
        return 0, scale_up.torus_links(axes), real(scale_up.torus_bisection(axes, rate)) if rate else None
    if kind == "mesh":
        across = real(scale_up.mesh_bisection(size, rate)) if rate else None
        return 0, int(scale_up.mesh_links(size)), across
    if kind == "links":
        return 0, _single_links(network), None
    return 0, None, rate


def _scale_up(design: ResolvedDesign) -> counted.ScaleUpReport | None:
    group = design.compute
    network = group.server.nvlink if isinstance(group.server, Server) else None
    if network is None:
        return None
    if not (network.switched or network.mesh or network.torus or network.pairs or network.links):
        return None
    rate = group.accelerator.nvlink.value if group.accelerator and group.accelerator.nvlink else None
    nodes, per_node = group.group.count, group.accelerators_per_node
    if network.switched:
        kind, size, domains = "switch", per_node * network.nodes, -(-nodes // network.nodes)
    elif network.torus:
        kind, size, domains = "torus", per_node * network.nodes, -(-nodes // network.nodes)
    elif network.mesh:
        kind, size, domains = "mesh", per_node, nodes
    elif network.links:
        kind, size, domains = "links", per_node, nodes
    else:
        kind, size, domains = "pairs", 2, len(network.pairs) * nodes
    pair = pair_times(design)
    switches, links, bisection = _domain_counts(kind, size, network, rate)
    return counted.ScaleUpReport(
        kind=kind,
        name=network.name,
        accelerators_per_domain=size,
        domains=domains,
        gbyte_s=rate,
        switches_per_domain=switches,
        links_per_domain=links,
        bisection_gbyte_s=bisection,
        pair_time_s=pair[0] if pair else None,
        pair_time_without_s=pair[1] if pair else None,
    )


def _fabric(
    design: ResolvedDesign, plan: FabricPlan, links: list[tuple[str, Link, int]], *, scale_up: bool = True
) -> counted.FabricReport:
    counts, policies = counted.COUNTS[next(iter(plan.switches_by_role))], switches_by_policy(design)
    to_endpoints, between = cables_sold(links)
    fabric = design.spec.fabric
    stated = "oversubscription" in fabric.model_fields_set and plan.tiers > 1 and fabric.leaf.uplinks is None
    return counted.FabricReport(
        family=plan.family,
        switch=design.parts.switch.id,
        ports_per_switch=plan.radix,
        by_role=_tier_switches(design, plan),
        planes=plan.planes,
        zones=plan.zones,
        tiers=plan.tiers,
        endpoints=plan.endpoints,
        endpoints_per_zone=plan.endpoints_per_zone,
        access_points=plan.access_points,
        switches=counts.switches(**plan.switches_by_role, total=plan.switches),
        links=counts.links(**plan.links_by_tier, total=plan.links),
        breakout=plan.breakout,
        cables=counted.Cables(
            plan.endpoint_cables, plan.inter_switch_cables, plan.endpoint_cables + plan.inter_switch_cables
        ),
        cables_as_sold=counted.SoldCables(to_endpoints, between, to_endpoints + between),
        spare_ports=plan.spare_ports,
        spare_ports_by_role=counts.spare(**plan.spare_by_role),
        oversubscription=plan.oversubscription,
        most_oversubscription=fabric.oversubscription if stated else None,
        zone_oversubscription=plan.zone_oversubscription,
        port_gbyte_s=plan.port_gbyte_s,
        scale_up=_scale_up(design) if scale_up else None,
        bisection_gbyte_s=plan.bisection_gbyte_s,
        core_policy=fabric.core_policy if policies else None,
        switches_by_core_policy=policies,
    )


def _networks(networks: tuple[NetworkPlan, ...]) -> tuple[counted.NetworkReport, ...]:
    return tuple(
        counted.NetworkReport(
            name=network.name,
            ports={role: count for role, count in network.network.network.ports.model_dump().items() if count},
            fabric=_fabric(network.design, network.plan, fabric_cables(network.design, network.plan), scale_up=False),
        )
        for network in networks
    )


def _cost(design: ResolvedDesign, plan: CostPlan | None) -> out.CostReport | None:
    if plan is None:
        return None
    has_storage = any(line.category == "storage" for line in plan.lines)
    node, low, high = node_price(design, plan) or (None, None, None)
    return out.CostReport(
        currency=plan.currency,
        currency_note=design.prices.currency_note if design.prices else None,
        price_book=plan.price_book,
        price_date=plan.date,
        servers=plan.servers,
        network=plan.network,
        storage=plan.sum_of("storage") if has_storage else None,
        total=plan.total,
        total_low=sum(line.low for line in plan.lines),
        total_high=sum(line.high for line in plan.lines),
        per_accelerator=plan.per_accelerator(design.accelerators),
        node_price=node,
        node_price_low=low,
        node_price_high=high,
        excluded=plan.excluded,
        lines=plan.lines,
        missing=plan.missing,
    )


def _power(design: ResolvedDesign, plan: PowerPlan) -> out.PowerReport:
    tariff = design.spec.site.electricity_price
    energy = float(annual_energy(plan.facility_w))
    compute = next(node for node in plan.nodes if node.role == "compute")
    return out.PowerReport(
        it_kw=plan.it_w / 1e3,
        it_maximum_kw=plan.it_maximum_w / 1e3,
        facility_kw=plan.facility_w / 1e3,
        pue=plan.pue,
        per_node_w=compute.training_w,
        per_node_component_sum_w=compute.component_sum_w,
        network_kw=(plan.switches_w + plan.links_w) / 1e3,
        energy_mwh_per_year=energy,
        electricity_per_year=energy * 1e3 * tariff.amount if tariff else None,
        electricity_currency=tariff.currency if tariff else None,
        nodes=plan.nodes,
        missing=plan.missing,
    )


def _attempt(faults: list[Finding], compute: Callable[[], T]) -> T | None:
    """Run one part of the assessment, keeping its faults so that all are reported together."""
    try:
        return compute()
    except InputError as error:
        faults.extend(error.findings)
        return None


def _summaries(
    design: ResolvedDesign, catalog: Catalog, fabric: FabricPlan
) -> tuple[ReliabilitySummary | None, StorageSummary | None]:
    if not design.accelerators:
        return None, None
    from ffplan.studies.operate.goodput_basis import goodput_basis, reliability_summary, storage_summary

    basis = goodput_basis(design, catalog, fabric)
    return reliability_summary(basis), storage_summary(basis)


def _site(design: ResolvedDesign, catalog: Catalog, money: CostRequest | None) -> tuple[SiteSummary | None, str]:
    from ffplan.studies.cost.site import known_site

    return known_site(design, catalog, money)


@record
class DesignStudy:
    """A design with every result of its study."""

    design: ResolvedDesign
    fabric: FabricPlan
    power: PowerPlan
    assessment: out.Assessment


LEFT_OUT = frozenset({"communication", "reliability", "site"})
"""Parts of a study that a question about another part can leave out; storage goes with reliability."""


def study_design(
    design: ResolvedDesign,
    catalog: Catalog,
    *,
    all_scales: bool = True,
    without: frozenset[str] = frozenset(),
    money: CostRequest | None = None,
) -> DesignStudy:
    """Return the study of a resolved design; its assessment has no findings yet.

    Args:
        all_scales: time the allreduce over fewer accelerators too; no rule needs it.
        without: parts of `LEFT_OUT` that are not worked out, and empty in the assessment.
        money: draws and seed of the purchase; the usual if omitted.

    Raises:
        InputError: if the fabric cannot hold the design, or a library cannot run on it; with every such fault.
    """
    faults: list[Finding] = []
    fabric = _attempt(faults, lambda: plan_fabric(design))
    timed = "communication" not in without
    collectives = _attempt(faults, lambda: allreduces(design, fabric, all_scales=all_scales)) if timed else ()
    networks = _attempt(faults, lambda: plan_networks(design, fabric)) if fabric else None
    compute_cables = (
        _attempt(faults, lambda: fabric_cables(design, fabric)) if fabric and networks is not None else None
    )
    beside = [cable for network in networks or () for cable in fabric_cables(network.design, network.plan)]
    links = [*compute_cables, *beside] if compute_cables is not None else None
    cost = _attempt(faults, lambda: price(design, fabric, links)) if fabric and links is not None else None
    if faults or fabric is None or networks is None or collectives is None or compute_cables is None:
        raise InputError(*faults)
    power = plan_power(design, fabric, links)
    site, unknown = (None, "") if "site" in without else _site(design, catalog, money)
    summary, storage = (None, None) if "reliability" in without else _summaries(design, catalog, fabric)
    roles = Counter[str]()
    for group in design.groups:
        roles[group.group.role] += group.group.count
    assessment = out.Assessment(
        schema_version=out.SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        design=design_info(design),
        catalog=files_read(catalog),
        nodes=dict(roles),
        accelerators=design.accelerators,
        peak_tflops=_cluster_tflops(design, lambda accelerator: accelerator.peak),
        gemm_tflops=_cluster_tflops(design, lambda accelerator: accelerator.gemm),
        hardware=_hardware(design),
        fabric=_fabric(design, fabric, compute_cables),
        networks=_networks(networks),
        communication=collectives,
        site=site,
        cost=_cost(design, cost),
        power=_power(design, power),
        reliability=summary,
        storage=storage,
        assumptions=(
            *([f"Purchase and power of the whole site are not known: {unknown}."] if unknown else []),
            *design_assumptions(design, fabric, cables_sold(compute_cables)[1], power, left_out(design)),
            *announced(catalog),
        ),
        unverified=recalled_figures(catalog),
        findings=(),
        levels=(),
    )
    return DesignStudy(design, fabric, power, assessment)
