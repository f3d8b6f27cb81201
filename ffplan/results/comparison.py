"""The contract of `compare --format json`: several assessments, with ratios to one of them."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from ffplan.base.outcomes import DRAWS, InputRow
from ffplan.base.record import record
from ffplan.results.cost import CashRow, FlipRow, RentRow, SwingRow, Waiting
from ffplan.results.design import Assessment
from ffplan.results.difference import EVEN, Verdict, judged
from ffplan.results.result import CatalogFile, Result, ToolInfo
from ffplan.results.run import Band, PlanRow, RunReport, StepPart

if TYPE_CHECKING:
    from collections.abc import Sequence


@record
class Ratios:
    """One design over the baseline; null if a side is missing or partial, or where currencies or scopes differ."""

    accelerators: float | None
    """Accelerators."""
    switches: float | None
    """All switches."""
    links: float | None
    """All links."""
    bisection: float | None
    """Bisection bandwidth."""
    allreduce: float | None
    """Allreduce with the first library of each design: message over time."""
    allreduce_bound: float | None
    """The bound of the same."""
    gemm_tf32: float | None
    """Measured TF32 matrix multiplication per accelerator."""
    gemm_fp16: float | None
    """Measured FP16 matrix multiplication per accelerator."""
    relative_performance: float | None
    """Mean over the precisions measured on both."""
    node_price: float | None
    """Price of a compute node."""
    node_price_low: float | None
    """Node price at the ends of the known ranges that make it lowest."""
    node_price_high: float | None
    """Node price at the ends of the known ranges that make it highest."""
    cost_performance: float | None
    """GEMM cost-performance, as in Table II of the Fire-Flyer paper: relative performance over node price."""
    cost_performance_low: float | None
    """Relative performance over the highest node price."""
    cost_performance_high: float | None
    """Relative performance over the lowest node price."""
    node_power: float | None
    """Power of a compute node in training."""
    it_power: float | None
    """IT power in training."""
    cost_servers: float | None
    """Servers."""
    cost_network: float | None
    """Network."""
    cost_total: float | None
    """Total of the priced scope."""
    cost_per_accelerator: float | None
    """Total over accelerators."""


@record
class JobSide:
    """A training job on one design; null if it cannot run."""

    plan: PlanRow | None
    """The fastest plan of a search."""
    step_s: float | None
    """Time of a step [s]."""
    tokens_s: float | None
    """Tokens, or images, a second."""
    tokens_s_gpu: float | None
    """Tokens, or images, a second over all accelerators of the job, idle ones included."""
    mfu: float | None
    """Model FLOP/s over the dense peak at the plan's precision [1]."""
    memory_words: str | None
    """Why its memory is at the edge; null if it fits."""
    capital_per_token_s: float | None
    """Capital of the job's accelerators, with their fraction of the cluster, over tokens a second [currency per
    token/s]; null if the cost is partial or missing."""
    capital_ratio: float | None
    """Over the baseline's: the price of a token's capital; null if they cannot be compared."""
    speed_ratio: float | None
    """Tokens a second over the baseline's."""
    estimated_from: str | None
    """The calibrated accelerator whose efficiencies are taken; null if it has its own constants."""
    error_band: float | None
    """Errors of the speed to expect, from P10 to P90 [1]."""
    refused: str | None
    """Reason why the job cannot run."""
    parts: tuple[StepPart, ...]
    """Parts of the step, the largest first; empty if it cannot run."""


@record
class JobSize:
    """A training job at one batch."""

    batch: int
    """Sequences, or images, of a step."""
    sides: tuple[JobSide, ...]
    """The job on each design, in their order."""


@record
class OwnSize:
    """The job on every accelerator that one job can span on a design, at the batch asked for."""

    gpus: int
    """Accelerators of the job."""
    tokens_s: float | None
    """Tokens a second; null if the job cannot run at that size."""


@record
class TrainingComparison:
    """The same training job on every design, each with its fastest plan."""

    model: str
    """Catalogue id of the model."""
    gpus: int
    """Accelerators of the job."""
    size_basis: str
    """Why the job has that many accelerators, a sentence."""
    own_sizes: tuple[OwnSize, ...]
    """The job at the most accelerators of each design, in their order."""
    batch: int
    """Batch that was asked for."""
    capital_basis: str
    """Meaning of capital: the purchase, or planned parts if the purchase of a design has gaps."""
    currency: str | None
    """Currency of the capital; null if the designs have several, or none."""
    sizes: tuple[JobSize, ...]
    """A quarter of the batch, the batch, four times the batch."""
    catalog: tuple[CatalogFile, ...]
    """Every catalogue file read for the job on any of the designs, and for its money where tokens are given."""


