"""The rules on an assessed design, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.rules import (
    fabric_full,
    fewer_cores,
    fewer_tiers,
    limit_allreduce_bandwidth,
    limit_capex,
    limit_cost_per_accelerator,
    limit_facility_power,
    limit_it_power,
    limit_oversubscription,
    limit_power_per_rack,
    price_missing,
    rate_mismatch,
    recalled_prices,
    uneven_striping,
    zone_bottleneck,
    zones_uneven,
)

if TYPE_CHECKING:
    from ffplan.check.rule import Rule

RULES: tuple[Rule, ...] = tuple(
    module.RULE
    for module in (
        fabric_full,
        fewer_cores,
        fewer_tiers,
        limit_allreduce_bandwidth,
        limit_capex,
        limit_cost_per_accelerator,
        limit_facility_power,
        limit_it_power,
        limit_oversubscription,
        limit_power_per_rack,
        price_missing,
        rate_mismatch,
        recalled_prices,
        uneven_striping,
        zone_bottleneck,
        zones_uneven,
    )
)
"""Every rule on an assessed design, by id."""
