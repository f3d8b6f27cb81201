"""The bands of times by class, and what bands made of other runs hold: a table and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.report.accuracy import COLOURS, _page
from ffplan.results.accuracy import HELD
from ffplan.studies.train.nearest_accelerator import DENSE, ESTIMATED, EXPERTS, FP8, KIN, LONG, SIBLING
from tests.left_out import stored

if TYPE_CHECKING:
    from ffplan.studies.train.nearest_accelerator import _ErrorBand

TRAINING: tuple[tuple[str, str, str, _ErrorBand], ...] = (
    ("dense models", "stack", "dense", DENSE),
    ("dense models at FP8", "stack", "fp8", FP8),
    ("dense models, 16,384 tokens and more", "stack", "long", LONG),
    ("mixtures of experts", "stack", "experts", EXPERTS),
    ("another accelerator of the chip", "accelerator", "all", SIBLING),
    ("another chip of the process", "chip", "all", KIN),
    ("another process", "process", "all", ESTIMATED),
)
"""Classes of training runs: name, what is left out, which of its bands, and the band that results carry."""
CLASSES: tuple[tuple[str, str, str, str], ...] = (
    *((name, kind, kind, runs) for name, kind, runs, _ in TRAINING),
    ("time per token, engine and accelerator with runs", "a fifth of the configurations", "serving", "configuration"),
    ("time per token, accelerator without runs", "accelerator", "serving", "accelerator"),
    ("collectives below 16 MiB", "source", "communication", "small"),
    ("collectives from 16 MiB on", "source", "communication", "large"),
)
"""All classes: name, what is left out, and where their band is stored."""
_FEW = 8
_SIDE, _LEFT, _TOP = 380, 60, 40


def band_of(kind: str, runs: str) -> dict[str, Any]:
    """Return the stored band of a class."""
    return next(row for row in stored()[kind]["bands"] if row["runs"] == runs)


def wrong_bands() -> list[str]:
    """Return the classes whose bands, made of other runs, hold less than 75 or more than 85 % of them.

    Of eight groups and fewer one outside is an eighth or more: 70 % is enough.
    """
    wrong = []
    for name, _, kind, runs in CLASSES:
        found = band_of(kind, runs)
        share = next(row["share"] for row in found["held"] if row["level"] == HELD)
        if not (0.75 if found["of"] > _FEW else 0.7) <= share <= 0.85:
            wrong.append(f"{name}: {100 * share:.0f} % of runs within a band of others for 80 %")
    return wrong


def bands_table() -> str:
    """Return the classes with their bands, and what bands of other runs hold, as a table."""
    rows = []
    for name, out, kind, runs in CLASSES:
        found = band_of(kind, runs)
        held = " | ".join(f"{100 * level['share']:.0f}" for level in found["held"])
        rows.append(f"| {name} | {out} | {found['of']} | {found['n']} | {100 * found['band']:.0f} | {held} |")
    levels = " | ".join(f"{100 * level['level']:.0f} % hold" for level in band_of("stack", "dense")["held"])
    header = f"| class | left out | of them | n | band ± % | {levels} |"
    return "\n".join([header, f"|{' --- |' * (header.count('|') - 1)}", *rows])


def bands_plot() -> str:
    """Return the picture: share of runs that a band holds over the share that it should."""

    def at(level: float, share: float) -> tuple[float, float]:
        return _LEFT + _SIDE * level, _TOP + _SIDE * (1 - share)

    parts = [f'<text x="{_LEFT}" y="24" font-weight="bold">Runs within a band that was made without them</text>']
    for step in range(11):
        x, y = at(step / 10, step / 10)
        parts.append(f'<path d="M{x:.0f} {_TOP}V{_TOP + _SIDE}M{_LEFT} {y:.0f}H{_LEFT + _SIDE}" stroke="#eee"/>')
        if step % 2 == 0:
            parts.append(f'<text x="{x:.0f}" y="{_TOP + _SIDE + 18}" text-anchor="middle">{10 * step} %</text>')
            parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.0f}" text-anchor="end">{10 * step} %</text>')
    (left, bottom), (right, top) = at(0, 0), at(1, 1)
    parts.append(f'<path d="M{left:.0f} {bottom:.0f}L{right:.0f} {top:.0f}" stroke="#888" stroke-dasharray="4 4"/>')
    for number, (name, _, kind, runs) in enumerate(CLASSES):
        colour = COLOURS[number % len(COLOURS)]
        line = "L".join("{:.1f} {:.1f}".format(*at(row["level"], row["share"])) for row in band_of(kind, runs)["held"])
        parts.append(f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = _TOP + 14 + 22 * number
        parts.append(f'<rect x="{right + 20:.0f}" y="{y - 9}" width="12" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{right + 38:.0f}" y="{y}">{name}</text>')
    parts.append(
        f'<text x="{_LEFT + _SIDE / 2:.0f}" y="{_TOP + _SIDE + 38}" text-anchor="middle">level of a band</text>'
    )
    return _page(parts, 840, 470)
