"""What `ffplan init` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, kilowatts, number, plural
from ffplan.report.document import Body, Document, Grid, Lines, Matrix, Remarks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.report.document import Block
    from ffplan.results.first_designs import InitReport, NearWishes, UnmetWishes


def _cell(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else number(value, digits)


def _wishes(unmet: UnmetWishes) -> str:
    """Return wishes in words."""
    words = [f"{unmet.accelerators:,} accelerators"] if unmet.accelerators is not None else []
    if unmet.budget is not None:
        words.append(f"{amount(unmet.budget)} {unmet.designs[0].currency if unmet.designs else ''}".rstrip())
    if unmet.power_kw is not None:
        words.append(f"{kilowatts(unmet.power_kw)} ({unmet.power_of})")
    return ", ".join(words)


def _taken(unmet: UnmetWishes) -> Grid:
    """Return what each idea takes at the wished size, with the sums behind its power."""
    found = unmet.designs

    def powers(label: str, name: str) -> tuple[str, ...]:
        return (label, *(f"{getattr(item, name):,.0f}" for item in found))

    rows = (
        (f"to buy [{found[0].currency}]", *(amount(item.cost) for item in found)),
        powers(f"{found[0].nodes:,} nodes of {number(found[0].node_kw)} kW, rated", "compute_kw"),
        powers("storage, rated", "storage_kw"),
        powers("networks, rated", "network_kw"),
        powers("IT at its peak: the sum", "it_rated_kw"),
        powers(f"facility at its peak: x {unmet.pue:g}", "facility_peak_kw"),
        powers("IT in training", "it_training_kw"),
        powers(f"facility in training: x {unmet.pue:g}", "facility_kw"),
    )
    title = f"What {found[0].accelerators:,} accelerators take [kW]"
    return Grid(title, rows, ("", *(item.idea for item in found)))


def _unmet(unmet: UnmetWishes) -> Iterator[Block]:
    """Yield what wishes take that no design meets, and wishes that can be met."""
    yield Remarks((f"No design meets the wishes: {_wishes(unmet)}.",))
    if unmet.designs:
        yield _taken(unmet)
        yield Lines("Wishes not met", tuple((item.idea, item.unmet or "meets them") for item in unmet.designs))
    if unmet.near:
        yield Lines("Wishes that can be met", tuple((item.options, _kept(item)) for item in unmet.near))


def _kept(near: NearWishes) -> str:
    return f"{plural(near.designs, 'design')}" + (f", keeps {near.keeps}" if near.keeps else "")


def init_document(report: InitReport) -> Document:
    """Return what `ffplan init` prints."""

    def body(_: object) -> Body:
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
        blocks: list[Block] = list(_unmet(report.unmet)) if report.unmet is not None else []
        if not found:
            return Body("ffplan init", blocks)
        blocks.append(Matrix("Designs to start from", tuple(item.name for item in found), shown))
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
