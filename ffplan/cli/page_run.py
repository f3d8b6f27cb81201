"""Where the figures of a training run in money come from, in a cost study and in a comparison."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.cli.page_figures import QUANTILES, Spot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ffplan.cli.page_figures import Figures
    from ffplan.report.chart import Origin
    from ffplan.results.cost import InputRow

RUN = "ffplan.cost.run"
SPEED = ("effective", "speed", "speed_own")
POWER = ("power", "idle", "pue", "utilisation")
YEAR: dict[str, tuple[str, ...]] = {
    "hardware": ("discount", "residual", "capital", "life", "price."),
    "installation": ("freight", "installation", "cabling_labour", "rack", "rack_pdu", "liquid_cooling", "capital"),
    "support": ("support", "discount", "price."),
    "licences": ("licence",),
    "staff": ("staff", "salary"),
    "electricity": ("electricity", *POWER),
    "building": ("building", "building_life", "capital"),
    "colocation": ("colocation", "rack_rent"),
    "rent": ("rent", "utilisation"),
    "extras": ("extras",),
}
"""Inputs of each kind of cost of a year, by the names of `results.cost`."""
HOUR = ("utilisation", "life", "capital", "residual", "support", "colocation", "electricity", "pue", "rent", "price.")
CARBON = ("grid", "embodied_accelerator", "embodied_server", "embodied_switch", "embodied_link", "life", "utilisation")


@record
class RunFigure:
    """A figure of a run: how it follows, and from what."""

    field: str
    """Name in `results.run`."""
    _: KW_ONLY
    place: str = ""
    """Function that states its equation."""
    how: str = ""
    """How it follows, where no function has the whole equation."""
    of: tuple[str, ...] = ()
    """Figures of the run that it is made of."""
    inputs: tuple[str, ...] = ()
    """Inputs of the account."""


FIGURES = (
    RunFigure("days", place=f"{RUN}:run_seconds", of=("tokens", "tokens_s", "effective"), inputs=SPEED),
    RunFigure("accelerator_hours", place=f"{RUN}:accelerator_hours", of=("gpus", "days.likely"), inputs=SPEED),
    RunFigure("cost", place=f"{RUN}:run_cost", of=("accelerator_hours.likely",), inputs=(*SPEED, *HOUR)),
    RunFigure(
        "cost_per_million_tokens",
        how="cost of the run / tokens * 1,000,000",
        of=("cost.likely", "tokens"),
        inputs=(*SPEED, *HOUR),
    ),
    RunFigure(
        "cost_per_petaflop_day",
        how="accelerator-hour in use * 24 / (model PFLOP/s of an accelerator * effective training time)",
        of=("mfu", "effective"),
        inputs=(*SPEED, *HOUR),
    ),
    RunFigure("energy_mwh", place=f"{RUN}:run_energy", of=("accelerator_hours.likely",), inputs=("power", "pue")),
    RunFigure(
        "carbon_t",
        how="energy * carbon of the grid + accelerator-hours * embodied carbon over the hours in use of its life",
        of=("energy_mwh.likely", "accelerator_hours.likely", "carbon_energy_t"),
        inputs=CARBON,
    ),
)


def run_notes(
    figures: Figures, item: RunFigure, spot: Spot, path: str, inputs: tuple[InputRow, ...], *, hour: str, draws: int
) -> Iterator[Origin]:
    """Yield the notes of a figure of a run: of its likely value and each quantile, or of its median in a comparison.

    Args:
        figures: the result.
        item: the figure.
        spot: its first cell.
        path: path of the run.
        inputs: all inputs of its account.
        hour: path of the price of an accelerator-hour.
        draws: draws behind the quantiles.
    """
    of = figures.named(*(f"{path}.{name}" for name in item.of))
    of += figures.named(hour) if item.field.startswith("cost") else []
    likely = f"{path}.{item.field}.likely"
    parts = [*of, *figures.inputs(inputs, *item.inputs)]
    if figures.designs:  # a comparison shows the median alone
        yield from figures.note(spot, f"{path}.{item.field}.p50", how=item.how, place=item.place, parts=parts)
        return
    yield from figures.note(spot, likely, how=item.how, place=item.place, parts=parts)
    for at, (name, words) in enumerate(QUANTILES.items()):
        if name != "likely":
            cell = Spot(table=spot.table, row=spot.row, column=spot.column + at)
            how = f"{words} of {draws:,} draws of the inputs" if draws else "no draws: the likely value"
            yield from figures.note(cell, f"{path}.{item.field}.{name}", how=how, parts=figures.named(likely))


def swing_notes(
    figures: Figures, table: str, path: str, swings: Sequence[tuple[str, Sequence[str]]], *, of: str
) -> Iterator[Origin]:
    """Yield the notes of a tornado: each input at either end, and what it moves.

    Args:
        figures: the result.
        table: start of the title of its table.
        path: path of the tornado.
        swings: label of each input, and what is said of it.
        of: what moves, in words.
    """
    moved = f"{of} with this input at that value, all others likely"
    low, high = (f"{QUANTILES[name]} of the input" for name in ("p10", "p90"))
    how = {"low": low, "high": high, "at_low": moved, "at_high": moved}
    for at, (label, parts) in enumerate(swings):
        for column, (field, words) in enumerate(how.items()):
            yield from figures.note(Spot(table, label, column), f"{path}[{at}].{field}", how=words, parts=parts)
