"""Tables of `ffplan measure`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import number, plural
from ffplan.report.document import Block, Body, Document, Grid, Remarks

if TYPE_CHECKING:
    from ffplan.results.measurement import KernelError, MeasuredConstant, MeasuredFit, MeasurePlan

WORDS = {
    "gemm": "a GEMM alone",
    "small": "a small kernel",
    "pcie": "PCIe, slower way",
}


GROUPS = {
    "gemm": "GEMM",
    "attention": "Attention",
    "stream": "Copies in device memory",
    "element-wise": "Element-wise kernels",
    "small": "Small kernels",
    "memory": "Memory",
    "pcie": "PCIe",
}


def _name(group: str) -> str:
    """Return the name of a group for people."""
    word, blank, rest = group.partition(" ")
    return f"{GROUPS.get(word, word)}{blank}{rest}"


def _value(unit: str, value: float | None) -> str:
    if value is None:
        return "-"
    if unit == "s":
        return f"{value * 1e6:.3g} us"
    return f"{value * 100:.4g} %" if unit == "1" else f"{value:.4g} {unit}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:+.1f}"


def _mean(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def _constant(item: MeasuredConstant) -> tuple[str, ...]:
    low, high = (
        _value(item.unit, end).removesuffix(" %").removesuffix(" us").removesuffix(" GB/s")
        for end in (item.low, item.high)
    )
    return (
        WORDS.get(item.name, item.name),
        _value(item.unit, item.before),
        _value(item.unit, item.after),
        f"{low} to {high}",
        str(item.rows),
        "yes" if item.written else "",
    )


def _kernel(item: KernelError) -> tuple[str, ...]:
    return (
        item.kernel,
        number(item.measured_us),
        "" if item.spread is None else f"{100 * item.spread:.1f}",
        f"{item.rate:,.4g}",
        _percent(item.catalogue_error),
        _percent(item.error),
    )


def _group(report: MeasuredFit, group: str) -> Grid:
    """Return the kernels of a group, without columns that are empty."""
    mine = [item for item in report.kernels if item.group == group]
    header, rows = ("", "us", "spread %", mine[0].unit, "catalogue %", "fitted %"), list(map(_kernel, mine))
    kept = [at for at in range(len(header)) if any(row[at] for row in rows)]
    return Grid(_name(group), tuple(tuple(row[at] for at in kept) for row in rows), tuple(header[at] for at in kept))


def _fit(report: MeasuredFit) -> list[Block]:
    blocks: list[Block] = []
    if report.constants:
        rows = tuple(map(_constant, report.constants))
        blocks.append(Grid("Constants", rows, ("", "catalogue", "measured", "range", "rows", "written")))
    means = tuple(
        (_name(item.group), str(item.n), _mean(item.before), _mean(item.after), _mean(item.max_error))
        for item in report.groups
    )
    blocks.append(Grid("Mean error of the time, %", means, ("", "n", "catalogue", "fitted", "largest")))
    blocks += [_group(report, group) for group in dict.fromkeys(item.group for item in report.kernels)]
    notes = [f"{WORDS.get(item.name, item.name)}: {item.note}." for item in report.constants if item.note]
    doubts = [f"Doubt: {words}." for words in report.doubts]
    if notes or report.remarks or doubts:
        blocks.append(Remarks((*notes, *report.remarks, *doubts)))
    return blocks


def measured_document(report: MeasuredFit) -> Document:
    """Return what `ffplan measure fit` prints.

    Args:
        report: constants and errors.
    """
    head = f"measure: {report.accelerator} by {report.device}, {report.date}, {plural(len(report.kernels), 'kernel')}"
    return Document(report, lambda told: Body(head, _fit(told)), lambda: report.kernels)


def _plan(report: MeasurePlan) -> list[Block]:
    rows = [("warming up", "", f"{report.soak_s:.0f}", "a large GEMM, until clocks and temperature settle")]
    for item in report.groups:
        first, last = item.kernels[0], item.kernels[-1]
        words = first if first == last else f"{first} to {last}"
        rows.append((_name(item.group), str(len(item.kernels)), f"{item.seconds:.0f}", words))
    rows.append(("all", str(report.kernels), f"{report.seconds:.0f}", f"{report.each_s:.2g} s each"))
    return [
        Grid("Kernels", tuple(rows), ("", "n", "s", "")),
        *(Grid(_name(item.group), tuple((name,) for name in item.kernels)) for item in report.groups),
    ]


def plan_document(report: MeasurePlan) -> Document:
    """Return what `ffplan measure plan` prints.

    Args:
        report: the plan.
    """
    head = f"measure: {report.sizes} sizes, {plural(report.kernels, 'kernel')}, {report.seconds / 60:.1f} minutes"
    return Document(report, lambda told: Body(head, _plan(told)), lambda: report.groups)
