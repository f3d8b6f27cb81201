"""InfiniBand as its tools print it: widths and speeds of links, and the tables of ibdiagnet's db_csv."""

from __future__ import annotations

import csv
import re
from functools import lru_cache
from io import StringIO
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.hostlist import integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.base.array_math import Floats, Ints
    from ffplan.base.errors import InputError

    Rows = list[tuple[int, dict[str, str]]]
    """Rows of a table by column, each with its line."""

LANE_GBIT_S = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR10": 10.0,
    "FDR": 14.0,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}
"""Nominal rate of a lane by the name of its speed [Gb/s]; InfiniBand Trade Association."""
WIDTH_CODES = {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}
"""Lanes by the code of LinkWidthActv; InfiniBand specification, PortInfo."""
SPEED_CODES = {1: "SDR", 2: "DDR", 4: "QDR", 8: "FDR10", 16: "FDR", 32: "EDR"}
SPEED_CODES |= {256: "FDR", 512: "EDR", 1024: "HDR", 2048: "NDR", 4096: "XDR"}
"""Speed by the code of LinkSpeedActv: up to 32 as verbs count them, from 256 on as ibdiagnet writes them; recalled but
for 2048, which files of NDR switches have."""
_LINK = re.compile(r"\b(1|2|4|8|12)x ?(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR)\b", re.IGNORECASE)
_SPELLED = re.compile(r"\b(1|2|4|8|12)x[- ]([0-9]{1,3}(?:\.[0-9]{1,5})?)G\b")
_WIDTH = re.compile(r"(?<!\S)w=(1|2|4|8|12)\b")
_CODED = re.compile(r"(?<!\S)(s|e)=([124])\b")
_OLD = {"1": "SDR", "2": "DDR", "4": "QDR"}
_NEW = {"1": "FDR", "2": "EDR", "4": "HDR"}
"""Speeds by ibsim's codes `s` and `e`."""
_SIGNAL = ((2.5, "SDR"), (5.0, "DDR"), (10.0, "QDR"), (10.3125, "FDR10"), (14.0625, "FDR"), (25.78125, "EDR"))
_SIGNALS = (*_SIGNAL, (53.125, "HDR"), (106.25, "NDR"), (212.5, "XDR"))


@lru_cache(maxsize=1024)
def _link_rate(text: str) -> tuple[int, float]:
    """Return lanes and rate of a link [Gb/s] from a text such as `4xNDR` or `e=4`; 0 of what it does not say."""
    if match := _LINK.search(text):
        lanes = int(match[1])
        return lanes, lanes * LANE_GBIT_S[match[2].upper()]
    if match := _SPELLED.search(text):
        lanes = int(match[1])
        return lanes, lanes * _signalled(float(match[2]))
    width, speed = _WIDTH.search(text), _CODED.search(text)
    if speed:
        lanes = WIDTH_CODES.get(int(width[1]), 0) if width else 4  # a width without a speed is the lanes themselves
        return lanes, lanes * LANE_GBIT_S[_OLD[speed[2]] if speed[1] == "s" else _NEW[speed[2]]]
    return (int(width[1]), 0.0) if width else (0, 0.0)


def _signalled(gbit_s: float) -> float:
    """Return the nominal rate of a lane by the rate of its signal [Gb/s]; 0 where no speed has it."""
    for signal, name in _SIGNALS:
        if abs(signal - gbit_s) < 0.01 * signal or abs(LANE_GBIT_S[name] - gbit_s) < 0.01 * signal:
            return LANE_GBIT_S[name]
    return 0.0


def _lesser(lanes: Ints, gbit_s: Floats, first: Ints) -> tuple[Ints, Floats]:
    """Return lanes and rate of links from their ends; a value that only one end states holds for both.

    Args:
        lanes: lanes of each end, the two ends of a link in sequence; 0 where unknown, shape (ends,) [1].
        gbit_s: rate of each end, 0 where unknown, shape (ends,) [Gb/s].
        first: place of the first end of each link, shape (links,).

    Returns:
        Lanes [1] and rate [Gb/s] of each link, 0 where unknown, shape (links,).

    Equation:
        min(lanes) * min(rate of a lane), or the lower rate where lanes are unknown

    Source:
        InfiniBand specification: a link runs at the width and the speed that both ends have in common.
    """
    if not len(first):
        return np.zeros(0, np.int64), np.zeros(0)
    count, rate = np.where(lanes > 0, lanes, np.inf), np.where(gbit_s > 0, gbit_s, np.inf)
    known = (lanes > 0) & (gbit_s > 0)
    lane = np.where(known, rate / np.where(lanes > 0, lanes, 1), np.inf)
    width, speed, plain = (
        np.minimum.reduceat(values, first) for values in (count, lane, np.where(known, np.inf, rate))
    )
    rates = np.minimum(width * speed, plain)
    return np.where(np.isfinite(width), width, 0).astype(np.int64), np.where(np.isfinite(rates), rates, 0.0)


def _rate_words(lanes: int, gbit_s: float) -> str:
    """Return a rate as operators name it, such as `4x NDR, 400 Gb/s`."""
    if not gbit_s:
        return f"{lanes}x" if lanes else "unknown"
    names = [name for name, lane in LANE_GBIT_S.items() if lanes and abs(lanes * lane - gbit_s) < 1e-6]
    return f"{lanes}x {names[0]}, {gbit_s:g} Gb/s" if names else f"{gbit_s:g} Gb/s"


def _db_csv_tables(text: str, wrong: Callable[[int, str, str], InputError], *names: str) -> list[Rows]:
    """Return tables of a db_csv file by name; a table that the file lacks has no rows."""
    tables: dict[str, Rows] = {name: [] for name in names}
    name, heads, number = "", list[str](), 1
    for number, line in enumerate(StringIO(text), start=1):
        row = line.strip()
        if row.startswith("START_"):
            name, heads = row.removeprefix("START_"), []
        elif row.startswith("END_"):
            name = ""
        elif name in tables and row and not row.startswith("#"):
            try:
                cells = next(csv.reader([row]))
            except csv.Error as error:
                raise wrong(number, f"not valid CSV: {error}", "correct the row") from None
            if not heads:
                heads = [head.strip() for head in cells]
                continue
            if len(cells) != len(heads):
                message = f"a row of {len(cells)} columns under a heading of {len(heads)}"
                raise wrong(number, message, "give the file as ibdiagnet wrote it")
            tables[name].append((number, dict(zip(heads, cells, strict=True))))
    if name:
        raise wrong(number, f"START_{name} has no END_{name}: the file is cut off", "give it as ibdiagnet wrote it")
    return list(tables.values())


def _active_rate(port: dict[str, str]) -> tuple[int, float]:
    """Return lanes and rate per lane [Gb/s] from a row of the table PORTS; 0 for an unknown code."""
    width, speed = (integer(port.get(name, "").strip()) for name in ("LinkWidthActv", "LinkSpeedActv"))
    name = SPEED_CODES.get(speed or 0)
    return WIDTH_CODES.get(width or 0, 0), LANE_GBIT_S[name] if name else 0.0