@record
class MoneySide:
    """A training run on one design, in money."""

    label: str
    """Label of the design."""
    hour: Band | None
    """An accelerator-hour in use [currency/h]; null if the design has neither prices nor rent."""
    capex: float | None
    """Purchase of the whole cluster, the building included [currency]; 0 of a rented fleet."""
    partial: tuple[str, ...]
    """What its costs leave out; where two designs leave out different things, they are not set against each other."""
    run: RunReport | None
    """The run; null if it cannot run or be priced."""
    refused: str | None
    """Reason why it cannot."""
    waiting: Waiting | None
    """Time to production and its cost, which no figure of the run includes. Null without prices or rent."""
    cash_flow: tuple[CashRow, ...]
    """Cash of the whole cluster by month; empty without prices or rent."""
    rent: RentRow | None
    """The cheapest rent of years that owning it is set against; null without one."""
    inputs: tuple[InputRow, ...]
    """Every input of its account, with its evidence; empty without prices or rent."""


@record
class MoneyDifference:
    """One design against the baseline, over a million tokens of the run."""

    label: str
    """Label of the design."""
    against: str
    """Label of the design that it is compared with: the baseline, or the first that runs if the baseline does not."""
    cheaper_share: float | None
    """Share of draws with it cheaper than that design [1]; null without draws, and where a run takes longer than its
    hardware is paid for."""
    difference: Band
    """Its cost of a million tokens less the baseline's [currency]."""
    ratio: Band
    """Its cost of a million tokens over the baseline's [1]."""
    tornado: tuple[SwingRow, ...]
    """What drives the difference, the largest first."""
    break_even: tuple[FlipRow, ...]
    """Value of each input at which both cost the same."""


@record
class ScaleSide:
    """A run at one size on one design."""

    cost_per_million_tokens: float | None
    """Likely cost of a million tokens [currency]; null if it cannot run."""
    days: float | None
    """Likely days of the run."""


@record
class ScaleRow:
    """The run at one number of accelerators and one batch."""

    gpus: int
    """Accelerators that the job holds."""
    batch: int
    """Sequences of a step."""
    sides: tuple[ScaleSide, ...]
    """The run on each design, in their order."""


@record
class MoneyComparison:
    """The same training run on every design, in money."""

    currency: str
    """Currency of every amount."""
    tokens: float
    """Tokens to train on."""
    gpus: int
    """Accelerators that the job holds on every design."""
    draws: int
    """Draws; a part's price is one draw for all designs."""
    seed: int
    """Seed of the draws."""
    headline: tuple[str, ...]
    """The answer, a sentence each."""
    sides: tuple[MoneySide, ...]
    """The designs, in their order."""
    differences: tuple[MoneyDifference, ...]
    """Every design but the baseline, against it; empty if one of the two has no run."""
    scales: tuple[ScaleRow, ...]
    """The run at other numbers of accelerators and other batches."""

    @property
    def unlike(self) -> bool:
        """Whether costs of runs leave out different things, so that each is at least what it says."""
        return len({side.partial for side in self.sides if side.run is not None}) > 1

    @property
    def ranked(self) -> frozenset[str]:
        """Labels of the designs whose cost of tokens is set against that of another; empty without a difference."""
        return frozenset(label for row in self.differences for label in (row.label, row.against))


@record
class ComparisonOptions:
    """Options of a comparison; null where one was not given. `ffplan model reproduce` asks with them again."""

    model: str | None = None
    """Model that was asked for: its id, or its file."""
    batch: int | None = None
    """Sequences of a step."""
    gpus: int | None = None
    """Accelerators of the job."""
    plan: str | None = None
    """File of the training plan, which the report does not hold."""
    search: bool = False
    """Whether the fastest plan of every design was searched in spite of one."""
    stack: str | None = None
    """Catalogue id of the software stack."""
    tokens: float | None = None
    """Tokens to train on."""
    years: float | None = None
    """Life of the hardware [year]."""
    effort: str | None = None
    """How well the run is tuned: tuned, typical or first-run."""
    draws: int = DRAWS
    """Draws of the uncertain inputs; 0 for none."""
    seed: int = 0
    """Seed of the draws."""
    profile: str | None = None
    """Catalogue id of the reliability profile in place of the designs' own."""


