"""JSON output of `compare --serve`, field by field."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.result import CatalogFile, Result, UnverifiedFigure
from ffplan.results.serving import Latency, ServeChoice, ServeCost, ServePlan, ServePools, ServeTargets, TokenPrice


@record
class ServedSide:
    """A design that serves the model, at its largest load within the targets."""

    label: str
    """Name of the design, each once."""
    accelerator: str
    """Catalogue id of the accelerator."""
    accelerators: int
    """Accelerators of the design."""
    engine: str
    """Catalogue id of the engine."""
    plan: ServePlan
    """Plan of a copy; with pools, of one that decodes."""
    pools: ServePools | None
    """Pools of a unit; null where prompts share the copies that decode."""
    copies: int
    """Copies of the model, or units of pools."""
    meets: bool
    """True if the load is within the targets, or none were asked for."""
    rate_s: float
    """Requests a second over all copies [1/s]."""
    concurrency: float
    """Requests under way over all copies [1]."""
    ttft_s: Latency
    """Time to the first token."""
    tpot_s: Latency
    """Time of each further token."""
    output_tokens_s: float
    """Output tokens a second over all copies [1/s]."""
    output_tokens_s_gpu: float
    """Output tokens a second of each accelerator of the design [1/s]."""
    output_tokens_s_user: float
    """Tokens a second that a user sees [1/s]."""
    unrated: tuple[str, ...]
    """Figures of power that the catalogue lacks: the design's peak is at least as much."""
    output_tokens_s_mw: float | None
    """Output tokens a second for each megawatt of the facility's rated peak [1/s]: of the whole design's; null if that
    is partial."""
    racks: int
    """Racks of the design."""
    users_rack: float
    """Requests under way for each rack [1]."""
    facility_peak_kw: float
    """Facility power with everything at its maximum [kW]."""
    capex: float | None
    """Median of the purchase over the draws of `ffplan cost` [currency]; null without prices."""
    recalled_share: float | None
    """Part of the purchase whose prices are recalled [1]; null without prices."""
    cost: ServeCost | None
    """Cost of tokens, which bear the hours of all accelerators; null without a price."""
    band: float
    """P10 to P90 of the engine's times, as a fraction up and down [1]."""
    calibrated: bool
    """True if the engine's constants rest on runs on this accelerator."""
    choices: tuple[ServeChoice, ...]
    """Plans with more tokens a second of an accelerator than any that serves a user as fast."""


@record
class UnservedSide:
    """A design that cannot serve the model, or not within the targets."""

    label: str
    """Name of the design."""
    reason: str
    """Why."""


@record
class ServeVerdict:
    """The design with the cheapest tokens, next to another."""

    cheapest: str
    """Label of the cheapest."""
    other: str
    """Label of the other: the baseline, or the second if the baseline is cheapest."""
    ratio: float
    """Cost of an output token of the cheapest over the other's, prompts included [1]."""
    chance: float
    """Chance that it is the cheaper one, by the bands of the engines alone [1]."""


@record
class ServeComparison(Result):
    """Output of `ffplan compare --serve`."""

    schema_version: str
    """Version of this format."""
    model: str
    """Catalogue id of the model."""
    prompt_tokens: float
    """Tokens of a prompt [1]."""
    output_tokens: float
    """Tokens of an answer [1]."""
    targets: ServeTargets | None
    """Targets; null without any."""
    baseline: str
    """Label of the design that ratios refer to."""
    sides: tuple[ServedSide, ...]
    """Designs that serve the model, in the order given."""
    unserved: tuple[UnservedSide, ...]
    """Designs that do not."""
    verdict: ServeVerdict | None
    """Who is cheapest; null unless two designs within the targets have costs in one currency."""
    api: TokenPrice | None
    """Tokens of this model by API; null without an offer."""
    assumptions: tuple[str, ...]
    """Assumptions of the comparison."""
    catalog: tuple[CatalogFile, ...]
    """Files read."""
    unverified: tuple[UnverifiedFigure, ...]
    """Recalled figures among those read."""


SCHEMAS = {"serve-comparison": (ServeComparison, "Output of `ffplan compare --serve --format json`")}
"""Files and outputs of this module, with their titles."""
