"""`ffplan serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.catalog.named import part_of
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.job import _model_part
from ffplan.cli.loading import _parsed, _read_text, _resolved_design
from ffplan.cli.options import CatalogOption, OutputOption, SeedOption, _given_options
from ffplan.cli.output import emit
from ffplan.cli.page import _with_extras
from ffplan.cli.serve_options import (
    AcceleratorOption,
    AtOption,
    CacheOption,
    ChunkOption,
    ConcurrencyOption,
    DataOption,
    DecodeOption,
    DisaggregateOption,
    EachOption,
    EngineOption,
    ExpertOption,
    FirstOption,
    GpusOption,
    LengthsOption,
    ModelOption,
    OptionalDesign,
    OutputLengthOption,
    PipelineOption,
    PrecisionOption,
    PrefillOption,
    PrefixOption,
    PromptOption,
    RateOption,
    SearchOption,
    SpeculateOption,
    TensorOption,
    TraceOption,
    _seconds_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from ffplan.catalog.engines import Engine
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.workloads import PoolPlan
    from ffplan.results.serving import ServeReport
    from ffplan.serving.requests import Requests
    from ffplan.studies.serve.answer import ServeQuestion
    from ffplan.studies.serve.links import Fleet
    from ffplan.studies.serve.loads import Trace

_WHO = "ffplan serve"
_MOST_ROWS = 64


def _fleet(
    design: str | None, accelerator: str | None, gpus: int | None, catalog: list[str] | None
) -> tuple[Fleet, Catalog]:
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.store import Catalog
    from ffplan.studies.serve.links import Fleet, fleet_of

    if design is None:
        if accelerator is None:
            raise UsageError(f"{_WHO}: name a design, or --accelerator and --gpus")
        parts = Catalog(catalog or ())
        return Fleet(
            accelerator=part_of(parts, Accelerator, accelerator, f"{_WHO}: --accelerator"), gpus=gpus or 1
        ), parts
    resolved, parts = _resolved_design(design, catalog)
    return fleet_of(resolved, gpus, accelerator), parts


def _loads(concurrency: str | None, rate: str | None) -> tuple[float, ...]:
    from ffplan.cli.loading import series

    if concurrency and rate:
        what = "--concurrency keeps requests under way, --rate lets them arrive"
        raise UsageError(f"{_WHO}: {what}; write one of the two")
    counts = (
        series(concurrency, f"{_WHO}: --concurrency", sizes=False)
        if concurrency
        else tuple(_rate_of(part, "--rate", "serve") for part in rate.split(","))
        if rate
        else ()
    )
    if len(counts) > _MOST_ROWS:
        raise UsageError(f"{_WHO}: more than {_MOST_ROWS} loads; ask for fewer")
    return counts


def _rate_of(text: str, option: str, command: str) -> float:
    from ffplan.inputs.workloads import parse_rate

    return _parsed(lambda: parse_rate(text), option, command)


def _speculation(text: str | None, engine: Engine) -> dict[str, float]:
    from ffplan.inputs.workloads import parse_drafts
    from ffplan.studies.serve.answer import speculation

    if text is None:
        return {}
    return speculation(engine, *_parsed(lambda: parse_drafts(text), "--speculate", "serve"))


def _trace(options: dict[str, Any], given: Collection[str]) -> Trace | None:
    import numpy as np

    from ffplan.inputs.requests import read_requests
    from ffplan.studies.serve.loads import Trace

    trace = options["trace"]
    option, file = ("--trace", trace) if trace else ("--lengths", options["lengths"])
    if file is None:
        return None
    held = ("lengths", "isl", "osl", "rate", "concurrency") if trace else ("isl", "osl")
    doubled = next((name for name in held if name in given), None)
    if doubled is not None:
        rest = ", or take lengths alone with --lengths" if doubled in {"rate", "concurrency"} else ""
        raise UsageError(f"{_WHO}: --{doubled} has no effect beside {option}; leave it out{rest}")
    lines = read_requests(_read_text(file), file)
    times = [line.time for line in lines if line.time is not None]
    if trace and (not times or times[-1] <= 0):
        what = "all requests arrive at one time" if times else "no column of times"
        raise UsageError(f"{_WHO}: --trace {file}: {what}; --lengths takes lengths alone")
    return Trace(
        prompts=np.array([line.prompt for line in lines]),
        outputs=np.array([line.output for line in lines]),
        times=np.array(times) if trace else None,
    )


def _mean_requests(isl: int, osl: int, hit: float, speculation: dict[str, float], trace: Trace | None) -> Requests:
    from ffplan.serving.requests import Requests
    from ffplan.studies.serve.loads import traced_requests

    if trace is None:
        return Requests(prompt=isl, output=osl, hit=hit, **speculation)
    return traced_requests(trace, hit, **speculation)


def serve(
    context: typer.Context,
    design: OptionalDesign = None,
    model: ModelOption = None,
    accelerator: AcceleratorOption = None,
    gpus: GpusOption = None,
    isl: PromptOption = 1024,
    osl: OutputLengthOption = 1024,
    concurrency: ConcurrencyOption = None,
    rate: RateOption = None,
    lengths: LengthsOption = None,
    trace: TraceOption = None,
    precision: PrecisionOption = None,
    kv: CacheOption = None,
    engine: EngineOption = "vllm",
    tp: TensorOption = None,
    pp: PipelineOption = None,
    ep: ExpertOption = None,
    dp: DataOption = None,
    chunk: ChunkOption = None,
    speculate: SpeculateOption = None,
    prefix_hit: PrefixOption = "0%",
    ttft: FirstOption = None,
    tpot: EachOption = None,
    at: AtOption = None,
    search: SearchOption = False,
    prefill: PrefillOption = None,
    decode: DecodeOption = None,
    disaggregate: DisaggregateOption = False,
    seed: SeedOption = 0,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Serve a model: tokens per second, latency, what binds, power and cost at loads up to saturation.

    A design with a `serving` section has model, load and plan; options override it. With --ttft or --tpot, the largest
    load within the targets.

    Exit code 1 if the model has no room, a rate is beyond saturation, or no load meets the targets.
    """
    options = dict(locals())
    from ffplan.report.serve import serve_document
    from ffplan.studies.serve.answer import answer
    from ffplan.studies.serve.links import ServeError

    requests = _trace(options, _given_options(context))
    try:
        fleet, parts = _fleet(design, accelerator, gpus, catalog)
        asked = _question(parts, _stated(context, options, fleet, parts), requests)
        report = answer(fleet, parts, asked)
    except ServeError as error:
        if not error.infeasible:
            raise UsageError(f"{_WHO}: {error}") from None
        typer.echo(f"{_WHO}: {error}", err=True)
        raise typer.Exit(EXIT_FINDINGS) from None
    emit(_with_extras(serve_document(report), form, [design] if design else [], catalog, "serve"), form, output)
    _finish(report)


