"""Measured training runs as data, replayed: tables of plans with the seconds that a step took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from ffplan.accuracy.cases import System
from ffplan.accuracy.replay import signed_error
from ffplan.accuracy.system import Bench
from ffplan.catalog.evidence import Source
from ffplan.catalog.library import Library
from ffplan.catalog.models import Model
from ffplan.inputs.model import Count, Frozen, Identifier, Many, Text
from ffplan.perf.train import Plans, step_times
from ffplan.tables import AccuracyRow

if TYPE_CHECKING:
    from ffplan.accuracy.system import Path
    from ffplan.catalog.store import Catalog
    from ffplan.fabric.arrays import Floats
    from ffplan.inputs.document import Document

Column = Literal[
    "gpus", "batch", "micro", "layers", "hidden", "heads", "sequence", "tensor", "data", "stages", "chunks", "seconds"
]
SHAPE = ("layers", "hidden", "heads", "sequence")
PLAN = ("gpus", "batch", "micro", "tensor", "data", "stages", "seconds")
Cell = Annotated[float, Field(gt=0, lt=1e12)]


class Table(Frozen):
    """Measured steps of one model, or of several of one kind: a row for each plan."""

    id: Identifier
    """Name of the table within its file."""
    system: System
    """What it ran on."""
    model: Identifier | None = None
    """Catalogue id of the model; left out, columns give layers, hidden, heads and sequence of a GPT model."""
    vocabulary: Count | None = None
    """Entries of the vocabulary, without a model."""
    recompute: Literal["none", "full"]
    """What of the activations is computed again."""
    gradient_bytes: Literal[2, 4]
    """Bytes of a gradient when it is reduced."""
    columns: Many[Column]
    """What each column holds; `batch` is the sequences of a step, `seconds` its time."""
    rows: Annotated[Many[Annotated[Many[Cell], Field(min_length=1)]], Field(min_length=1)]
    """The rows."""
    fitted: bool = False
    """True where a figure of the catalogue was fitted on these rows."""
    scored: bool = True
    """False where the rows are shown, but count in no summary; say why in `note`."""
    note: Text | None = None
    """Conditions and contradictions."""


class TrainingFile(Frozen):
    """A file of measured training runs."""

    kind: Literal["training-cases"]
    """Kind of file."""
    id: Identifier
    """Name of the source; of a shipped file also its name."""
    name: Text
    """Name for people."""
    source: Source
    """Where the values come from."""
    tables: Annotated[Many[Table], Field(min_length=1)]
    """The measured runs."""


def _shape(bench: Bench, table: Table, path: Path) -> dict[str, float]:
    """Return the dimensions that a model of the catalogue gives.

    Raises:
        InputError: where there is none, or it is no plain GPT model.
    """
    if table.model is None:
        if table.vocabulary is None:
            raise bench.fault(path, "neither `model` nor `vocabulary` is given", "write one of the two", RULE)
        return {"vocabulary": float(table.vocabulary)}
    shape = bench.catalog.get(Model, table.model, bench.document, (*path, "model")).transformer
    if shape is None or shape.gated or shape.experts or shape.latent or shape.kv_heads or shape.ffn != 4 * shape.hidden:
        raise bench.fault(
            (*path, "model"), f"`{table.model}` is no plain GPT model; the time of others is not modelled yet",
            "name a model with plain attention and a feed-forward network of four times its width", RULE,
        )  # fmt: skip
    found = {name: float(getattr(shape, name)) for name in SHAPE}
    return {**found, "vocabulary": float(shape.vocabulary)}


RULE = "training-cases"


def _columns(bench: Bench, table: Table, path: Path) -> dict[str, Floats]:
    """Return every column as an array, dimensions of the model among them.

    Raises:
        InputError: where columns are missing, rows have another length, or a plan does not multiply out.
    """
    shape = _shape(bench, table, path)
    wanted = (*PLAN, *(name for name in SHAPE if name not in shape))
    missing = [name for name in wanted if name not in table.columns]
    if missing or len(set(table.columns)) < len(table.columns):
        what = f"the column `{missing[0]}` is missing" if missing else "a column stands there twice"
        raise bench.fault(
            (*path, "columns"), what, f"write {', '.join(wanted)}, and chunks where stages have several", RULE
        )
    for number, row in enumerate(table.rows):
        if len(row) != len(table.columns):
            raise bench.fault(
                (*path, "rows", number), f"{len(row)} value(s) for {len(table.columns)} columns",
                f"write {len(table.columns)} values", RULE,
            )  # fmt: skip
    values = np.array(table.rows, dtype=float)
    found: dict[str, Floats] = {name: values[:, at] for at, name in enumerate(table.columns)}
    one = np.ones(len(values))
    found = {**{name: value * one for name, value in shape.items()}, "chunks": one, **found}
    ways = found["tensor"] * found["data"] * found["stages"]
    rest = found["batch"] % (found["data"] * found["micro"])
    wrong = {
        "tensor, data and stages do not multiply to the GPUs": ways != found["gpus"],
        "the batch is no whole number of micro-batches for each data-parallel rank": rest != 0,
        "tensor does not divide the heads": found["heads"] % found["tensor"] != 0,
        "there are more stages than layers": found["stages"] * found["chunks"] > found["layers"],
    }
    for words, at in wrong.items():
        if bool(at.any()):
            raise bench.fault((*path, "rows", int(at.argmax())), words, "correct the row", RULE)
    return found


def _rows(bench: Bench, file: TrainingFile, table: Table, path: Path) -> list[AccuracyRow]:
    found = _columns(bench, table, path)
    host = bench.host(table.system, (*path, "system"))
    if host.accelerator is None or host.accelerator.training is None:
        raise bench.fault(
            (*path, "system", "server"), f"nothing was calibrated for training on the accelerators of `{host.id}`",
            "name a server with A100 SXM, or add `training` to the accelerator in a catalogue of your own", RULE,
        )  # fmt: skip
    seconds = found.pop("seconds")
    plans = Plans(**found, recompute=table.recompute, gradient_bytes=float(table.gradient_bytes))
    library = bench.catalog.get(Library, "nccl", bench.document, ())
    times = step_times(plans, host, library)
    rows = []
    for at, measured in enumerate(seconds.tolist()):
        ways = [f"tp{int(found['tensor'][at])} dp{int(found['data'][at])} pp{int(found['stages'][at])}"]
        ways += [f"v{int(found['chunks'][at])}"] if found["chunks"][at] > 1 else []
        ways.append(f"micro {int(found['micro'][at])} of {int(found['batch'][at])}")
        ways.append(f"{int(found['layers'][at])} x {int(found['hidden'][at])}")
        model = float(times.step[at])
        rows.append(
            AccuracyRow(
                file.id, table.id, ", ".join(ways), int(found["gpus"][at]), None, "seconds", measured, None, model,
                signed_error(model, measured, measured), "launches" if times.launch_bound[at] else "",
                file.source.status, "fitted" if table.fitted else "predicted", table.scored, table.note,
            )
        )  # fmt: skip
    return rows


def replay_training(file: TrainingFile, document: Document, catalog: Catalog) -> list[AccuracyRow]:
    """Return every row of a file of training runs.

    Args:
        file: the runs.
        document: the file they come from.
        catalog: the parts.

    Raises:
        InputError: where a table does not hang together.
    """
    bench = Bench(catalog, document)
    rows: list[AccuracyRow] = []
    for position, table in enumerate(file.tables):
        rows += _rows(bench, file, table, ("tables", position))
    return rows
