"""`ffplan recommend --serve`: the least purchase that serves a load."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.base.record import record
from ffplan.cli.formats import ReportFormat
from ffplan.cli.job import _model_part
from ffplan.cli.loading import _parsed, _read_text
from ffplan.cli.options import _given_options
from ffplan.cli.output import emit
from ffplan.cli.page import _with_extras
from ffplan.cli.progress import Progress
from ffplan.cli.recommend_options import written
from ffplan.cli.serve_options import SERVING, _ServedModel

if TYPE_CHECKING:
    from ffplan.catalog.prices import PriceBook
    from ffplan.catalog.store import Catalog
    from ffplan.results.fleet import FleetReport
    from ffplan.studies.fleet.capacity import FleetTarget

WHO = "ffplan recommend"
TRAINING = ("tokens", "days", "sustained", "tco", "later", "slack", "effort")
"""Options that size a cluster for training."""
_MOST_PEAK = 100.0
_RACKS = re.compile(r"(\d{1,6}) ?racks?")


@record
class _ServedLoad:
    rate: tuple[str | None, str, str | None]
    """Rate, peak over it, and file of its hours; no rate for as many requests as the limits allow."""
    model: _ServedModel
    """Lengths, targets, engine and precision."""


@record
class Output:
    """Where designs and report go."""

    best: int
    """Designs to report [1]."""
    folder: str | None
    form: ReportFormat
    file: str | None
    _: KW_ONLY
    catalog: list[str] | None


def _refuse_others(context: typer.Context, serve: str | None, within: str | None) -> None:
    written_out, serves = _given_options(context), serve is not None or within is not None
    if serve is not None and within is not None:
        raise UsageError(f"{WHO}: --within sizes the load by a limit; bound a load with --power, --capex or --racks")
    if {"peak", "day"} <= written_out:
        raise UsageError(f"{WHO}: --day includes a peak; leave --peak out")
    given = [name for name in (TRAINING if serves else (*SERVING, "peak", "day")) if name in written_out]
    if given and serves:
        load = "serve" if serve is not None else "within"
        raise UsageError(f"{WHO}: --{given[0]} sizes for training, and --{load} for a load; write one of the two")
    if given:
        remedy = "such as --serve '10M requests a day', or --within 5MW"
        raise UsageError(f"{WHO}: --{given[0]} goes with --serve, {remedy}")


def _limit_of(within: str | None, book: PriceBook) -> dict[str, Any]:
    """Return the limit of --within as a field of a target: watts, capex or racks; nothing without it."""
    from ffplan.cli.job import _money_of
    from ffplan.inputs.dimensions import POWER
    from ffplan.inputs.quantities import parse_quantity

    if within is None:
        return {}
    racks = _RACKS.fullmatch(within.strip().lower())
    if racks is not None and int(racks[1]) > 0:
        return {"racks": int(racks[1])}
    with suppress(UsageError):
        return {"watts": _parsed(lambda: parse_quantity(within, POWER), "--within")}
    with suppress(UsageError):
        return {"capex": _money_of(within, book, "--within", "recommend")}
    raise UsageError(f"{WHO}: --within: `{within}` is no power, money or racks; write 5MW, '$40M' or '20 racks'")


def _factor(text: str) -> float:
    try:
        value = float(text.strip().lower().removesuffix("x"))
    except ValueError:
        value = 0.0
    if not 1 <= value <= _MOST_PEAK:
        raise UsageError(f"{WHO}: --peak: `{text}` is no factor from 1 to {_MOST_PEAK:g}; write 3x")
    return value


def _recommend_fleet(parts: Catalog, model: str, asked: _ServedLoad, fixed: dict[str, Any], output: Output) -> None:
    from ffplan.report.fleet import fleet_document

    report = _sized(parts, _target(parts, model, asked, fixed), output)
    document = _with_extras(fleet_document(report), output.form, [], output.catalog, "fleet-recommendation")
    emit(document, output.form, output.file)
    if not report.designs:
        raise typer.Exit(EXIT_FINDINGS)


def _limits(fixed: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    """Return the limits that are given; a power in kW, as the figure that it bounds."""
    from ffplan.studies.fleet.capacity import LIMITS

    watts = fixed["watts"]
    given = {**fixed, "power": None if watts is None else watts / 1e3}
    return tuple((name, float(given[name])) for name in LIMITS if given[name] is not None)


def _target(parts: Catalog, model: str, asked: _ServedLoad, fixed: dict[str, Any]) -> FleetTarget:
    from ffplan.cli.serve import _rate_of
    from ffplan.inputs.requests import read_hours
    from ffplan.serving.requests import Requests
    from ffplan.studies.fleet.capacity import AIMS, FleetTarget
    from ffplan.studies.serve.loads import Load
    from ffplan.studies.serve.setup import PlanRequest

    (rate, peak, day), (isl, osl), (_, precision, kv) = asked.rate, asked.model.lengths, asked.model.plan
    hours = read_hours(_read_text(day), day) if day else ()
    over = max(hours) * len(hours) / sum(hours) if hours else _factor(peak)
    if fixed["aim"] not in AIMS:
        raise UsageError(f"{WHO}: --aim {fixed['aim']} is for training; with --serve write {', '.join(AIMS)}")
    if rate is None and fixed["aim"] != AIMS[0]:
        raise UsageError(f"{WHO}: --aim: --within serves most requests; leave it out")
    engine, targets = asked.model.engine_and_targets(parts, WHO)
    if targets is None:
        raise UsageError(f"{WHO}: serving needs latency targets, such as --ttft 2s --tpot 50ms")
    kept = ("book", "pue", "aim", "allowed", "switches", "excluded", "chance", "rack_area")
    return FleetTarget(
        model=_model_part(parts, model, "recommend"),
        engine=engine,
        load=Load(requests=Requests(prompt=isl, output=osl, chunk=float(engine.chunk.value))),
        rate=None if rate is None else _rate_of(rate, "--serve", "recommend") * over,
        peak=over,
        hours=hours,
        targets=targets,
        request=PlanRequest(precision=precision, kv=kv),
        apart=asked.model.apart,
        limits=_limits(fixed),
        **{name: fixed[name] for name in kept},
    )


def _sized(parts: Catalog, target: FleetTarget, output: Output) -> FleetReport:
    from ffplan.studies.fleet.recommend import recommend_fleet as search
    from ffplan.studies.fleet.report import fleet_report, kept

    progress = Progress("sizing")
    outcome = search(target, parts, progress.now)
    progress.end()
    chosen = kept(outcome, target, output.best)
    names = [fleet.built.assessment.design.name for fleet in chosen]
    files = written([fleet.built for fleet in chosen], output.folder)
    known = {name: file for name, file in zip(names, files, strict=True) if file is not None}
    return fleet_report(outcome, target, parts, known, output.best)
