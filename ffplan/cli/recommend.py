"""`ffplan recommend`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer

from ffplan.base.errors import EXIT_FINDINGS, EXIT_STOPPED, UsageError
from ffplan.base.outcomes import IN_TIME
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import _parsed
from ffplan.cli.options import CatalogOption, EffortOption, OutputOption, PricesOption
from ffplan.cli.output import emit
from ffplan.cli.page import _with_extras
from ffplan.cli.progress import Progress
from ffplan.cli.recommend_fleet import Output, _limit_of, _recommend_fleet, _refuse_others, _ServedLoad
from ffplan.cli.recommend_options import (
    Aim,
    AimOption,
    AllowedOption,
    AreaOption,
    BestOption,
    CapexOption,
    ChanceOption,
    DayOption,
    DaysOption,
    ExcludeOption,
    FloorOption,
    FolderOption,
    LaterOption,
    ModelOption,
    PeakOption,
    PowerOption,
    PueOption,
    RacksOption,
    ServeOption,
    SlackOption,
    SustainedOption,
    SwitchOption,
    TcoOption,
    TokensOption,
    WithinOption,
    _require_folder,
    written,
)
from ffplan.cli.serve_options import (
    AtOption,
    CacheOption,
    DisaggregateOption,
    EachOption,
    EngineOption,
    FirstOption,
    OutputLengthOption,
    PrecisionOption,
    PromptOption,
    _ServedModel,
)

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.dimensions import Dimension
    from ffplan.results.recommendation import RecommendReport
    from ffplan.studies.choose.recommend_target import Stage, Target

BOUGHT = ("accelerator", "server", "switch", "link")
"""Kinds of parts that can be excluded."""
_LATER = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3})?):([0-9]{1,5}(?:\.[0-9]{1,3})?)")
"""Form of a later purchase: months and days."""


def _parts(
    parts: Catalog, accelerator: list[str] | None, switch: list[str] | None, exclude: list[str] | None
) -> dict[str, Any]:
    from ffplan.catalog.named import part_of
    from ffplan.catalog.parts import Accelerator, Switch

    us = "ffplan recommend: "
    return {
        "allowed": tuple(part_of(parts, Accelerator, name, f"{us}--accelerator").id for name in accelerator or ()),
        "switches": tuple(part_of(parts, Switch, name, f"{us}--switch").id for name in switch or ()),
        "excluded": _bought(parts, exclude),
    }


def _bought(parts: Catalog, names: list[str] | None) -> tuple[str, ...]:
    from ffplan.base.errors import did_you_mean
    from ffplan.inputs.part_ids import id_of

    known = [name for kind in BOUGHT for name in parts.ids_of(kind)]
    excluded = tuple(id_of(name, known) for name in names or ())
    for name in excluded:
        if name not in known:
            fault = "no accelerator, server, switch or link"
            raise UsageError(f"ffplan recommend: --exclude: {fault} `{name}`; {did_you_mean(name, known, what='part')}")
    return excluded


def _time(
    parts: Catalog, model: str, tokens: str | None, days: float | None, sustained: str | None
) -> tuple[float, float, float | None]:
    """Return tokens, days, and the sustained rate [FLOP/s]; a rate alone implies a run of thirty days."""
    from ffplan.catalog.models import Model
    from ffplan.cli.job import _tokens_of
    from ffplan.inputs.dimensions import COMPUTE
    from ffplan.inputs.quantities import parse_quantity
    from ffplan.studies.choose.recommend_target import USUAL_DAYS, days_for

    if sustained is None:
        if tokens is None or days is None:
            raise UsageError("ffplan recommend: give --tokens and --days, or --sustained")
        return _tokens_of(tokens, "recommend"), days, None
    if days is not None:
        raise UsageError("ffplan recommend: give --days or --sustained, not both: each sets the other")
    rate = 1e12 * _parsed(lambda: parse_quantity(sustained, COMPUTE), "--sustained", "recommend")
    part = parts.entry(model).part
    assert isinstance(part, Model)
    assert part.transformer is not None
    shape = part.transformer
    if tokens is not None:
        count = _tokens_of(tokens, "recommend")
        return count, days_for(shape, rate, count), rate
    return USUAL_DAYS / days_for(shape, rate, 1.0), USUAL_DAYS, rate


def _stages(most_days: float, later: list[str] | None, *, by_rate: bool) -> tuple[tuple[Stage, ...], float]:
    """Return the purchases of a growing cluster, none for a single purchase, and the days of the last one."""
    from ffplan.studies.choose.recommend import stages_of

    pairs: list[tuple[float, float]] = []
    for text in later or ():
        written = _LATER.fullmatch(text)
        if written is None:
            raise UsageError(f"ffplan recommend: --later: `{text}`; write months and days, such as 12:30")
        pairs.append((float(written[1]), float(written[2])))
    if pairs and by_rate:
        raise UsageError("ffplan recommend: --later goes with --days")
    return stages_of(most_days, pairs, "ffplan recommend: --later")


def _space(power: str | None, racks: int | None, floor: str | None, area_per_rack: str | None) -> dict[str, Any]:
    from ffplan.inputs.dimensions import AREA, POWER
    from ffplan.inputs.quantities import parse_quantity

    def quantity(text: str | None, dimension: Dimension, option: str) -> float | None:
        return _parsed(lambda: parse_quantity(text, dimension), option, "recommend") if text is not None else None

    return {
        "watts": quantity(power, POWER, "--power"),
        "racks": racks,
        "floor": quantity(floor, AREA, "--floor"),
        "rack_area": quantity(area_per_rack, AREA, "--area-per-rack"),
    }


def _found(
    parts: Catalog, target: Target, currency: str, best: int, folder: str | None
) -> tuple[RecommendReport, bool, UsageError | None]:
    """Return the result, whether the search was interrupted, and why writing failed, if it did."""
    from ffplan.studies.choose.recommend import recommend as search
    from ffplan.studies.choose.recommendation import kept, recommendation

    progress = Progress("sizing")
    sized = search(target, parts, progress.now)
    progress.end()
    chosen = kept(sized, target, best)
    files: list[str | None] = [None] * len(chosen)
    refused = None
    try:
        files = written([choice.built for choice in chosen], folder)
    except UsageError as error:
        refused = error
    report = recommendation(sized, target, parts, currency, chosen, files)
    return report, sized.stopped, refused


def _leave(report: RecommendReport, stopped: bool, refused: UsageError | None) -> None:
    """Exit with code 2 if the designs could not be written, 130 of a search that was interrupted, 1 without designs."""
    if refused is not None:
        raise refused
    if stopped:
        typer.echo("ffplan recommend: stopped; what was not sized is left out, and no limit has its price", err=True)
        raise typer.Exit(EXIT_STOPPED)
    if not report.designs:
        raise typer.Exit(EXIT_FINDINGS)


def recommend(
    context: typer.Context,
    model: ModelOption,
    prices: PricesOption,
    tokens: TokensOption = None,
    days: DaysOption = None,
    sustained: SustainedOption = None,
    serve: ServeOption = None,
    within: WithinOption = None,
    isl: PromptOption = 1024,
    osl: OutputLengthOption = 1024,
    ttft: FirstOption = None,
    tpot: EachOption = None,
    at: AtOption = None,
    peak: PeakOption = "1x",
    day: DayOption = None,
    engine: EngineOption = "vllm",
    precision: PrecisionOption = None,
    kv: CacheOption = None,
    disaggregate: DisaggregateOption = False,
    aim: AimOption = Aim.CAPEX,
    capex: CapexOption = None,
    tco: TcoOption = None,
    power: PowerOption = None,
    racks: RacksOption = None,
    floor: FloorOption = None,
    area_per_rack: AreaOption = None,
    accelerator: AllowedOption = None,
    switch: SwitchOption = None,
    exclude: ExcludeOption = None,
    later: LaterOption = None,
    slack: SlackOption = 0.1,
    chance: ChanceOption = IN_TIME,
    effort: EffortOption = None,
    pue: PueOption = 1.25,
    best: BestOption = 5,
    folder: FolderOption = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Find the best purchase that trains a model in a given time, or serves a load within latency targets.

    For training: accelerators, size, NICs, fabric, plan. With --serve or --within: accelerators, copies, spares.
    Exit code 1 if no design meets the target within the limits.
    """
    from ffplan.catalog.store import Catalog
    from ffplan.cli.job import _book_of, _money_of

    _refuse_others(context, serve, within)
    parts = Catalog(catalog or ())
    _require_folder(folder, parts, model)
    book = _book_of(parts, prices, "recommend")
    chosen = _parts(parts, accelerator, switch, exclude) | _space(power, racks, floor, area_per_rack)
    chosen |= {"capex": _money_of(capex, book, "--capex", "recommend")} | _limit_of(within, book)
    shared = {"book": book.id, "pue": pue, "aim": aim.value, "slack": slack, "chance": chance, **chosen}
    place = Output(best, folder, form, output, catalog=catalog)
    if serve is not None or within is not None:
        served = _ServedModel((isl, osl), (ttft, tpot, at), (engine, precision, kv), disaggregate)
        load = _ServedLoad((serve, peak, day), served)
        _recommend_fleet(parts, model, load, shared, place)
        return
    run_only = {"tco": _money_of(tco, book, "--tco", "recommend"), "effort": effort}
    target = _training_target(parts, model, (tokens, days, sustained), later, {**shared, **run_only})
    _recommend_cluster(parts, target, book.currency, place)


def _recommend_cluster(parts: Catalog, target: Target, currency: str, place: Output) -> None:
    from ffplan.report.choose import recommendation_document

    report, stopped, refused = _found(parts, target, currency, place.best, place.folder)
    document = recommendation_document(report)
    emit(_with_extras(document, place.form, [], place.catalog, "recommendation"), place.form, place.file)
    _leave(report, stopped, refused)


def _training_target(
    parts: Catalog,
    model: str,
    run: tuple[str | None, float | None, str | None],
    later: list[str] | None,
    shared: dict[str, Any],
) -> Target:
    from ffplan.cli.job import _transformer_of
    from ffplan.studies.choose.recommend_target import Target

    name = _transformer_of(parts, model, "recommend").id
    count, most_days, rate = _time(parts, name, *run)
    stages, last_days = _stages(most_days, later, by_rate=rate is not None)
    return Target(model=name, tokens=count, days=last_days, sustained=rate, stages=stages, **shared)
