"""Failures and storage of a design in short, as `design` and `compare` print them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.reliability.exposure import OF_NODES, job_units
from ffplan.reliability.hazards import YEAR_S, event_rates, sized_rate
from ffplan.reliability.spare_count import enough
from ffplan.results.summaries import ReliabilitySummary, StorageSummary
from ffplan.studies.goodput_basis import spares_of
from ffplan.studies.storage_rates import servers_terms

if TYPE_CHECKING:
    from ffplan.studies.goodput_basis import GoodputBasis

YEAR_HOURS = YEAR_S / 3_600.0
NAMED = 3
"""Kinds of failure that a report names [1]."""


def storage_summary(basis: GoodputBasis) -> StorageSummary | None:
    """Return capacity and rates of a design's storage; None where there is none.

    Args:
        basis: the design with its storage.
    """
    storage = basis.storage
    if storage is None:
        return None
    read, write = servers_terms(basis, "read")[0], servers_terms(basis, "write")[0]
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


def reliability_summary(basis: GoodputBasis) -> ReliabilitySummary:
    """Return what a job on all accelerators of a design expects of failures.

    Args:
        basis: the design, with accelerators, and its hazards.
    """
    design, hazards = basis.design, basis.hazards
    profile, nodes = hazards.profile, design.compute.group.count
    units = job_units(design, basis.fabric, nodes)
    part = design.compute.accelerator
    relative = profile.relative.get(part.id) if part else None
    fleet = hazards.section.fleet or profile.fleet
    rates = [sized_rate(rate, design.accelerators) for rate in hazards.rates]
    stopped = [rate for rate in rates if rate.unit not in units.survives]

    def events(factor: float) -> dict[str, float]:
        found = event_rates(
            {rate.name: rate.rate.per_year for rate in rates},
            fleet=factor,
            relative=float(relative.value) if relative else 1.0,
            spreads=[rate.name for rate in rates if rate.spreads],
            of_nodes=[rate.name for rate in rates if rate.unit in OF_NODES],
        )
        return {rate.name: float(found[rate.name] * units.counts[rate.unit]) for rate in rates}

    def mtbf(factor: float) -> float:
        found = events(factor)
        return YEAR_HOURS / sum(found[rate.name] * float(rate.stops.value) for rate in stopped)

    likely = events(float(fleet.value))
    by = sorted(stopped, key=lambda rate: -likely[rate.name] * float(rate.stops.value))
    removed = sum(likely[rate.name] * float(rate.removes.value) for rate in stopped)
    down = removed * float(profile.repair.value) / YEAR_S
    hours = mtbf(float(fleet.value))
    low, high = (float(end) for end in fleet.range)
    return ReliabilitySummary(
        profile=profile.id,
        gpus=design.accelerators,
        mtbf_hours=hours,
        mtbf_hours_low=mtbf(high),
        mtbf_hours_high=mtbf(low),
        interruptions_per_day=24 / hours,
        largest=tuple(rate.label for rate in by[:NAMED] if likely[rate.name] * float(rate.stops.value) > 0),
        nodes_in_repair=down,
        spares=spares_of(basis, nodes),
        spares_for_99=enough(down, 0.99),
    )
