"""Fitted and measured constants as files of a catalogue: the parts' own texts with other figures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ffplan.base.record import record
from ffplan.catalog.rates import NAMES, TrainingRates
from ffplan.inputs.document import comment, flow, quoted, scalar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.calibration.fit import Fit
    from ffplan.catalog.evidence import ComputeFigure, Figure
    from ffplan.catalog.stacks import AttentionRates, AttentionTable


SECONDS = ("kernel", "launch", "launch_parallel", "launch_step")
KEY, START = "calibration", "calibration-start"


def _figure_text(name: str, value: float) -> str:
    """Return a constant as people write it: a percentage, microseconds or a number."""
    if name in SECONDS:
        return f"{value * 1e6:.4g} us"
    return f"{value:.0f}" if name == "units" else f"{value * 100:.4g} %"


def _source_line(key: str, title: str, date: str) -> str:
    return f'  {key}: {{title: {quoted(comment(title))}, date: "{date}", grade: derived, status: D}}'


def _with_sources(text: str, lines: Iterable[str], older: Iterable[str]) -> str:
    """Return the text of a part with lines added under `sources`, in place of the older keys' lines."""
    keys = "|".join(map(re.escape, older))
    edited = re.sub(rf"^  (?:{keys}): .*\n", "", text, flags=re.MULTILINE)
    added = "".join(f"{line}\n" for line in lines)
    return re.sub(r"^sources:.*\n", lambda match: match[0] + added, edited, count=1, flags=re.MULTILINE)


def _figure(name: str, value: float, source: str, note: str | None = None) -> str:
    more = f", note: {quoted(comment(note))}" if note else ""
    return f"  {name}: {{value: {_figure_text(name, value)}, source: {source}{more}}}"


def _training_block(
    fitted: Fit, base: TrainingRates | None, units: int, *, same_part: bool, set_name: str
) -> list[str]:
    """Return the lines of `training`."""
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
    """Return the text of an accelerator's file with another `training` and more sources."""
    edited = re.sub(r"^training:.*\n(?:[ \t#-].*\n|\n(?=[ \t]))*", "", text, flags=re.MULTILINE)
    edited = _with_sources(edited, sources, (KEY, START))
    return edited.rstrip("\n") + "\n" + "".join(f"{line}\n" for line in block)


MEASURED = "kernels-measured"
"""Key of the measurements under `sources`."""


@record
class _MeasuredSource:
    title: str
    """Title."""
    date: str
    """Date of the recording."""
    measured: bool
    """False of a recording that was made up."""

    @property
    def fields(self) -> dict[str, str]:
        """Fields of a source."""
        grade, status = ("measured", "V") if self.measured else ("estimate", "D")
        return {"title": comment(self.title), "date": self.date, "grade": grade, "status": status}

    @property
    def line(self) -> str:
        """Line under `sources`."""
        return f"  {MEASURED}: {_fields(self.fields)}"


def _fields(values: dict[str, str]) -> str:
    title, date = quoted(values["title"]), quoted(values["date"])
    return f"{{title: {title}, date: {date}, grade: {values['grade']}, status: {values['status']}}}"


def _figure_line(name: str, texts: tuple[str, str, str], note: str | None = None, *, derived: bool = True) -> str:
    """Return the line of a figure with its range."""
    value, low, high = texts
    status = ", status: D" if derived else ""
    more = f", note: {quoted(comment(note))}" if note else ""
    return f"  {name}: {{value: {value}, low: {low}, high: {high}, source: {MEASURED}{status}{more}}}"


def _with_lines(text: str, section: str, lines: dict[str, str]) -> str:
    """Return the text of a part with fields of a section replaced, or added; the section itself too."""
    block = re.search(rf"^{section}:.*\n(?:[ \t#-].*\n|\n(?=[ \t]))*", text, flags=re.MULTILINE)
    if block is None:
        return text.rstrip("\n") + f"\n{section}:\n" + "".join(f"{line}\n" for line in lines.values())
    edited = block[0]
    for name, line in lines.items():
        field = re.compile(rf"^  {name}:.*\n(?:   .*\n)*", re.MULTILINE)
        if field.search(edited):
            edited = field.sub(lambda _, line=line: f"{line}\n", edited, count=1)  # type: ignore[misc]
        else:
            edited = f"{edited.rstrip()}\n{line}\n"
    return text[: block.start()] + edited + text[block.end() :]


def _compute(figure: ComputeFigure) -> dict[str, Any]:
    values = figure.model_dump(exclude_none=True)
    rates = {name: f"{values[name]:.6g} TFLOP/s" for name in ("value", "low", "high") if name in values}
    return values | rates


def _table(table: AttentionTable) -> dict[str, Any]:
    rates = [int(rate) if rate == int(rate) else rate for rate in table.tflops]
    return {**table.model_dump(exclude_none=True), "tflops": rates, "longest": _compute(table.longest)}


def _attention_file(part: AttentionRates) -> str:
    """Return a table of attention kernels as a file of a catalogue, a table a line."""
    lines = ["kind: attention-rates", *(f"{name}: {flow(getattr(part, name))}" for name in ("id", "name", "vendor"))]
    sources = {key: source.model_dump(exclude_none=True) for key, source in part.sources.items()}
    lines += ["sources:", *(f"  {key}: {flow(fields)}" for key, fields in sources.items())]
    lines += [f"note: {flow(part.note)}"] if part.note else []
    lines += [f"peak: {flow(_compute(part.peak))}", f"usual: {part.usual}", "tables:"]
    return "\n".join([*lines, *(f"  - {flow(_table(table))}" for table in part.tables)]) + "\n"


def _merged_tables(before: Iterable[AttentionTable], measured: Iterable[AttentionTable]) -> tuple[AttentionTable, ...]:
    """Return tables with measured ones in place of tables of the same kernel, width, mask and pass.

    A table of both passes replaces tables of single passes, which would come before it.
    """
    measured = tuple(measured)

    def replaced(table: AttentionTable) -> bool:
        mark = (table.kernel, table.head_dim, table.causal)
        return any(
            mark == (new.kernel, new.head_dim, new.causal) and new.measured in (table.measured, "both")
            for new in measured
        )

    return (*(table for table in before if not replaced(table)), *measured)


def _stack_lines(text: str, set_name: str, line: str) -> str:
    """Return the text of a stack with one constant of a set of accelerators replaced or added."""
    head = rf"^  {re.escape(set_name)}:[ ]*\n"
    if re.search(rf"^constants:.*\n(?:[ \t#-].*\n)*?{head[1:]}", text, flags=re.MULTILINE):
        constants = re.compile(rf"({head})((?:    .*\n)*)", re.MULTILINE)

        def put(match: re.Match[str]) -> str:
            others = re.sub(r"^    memory:.*\n", "", match[2], flags=re.MULTILINE)
            return f"{match[1]}  {line}\n{others}"

        return constants.sub(put, text, count=1)
    return _with_lines(text, "constants", {set_name: f"  {set_name}:\n  {line}"})
