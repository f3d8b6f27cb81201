"""Explain one figure of what a design's `serving` section asks for: a token's time to its terms and constants."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.errors import InputError, UsageError, did_you_mean
from ffplan.base.plain import number_at, numbers, plain, steps
from ffplan.base.record import record
from ffplan.catalog.engines import Engine
from ffplan.catalog.evidence import DurationFigure
from ffplan.figures.origins import figure_at
from ffplan.results.explanation import Derivation, Influence
from ffplan.results.serving import ServeRow
from ffplan.serving.hardware import NARROW, compute_precision, engine_speed
from ffplan.studies.explain.explain import Subject, _declared, _figure_at, given, influences
from ffplan.studies.serve.answer import path_in_row, row_again, stated_parts, stated_report
from ffplan.studies.serve.links import ServeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.models import Model
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.read import Entry
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.serving import ServeReport

LOAD_KEPT = "Inputs are changed by 10 % with the plan and the load kept; another plan may then be faster."
SERVED_FIGURES = (
    *("serve.ttft_s", "serve.ttft_s.p99", "serve.tpot_s", "serve.tpot_s.p99", "serve.e2e_s", "serve.rate_s"),
    *("serve.output_tokens_s", "serve.output_tokens_s_gpu", "serve.output_tokens_s_mw", "serve.power_w"),
    "serve.cost.per_million_output",
)
"""Figures of a load that a shell completes; any other number of a row is explained too."""
_TERMS = {
    "weights": ("bytes of the weights of an accelerator / (memory bandwidth x constant)", ("weights",)),
    "experts": ("bytes of the experts that a batch meets / (memory bandwidth x constant)", ("experts",)),
    "cache": ("bytes of keys and values of a batch / (memory bandwidth x constant)", ("cache",)),
    "compute": ("GEMMs of a batch beyond the time of their weights, at peak x constant", ("matrix", "grouped")),
    "layers": ("layers x constants", ("layer", "expert_layer", "latent_layer", "quantised_layer")),
    "sequences": ("sequences of a step x constants", ("sequence", "expert_sequence")),
    "communication": ("bytes over the rate of the group's links, and calls x constants", ("call", "exchange")),
    "fixed": ("constant", ("step",)),
    "prompts": (
        "prompts that share a token's time: GEMMs and attention at peak x constants, at least the launch of kernels",
        ("matrix", "grouped", "attention", "prompt_layer"),
    ),
    "evictions": (
        "time of a run that requests wait for memory which they had, and are computed again",
        ("matrix", "grouped", "attention", "prompt_layer"),
    ),
}
"""Derivation of each part of a token's time, and the engine's constants in it."""
_OF_MONEY = ("price-book", "ownership", "reliability")
"""Kinds of parts that no time rests on."""


@record
class _ServedFigure:
    """A figure of a load with what it is made of and what moves it."""

    row: ServeRow
    root: Derivation
    moved: tuple[tuple[Influence, ...], int]
    """Inputs that move it, and how many do not."""


def _of_serving(
    question: Subject,
    design: ResolvedDesign,
    used: Catalog,
    address: str,
    entries: Callable[[Catalog], list[Entry]],
    step: Callable[[int, int], None],
) -> _ServedFigure:
    """Return the derivation of a figure of a design's stated load.

    Args:
        question: the design's file and the parts, not counted as read.
        design: the design, with a `serving` section.
        used: the parts that it has read.
        address: address of the figure, such as `serve.tpot_s`.
        entries: the parts of a catalogue that were read and can move a figure.
        step: called with how much of the work is done, and in all.

    Raises:
        UsageError: without such a figure, or if the load cannot be served.
    """
    path = path_in_row(address)
    try:
        report = stated_report(design, used)
        row = report.rows[report.best]
        value = number_at(row, steps(path))
        formula = row_again(design, used, report, percentiles=False)
    except ServeError as error:
        raise UsageError(f"ffplan explain: {error}") from None
    if value is None:
        hint = did_you_mean(path, numbers(plain(row)), what="figure of a load")
        raise UsageError(f"ffplan explain: `{address}` is no figure of this load; {hint}")
    run = number_at(formula, steps(path)) != value  # a quantile, or a mean of a run whose memory is full

    def evaluate(changed: ResolvedDesign, parts: Catalog) -> float | None:
        try:
            return number_at(row_again(changed, parts, report, percentiles=run), steps(path))
        except (ServeError, InputError):
            return None

    money = path.startswith("cost.")
    accelerator = design.compute.accelerator
    assert accelerator is not None
    tried = [_own_rates(entry, accelerator) for entry in entries(used) if money or entry.part.kind not in _OF_MONEY]
    figure = figure_at(row, path)
    parts = _token_parts(report, accelerator, *stated_parts(design, used), used)
    root = _declared(address, value, figure.unit, figure, parts)
    return _ServedFigure(row, root, influences(replace(question, evaluate=evaluate), value, tried, step))


def _own_rates(entry: Entry, accelerator: Accelerator) -> Entry:
    """Return an engine with the constants of the accelerator alone, since no others can move a figure."""
    part = entry.part
    if not isinstance(part, Engine):
        return entry
    key = engine_speed(part, accelerator, "bf16").source
    return replace(entry, part=part.model_copy(update={"rates": {key: part.rates[key]}}))


def _token_parts(
    report: ServeReport, accelerator: Accelerator, model: Model, engine: Engine, catalog: Catalog
) -> tuple[Derivation, ...]:
    """Return the terms of a token's time, the largest first, with the engine's constants and where they stand."""
    assert model.transformer is not None
    shape, entry, precision = model.transformer, catalog.entry(engine.id), report.plan.precision
    key, computed = engine_speed(engine, accelerator, precision).source, compute_precision(accelerator, precision)
    left_out = {
        *(("expert_layer", "expert_sequence", "grouped", "exchange") if shape.experts is None else ()),
        *(("latent_layer",) if shape.latent is None else ()),
        *(("quantised_layer",) if computed not in NARROW else ()),
    }
    parts = []
    for index, part in enumerate(report.rows[report.best].parts):
        how, names = _TERMS[part.name]
        constants = []
        for name in names:
            field = NARROW.get(computed, name) if name == "matrix" else name
            if field not in left_out:
                figure, place = getattr(engine.rates[key], field), _figure_at(entry, "rates", key, field)
                unit = "s" if isinstance(figure, DurationFigure) else ""
                constants.append(given(field.replace("_", " "), figure.value, unit, place=place))
        term = given(part.label, part.seconds, "s", how=how, binds=index == 0)
        parts.append(replace(term, steps=tuple(constants)))
    return tuple(parts)
