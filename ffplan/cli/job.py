"""Models, jobs and money of a command: the options that commands share, and what is read from them.

A model is an id of the catalogue, or a file of another program; a job comes from options, or the `workload` of designs.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.loading import MOST, _parsed
from ffplan.cli.options import _part_option
from ffplan.cli.progress import Progress

if TYPE_CHECKING:
    from ffplan.catalog.models import Model
    from ffplan.catalog.prices import PriceBook
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.training import Workload
    from ffplan.studies.operate.goodput_job import GoodputJob

JobModelOption = Annotated[
    str | None, _part_option("model", "Train this model; the design's `workload` if omitted.", "--model", "-m")
]
JobGpusOption = Annotated[
    int | None,
    typer.Option("--gpus", "-g", min=1, max=MOST, help="Accelerators of the job; the most it can span if omitted."),
]
TokensOption = Annotated[
    str | None,
    typer.Option(
        "--tokens",
        metavar="NUMBER",
        help="Tokens to train on, such as 300B or 2T: days, cost, energy, CO2e. Alone: of the design's `workload`.",
    ),
]
YearsOption = Annotated[
    float | None,
    typer.Option("--years", min=0.5, max=20, help="Life of the hardware, in place of the ownership profile's."),
]
DrawsOption = Annotated[
    int | None,
    typer.Option(
        "--draws", min=0, max=10_000_000, help="Draws of the uncertain inputs; 10,000 if omitted, 0 for none."
    ),
]


def _model_part(parts: Catalog, name: str, command: str) -> Model:
    """Return the model given by `--model`; of a file, say once what was assumed and left out."""
    from ffplan.catalog.models import Model
    from ffplan.catalog.named import names_file, part_of

    name = str(name)
    first = names_file(name) and parts.admitted(name) is None
    part = part_of(parts, Model, name, f"ffplan {command}: --model")
    if first and part.note:
        print(f"ffplan {command}: `{part.id}`: {part.note}", file=sys.stderr)
    return part


def _refuse_own_file(parts: Catalog, name: str, command: str) -> None:
    """Refuse a model read from a file where designs are written: they would name one that no catalogue has."""
    part = _model_part(parts, name, command)
    if parts.admitted(str(name)) == part.id:
        raise UsageError(
            f"ffplan {command}: --model {name}: the designs would name `{part.id}`, which no catalogue has; write it "
            f"with `ffplan fabric import model {name} -o parts/{part.id}.yaml`, then --catalog parts --model {part.id}"
        )


def _requested_job(
    command: str, design: ResolvedDesign, parts: Catalog, model: str | None, gpus: int | None
) -> GoodputJob | None:
    """Return the job with its fastest plan; None without a job."""
    from ffplan.studies.operate.goodput_job import goodput_job
    from ffplan.studies.train.default_job import answered

    work = design.workload
    if model is None and work is None:
        if gpus is not None:
            raise UsageError(f"ffplan {command}: --gpus has an effect with --model, or a `workload` in the design")
        return None
    name = design.stated_workload.model if model is None else model
    name = _model_part(parts, name, command).id
    progress = Progress(f"searching plans of {name}")
    progress.step(0, 1)
    try:
        return answered(
            f"ffplan {command}", lambda: goodput_job(design, parts, None if model is None else name, gpus), "--"
        )
    finally:
        progress.end()


def _workload_of(
    command: str, catalog: Catalog, model: str | None, tokens: str | None, batch: int | None, gpus: int | None
) -> Workload | None:
    """Return the job given by options; None if each design keeps its own."""
    from ffplan.design.training import Workload

    if model is None:
        if batch or gpus:
            raise UsageError(f"ffplan {command}: --batch and --gpus have an effect with --model only")
        return None
    model = _model_part(catalog, model, command).id
    number = _tokens_of(tokens, command) if tokens else None
    return Workload.model_construct(model=model, tokens=number, batch=batch, gpus=gpus, plan=None, search=False)


def _own_tokens(command: str, model: str | None, tokens: str | None) -> float | None:
    """Return the tokens that replace the design's; None without tokens, or with a model."""
    return _tokens_of(tokens, command) if tokens and model is None else None


def _own_workload(command: str, design: ResolvedDesign) -> Workload:
    from ffplan.studies.train.default_job import answered, own_workload

    return answered(f"ffplan {command}", lambda: own_workload([design]), "--")[1]


def _tokens_of(text: str, command: str) -> float:
    """Parse a number of tokens, such as 300B, 15.6T or 2e12."""
    from ffplan.inputs.workloads import parse_tokens

    return _parsed(lambda: parse_tokens(text), "--tokens", command)


def _book_of(parts: Catalog, name: str, command: str) -> PriceBook:
    from ffplan.catalog.named import part_of
    from ffplan.catalog.prices import PriceBook

    return part_of(parts, PriceBook, name, f"ffplan {command}: --prices")


def _money_of(text: str | None, book: PriceBook, option: str, command: str) -> float | None:
    """Parse an amount in the currency of a price book [currency]; None if not given."""
    from ffplan.inputs.quantities import parse_money

    if text is None:
        return None
    money = _parsed(lambda: parse_money(text), option, command)
    if money.currency != book.currency:
        fault = f"{option} is in {money.currency}, the price book `{book.id}` in {book.currency}"
        remedy = f"no rate of exchange is known: give it in {book.currency}, or another book with --prices"
        raise UsageError(f"ffplan {command}: {fault}; {remedy}")
    return money.amount


def _transformer_of(parts: Catalog, name: str, command: str) -> Model:
    part = _model_part(parts, name, command)
    if part.transformer is None:
        raise UsageError(f"ffplan {command}: --model {name}: a workload is counted in tokens; name a transformer")
    return part
