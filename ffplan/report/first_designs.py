"""What `ffplan init` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, kilowatts, number
from ffplan.report.document import Body, Document, Lines, Matrix, Remarks

if TYPE_CHECKING:
    from ffplan.report.document import Block
    from ffplan.results.first_designs import InitReport


def _cell(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else number(value, digits)


def init_document(report: InitReport) -> Document:
    """Return what `ffplan init` prints."""

    def body() -> Body:
        found = report.designs
        rows = (
            ("accelerators", tuple(f"{item.accelerators:,}" for item in found)),
            ("switches", tuple(f"{item.switches:,}" for item in found)),
            ("to buy", tuple(f"{amount(item.cost)} {item.currency}" for item in found)),
            ("per accelerator", tuple(amount(item.cost_per_accelerator) for item in found)),
            ("facility, peak", tuple(kilowatts(item.facility_peak_kw) for item in found)),
            ("allreduce [GB/s]", tuple(_cell(item.allreduce_gbyte_s) for item in found)),
            ("tokens/s", tuple(_cell(item.tokens_s, 6) for item in found)),
        )
        shown = tuple(row for row in rows if any(cell != "-" for cell in row[1]))
        blocks: list[Block] = [Matrix("Designs to start from", tuple(item.name for item in found), shown)]
        blocks.append(Lines("Ideas", tuple((item.name, item.idea) for item in found)))
        notes = [f"Left out: {text}." for text in report.left_out]
        notes += [f"{item.name}: {item.refused}" for item in found if item.refused]
        notes += [f"{item.name}: {item.fewer}." for item in found if item.fewer]
        files = [item.file for item in found if item.file]
        if len(files) > 1:
            notes.append(f"Next: ffplan compare {' '.join(files)}")
        if notes:
            blocks.append(Remarks(tuple(notes)))
        return Body("ffplan init", blocks)

    return Document(report, body, lambda: report.designs)
