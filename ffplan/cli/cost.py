"""`ffplan cost`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.job import DrawsOption, JobGpusOption, TokensOption, YearsOption, _model_part, _tokens_of
from ffplan.cli.loading import MOST, _resolved_design
from ffplan.cli.options import (
    CatalogOption,
    DesignArgument,
    EffortOption,
    OutputOption,
    ProfileOption,
    SeedOption,
    _part_option,
)
from ffplan.cli.output import emit
from ffplan.cli.page import _with_extras
from ffplan.cli.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.studies.train.default_job import TimedJob


def _timed(
    design: ResolvedDesign,
    parts: Catalog,
    *,
    model: str,
    tokens: float,
    options: dict[str, object],
    plan: str | None,
    gpus: int | None,
    search: bool,
) -> TimedJob:
    from ffplan.catalog.launch.read import LaunchSize
    from ffplan.cli.train_options import _told_plan
    from ffplan.studies.basis.job_layout import most_gpus
    from ffplan.studies.train.default_job import timed_on

    part = _model_part(parts, model, "cost")
    if part.transformer is None:
        raise UsageError(f"ffplan cost: --model {part.id}: tokens need a transformer; `ffplan train` times it")
    most = most_gpus(design)
    if gpus is not None and gpus > most:
        raise UsageError(f"ffplan cost: --gpus {gpus:,}: one job can span {most:,} of this design")
    _, fields = _told_plan(plan, options, "cost", LaunchSize(gpus, most, options))
    searching = search or plan is None
    return _shown(lambda: timed_on(design, parts, part, fields, gpus, tokens, searching=searching), part.id)


def _own_job(design: ResolvedDesign, parts: Catalog, tokens: str | None) -> TimedJob | None:
    """Return the design's workload with its step time; None without tokens in design and options."""
    if tokens is None and (design.workload is None or design.workload.tokens is None):
        return None  # before the imports: a cluster without a job needs no model of training

    from ffplan.cli.job import _own_workload
    from ffplan.studies.train.default_job import timed_workload, with_tokens

    _own_workload("cost", design)
    design = with_tokens(design, None if tokens is None else _tokens_of(tokens, "cost"))
    return _shown(lambda: timed_workload(design, parts, design.stated_workload), design.stated_workload.model)


def _rented(design: ResolvedDesign, parts: Catalog, offer: str) -> ResolvedDesign:
    """Return the design with its cluster rented by an offer, or at a quote such as 2.10:3-year.

    What a rented design bills besides stays, and the share paid upfront of a rent that has a term.
    """
    from ffplan.base.errors import did_you_mean
    from ffplan.catalog.prices import TERM_YEARS, RentBook
    from ffplan.design.ownership import offers_for
    from ffplan.design.ownership_schema import Rent, quoted_rent

    accelerator, named = design.compute.accelerator, design.ownership
    book = parts.entry(named.rents if named is not None else Rent().book).part
    assert isinstance(book, RentBook)
    if offer[:1].isdigit():
        try:
            rent = quoted_rent(offer, book)
        except UsageError as error:
            raise UsageError(f"ffplan cost: {error}") from None
    else:
        known = offers_for(book, accelerator.id) if accelerator is not None else []
        if offer not in known:
            nearest = did_you_mean(offer, known, what="offer of this accelerator")
            raise UsageError(f"ffplan cost: --rent {offer}: {nearest}")
        rent = Rent(book=book.id, offer=offer)
    if design.rent is not None:
        term = rent.term if rent.offer is None else book.offers[offer].term
        kept = {"extras": design.rent.extras, "upfront": design.rent.upfront if term in TERM_YEARS else None}
        rent = rent.model_copy(update=kept)
    return replace(design, rent=rent)


def _shown(timed: Callable[[], TimedJob], model: str) -> TimedJob:
    from ffplan.training.accelerator_rates import UncalibratedError
    from ffplan.training.constraints import RefusedError

    progress = Progress(f"searching plans of {model}")
    progress.step(0, 1)
    try:
        return timed()
    except UncalibratedError as error:
        raise UsageError(f"ffplan cost: {error}; {error.remedy}") from None
    except RefusedError as error:
        if not error.infeasible:
            raise UsageError(f"ffplan cost: {error}") from None
        typer.echo(f"ffplan cost: {error}", err=True)
        raise typer.Exit(EXIT_FINDINGS) from None
    finally:
        progress.end()


def cost(
    file: DesignArgument,
    model: Annotated[
        str | None,
        _part_option("model", "Train this model; needs --tokens. The design's `workload` if omitted.", "--model", "-m"),
    ] = None,
    tokens: TokensOption = None,
    batch: Annotated[
        int | None,
        typer.Option("--batch", min=1, max=MOST, help="Sequences of a step; about 4 million tokens if omitted."),
    ] = None,
    gpus: JobGpusOption = None,
    plan: Annotated[
        str | None, typer.Option("--plan", metavar="FILE", help="A training plan; the fastest is searched if omitted.")
    ] = None,
    search: Annotated[
        bool, typer.Option("--search", help="Search the fastest plan with --plan too; its fields stay.")
    ] = False,
    rent: Annotated[
        str | None,
        typer.Option("--rent", metavar="OFFER", help="Rent it: an offer of `catalog list rents`, or 2.10:3-year."),
    ] = None,
    years: YearsOption = None,
    draws: DrawsOption = None,
    seed: SeedOption = 0,
    profile: ProfileOption = None,
    effort: EffortOption = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Price a cluster and a training run on it: purchase, ownership or rent, power, carbon, and their uncertainty.

    Exit code 1 if the job cannot run on the design.
    """
    if model is not None and tokens is None:
        raise UsageError("ffplan cost: --model needs --tokens, the tokens to train on")
    if model is None and (batch or gpus or plan or search):
        raise UsageError("ffplan cost: --batch, --gpus, --plan and --search have an effect with --model only")
    from ffplan.base.outcomes import DRAWS
    from ffplan.report.cost import cost_document
    from ffplan.studies.cost.cost import study_cost
    from ffplan.studies.cost.ledger import CostRequest

    design, parts = _resolved_design(file, catalog, profile, effort)
    if rent is not None:
        design = _rented(design, parts, rent)
    if model is None or tokens is None:
        timed = _own_job(design, parts, tokens)
    else:
        options: dict[str, object] = {"batch": batch} if batch is not None else {}
        number = _tokens_of(tokens, "cost")
        timed = _timed(design, parts, model=model, tokens=number, options=options, plan=plan, gpus=gpus, search=search)
    if timed is None and effort is not None:
        raise UsageError("ffplan cost: --effort has an effect on a run; give --tokens")
    request = CostRequest(draws=DRAWS if draws is None else draws, seed=seed, years=years)
    document = cost_document(study_cost(design, parts, request, timed))
    emit(_with_extras(document, form, [file], catalog, "cost"), form, output)