def _stated(context: typer.Context, options: dict[str, Any], fleet: Fleet, parts: Catalog) -> dict[str, Any]:
    from ffplan.studies.serve.answer import stated_fields, stated_parts

    given = _given_options(context)
    section = fleet.design.serving if fleet.design is not None else None
    if section is None:
        if options["model"] is None:
            raise UsageError(f"{_WHO}: name a --model, or add `serving` to the design")
        return options
    if fleet.design is not None and not given & {"model", "engine"}:
        stated_parts(fleet.design, parts)  # a wrong one is located in the design
    fields = stated_fields(section, given)
    fields |= {name: repr(fields[name]) for name in ("rate", "concurrency") if fields.get(name) is not None}
    return options | fields


def _question(parts: Catalog, options: dict[str, Any], trace: Trace | None) -> ServeQuestion:
    from ffplan.inputs.workloads import parse_hit
    from ffplan.studies.serve.answer import ServeQuestion
    from ffplan.studies.serve.loads import Load, targets_of
    from ffplan.studies.serve.serve import ServeTask
    from ffplan.studies.serve.setup import PlanRequest, engine_of

    loads = _loads(options["concurrency"], options["rate"])
    part, used = _model_part(parts, options["model"], "serve"), engine_of(parts, options["engine"])
    hit = _parsed(lambda: parse_hit(options["prefix_hit"]), "--prefix-hit", "serve")
    drafts = _speculation(options["speculate"], used)
    requests = _mean_requests(options["isl"], options["osl"], hit, drafts, trace)
    limits = _seconds_of(options["ttft"], "--ttft"), _seconds_of(options["tpot"], "--tpot")
    task = ServeTask(
        load=Load(requests=requests, trace=trace, seed=options["seed"]),
        concurrency=loads if options["concurrency"] else (),
        rates=loads if options["rate"] else (),
        targets=targets_of(*limits, options["at"], requests.output),
    )
    request = PlanRequest(
        precision=options["precision"],
        kv=options["kv"],
        tensor=options["tp"],
        pipeline=options["pp"],
        expert=options["ep"],
        data=options["dp"],
        chunk=options["chunk"],
    )
    return ServeQuestion(
        model=part,
        engine=used,
        request=request,
        task=task,
        search=options["search"],
        pools=_pools(options["prefill"], options["decode"], sought=options["disaggregate"]),
        disaggregate=options["disaggregate"],
    )


def _pools(prefill: Any, decode: Any, *, sought: bool) -> tuple[PoolPlan, PoolPlan] | None:
    from ffplan.inputs.workloads import pool_of

    if prefill is None and decode is None:
        return None
    if prefill is None or decode is None:
        missing = "--prefill" if prefill is None else "--decode"
        raise UsageError(f"{_WHO}: pools are two; add {missing}, such as {missing} 1xTP8")
    if sought:
        raise UsageError(f"{_WHO}: --disaggregate seeks what --prefill and --decode say; write one of the two")
    return pool_of(prefill, f"{_WHO}: --prefill"), pool_of(decode, f"{_WHO}: --decode")


def _finish(report: ServeReport) -> None:
    if report.targets is not None and not any(row.meets for row in report.rows):
        raise typer.Exit(EXIT_FINDINGS)
