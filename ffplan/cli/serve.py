"""`ffplan serve`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.catalog.engines import Engine
from ffplan.catalog.named import part_of
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import parsed, read_text, resolved_design
from ffplan.cli.models import model_part
from ffplan.cli.options import CatalogOption, OutputOption, SeedOption
from ffplan.cli.output import emit
from ffplan.cli.page import with_extras
from ffplan.cli.serve_options import (
    AcceleratorOption,
    AtOption,
    CacheOption,
    ChunkOption,
    ConcurrencyOption,
    DataOption,
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
    PrefixOption,
    PromptOption,
    RateOption,
    SearchOption,
    SpeculateOption,
    TensorOption,
    TraceOption,
)
from ffplan.studies.serve.serve import ServeTask, targets_of
from ffplan.studies.serve.setup import PlanRequest, ServeError, engine_of

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.results.serving import ServeReport
    from ffplan.serving.load import Requests
    from ffplan.studies.serve.loads import Trace
    from ffplan.studies.serve.setup import Fleet

_WHO = "ffplan serve"
_RATE = re.compile(r"([0-9.]+(?:e[0-9]+)?)\s*(?:/\s*(s|sec|min|h|hour|day))?")
_PERIODS = {"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hour": 3600.0, "day": 86400.0}
_MOST_ROWS = 64


def _fleet(
    design: str | None, accelerator: str | None, gpus: int | None, catalog: list[str] | None
) -> tuple[Fleet, Catalog]:
    """Return the accelerators to serve on.

    Raises:
        ServeError: if the design has fewer.
        UsageError: without a design or an accelerator, or with both.
    """
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.store import Catalog
    from ffplan.studies.serve.setup import Fleet, fleet_of

    if (design is None) == (accelerator is None):
        what = "name a design, or --accelerator and --gpus" if design is None else "--accelerator replaces a design"
        raise UsageError(f"{_WHO}: {what}; write one of the two")
    if accelerator is not None:
        parts = Catalog(catalog or ())
        return Fleet(
            accelerator=part_of(parts, Accelerator, accelerator, f"{_WHO}: --accelerator"), gpus=gpus or 1
        ), parts
    assert design is not None
    resolved, parts = resolved_design(design, catalog)
    return fleet_of(resolved, gpus), parts


def _loads(concurrency: str | None, rate: str | None) -> tuple[float, ...]:
    """Return concurrencies or rates.

    Raises:
        UsageError: if both are given, one is malformed, or they are too many.
    """
    from ffplan.cli.series import series

    if concurrency and rate:
        what = "--concurrency keeps requests under way, --rate lets them arrive"
        raise UsageError(f"{_WHO}: {what}; write one of the two")
    found = series(concurrency, f"{_WHO}: --concurrency", sizes=False) if concurrency else _rates(rate)
    if len(found) > _MOST_ROWS:
        raise UsageError(f"{_WHO}: more than {_MOST_ROWS} loads; ask for fewer")
    return found


def _rates(text: str | None) -> tuple[float, ...]:
    """Return rates of arrival [1/s].

    Raises:
        UsageError: if one is malformed.
    """
    found = []
    for part in text.split(",") if text else ():
        match = _RATE.fullmatch(part.strip().lower())
        try:
            rate = float(match[1]) / _PERIODS[match[2] or "s"] if match else 0.0
        except ValueError:
            rate = 0.0
        if rate <= 0:
            raise UsageError(f"{_WHO}: --rate: `{part.strip()}` is no rate; write 5/s, 300/min or 2,4,8")
        found.append(rate)
    return tuple(found)


def _share(text: str) -> float:
    try:
        value = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise UsageError(f"{_WHO}: --prefix-hit: `{text}` is no share below 1; write 50% or 0.5")
    return value


def _speculation(text: str | None, engine: Engine) -> dict[str, float]:
    """Return what speculation adds to requests.

    Raises:
        ServeError: if the engine has none of that kind, or a number is out of range.
        UsageError: if it is malformed.
    """
    from ffplan.studies.serve.answer import speculation

    if text is None:
        return {}
    kind, _, rest = text.partition(":")
    width, _, chance = rest.partition(":")
    try:
        drafted, accepted = int(width), float(chance)
    except ValueError:
        what = f"{_WHO}: --speculate: `{text}`"
        raise UsageError(f"{what}: write a kind, tokens and a chance, such as mtp:3:0.8") from None
    return speculation(engine, kind, drafted, accepted)


def _trace(lengths: str | None, trace: str | None) -> Trace | None:
    """Return the requests of a file.

    Raises:
        InputError: if the file is wrong.
        UsageError: if both are given, or a trace has no times.
    """
    import numpy as np

    from ffplan.inputs.requests import read_requests
    from ffplan.studies.serve.loads import Trace

    file = lengths or trace
    if file is None:
        return None
    if lengths and trace:
        raise UsageError(f"{_WHO}: --trace has lengths of its own; leave --lengths out")
    found = read_requests(read_text(file), file)
    times = [line.time for line in found if line.time is not None]
    if trace and not times:
        raise UsageError(f"{_WHO}: --trace {file}: no column of times; --lengths takes lengths alone")
    return Trace(
        prompts=np.array([line.prompt for line in found]),
        outputs=np.array([line.output for line in found]),
        times=np.array(times) if trace else None,
    )


def _seconds(text: str | None, option: str) -> float | None:
    from ffplan.inputs.dimensions import DURATION
    from ffplan.inputs.quantities import parse_quantity

    return parsed(lambda: parse_quantity(text, DURATION), option, "serve") if text else None


def _mean_requests(isl: int, osl: int, hit: float, speculation: dict[str, float], trace: Trace | None) -> Requests:
    from ffplan.serving.load import Requests

    prompt, output = (isl, osl) if trace is None else (float(trace.prompts.mean()), float(trace.outputs.mean()))
    spread = 0.0 if trace is None else float(trace.outputs.var()) / output**2
    return Requests(prompt=prompt, output=output, hit=hit, variation=spread, **speculation)


def serve(
    design: OptionalDesign = None,
    model: ModelOption = ...,  # type: ignore[assignment]
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
    at: AtOption = "p99",
    search: SearchOption = False,
    seed: SeedOption = 0,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Serve a model: tokens per second, latency, what binds, power and cost at loads up to saturation.

    With --ttft or --tpot, the largest load within the targets.

    Exit code 1 if the model has no room, a rate is beyond saturation, or no load meets the targets.
    """
    from ffplan.report.serve import serve_document
    from ffplan.studies.serve.answer import ServeQuestion, answer
    from ffplan.studies.serve.loads import Load

    loads, trace_read = _loads(concurrency, rate), _trace(lengths, trace)
    try:
        fleet, parts = _fleet(design, accelerator, gpus, catalog)
        part = model_part(parts, model, "serve")
        used = engine_of(parts, engine)
        requests = _mean_requests(isl, osl, _share(prefix_hit), _speculation(speculate, used), trace_read)
        task = ServeTask(
            load=Load(requests=requests, trace=trace_read, seed=seed),
            concurrency=loads if concurrency else (),
            rates=loads if rate else (),
            targets=targets_of(_seconds(ttft, "--ttft"), _seconds(tpot, "--tpot"), at),
        )
        request = PlanRequest(precision=precision, kv=kv, tensor=tp, pipeline=pp, expert=ep, data=dp, chunk=chunk)
        report = answer(fleet, parts, ServeQuestion(model=part, engine=used, request=request, task=task, search=search))
    except ServeError as error:
        if not error.infeasible:
            raise UsageError(f"{_WHO}: {error}") from None
        typer.echo(f"{_WHO}: {error}", err=True)
        raise typer.Exit(EXIT_FINDINGS) from None
    emit(with_extras(serve_document(report), form, [design] if design else [], catalog, "serve"), form, output)
    _finish(report)


def _finish(report: ServeReport) -> None:
    """Exit with 1 if no load meets the targets."""
    if report.targets is not None and not any(row.meets for row in report.rows):
        raise typer.Exit(EXIT_FINDINGS)
