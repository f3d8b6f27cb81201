"""Tables of `ffplan train`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import number
from ffplan.base.plain import plain
from ffplan.report.document import Document, Grid, Remarks, _Body
from ffplan.report.first.choose import _train_screen
from ffplan.report.phrases import _plan_words, _sure_words, step_time

if TYPE_CHECKING:
    from ffplan.results.run import StepPart
    from ffplan.results.training import TrainReport, TrainRow

COLUMNS = 5
"""Most plans side by side."""
_BAR = 40
"""Width of the longest bar [columns]."""
_LEAST = 0.0005
"""Fraction of a step from which a part is listed [1]."""


def _head(report: TrainReport) -> str:
    large = report.parameters >= 1e9
    size = number(round(report.parameters / (1e9 if large else 1e6), 1 if large else 0))
    size_text = f"{size} {'billion' if large else 'million'} parameters"
    estimated = f", estimated from {report.estimated_from}" if report.estimated_from else ""
    return f"{report.design}: {report.model}, {size_text}, on {report.accelerator}{estimated}"


def _mfu(report: TrainReport, row: TrainRow) -> str:
    causal = f" ({100 * row.mfu_causal:.0f})" if report.unit == "tokens" else ""
    return f"{100 * row.mfu:.1f}{causal}"


def _steps(report: TrainReport) -> Grid:
    searched = report.searched > 0
    rows = []
    for row in report.rows:
        cells = [
            f"{row.plan.gpus:,}",
            _plan_words(row.plan),
            step_time(row.step_s),
            f"{row.tokens_s_gpu:,.0f}",
            f"{row.tflops_gpu:,.0f}",
            _mfu(report, row),
            f"{row.memory_gib:.1f}" + (" edge" if row.memory_words else ""),
        ]
        rows.append((*cells, f"{100 * row.efficiency:.1f}") if not searched else tuple(cells))
    unit = "tok" if report.unit == "tokens" else "img"
    header = ["GPUs", "plan", "s/step", f"{unit}/s/GPU", "TFLOP/s", "MFU %", "GiB"]
    return Grid("", tuple(rows), tuple(header if searched else [*header, "eff %"]))


def _columns(report: TrainReport) -> list[tuple[list[str], tuple[TrainRow, ...]]]:
    names = _all_names(report)
    return [
        (names[first : first + COLUMNS], report.rows[first : first + COLUMNS])
        for first in range(0, len(report.rows), COLUMNS)
    ]


def _parts(names: list[str], shown: tuple[TrainRow, ...]) -> Grid:
    labels: dict[str, str] = {}
    for row in shown:
        labels |= {part.name: part.label for part in row.parts if part.share >= _LEAST}
    shares = [{part.name: part.share for part in row.parts} for row in shown]
    order = sorted(labels, key=lambda name: -max(share.get(name, 0.0) for share in shares))
    rows = [(labels[name], *(f"{100 * share.get(name, 0.0):.1f}" for share in shares)) for name in order]
    return Grid("Where the step goes, %", tuple(rows), ("part", *names), name="step")


def _gains(names: list[str], shown: tuple[TrainRow, ...]) -> Grid:
    gains = [{gain.resource: gain for gain in row.gains} for row in shown]
    rows = [
        (gain.label, *(f"{100 * column[name].faster:+.1f}" if name in column else "" for column in gains))
        for name, gain in gains[0].items()
        if any(column[name].faster >= _LEAST for column in gains if name in column)
    ]
    return Grid("Speed-up from 10 % more of a resource, %", tuple(rows), ("resource", *names), name="gains")


def _roofs(report: TrainReport) -> Grid:
    rows = tuple(
        (
            roofline.label,
            f"{roofline.value:,.0f} {roofline.unit}",
            f"{roofline.critical:,.0f}",
            "computing" if roofline.computing_binds else "communication",
        )
        for roofline in report.rows[0].rooflines
    )
    where = " of the first plan" if len(report.rows) > 1 else ""
    return Grid(f"Rooflines{where}, at specified rates", rows, ("", "tokens, ways", "critical", "binds"))


def _memory(report: TrainReport) -> Grid:
    first = report.rows[0]
    rows = tuple(
        (
            f"{stage.stage + 1}",
            f"{stage.layers}",
            f"{stage.weights_gib:.1f}",
            f"{stage.gradients_gib:.1f}",
            f"{stage.optimizer_gib:.1f}",
            f"{stage.activations_gib:.1f}",
            f"{stage.logits_gib + stage.working_gib:.1f}",
            f"{stage.total_gib:.1f}",
        )
        for stage in first.stages
    )
    header = ("stage", "layers", "weights", "grads", "optim", "activ", "other", "all")
    where = "the first plan" if len(report.rows) > 1 else "a rank"
    return Grid(f"Memory of {where}, GiB of {first.limit_gib:.1f}", rows, header)


def _bars(report: TrainReport) -> Grid:
    most = max(row.tokens_s for row in report.rows)
    rows = tuple(
        (name, "#" * max(1, round(_BAR * row.tokens_s / most)) + f" {number(round(row.tokens_s))}")
        for name, row in zip(_all_names(report), report.rows, strict=True)
    )
    return Grid(f"{report.unit.capitalize()} a second", rows, ("plan" if report.searched else "GPUs", ""))


def _all_names(report: TrainReport) -> list[str]:
    if report.searched:
        return [f"#{place + 1}" for place in range(len(report.rows))]
    return [f"{row.plan.gpus:,}" for row in report.rows]


_KEPT = 0.9995
"""Part of the rate beside a lost port that counts as all of it [1]."""


def _verdict_words(report: TrainReport) -> tuple[str, ...]:
    row, unit = report.rows[0], report.unit
    every = row.plan.gpus + row.idle
    count = f"{row.plan.gpus:,} of {every:,}" if row.idle else f"{every:,}"
    speed = f"{step_time(row.step_s)} s a step, {number(round(row.tokens_s))} {unit}/s, MFU {100 * row.mfu:.1f} %"
    what = (
        f"The fastest of {report.feasible:,} plans that can run is {_plan_words(row.plan)}" if report.searched else ""
    )
    said = [f"{what or _plan_words(row.plan)} on {count} accelerators: {speed}."]
    if row.gains and row.gains[0].faster >= _LEAST:
        gain = f"10 % more of it would be {100 * row.gains[0].faster:.1f} % faster"
        said.append(f"What binds it: {row.binding_label}; {gain}.")
    if row.memory_words is not None:
        said.append(f"Memory is at the edge: {row.memory_words}.")
        if report.searched:
            said.append(_sure_words(report.sure))
    if row.path_lost is not None and row.path_lost < _KEPT:
        said.append(f"While a NIC lacks one of its ports, {100 * row.path_lost:.1f} % of that rate is left.")
    last = max(report.rows, key=lambda candidate: candidate.plan.gpus)
    if not report.searched and last.plan.gpus > row.plan.gpus:
        kept = f"{100 * last.efficiency:.1f} % of the rate of an accelerator is left"
        said.append(f"On {last.plan.gpus:,} accelerators {kept}: {number(round(last.tokens_s))} {unit}/s.")
    return tuple(said)


def _search(report: TrainReport) -> list[Grid]:
    lost = tuple(
        (f"#{place + 1}", "the fastest" if row.lost is None else row.lost) for place, row in enumerate(report.rows)
    )
    idle = [(f"#{place + 1}", f"leaves {row.idle:,} idle") for place, row in enumerate(report.rows) if row.idle]
    refused = tuple((f"{refusal.plans:,}", refusal.label) for refusal in report.refused)
    title = f"{report.searched:,} plans, {report.timed:,} timed, {report.feasible:,} can run; the others"
    others = Grid("Why the others lost", (*lost, *idle), name="others")
    return [others, *([Grid(title, refused, name="plans")] if refused else [])]


def _train(report: TrainReport, *, chart: bool) -> list[Grid | Remarks]:
    blocks: list[Grid | Remarks] = [Remarks((*([report.run.words] if report.run else []), *_verdict_words(report)))]
    blocks.append(_steps(report))
    if report.skipped:
        rows = tuple((f"{skipped.gpus:,}", skipped.why) for skipped in report.skipped)
        blocks.append(Grid("Where the plan cannot run", rows, name="refused"))
    if chart:
        blocks.append(_bars(report))
    if report.searched:
        blocks += _search(report)
    for names, shown in _columns(report):
        blocks += [_parts(names, shown), _gains(names, shown)]
    blocks += [_roofs(report)] if report.rows[0].rooflines else []
    blocks.append(_memory(report))
    first = report.rows[0]
    batches = {row.plan.batch for row in report.rows}
    size = f"{first.plan.batch:,}" if len(batches) == 1 else f"{min(batches):,} to {max(batches):,}"
    what = f"sequences of {first.plan.sequence:,} tokens" if report.unit == "tokens" else "images"
    lines = [
        ("step", f"{size} {what}, {first.plan.precision}"),
        ("rates", report.calibration),
        ("error", f"±{100 * report.error_band:.0f} % holds 80 % of {report.error_basis}"),
    ]
    lines.append(("MFU", _of_peak(report, first)))
    if not report.searched:
        same = ", with the same batch" if len(batches) == 1 else ""
        lines.append(("eff %", f"{report.unit}/s per GPU, relative to the first row{same}"))
    if any(roof.name.endswith("-here") for roof in first.rooflines):
        lines.append(("book", "How to Scale Your Model: gradients of 2 bytes, reduced by the network's switches"))
    blocks.append(Grid("Assumptions", (*lines, *(("", text) for text in report.assumptions))))
    return blocks


def _of_peak(report: TrainReport, row: TrainRow) -> str:
    """Return the peak that MFU is a fraction of, and MFU against 16 bits if the plan has fewer."""
    text = f"of the dense {row.plan.precision.upper()} peak, {row.peak_tflops:,.0f} TFLOP/s"
    if row.plan.precision == "fp8" and row.mfu_16_bit is not None:
        text += f"; {100 * row.mfu_16_bit:.1f} % of the BF16 peak"
    if report.unit == "tokens":
        text += "; attention in full, in brackets half of it, as with a causal mask"
        text += f"; HFU, with recomputation, {100 * row.hfu:.1f} %"
    return text


def _flat_rows(report: TrainReport) -> list[dict[str, object]]:
    """Return the rows of a report without nesting, for CSV: a column for each part, gain and stage."""
    names = sorted({part.name for row in report.rows for part in row.parts})
    rows = []
    for row in report.rows:
        flat = plain(row)
        parts: dict[str, StepPart] = {part.name: part for part in row.parts}
        flat["parts"] = {name: parts[name].seconds if name in parts else 0.0 for name in names}
        flat["gains"] = {gain.resource: gain.faster for gain in sorted(row.gains, key=lambda gain: gain.resource)}
        flat["rooflines"] = {roof.name: roof.critical for roof in row.rooflines}
        flat["stages"] = {f"{stage.stage}_gib": stage.total_gib for stage in row.stages}
        rows.append(flat)
    return rows


def train_document(report: TrainReport, *, chart: bool = False) -> Document:
    """Return the report of `ffplan train`.

    Args:
        report: plans with their times.
        chart: add bars of tokens a second.
    """
    return Document(
        report,
        lambda told: _Body(_head(told), _train(told, chart=chart)),
        lambda: _flat_rows(report),
        first=None if chart else _train_screen,
    )
