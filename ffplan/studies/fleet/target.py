"""What a fleet is to serve, within which limits, and how sure; or what limits are to serve."""

from __future__ import annotations

from dataclasses import KW_ONLY

from ffplan.base.record import record
from ffplan.catalog.engines import Engine
from ffplan.catalog.models import Model
from ffplan.results.serving import ServeTargets
from ffplan.studies.serve.loads import Load
from ffplan.studies.serve.setup import PlanRequest

AIMS = ("capex", "tco", "power", "accelerators")
"""What may be least: purchase, cost over the life, power at the peak, or accelerators."""
LIMITS = ("capex", "power", "racks", "floor")
"""What may be bounded: purchase, power at the peak [kW], racks, and their floor [m2]."""


@record
class ServedTarget:
    """Requests with latency targets, at any rate."""

    model: Model
    engine: Engine
    load: Load
    """Lengths of the requests, and what speculation and a prefix cache save."""
    targets: ServeTargets
    _: KW_ONLY
    request: PlanRequest = PlanRequest()
    """What is fixed of the plan."""
    chance: float = 0.85
    """Chance that the targets hold [1]."""


@record
class FleetTarget(ServedTarget):
    """A load with latency targets, and what the fleet may take."""

    rate: float | None
    """Requests a second at the peak, of all copies [1/s]; None for as many as the limits allow."""
    peak: float
    """Requests at the peak over those on average [1]."""
    book: str
    """Price book."""
    pue: float
    hours: tuple[float, ...] = ()
    """Requests of each hour of a day or week, as proportions; empty where they are unknown."""
    aim: str = "capex"
    """One of `AIMS`."""
    available: float = 0.999
    """Fraction of the time that enough nodes are up [1]."""
    limits: tuple[tuple[str, float], ...] = ()
    """Names of `LIMITS`, each with the most that a design may have."""
    allowed: tuple[str, ...] = ()
    """Accelerators to choose from; all with a price if empty."""
    switches: tuple[str, ...] = ()
    """Switches to choose from; all with a price if empty."""
    excluded: tuple[str, ...] = ()
    """Parts that are not bought."""
    rack_area: float | None = None
    """Floor of a rack with its share of aisles; the ownership profile's if None [m2]."""