NO_OPTIONS = ComparisonOptions()
"""A comparison without options."""


@record
class Comparison(Result):
    """Several designs, compared."""

    schema_version: str
    """Version of this format."""
    tool: ToolInfo
    """The program behind the report."""
    baseline: str
    """Label of the design that ratios refer to."""
    labels: tuple[str, ...]
    """Label of each design: its name, or its file where two designs have one name."""
    options: ComparisonOptions
    """What was asked of them."""
    designs: tuple[Assessment, ...]
    """Assessments, in the order given."""
    ratios: dict[str, Ratios]
    """Ratios by label."""
    incomparable: tuple[str, ...]
    """Reasons why totals of cost or power have no ratio: partial sums and different scopes."""
    notes: tuple[str, ...]
    """Reasons for other missing ratios, and what another core policy costs."""
    workload: str
    """The designs' own job, or why none is compared; empty if no design has one, or another was asked for."""
    training: TrainingComparison | None
    """The requested job, or the designs' own; null without one."""
    money: MoneyComparison | None
    """The run in money; null without tokens."""
    verdicts: tuple[str, ...]
    """Conditions for a cheaper token on either design; without a job, the advantages of each design: sentences for each
    design but the baseline."""


@record
class Cheaper:
    """Which of two designs trains for less."""

    cheap: str
    """Its label."""
    dear: str
    """Label of the other."""
    less: float
    """Part of the other's cost that it saves [1]."""
    verdict: Verdict
    """How the one stands against the other."""


def cheaper_of(difference: MoneyDifference) -> Cheaper | None:
    """Return which side of a difference is cheaper; None if the two count as equal."""
    ratio = difference.ratio.likely
    called = judged(ratio, difference.cheaper_share)
    if not called.gap:
        return None
    if ratio < 1:
        return Cheaper(difference.label, difference.against, 1 - ratio, called)
    return Cheaper(difference.against, difference.label, 1 - 1 / ratio, called)


@record
class StepGap:
    """The part of a step that makes one of two designs slower than the other."""

    label: str
    """Name of the part."""
    slower: bool
    """Whether the first is slower."""
    longer_s: float
    """The part on the slower [s]."""
    shorter_s: float
    """The part on the faster [s]."""


def largest_gap(mine: Sequence[StepPart], theirs: Sequence[StepPart]) -> StepGap | None:
    """Return the part with the largest share of the difference between two steps; None if they take as long."""
    first, second = ({part.name: part.seconds for part in parts} for parts in (mine, theirs))
    gaps = {part.label: first.get(part.name, 0.0) - second.get(part.name, 0.0) for part in (*mine, *theirs)}
    names = {part.label: part.name for part in (*mine, *theirs)}
    whole = sum(gaps.values())
    if not gaps or abs(whole) < EVEN * sum(second.values()):
        return None
    label = max(gaps, key=lambda part: gaps[part] / whole)
    longer, shorter = (first, second) if whole > 0 else (second, first)
    name = names[label]
    return StepGap(label, whole > 0, longer.get(name, 0.0), shorter.get(name, 0.0))


_LEAST = 1e-12
"""Stands for a factor of 0, which has no logarithm."""


def even_steps(money: MoneyComparison, difference: MoneyDifference) -> str:
    """Return the main reason why two runs with equal step times differ in cost: the largest of three factors."""
    sides = {side.label: side for side in money.sides}
    factors: dict[str, float] = {}
    for label, sign in ((difference.label, 1), (difference.against, -1)):
        side = sides[label]
        if side.run is None or side.hour is None:
            continue
        for name, value in (
            ("price of a GPU-hour", side.hour.likely),
            ("time lost to failures", side.run.effective),
            ("effort", side.run.effort),
        ):
            factors[name] = factors.get(name, 0.0) + sign * log(max(value, _LEAST))
    decides = max(factors, key=lambda name: abs(factors[name]), default="price of a GPU-hour")
    return f"their steps take the same time: the {decides} decides"


SCHEMAS = {
    "comparison": (Comparison, "Output of `ffplan compare --format json`"),
}
"""Files and outputs of this module, with their titles."""
