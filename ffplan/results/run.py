"""A training run in days, money, energy and carbon."""

from __future__ import annotations

from ffplan.base.formatting import ranged
from ffplan.base.record import record
from ffplan.results.plan import PlanRow, StepPart, SurePlan


@record
class Band:
    """A figure with its likely value and its quantiles over the draws."""

    likely: float
    """With every input at its likely value."""
    p10: float
    """Tenth percentile of the draws."""
    p50: float
    """Median of the draws."""
    p90: float
    """Ninetieth percentile of the draws."""


def band_words(band: Band, unit: str = "") -> str:
    """Return a figure as every sentence and table shows it: the likely value with P10 to P90."""
    return ranged(band.likely, band.p10, band.p90, unit)


def median_words(band: Band, unit: str = "") -> str:
    """Return a purchase as every sentence and table shows it: the median with P10 to P90.

    A price is often known from one side alone, so that the sum of likely prices may lie outside of its own range.
    """
    return ranged(band.p50, band.p10, band.p90, unit)


@record
class RunReport:
    """A training run on the cluster."""

    words: str
    """The run in a sentence."""
    model: str
    """Catalogue id of the model."""
    plan: PlanRow
    """Parallel plan."""
    memory_words: str | None
    """Why its memory is at the edge; null if it fits."""
    sure: SurePlan | None
    """The fastest plan that fits beyond doubt, where a search found one at the edge of memory; else null."""
    gpus: int
    """Accelerators that the job holds."""
    batch: int
    """Sequences of a step."""
    tokens: float
    """Tokens to train on."""
    operations: float
    """Floating-point operations of the model over these tokens, attention counted in full, recomputation not [FLOP]."""
    petaflop_days: float
    """The same in days of a petaFLOP/s kept up."""
    parts: tuple[StepPart, ...]
    """Parts of a step, in seconds; they sum to it."""
    step_s: float
    """Time of a step [s]."""
    tokens_s: float
    """Tokens of a second, at that time [1/s]."""
    mfu: float
    """Model FLOP/s over the dense peak [1]."""
    effective: float
    """Progress over time: the job's goodput, unless the design states its effective training time [1]."""
    effort: float
    """Likely time of the run over that of its plan, failures counted apart [1]."""
    days: Band
    """Days of the run."""
    accelerator_hours: Band
    """Accelerator-hours."""
    currency: str
    """Currency of every amount."""
    cost: Band | None
    """Cost of the run [currency]; null if the design names neither prices nor a rent."""
    cost_per_million_tokens: Band | None
    """Cost of a million tokens [currency]; null as the cost is."""
    cost_per_petaflop_day: Band | None
    """A petaFLOP/s of model arithmetic, kept up for a day [currency]; null as the cost is."""
    energy_mwh: Band
    """Energy at the meter [MWh]."""
    missing_power: tuple[str, ...]
    """Parts without a power, which the energy leaves out."""
    energy_kwh_per_million_tokens: Band
    """The same over a million tokens [kWh]."""
    carbon_t: Band
    """Carbon of energy and hardware [t CO2e]."""
    carbon_kg_per_million_tokens: Band
    """The same over a million tokens [kg CO2e]."""
    carbon_energy_t: float
    """Of it the energy's, likely [t CO2e]."""
    water_m3: float
    """Water that the site evaporates, likely [m3]."""
    ready_months: float
    """From the order to the first job [month]; 0 of a rented fleet, unless the design states its own."""
    error_band: float
    """Mean of absolute errors of the speed, which the draws include [1]."""
    estimated_from: str | None
    """The calibrated accelerator whose efficiencies are taken; null if the accelerator has its own."""
