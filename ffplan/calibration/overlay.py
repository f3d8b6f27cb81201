"""A fitted set of constants as an accelerator's file of a catalogue: the part's own text with another `training`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.catalog.rates import NAMES, TrainingRates
from ffplan.inputs.emit import comment, quoted, scalar

if TYPE_CHECKING:
    from ffplan.calibration.fit import Fit
    from ffplan.catalog.evidence import Figure

SECONDS = ("kernel", "launch", "launch_parallel", "launch_step")
KEY, START = "calibration", "calibration-start"


def _figure_text(name: str, value: float) -> str:
    """Return a constant as people write it: a percentage, microseconds or a number."""
    if name in SECONDS:
        return f"{value * 1e6:.4g} us"
    return f"{value:.0f}" if name == "units" else f"{value * 100:.4g} %"


def _source_line(key: str, title: str, date: str) -> str:
    """Return a line of `sources`."""
    return f'  {key}: {{title: {quoted(comment(title))}, date: "{date}", grade: derived, status: D}}'


def _figure(name: str, value: float, source: str, note: str | None = None) -> str:
    more = f", note: {quoted(comment(note))}" if note else ""
    return f"  {name}: {{value: {_figure_text(name, value)}, source: {source}{more}}}"


def _training_block(
    fitted: Fit, base: TrainingRates | None, units: int, *, same_part: bool, set_name: str
) -> list[str]:
    """Return the lines of `training`.

    Args:
        base: constants that were not.
        units: multiprocessors, if `base` has none.
        same_part: the constants of `base` are the part's own, and keep their sources.
        set_name: name of the set.
    """
    lines = ["training:", f"  set: {scalar(set_name)}"]
    for name in TrainingRates.model_fields:
        if name in NAMES:
            if name != "set" and getattr(base, name, None) is not None:
                lines.append(f"  {name}: {scalar(getattr(base, name))}")
            continue
        kept: Figure | None = getattr(base, name, None) if base is not None else None
        if name in fitted.values:
            lines.append(_figure(name, fitted.values[name], KEY, fitted.notes.get(name)))
        elif kept is not None:
            note = kept.note
            if kept.low is not None or kept.high is not None:
                note = f"{note or ''} range {_figure_text(name, kept.range[0])} to {_figure_text(name, kept.range[1])}"
            known = same_part and kept.source not in (KEY, START)
            lines.append(_figure(name, kept.value, kept.source if known else START, note))
        elif name == "units":
            lines.append(_figure(name, units, KEY))
    return lines


def _with_training(text: str, sources: list[str], block: list[str]) -> str:
    """Return the text of an accelerator's file with another `training` and more sources.

    Args:
        sources: lines to add under `sources`.
    """
    edited = re.sub(r"^training:.*\n(?:[ \t#-].*\n|\n(?=[ \t]))*", "", text, flags=re.MULTILINE)
    edited = re.sub(rf"^  (?:{KEY}|{START}): .*\n", "", edited, flags=re.MULTILINE)
    edited = re.sub(
        r"^sources:.*\n",
        lambda match: match[0] + "".join(f"{line}\n" for line in sources),
        edited,
        count=1,
        flags=re.MULTILINE,
    )
    return edited.rstrip("\n") + "\n" + "".join(f"{line}\n" for line in block)
