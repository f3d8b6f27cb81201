"""Small charts of block letters for terminals, or of plain letters where a terminal has no blocks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

EIGHTHS = "▏▎▍▌▋▊▉█"
"""Letters that fill one to eight eighths of their width."""
HEIGHTS = "▁▂▃▄▅▆▇█"
"""Letters that fill one to eight eighths of their height."""
PLAIN = "_.:-=+*#"
"""What stands for the heights where a terminal has no blocks, from low to high."""


def has_blocks() -> bool:
    """True where standard output can show block letters."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        (EIGHTHS + HEIGHTS).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def bar(value: float, most: float, width: int, *, blocks: bool) -> str:
    """Return a bar from zero.

    Args:
        value: its value.
        most: value of the longest bar, above 0.
        width: letters of the longest bar [1].
        blocks: of block letters; otherwise of `#`.
    """
    part = max(0.0, min(1.0, value / most)) * width
    if not blocks:
        return "#" * round(part)
    whole, rest = divmod(round(part * 8), 8)
    return EIGHTHS[-1] * whole + (EIGHTHS[rest - 1] if rest else "")


def spark(values: Sequence[float], *, blocks: bool) -> str:
    """Return a letter for each value, as high as it is against the largest, from zero.

    Args:
        values: the values, none below 0.
        blocks: of block letters; otherwise of plain ones.
    """
    letters, most = HEIGHTS if blocks else PLAIN, max(values, default=0.0)
    if most <= 0:
        return letters[0] * len(values)
    return "".join(letters[max(0, min(8, round(8 * value / most)) - 1)] for value in values)
