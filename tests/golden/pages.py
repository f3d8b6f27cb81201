"""Kept outputs: several on a page, each below its name; and the figures of a report, compared as numbers."""

from __future__ import annotations

import json
import math
import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAD = re.compile(r"^== (.+) ==\n", re.MULTILINE)
CLOSE = 1e-8
"""Relative difference of two figures that are the same [1]: what is written has nine digits."""
LONGEST = 40
"""Letters of a word that is kept beside the figures; longer ones are prose [1]."""
MOST = 2000
"""Most items of a list that are kept [1]."""


def page(texts: dict[str, str]) -> str:
    """Return a page with several outputs."""
    return "\n".join(f"== {name} ==\n{text}" for name, text in texts.items())


@cache
def sections(path: Path) -> dict[str, str]:
    """Return the outputs of a page by name."""
    _, *found = HEAD.split(path.read_text())
    texts = dict(zip(found[::2], found[1::2], strict=True))
    last = len(texts) - 1
    return {name: text if at == last else text.removesuffix("\n") for at, (name, text) in enumerate(texts.items())}


def figures(report: Any, path: str = "", *, longest: int = LONGEST, most: int = MOST) -> Iterator[str]:
    """Return a line for every object of a report: its path, then its figures and short words.

    Args:
        report: what was read from JSON.
        path: where it stands in the whole.
        longest: most letters of a word [1].
        most: items of a list that are kept [1].
    """
    if isinstance(report, dict):
        plain = {key: text for key, value in report.items() if (text := _plain(value, longest)) is not None}
        if plain:
            yield " ".join([path or "-", *(f"{key}={text}" for key, text in plain.items())])
        for key, value in report.items():
            if key not in plain:
                yield from figures(value, f"{path}.{key}" if path else key, longest=longest, most=most)
    elif isinstance(report, list):
        for number, item in enumerate(report[:most]):
            yield from figures(item, f"{path}[{number}]", longest=longest, most=most)


def _plain(value: Any, longest: int) -> str | None:
    """Return a figure, a short word or a list of them as text without blanks; None for all else."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:.9g}"
    if isinstance(value, str) and value and len(value) <= longest:
        return re.sub(r"\s", "_", value)
    if isinstance(value, list) and value:
        parts = [_plain(item, longest) for item in value]
        return None if None in parts else ",".join(part for part in parts if part)
    return None


def table(text: str, *, longest: int = LONGEST, most: int = MOST) -> str:
    """Return the figures of an output in JSON, its exit code before them; any other output as it is."""
    code = re.match(r"exit \d+\n|", text)
    assert code is not None
    try:
        report = json.loads(text[code.end() :])
    except ValueError:
        return text
    return code[0] + "".join(f"{line}\n" for line in figures(report, longest=longest, most=most))


def differences(found: str, kept: str) -> list[tuple[str, str]]:
    """Return the lines that differ by more than the last digits of their figures, as found and as kept."""
    ours, theirs = found.splitlines(), kept.splitlines()
    most = max(len(ours), len(theirs))
    pairs = zip(ours + [""] * (most - len(ours)), theirs + [""] * (most - len(theirs)), strict=True)
    return [(one, two) for one, two in pairs if one != two and not _same(one, two)]


def _same(one: str, two: str) -> bool:
    ours, theirs = re.split(r"([ =,])", one), re.split(r"([ =,])", two)
    return len(ours) == len(theirs) and all(a == b or _close(a, b) for a, b in zip(ours, theirs, strict=True))


def _close(one: str, two: str) -> bool:
    try:
        return math.isclose(float(one), float(two), rel_tol=CLOSE, abs_tol=1e-300)
    except ValueError:
        return False
