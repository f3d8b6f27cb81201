"""The options of `ffplan compare`."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.cli.options import _complete_part
from ffplan.cli.series import MOST

BaselineOption = Annotated[
    str | None,
    typer.Option("--baseline", "-b", metavar="NAME", help="Design that ratios refer to; the first if omitted."),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="ID",
        help="Train this model on every design, each with its fastest plan: tokens/s, MFU, capital; or --serve it.",
        autocompletion=_complete_part("model"),
    ),
]
BatchOption = Annotated[
    int | None, typer.Option("--batch", min=1, max=MOST, help="Sequences of a step, needed with --model.")
]
GpusOption = Annotated[
    int | None,
    typer.Option("--gpus", min=1, max=MOST, help="Accelerators of the job; if omitted, as many as all can span."),
]
PlanOption = Annotated[
    str | None, typer.Option("--plan", metavar="FILE", help="A training plan that every design runs.")
]
SearchOption = Annotated[
    bool,
    typer.Option("--search", help="Search the fastest plan of every design, as without --plan; its fields stay."),
]
ServeOption = Annotated[
    bool, typer.Option("--serve", help="Serve the model on every design, each with its best plan within the targets.")
]
