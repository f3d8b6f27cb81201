"""Options of `ffplan recommend`, and the folder that its designs are written into."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.base.files import read_regular
from ffplan.cli.job import _refuse_own_file
from ffplan.cli.options import _by_comma, _complete_part, _part_option
from ffplan.cli.output import write

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.studies.choose.candidates import Built

MOST_DAYS = 3650.0


class Aim(StrEnum):
    """Quantity to minimise."""

    CAPEX = "capex"
    TCO = "tco"
    TOKEN = "token"
    POWER = "power"
    ACCELERATORS = "accelerators"


AllowedOption = Annotated[
    list[str] | None,
    typer.Option(
        "--accelerator",
        "-a",
        metavar="ID",
        help="Accelerators to choose from, with commas or repeated; all with a price if omitted.",
        callback=_by_comma,
        autocompletion=_complete_part("accelerator"),
    ),
]
SwitchOption = Annotated[
    list[str] | None,
    typer.Option(
        "--switch",
        metavar="ID",
        help="Switches to choose from, with commas or repeated; all with a price if omitted.",
        callback=_by_comma,
        autocompletion=_complete_part("switch"),
    ),
]
SustainedOption = Annotated[
    str | None,
    typer.Option(
        "--sustained",
        metavar="RATE",
        help="Model operations to keep up, interruptions included, such as '400 PFLOP/s'; in place of --days.",
    ),
]
ModelOption = Annotated[str, _part_option("model", "Model to train or to serve.", "--model", "-m")]
TokensOption = Annotated[str | None, typer.Option("--tokens", metavar="N", help="Tokens to train on, such as 2T.")]
DaysOption = Annotated[
    float | None, typer.Option("--days", min=0.01, max=MOST_DAYS, help="Days that the run may take; see --effort.")
]
ServeOption = Annotated[
    str | None,
    typer.Option(
        "--serve",
        metavar="RATE",
        help="Requests to serve, such as '10M requests a day' or 120/s; in place of --tokens.",
    ),
]
WithinOption = Annotated[
    str | None,
    typer.Option(
        "--within",
        metavar="LIMIT",
        help="Serve as much as this allows: 5MW, '$40M' or '20 racks'; in place of --serve.",
    ),
]
PeakOption = Annotated[str, typer.Option("--peak", metavar="FACTOR", help="Peak of the requests over their mean.")]
DayOption = Annotated[
    str | None,
    typer.Option(
        "--day",
        metavar="FILE",
        help="Requests of each hour of a day or week, a number a line; in place of --peak.",
    ),
]
AimOption = Annotated[Aim, typer.Option("--aim", help="What is to be least.")]
CapexOption = Annotated[
    str | None,
    typer.Option("--capex", "--budget", metavar="MONEY", help="Most that the purchase may come to, such as '$40M'."),
]
TcoOption = Annotated[
    str | None, typer.Option("--tco", metavar="MONEY", help="Most that it may cost over the life of the hardware.")
]
PowerOption = Annotated[
    str | None, typer.Option("--power", metavar="POWER", help="Most that the facility may draw, such as 5MW.")
]
RacksOption = Annotated[int | None, typer.Option("--racks", min=1, help="Most racks that it may fill.")]
FloorOption = Annotated[
    str | None,
    typer.Option("--floor", metavar="AREA", help="Most floor that its racks may take, aisles included, such as 500m2."),
]
AreaOption = Annotated[
    str | None,
    typer.Option(
        "--area-per-rack", metavar="AREA", help="Floor of a rack with its share of aisles; the ownership profile's."
    ),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="ID",
        help="Accelerators, servers, switches and links to leave out, with commas or repeated.",
        callback=_by_comma,
    ),
]
ChanceOption = Annotated[
    float,
    typer.Option(
        "--chance", min=0.01, max=0.99, help="Chance to be in time, or within the latency targets, that is sized for."
    ),
]
SlackOption = Annotated[
    float, typer.Option("--slack", min=0.0, max=10.0, help="How far above the best alternatives may lie.")
]
PueOption = Annotated[float, typer.Option("--pue", min=1.0, max=5.0, help="Facility over IT power.")]
BestOption = Annotated[int, typer.Option("--best", min=1, max=50, help="Designs to report.")]
FolderOption = Annotated[
    str | None, typer.Option("--folder", metavar="DIR", help="Write the designs into this folder.")
]
LaterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--later",
        metavar="MONTHS:DAYS",
        help="A further purchase, ordered MONTHS after the first, with which the run may take DAYS. May be repeated.",
    ),
]


MOST_FILE = 2**20
"""Largest existing file compared with a design [byte]."""


def _require_folder(folder: str | None, parts: Catalog, model: str) -> None:
    if folder is None:
        return
    _refuse_own_file(parts, model, "recommend")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"ffplan recommend: --folder: {folder} cannot be made: {why}") from None
    try:
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(f"ffplan recommend: --folder {folder}: cannot be written: {error.strerror}") from None


def written(chosen: list[Built], folder: str | None) -> list[str | None]:
    """Write designs to a folder, if given; return their files. Unchanged files stay.

    Args:
        chosen: the designs.
        folder: the folder, if any.

    Raises:
        UsageError: if the folder holds another file of that name.
    """
    if folder is None:
        return [None] * len(chosen)
    files = [Path(folder) / f"{built.assessment.design.name}.yaml" for built in chosen]
    for file, built in zip(files, chosen, strict=True):
        if os.path.lexists(file) and read_regular(file, MOST_FILE) != built.text.encode():
            raise UsageError(f"ffplan recommend: {file} exists already; choose another --folder")
    for file, built in zip(files, chosen, strict=True):
        if not os.path.lexists(file):
            write(built.text, str(file), option="--folder")
    return [str(file) for file in files]
