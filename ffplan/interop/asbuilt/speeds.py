"""Widths and speeds of InfiniBand links, as tools print them."""

from __future__ import annotations

import re

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
_LINK = re.compile(r"\b(1|2|4|8|12)x ?(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR)\b", re.IGNORECASE)
_SPELLED = re.compile(r"\b(1|2|4|8|12)x[- ]([0-9]{1,3}(?:\.[0-9]{1,5})?)G\b")
_WIDTH = re.compile(r"\bw=(1|2|4|8|12)\b")
_SIGNAL = ((2.5, "SDR"), (5.0, "DDR"), (10.0, "QDR"), (10.3125, "FDR10"), (14.0625, "FDR"), (25.78125, "EDR"))
_SIGNALS = (*_SIGNAL, (53.125, "HDR"), (106.25, "NDR"), (212.5, "XDR"))


def link_rate(text: str) -> tuple[int, float]:
    """Return lanes and rate of a link [Gb/s] from a text such as `4xNDR`; 0 of what it does not say.

    Args:
        text: the text behind a port.
    """
    if found := _LINK.search(text):
        lanes = int(found[1])
        return lanes, lanes * LANE_GBIT_S[found[2].upper()]
    if found := _SPELLED.search(text):
        lanes = int(found[1])
        return lanes, lanes * signalled(float(found[2]))
    found = _WIDTH.search(text)
    return (int(found[1]), 0.0) if found else (0, 0.0)


def signalled(gbit_s: float) -> float:
    """Return the nominal rate of a lane by the rate of its signal [Gb/s]; 0 where no speed has it.

    Args:
        gbit_s: rate of the signal of a lane, with its coding, or the nominal rate [Gb/s].
    """
    for signal, name in _SIGNALS:
        if abs(signal - gbit_s) < 0.01 * signal or abs(LANE_GBIT_S[name] - gbit_s) < 0.01 * signal:
            return LANE_GBIT_S[name]
    return 0.0


def rate_words(lanes: int, gbit_s: float) -> str:
    """Return a rate as operators name it, such as `4x NDR, 400 Gb/s`."""
    if not gbit_s:
        return f"{lanes}x" if lanes else "unknown"
    names = [name for name, lane in LANE_GBIT_S.items() if lanes and abs(lanes * lane - gbit_s) < 1e-6]
    return f"{lanes}x {names[-1]}, {gbit_s:g} Gb/s" if names else f"{gbit_s:g} Gb/s"
