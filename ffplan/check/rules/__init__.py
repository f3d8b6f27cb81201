"""The rules on an assessed design, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.rules import (
    announced_parts,
    empty_group,
    expert_exchange_exposed,
    fabric_full,
    fewer_cores,
    fewer_tiers,
    host_memory_below_nic,
    limit_allreduce_bandwidth,
    limit_blast_radius,
    limit_capex,
    limit_cost_per_accelerator,
    limit_cost_per_million_tokens,
    limit_facility_peak,
    limit_facility_training,
    limit_goodput,
    limit_it_power,
    limit_oversubscription,
    limit_power_per_rack,
    limit_price_age,
    limit_run_days,
    limit_step_time,
    limit_tokens_per_second,
    memory_at_edge,
    no_path_redundancy,
    no_spares,
    outside_known_range,
    price_missing,
    rate_mismatch,
    recalled_figures,
    recalled_prices,
    root_port_below_nic,
    storage_below_checkpoint,
    storage_below_guidance,
    uneven_striping,
    workload_refused,
    zone_bottleneck,
    zones_uneven,
)

if TYPE_CHECKING:
    from ffplan.check.rule import Rule

RULES: tuple[Rule, ...] = tuple(
    module.RULE
    for module in (
        announced_parts,
        empty_group,
        expert_exchange_exposed,
        fabric_full,
        fewer_cores,
        fewer_tiers,
        host_memory_below_nic,
        limit_allreduce_bandwidth,
        limit_blast_radius,
        limit_capex,
        limit_cost_per_accelerator,
        limit_cost_per_million_tokens,
        limit_facility_peak,
        limit_facility_training,
        limit_goodput,
        limit_it_power,
        limit_oversubscription,
        limit_power_per_rack,
        limit_price_age,
        limit_run_days,
        limit_step_time,
        limit_tokens_per_second,
        memory_at_edge,
        no_path_redundancy,
        no_spares,
        outside_known_range,
        price_missing,
        rate_mismatch,
        recalled_figures,
        recalled_prices,
        root_port_below_nic,
        storage_below_checkpoint,
        storage_below_guidance,
        uneven_striping,
        workload_refused,
        zone_bottleneck,
        zones_uneven,
    )
)
"""Every rule on an assessed design, by id."""
