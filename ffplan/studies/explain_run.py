"""The figures of a training run in money, taken apart: what they are made of, and what a tenth of each input does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.errors import UsageError
from ffplan.base.formatting import number
from ffplan.base.record import record
from ffplan.cost.sensitivity import likely
from ffplan.results.explanation import Derivation, Influence
from ffplan.studies.asked import Asked
from ffplan.studies.cost import evaluate, inputs_for, ledger_for, study_cost
from ffplan.studies.explain import LEAST, TENTH, derived, strength
from ffplan.studies.explain_parts import PLACES, run_parts
from ffplan.studies.input_places import account_at, stated_at
from ffplan.studies.usual_job import timed_job
from ffplan.studies.workload import workload_gpus

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.store import Catalog
    from ffplan.cost.inputs import Input
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.training import TrainReport
    from ffplan.studies.input_places import Stand

RUN = {
    "run.cost": ("cost of the run", "", "Cost of the workload's run over its tokens."),
    "run.cost_per_million_tokens": ("a million tokens", "", "Cost of a million tokens of the workload."),
    "run.days": ("days of the run", "days", "Days of the workload's run over its tokens."),
    "run.energy_mwh": ("energy of the run", "MWh", "Energy of the workload's run at the meter."),
    "run.carbon_t": ("carbon of the run", "t CO2e", "Carbon of the workload's run, hardware included."),
}
"""Label, unit and meaning by path; an amount of money has the currency of the account."""
HOW = {
    "run.cost_per_million_tokens": "accelerator-hours * price of an hour / (tokens / 1,000,000)",
    "run.carbon_t": "energy * carbon of the grid + accelerator-hours * embodied carbon over the life of the hardware",
}
"""How figures follow from their parts, where no one function has the whole equation."""
NOTE = "Inputs are those of the account; `ffplan explain` of `training.step_s` takes the step apart."


@record
class RunExplained:
    """A figure of a run, taken apart."""

    root: Derivation
    influences: tuple[Influence, ...]
    """Inputs that move it, the strongest first."""
    idle: int
    """Inputs that do not [1]."""


def explain_run(design: ResolvedDesign, catalog: Catalog, report: TrainReport, path: str) -> RunExplained:
    """Return a figure of a design's run, taken apart.

    Args:
        design: the design, with its workload and tokens.
        catalog: its parts.
        report: the workload, timed.
        path: one of `RUN`.

    Raises:
        UsageError: where the workload has no tokens, or the design no prices.
    """
    tokens = design.workload.tokens if design.workload else None
    if tokens is None:
        raise UsageError(f"ffplan explain: {path} needs tokens: add `tokens` to `workload`, or name --tokens")
    timed = timed_job(report, workload_gpus(design, design.workload), tokens)
    asked = Asked(draws=0)
    study = study_cost(design, catalog, asked, timed)
    field = path.partition(".")[2]
    run = study.run
    band = getattr(run, field) if run else None
    if run is None or band is None:
        raise UsageError(f"ffplan explain: {path}: the design has no prices")
    ledger = ledger_for(design, catalog, asked)
    inputs = inputs_for(ledger, timed, catalog, drawn=False)
    effective = next(item for item in inputs if item.name == "effective")
    places = {item.name: account_at(item, design, catalog) for item in inputs}
    given_at = stated_at(design.document, "workload", "tokens") or "the command line"
    parts = run_parts(run, study, effective=(effective, places["effective"].place), tokens_at=given_at)
    label, unit, _ = RUN[path]
    unit = unit or run.currency
    if path in PLACES:
        root = derived(label, band.likely, unit, PLACES[path], parts)
    else:
        root = Derivation(
            label=label, value=band.likely, unit=unit, formula=HOW[path], source="", place="", binds=False, steps=parts
        )
    name = {"cost_per_million_tokens": "per_million"}.get(field, field)

    def outcome(values: dict[str, Any]) -> float:
        _, found = evaluate(ledger.account, timed.job, values)
        return float(getattr(found, name))

    base = likely(inputs)
    tried = [
        _influence(
            item, places[item.name], study.currency, lambda values: outcome({**base, **values}) / band.likely - 1
        )
        for item in inputs
    ]
    moving = [item for item in tried if max(abs(item.less or 0.0), abs(item.more or 0.0)) > LEAST]
    return RunExplained(root=root, influences=tuple(sorted(moving, key=strength)), idle=len(tried) - len(moving))


def _influence(item: Input, at: Stand, currency: str, change: Callable[[dict[str, Any]], float]) -> Influence:
    """Return what a tenth of an input does.

    Args:
        item: the input.
        at: where it stands.
        currency: currency of the account.
        change: returns the relative change of the figure with some inputs at other values [1].
    """
    unit = item.unit.replace("currency", currency)
    unit = "" if unit == "1" else unit.removeprefix("1 ")
    ends = [item.likely * factor for factor in (1 - TENTH, 1 + TENTH)]
    less, more = (change({item.name: end}) if item.least <= end <= item.most else None for end in ends)
    return Influence(
        input=item.label,
        value=f"{number(item.likely, 6)} {unit}".rstrip(),
        at_less=number(ends[0], 6),
        at_more=number(ends[1], 6),
        place=at.place,
        source=item.source,
        grade=at.grade,
        status=item.status,
        less=less,
        more=more,
    )
