"""The output contract of a recommendation."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.design import ToolInfo
from ffplan.results.result import Result


@record
class RecommendedDesign:
    """A design that was sized for the target."""

    name: str
    """Its name."""
    idea: str
    """How its fabric is built, in words."""
    accelerator: str
    """Catalogue id of the accelerator."""
    server: str
    """Catalogue id of the server."""
    switch: str
    """Catalogue id of the switch."""
    accelerators: int
    """Accelerators."""
    nodes: int
    """Compute nodes."""
    switches: int
    """Switches of the fabric."""
    days: float
    """Days of the run, interruptions included."""
    days_p10: float
    """Tenth percentile of them, by the error of the model over published runs."""
    days_p90: float
    """Ninetieth percentile."""
    mfu: float
    """Model FLOP/s over the dense peak [1]."""
    plan: str
    """Parallel plan of the run, in words."""
    capex: float
    """Bill of materials [currency]."""
    capex_low: float
    """At the low end of the known prices [currency]."""
    capex_high: float
    """At the high end of the known prices [currency]."""
    cost_per_million_tokens: float | None
    """Cost of a million tokens of the run, ownership included [currency]; null where nothing prices it."""
    facility_peak_kw: float
    """Facility power with everything at its maximum [kW]."""
    breaks: str
    """The limits that it breaks, of days, capex and power; empty where it keeps all."""
    could_be_best: bool
    """Whether its low price lies below the likely price of the best."""
    file: str | None
    """The design file, where one was written."""


@record
class UnsizedAccelerator:
    """An accelerator that was not sized to the end."""

    accelerator: str
    """Catalogue id."""
    reason: str
    """Why."""


@record
class RecommendReport(Result):
    """The smallest purchases that train a model in a given time."""

    schema_version: str
    """Version of this document's format."""
    tool: ToolInfo
    """The program behind the report."""
    model: str
    """Catalogue id of the model."""
    tokens: float
    """Tokens to train on."""
    days: float
    """Days that it may take."""
    currency: str
    """Currency of every amount."""
    price_book: str
    """Catalogue id of the price book."""
    designs: tuple[RecommendedDesign, ...]
    """Designs that meet the target, one or two for each accelerator, the smallest purchase first."""
    near: tuple[RecommendedDesign, ...]
    """Designs that break a limit, the nearest first."""
    left_out: tuple[UnsizedAccelerator, ...]
    """Accelerators that were not sized to the end."""
    patient_days: float | None
    """Days of the smallest purchase of the best accelerator with a tenth more time; null without one."""
    patient_capex: float | None
    """Its bill of materials [currency]."""
    assumptions: tuple[str, ...]
    """Assumptions behind the result."""


SCHEMAS = {
    "recommendation": (RecommendReport, "JSON output of `ffplan recommend`"),
}
"""Files and outputs of this module, with their titles."""
