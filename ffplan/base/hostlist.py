"""What other programs print: host names in brackets, such as `compute-[0001-0020,0031]`, and integers."""

from __future__ import annotations

import re
from itertools import product
from math import prod

_NUMBERED = re.compile(r"^(.*?)(\d+)$")


def fold(names: list[str]) -> str:
    """Fold names into one host list: runs of numbers of equal width in brackets, prefixes in order of appearance."""
    groups: dict[tuple[str, int], list[int]] = {}
    plain: dict[str, None] = {}
    for name in names:
        match = _NUMBERED.match(name)
        if match:
            groups.setdefault((match.group(1), len(match.group(2))), []).append(int(match.group(2)))
        else:
            plain[name] = None
    parts = list(plain)
    for (prefix, width), numbers in groups.items():
        runs = _runs(sorted(set(numbers)))
        texts = [f"{low:0{width}}" if low == high else f"{low:0{width}}-{high:0{width}}" for low, high in runs]
        single = len(texts) == 1 and "-" not in texts[0]
        parts.append(f"{prefix}{texts[0]}" if single else f"{prefix}[{','.join(texts)}]")
    return ",".join(parts)


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def unfold(text: str, most: int | None = None) -> list[str]:
    """Expand a host list into its names.

    Args:
        text: names with runs in brackets; several brackets count like the digits of a number, the last one fastest.

    Raises:
        ValueError: if a bracket is not closed, a run is not numeric, or the names exceed `most`.
    """
    names: list[str] = []
    parts = re.findall(r"(?:[^,\[\]]|\[[^\]]*\])+", text)
    if ",".join(parts) != text:
        raise ValueError(f"`{text[:60]}` is not a host list")
    for part in parts:
        pieces = re.split(r"\[([^\]]*)\]", part)
        runs = [_numbers(run, most) for run in pieces[1::2]]
        if most is not None and prod(map(len, runs)) + len(names) > most:
            raise ValueError(f"`{part[:60]}` expands to more than {most:,} names")
        rows = (zip(pieces[::2], (*chosen, ""), strict=True) for chosen in product(*runs))
        names += ["".join(text for pair in row for text in pair) for row in rows]
    return names


def _numbers(runs: str, most: int | None) -> list[str]:
    """Return the numbers inside brackets, such as `001-018,020`."""
    numbers: list[str] = []
    for run in runs.split(","):
        low, _, high = run.partition("-")
        last = high or low
        if not (low.isdecimal() and last.isdecimal() and len(last) <= 18):
            raise ValueError(f"`{run[:60]}` is not a range of numbers")
        if int(last) < int(low):
            raise ValueError(f"`{run[:60]}` runs backwards")
        if most is not None and int(last) - int(low) >= most:
            raise ValueError(f"`{run}` expands to more than {most:,} names")
        numbers += [f"{number:0{len(low)}}" for number in range(int(low), int(last) + 1)]
    return numbers


DIGITS = 9
"""Most digits of a number [1]."""


def integer(text: str, digits: int = DIGITS) -> int | None:
    """Parse an integer of a few digits; None for any other text.

    Args:
        digits: most digits [1].
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None
