"""What a recommendation is asked for: the target, its limits and its aim, and a design that was sized for it."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import real
from ffplan.base.errors import UsageError
from ffplan.base.outcomes import IN_TIME
from ffplan.base.record import record
from ffplan.catalog.ownership import Effort
from ffplan.figures.address import figure_at_address
from ffplan.results.recommendation import MOST_RECALLED
from ffplan.studies.choose.candidates import Built
from ffplan.studies.train.default_job import TimedJob
from ffplan.training.model_flops import sequence_flops

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.models import Transformer
    from ffplan.results.cost import CostStudy

_LEAST = 1e-6
"""Smallest value of a limit, so that a limit of 0 counts as broken [unit of the limit]."""
_ROUNDING = 1e-9
"""What a product may lie above a whole number by rounding [1]."""
WORTH = 0.35
"""How much above the best an accelerator may lie to be sized, or for leaner ways to build it to be tried [1]."""
LOOSER = 1.1
"""A limit that is loosened, over what it was [1]."""
USUAL_DAYS = 30.0
"""Default days of a run at a sustained rate."""


BOUNDS: dict[str, str | None] = {
    "days": "run.days",
    "capex": "site.purchase_p50",
    "tco": "tco.total",
    "power": "site.facility_peak_kw",
    "racks": "site.racks",
    "floor": None,
}
"""Address of the figure that a limit bounds, days first; the floor has none."""


@record
class _KeptLimit:
    name: str
    """A name of `BOUNDS`."""
    most: float

    @property
    def unit(self) -> str:
        """Unit of the limit; a power is bounded in watts."""
        address = BOUNDS[self.name]
        unit = figure_at_address(address).unit if address else "m2"
        return {"kW": "W", "": "1"}.get(unit, unit)

    @property
    def loosened(self) -> float:
        """The limit where it is looser; racks are whole."""
        most = self.most * LOOSER
        return float(ceil(most - _ROUNDING)) if self.name == "racks" else most


@record
class Stage:
    """A purchase of a cluster that grows."""

    after: float
    """From the first order to this one [month]."""
    days: float
    """Days that the run may take with what stands then."""


@record
class _Grown:
    stage: Stage
    nodes: int
    days: float
    alone: float
    """Bill of materials for a cluster of this size, without later growth [currency]."""


@record
class Target:
    """What is to be reached, and within which limits."""

    model: str
    tokens: float
    days: float
    book: str
    pue: float
    aim: str = "capex"
    """What is to be least, a name of `AIMS`."""
    capex: float | None = None
    """Most that the purchase may come to [currency of the book]."""
    tco: float | None = None
    """Most that the cluster may cost over its life [currency of the book]."""
    watts: float | None = None
    """Most that the facility may draw at its peak [W]."""
    racks: float | None = None
    floor: float | None = None
    """Most floor that its racks may take, aisles included [m2]."""
    effort: Effort | None = None
    """How well runs are tuned; as the ownership profile has it if None."""
    rack_area: float | None = None
    """Floor of a rack with its share of aisles; the ownership profile's if None [m2]."""
    allowed: tuple[str, ...] = ()
    """Accelerators to choose from; all with a price if empty."""
    switches: tuple[str, ...] = ()
    """Switches to choose from; all with a price if empty."""
    excluded: tuple[str, ...] = ()
    slack: float = 0.1
    """How much above the best an alternative may lie [1]."""
    sustained: float | None = None
    """Model operations that it keeps up, interruptions included, where that was asked [FLOP/s]."""
    stages: tuple[Stage, ...] = ()
    """Purchases one after the other, the last with the days above; empty if all is bought at once."""
    chance: float = IN_TIME
    """Chance to be in time that clusters are sized for [1]; a sustained rate uses likely figures."""

    @property
    def limits(self) -> tuple[_KeptLimit, ...]:
        """The limits that are given, days first."""
        given = ((name, getattr(self, "watts" if name == "power" else name)) for name in BOUNDS)
        return tuple(_KeptLimit(name, most) for name, most in given if most is not None)

    def with_limit(self, name: str, most: float) -> Target:
        """Return the target with another limit."""
        changed: dict[str, Any] = {"watts" if name == "power" else name: most}
        return replace(self, **changed)


