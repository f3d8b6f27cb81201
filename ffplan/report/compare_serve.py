"""The report of `ffplan compare --serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, kilowatts, number
from ffplan.report.document import Document, Grid, Lines, Remarks, _Body, recalled
from ffplan.report.first.compare_serve import HEADER, _load_of, _serve_comparison_screen, _served_row, _winner
from ffplan.report.first.serve import _plan_text

if TYPE_CHECKING:
    from ffplan.report.document import Block
    from ffplan.results.serve_comparison import ServeComparison

_MILLI = 1e3


def _money(comparison: ServeComparison) -> Grid:
    rows = tuple(
        (
            side.label,
            amount(side.capex, 3) if side.capex is not None else "unknown",
            number(side.cost.accelerator_hour, 3) if side.cost is not None else "unknown",
            number(side.cost.per_million_output, 3) if side.cost is not None else "unknown",
            number(side.cost.per_million_input, 3) if side.cost is not None else "unknown",
            kilowatts(side.facility_peak_kw),
            f"{side.racks:,}",
            f"{side.users_rack:,.0f}",
        )
        for side in comparison.sides
    )
    return Grid("Cost and room", rows, ("", "to buy", "GPU-hour", "M out", "M in", "peak", "racks", "users a rack"))


def _plans(comparison: ServeComparison) -> Grid:
    rows = tuple(
        (
            side.label,
            _plan_text(choice.plan),
            f"{choice.concurrency:,.0f}",
            f"{choice.output_tokens_s_gpu:,.0f}",
            f"{choice.output_tokens_s_user:,.0f}",
            number(choice.ttft_s * _MILLI, 3),
            number(choice.tpot_s * _MILLI, 3),
        )
        for side in comparison.sides
        for choice in side.choices
    )
    header = ("", "plan", "a copy", "tok/s/GPU", "tok/s/user", "TTFT ms", "TPOT ms")
    return Grid("Tokens of a GPU over tokens of a user, in the mean", rows, header, name="plans")


def _body(comparison: ServeComparison) -> _Body:
    rows = tuple(_served_row(side, comparison) for side in comparison.sides)
    blocks: list[Block] = [Remarks((_winner(comparison),))]
    if rows:
        blocks += [Grid("Designs", rows, HEADER), _money(comparison), _plans(comparison)]
    if comparison.unserved:
        blocks.append(Lines("Cannot serve it", tuple((side.label, side.reason) for side in comparison.unserved)))
    blocks.append(Lines("Assumptions", tuple(("", text) for text in comparison.assumptions)))
    return _Body(_load_of(comparison), (*blocks, *recalled(comparison.unverified)))


def serve_comparison_document(comparison: ServeComparison) -> Document:
    """Return the comparison in every form."""
    return Document(comparison, _body, rows=lambda: comparison.sides, first=_serve_comparison_screen)
