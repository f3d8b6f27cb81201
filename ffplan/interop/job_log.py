"""Jobs as a CSV with the columns `arrival_s`, `gpus` and `run_s`."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

import numpy as np

from ffplan.interop.logs.measured import refuse

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats, Ints

COLUMNS = ("arrival_s", "gpus", "run_s")
MOST = 5_000_000
"""Most jobs that are read [1]."""


_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def _number(text: str | None) -> float:
    """Return a number.

    Raises:
        ValueError: where the text is none.
    """
    if text is None or _NUMBER.fullmatch(text.strip()) is None:
        raise ValueError(text)
    return float(text)


def read_jobs(text: str, file: str, most_gpus: int) -> tuple[Floats, Floats, Ints]:
    """Return jobs by arrival.

    Args:
        text: the CSV.
        file: its name, for messages.
        most_gpus: accelerators that one job can hold [1].

    Returns:
        Arrival and run time [s], and accelerators [1], shapes [jobs].

    Raises:
        InputError: at a row that is no job, or a job that is too large.
    """
    reader = csv.DictReader(text.removeprefix("\ufeff").splitlines())
    try:
        heads, listed = reader.fieldnames or (), list(reader)
    except csv.Error as error:
        refuse(file, max(1, reader.line_num), f"this is no CSV: {error}", "give a row for each job")
    lacks = [name for name in COLUMNS if name not in heads]
    if lacks:
        refuse(file, 1, f"no column `{lacks[0]}`", f"give the columns {', '.join(COLUMNS)}")
    rows: list[tuple[float, float, int]] = []
    for line, row in enumerate(listed, 2):
        try:
            arrival, gpus, run = (_number(row[name]) for name in COLUMNS)
        except (ValueError, TypeError):
            refuse(file, line, "this is no job", "write arrival_s, gpus and run_s as numbers")
        if not (0 <= arrival < 1e12 and 0 < run < 1e12 and gpus >= 1 and gpus == int(min(gpus, 1e9))):
            refuse(file, line, "this is no job", "arrivals from 0 on, run times above 0, whole accelerators")
        if gpus > most_gpus:
            refuse(file, line, f"a job of {gpus:.0f}; one can hold {most_gpus:,} of this design", "leave it out")
        if len(rows) == MOST:
            refuse(file, line, f"more than {MOST:,} jobs", "give fewer")
        rows.append((arrival, run, int(gpus)))
    if not rows:
        refuse(file, 1, "no job", "give a row for each job")
    rows.sort(key=lambda item: item[0])
    arrivals, runs, sizes = (np.array(column) for column in zip(*rows, strict=True))
    return arrivals - arrivals[0], runs, sizes.astype(int)