@record
class _SizedCluster:
    accelerator: str
    built: Built
    timed: TimedJob
    likely_days: float
    """Days of the run, interruptions included, with every input at its likely value."""
    growth: tuple[_Grown, ...] = ()
    """What stands after each purchase; empty if all is bought at once."""
    late: float = 1.0
    """Days at the chance that was asked for, over the likely ones [1]."""

    @property
    def study(self) -> CostStudy:
        return self.built.study

    @property
    def days(self) -> float:
        """Days within which the run ends with the chance that was asked for: what is held against the target."""
        return self.likely_days * self.late

    @property
    def recalled_share(self) -> float:
        assert self.built.bom is not None
        return self.built.bom.recalled_share or 0.0

    @property
    def bill(self) -> float:
        """Its bill of materials at likely prices, as its phases are [currency]."""
        assert self.built.bom is not None
        return self.built.bom.total

    @property
    def capex(self) -> float:
        """Median of its purchase [currency]."""
        return self.built.purchase

    @property
    def tco(self) -> float:
        assert self.study.tco is not None
        return self.study.tco.total

    @property
    def token_cost(self) -> float:
        """Cost of a million tokens [currency]."""
        assert self.study.run is not None
        assert self.study.run.cost_per_million_tokens is not None
        return self.study.run.cost_per_million_tokens.likely

    @property
    def nodes(self) -> int:
        return self.built.assessment.nodes["compute"]


def _floor(cluster: _SizedCluster) -> float:
    """Return the floor of the racks [m2]."""
    area = cluster.study.power.floor_m2
    if area is None:
        raise UsageError("a limit of floor: the ownership profile has no `rack_area`; state the area of a rack")
    return area


AIMS: dict[str, Callable[[_SizedCluster], float]] = {
    "capex": lambda item: item.capex,
    "tco": lambda item: item.tco,
    "token": lambda item: item.token_cost,
    "power": lambda item: item.built.watts,
    "accelerators": lambda item: float(item.built.assessment.accelerators),
}
"""What may be made least: purchase, cost over the life, cost of a token, peak power, or accelerators."""
_HELD: dict[str, Callable[[_SizedCluster], float]] = {
    "days": lambda item: item.days,
    "capex": AIMS["capex"],
    "tco": AIMS["tco"],
    "power": AIMS["power"],
    "racks": lambda item: float(item.study.power.racks),
    "floor": _floor,
}


def _by_power(target: Target) -> bool:
    """Return whether designs are chosen by their power."""
    return target.aim == "power" or any(limit.name == "power" for limit in target.limits)


def _trusted(candidate: _SizedCluster, target: Target) -> bool:
    """Return whether a design may win: its speed was measured, and most of its price was seen, or it was asked for.

    Where power is what counts, all of it is known.
    """
    if _by_power(target) and candidate.study.power.missing:
        return False
    measured = candidate.timed.report.estimated_from is None and candidate.recalled_share <= MOST_RECALLED
    return measured or bool(target.allowed)


def _aim_of(candidate: _SizedCluster, target: Target) -> float:
    return AIMS[target.aim](candidate)


def broken(candidate: _SizedCluster, target: Target) -> dict[str, float]:
    """Return the limits that a design breaks, by name, each with its figure over the limit [1]."""
    ratios = {limit.name: _HELD[limit.name](candidate) / max(limit.most, _LEAST) for limit in target.limits}
    return {name: ratio for name, ratio in ratios.items() if ratio > 1}


def days_for(shape: Transformer, sustained: float, tokens: float) -> float:
    """Return the days that a number of tokens take at a sustained rate.

    Args:
        sustained: model operations a second, interruptions included [FLOP/s].

    Returns:
        [day].

    Equation:
        tokens x operations of a token / rate / 86,400; operations of a token as for MFU, attention in full

    Source:
        `model_flops.sequence_flops`.
    """
    token = real(sequence_flops(shape, shape.sequence)) / shape.sequence
    return real(tokens * token / sustained / 86_400)
