"""Fabric, hazards, storage and spares of a design, which goodput rests on, and their summaries. `design` reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.design.ownership_sizing import ownership_sizing
from ffplan.design.resolved import ResolvedDesign
from ffplan.fabric.family import plan_fabric
from ffplan.fabric.sizing.plan import FabricPlan, reachable_nodes
from ffplan.reliability.hazards import OF_NODES, YEAR_S, HazardRate, JobUnits, event_rates, job_units, sized_rate
from ffplan.reliability.spare_count import enough
from ffplan.reliability.storage import group_terms, server_terms, service_rates, transfer_terms, with_nics
from ffplan.results.storage import ReliabilitySummary, StorageSummary, StorageTerm
from ffplan.studies.basis.job_layout import most_gpus
from ffplan.studies.operate.reliability import Hazards, _estimate_input, _hazards_beside, _hazards_of
from ffplan.studies.operate.storage_basis import _storage_basis, _StorageBasis

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.evidence import Figure
    from ffplan.catalog.ownership import PlainEstimate
    from ffplan.catalog.parts import Part
    from ffplan.catalog.store import Catalog
    from ffplan.cost.inputs import Input
    from ffplan.reliability.storage import ServiceRates, Way
    from ffplan.studies.operate.storage_basis import _ServerKind


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


def _spares_of(basis: GoodputBasis, nodes: float) -> int:
    """Return the spare nodes of a job: as the design states, or bought spares and the nodes in its reach that it
    leaves."""
    stated = basis.hazards.section.spare_nodes
    if stated is not None:
        return stated
    # idle nodes of a zone without links to the job's are no spares of it
    return basis.bought_spares + max(reachable_nodes(basis.design) - int(nodes), 0)


_LABELS = {
    "client": "the client of one node {way}",
    "whole": "all clients together {way}",
    "checkpoint": "a checkpoint is {way}",
}
"""What the rates of a file system are called, by its field; `{way}` is one of `WAYS`."""
WAYS = {
    "client": ("reads", "writes"),
    "whole": ("read", "write"),
    "checkpoint": ("loaded", "saved"),
}
"""Words for reading and writing."""


def _efficiency(basis: GoodputBasis, kind: _ServerKind) -> tuple[Figure, Part]:
    server, system, profile = kind.server, kind.file_system, basis.hazards.profile
    if server.service is not None and server.service.efficiency is not None:
        return server.service.efficiency, server
    if profile.storage_efficiency is not None:
        return profile.storage_efficiency, profile
    return system.efficiency, system


def _storage_inputs(basis: GoodputBasis) -> tuple[Input, ...]:
    storage = basis.storage
    if storage is None:
        return ()
    figure, owner = _efficiency(basis, storage.service)
    name, label = "storage_efficiency", "storage service over its NICs"
    inputs = [_estimate_input(name, label, "1", figure, owner, part=True)]
    for kind in storage.alike:
        own, owner = _efficiency(basis, kind)
        if own != figure:
            inputs.append(_estimate_input(f"{name}.{kind.name}", f"{label}: {kind.name}", "1", own, owner, part=True))
    system, several = storage.service.file_system, len(storage.systems) > 1
    for field, words in _LABELS.items():
        for of in storage.systems if field == "whole" else (system,):
            both, suffix = getattr(of, field), f".{of.id}" if several and field == "whole" else ""
            for way, word in zip(("read", "write"), WAYS[field], strict=True):
                if both is not None:
                    label = f"{of.id}: {words.format(way=word)}"
                    inputs.append(_estimate_input(f"{field}.{way}{suffix}", label, "GB/s", getattr(both, way), of))
    return tuple(inputs)


def _service_of(basis: GoodputBasis, way: Way, *, least: bool = False) -> ServiceRates:
    """Return rates in one direction, read or write; with `least`, each rate's low end in place of the likely one."""
    return service_rates({rate.name: rate.low if least else rate.likely for rate in _storage_inputs(basis)}, way)


def _ordered(terms: dict[str, Number]) -> list[StorageTerm]:
    return [StorageTerm(name, float(rate)) for name, rate in sorted(terms.items(), key=lambda term: float(term[1]))]


def _servers(storage: _StorageBasis, way: Way) -> dict[str, Number]:
    return storage.read if way == "read" else storage.write


def _servers_terms(basis: GoodputBasis, way: Way, part: float = 1.0) -> list[StorageTerm]:
    """Return what limits all storage servers together, the least first; `part` of their NICs are in reach."""
    if basis.storage is None:
        return []
    return _ordered(server_terms(with_nics(_servers(basis.storage, way), part), _service_of(basis, way)))


def _kind_terms(basis: GoodputBasis, way: Way) -> dict[str, StorageTerm]:
    """Return the limits of each kind of storage servers, by its name."""
    if basis.storage is None:
        return {}
    groups = group_terms(_servers(basis.storage, way), _service_of(basis, way))
    return {name: _ordered(terms)[0] for name, terms in groups.items()}


