"""Summaries of failures and storage, as `design` and `compare` print them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.design.resolved import ResolvedDesign
from ffplan.reliability.hazards import OF_NODES, YEAR_S, HazardRate, JobUnits, event_rates, job_units, sized_rate
from ffplan.reliability.spare_count import enough
from ffplan.results.summaries import ReliabilitySummary, StorageSummary
from ffplan.studies.operate.goodput_basis import _spares_of
from ffplan.studies.operate.reliability import Hazards
from ffplan.studies.operate.storage_rates import _servers_terms

if TYPE_CHECKING:
    from ffplan.catalog.ownership import PlainEstimate
    from ffplan.studies.operate.goodput_basis import GoodputBasis

_YEAR_HOURS = YEAR_S / 3_600.0
_NAMED = 3
"""Kinds of failure that a report names [1]."""


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
    hazards: Hazards
    units: JobUnits

    @property
    def rates(self) -> list[HazardRate]:
        return [sized_rate(rate, self.design.accelerators) for rate in self.hazards.rates]

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
    """Return the failures that a job on all accelerators of a design expects."""
    design, profile, nodes = basis.design, basis.hazards.profile, basis.design.compute.group.count
    units = job_units(design, basis.fabric, nodes)
    expected = _Expected(design=design, hazards=basis.hazards, units=units)
    beside = _Expected(design=design, hazards=basis.beside, units=units) if basis.beside else None
    likely = expected.events(float(expected.fleet.value))
    by = sorted(expected.stopped, key=lambda rate: -likely[rate.name] * float(rate.hazard.stops.value))
    removed = sum(likely[rate.name] * float(rate.hazard.removes.value) for rate in expected.stopped)
    down = removed * float(profile.repair.value) / YEAR_S
    hours = expected.mtbf_hours()
    low, high = (float(end) for end in expected.fleet.range)
    return ReliabilitySummary(
        profile=profile.id,
        gpus=design.accelerators,
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
