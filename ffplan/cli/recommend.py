"""`ffplan recommend`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import parsed
from ffplan.cli.options import CatalogOption, OutputOption, complete_part
from ffplan.cli.output import Progress, emit, write

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.results.recommendation import RecommendReport
    from ffplan.studies.recommend import SizedCluster, Target

MOST_DAYS = 3650.0
AllowedOption = Annotated[
    list[str] | None,
    typer.Option(
        "--accelerator",
        "-a",
        metavar="ID",
        help="Accelerator to choose from; all with a price if omitted. May be repeated.",
        autocompletion=complete_part("accelerator"),
    ),
]


def _known(parts: Catalog, names: list[str] | None, option: str) -> tuple[str, ...]:
    """Return accelerators of the catalogue."""
    from ffplan.catalog.named import part_of
    from ffplan.catalog.parts import Accelerator

    return tuple(part_of(parts, Accelerator, name, f"ffplan recommend: {option}").id for name in names or ())


def _found(parts: Catalog, target: Target, currency: str, best: int, folder: str | None) -> RecommendReport:
    """Size the clusters, and write the best designs where a folder is given."""
    from ffplan.studies.recommend import recommend as search
    from ffplan.studies.recommendation import kept, recommendation

    progress = Progress("sizing")
    found = search(target, parts, lambda words: progress.step(progress.done, progress.done + 1, words))
    progress.end()
    chosen = kept(found, best)
    return recommendation(found, target, currency, chosen, _written(chosen, folder))


def _written(chosen: list[SizedCluster], folder: str | None) -> list[str | None]:
    """Write the designs to a folder, where one is given; return their files."""
    if folder is None:
        return [None] * len(chosen)
    if not Path(folder).is_dir():
        raise UsageError(f"ffplan recommend: --folder: there is no folder {folder}")
    files = [Path(folder) / f"{item.built.assessment.design.name}.yaml" for item in chosen]
    for file in files:
        if file.exists():
            raise UsageError(f"ffplan recommend: {file} exists already; choose another --folder")
    for file, item in zip(files, chosen, strict=True):
        write(item.built.text, str(file), option="--folder")
    return [str(file) for file in files]


def recommend(
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="ID", help="Model to train.", autocompletion=complete_part("model"))
    ],
    tokens: Annotated[str, typer.Option("--tokens", metavar="N", help="Tokens to train on, such as 2T.")],
    days: Annotated[
        float, typer.Option("--days", min=0.01, max=MOST_DAYS, help="Days that the run may take, restarts included.")
    ],
    capex: Annotated[
        str | None, typer.Option("--capex", metavar="MONEY", help="Most that the purchase may come to, such as '$40M'.")
    ] = None,
    power: Annotated[
        str | None, typer.Option("--power", metavar="POWER", help="Most that the facility may draw, such as 5MW.")
    ] = None,
    accelerator: AllowedOption = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="ID", help="Accelerator to leave out. May be repeated."),
    ] = None,
    prices: Annotated[
        str, typer.Option("--prices", metavar="ID", help="Price book.", autocompletion=complete_part("price-book"))
    ] = "usd-2026",
    pue: Annotated[float, typer.Option("--pue", min=1.0, max=5.0, help="Facility over IT power.")] = 1.25,
    best: Annotated[int, typer.Option("--best", min=1, max=50, help="Designs to report.")] = 5,
    folder: Annotated[
        str | None, typer.Option("--folder", metavar="DIR", help="Write the designs into this folder.")
    ] = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Find the smallest purchase that trains a model in a given time: accelerators, size, fabric, plan.

    Exit code 1 where nothing meets the target within the limits.
    """
    from ffplan.catalog.named import part_of
    from ffplan.catalog.prices import PriceBook
    from ffplan.catalog.store import Catalog
    from ffplan.cli.cost_options import money_of, require_transformer, tokens_of
    from ffplan.inputs.quantities import POWER, parse_quantity
    from ffplan.report.recommendation import recommendation_document
    from ffplan.studies.recommend import Target

    parts = Catalog(catalog or ())
    book = part_of(parts, PriceBook, prices, "ffplan recommend: --prices")
    require_transformer(parts, model, "recommend")
    target = Target(
        model=model,
        tokens=tokens_of(tokens, "recommend"),
        days=days,
        capex=money_of(capex, book, "--capex", "recommend"),
        watts=parsed(lambda: parse_quantity(power, POWER), "--power", "recommend") if power is not None else None,
        allowed=_known(parts, accelerator, "--accelerator"),
        excluded=_known(parts, exclude, "--exclude"),
        book=book.id,
        pue=pue,
    )
    report = _found(parts, target, book.currency, best, folder)
    emit(recommendation_document(report), form, output)
    if not report.designs:
        raise typer.Exit(EXIT_FINDINGS)