def _written_shares(basis: GoodputBasis) -> dict[str, float]:
    """Return the part of all data that each kind of storage servers takes, by its name: as it writes [1]."""
    rates = {name: term.gbyte_s for name, term in _kind_terms(basis, "write").items()}
    return {name: rate / sum(rates.values()) for name, rate in rates.items()}


def _nodes_terms(basis: GoodputBasis, way: Way, nodes: int, *, least: bool = False) -> list[StorageTerm]:
    """Return what limits some nodes, the least first; with `least`, as the slowest healthy system reaches."""
    storage = basis.storage
    if storage is None:
        return []
    service = _service_of(basis, way, least=least)
    nics = nodes * storage.client_gbyte_s
    return _ordered(transfer_terms(_servers(storage, way), service, nodes=nodes, nics_gbyte_s=nics))


def _storage_range(basis: GoodputBasis, way: Way, nodes: int) -> tuple[StorageTerm, StorageTerm]:
    return _nodes_terms(basis, way, nodes)[0], _nodes_terms(basis, way, nodes, least=True)[0]


_YEAR_HOURS = YEAR_S / 3_600.0
_NAMED = 3


def storage_summary(basis: GoodputBasis) -> StorageSummary | None:
    """Return capacity and rates of a design's storage; None without one."""
    storage = basis.storage
    if storage is None:
        return None
    read, write = _servers_terms(basis, "read")[0], _servers_terms(basis, "write")[0]
    count = max(basis.design.accelerators, 1)
    return StorageSummary(
        planned=storage.planned,
        servers=storage.servers,
        raw_bytes=storage.raw_bytes,
        usable_bytes=storage.usable_bytes,
        read_gbyte_s=read.gbyte_s,
        write_gbyte_s=write.gbyte_s,
        read_per_accelerator=read.gbyte_s / count,
        write_per_accelerator=write.gbyte_s / count,
        read_binds=read.label,
        write_binds=write.label,
    )


@record
class _Expected:
    design: ResolvedDesign
    gpus: int
    hazards: Hazards
    units: JobUnits

    @property
    def rates(self) -> list[HazardRate]:
        return [sized_rate(rate, self.gpus) for rate in self.hazards.rates]

    @property
    def stopped(self) -> list[HazardRate]:
        return [rate for rate in self.rates if rate.hazard.unit not in self.units.survives]

    def events(self, factor: float) -> dict[str, float]:
        """Return events a year by hazard of a fleet [1/year]."""
        part = self.design.compute.accelerator
        relative = self.hazards.profile.relative.get(part.id) if part else None
        rates_a_year = event_rates(
            {rate.name: rate.rate.per_year for rate in self.rates},
            fleet=factor,
            relative=float(relative.value) if relative else 1.0,
            spreads=[rate.name for rate in self.rates if rate.hazard.spreads],
            of_nodes=[rate.name for rate in self.rates if rate.hazard.unit in OF_NODES],
        )
        return {rate.name: float(rates_a_year[rate.name] * self.units.counts[rate.hazard.unit]) for rate in self.rates}

    def mtbf_hours(self, factor: float | None = None) -> float:
        """Return the mean time between interruptions of a fleet [h]; of the likely one without a factor."""
        events = self.events(float(self.fleet.value) if factor is None else factor)
        return _YEAR_HOURS / sum(events[rate.name] * float(rate.hazard.stops.value) for rate in self.stopped)

    @property
    def fleet(self) -> PlainEstimate:
        return self.hazards.section.fleet or self.hazards.profile.fleet


def reliability_summary(basis: GoodputBasis) -> ReliabilitySummary:
    """Return the failures that the largest job of a design expects."""
    design, profile, nodes = basis.design, basis.hazards.profile, reachable_nodes(basis.design)
    gpus = most_gpus(design)
    units = job_units(design, basis.fabric, nodes)
    expected = _Expected(design=design, gpus=gpus, hazards=basis.hazards, units=units)
    beside = _Expected(design=design, gpus=gpus, hazards=basis.beside, units=units) if basis.beside else None
    likely = expected.events(float(expected.fleet.value))
    by = sorted(expected.stopped, key=lambda rate: -likely[rate.name] * float(rate.hazard.stops.value))
    removed = sum(likely[rate.name] * float(rate.hazard.removes.value) for rate in expected.stopped)
    down = removed * float(profile.repair.value) / YEAR_S
    hours = expected.mtbf_hours()
    low, high = (float(end) for end in expected.fleet.range)
    return ReliabilitySummary(
        profile=profile.id,
        gpus=gpus,
        mtbf_hours=hours,
        mtbf_hours_low=expected.mtbf_hours(high),
        mtbf_hours_high=expected.mtbf_hours(low),
        beside=beside.hazards.profile.id if beside else None,
        beside_mtbf_hours=beside.mtbf_hours() if beside else None,
        interruptions_per_day=24 / hours,
        largest=tuple(
            rate.hazard.label for rate in by[:_NAMED] if likely[rate.name] * float(rate.hazard.stops.value) > 0
        ),
        nodes_in_repair=down,
        spares=_spares_of(basis, nodes),
        spares_for_99=enough(down, 0.99),
    )
