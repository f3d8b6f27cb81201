"""The reports of `ffplan serve` and `compare --serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, at_least, kilowatts, number, percent, plural, stored
from ffplan.report.document import Document, Grid, Lines, Remarks, _Body, _listing, recalled
from ffplan.report.first.serve import (
    HEADER,
    _beside_text,
    _currency_beside,
    _deployed_text,
    _load_of,
    _plan_text,
    _pool_texts,
    _serve_comparison_screen,
    _serve_screen,
    _served_row,
    _token_money,
    _winner,
    verdict,
)

if TYPE_CHECKING:
    from ffplan.report.document import Block
    from ffplan.results.serve_comparison import ServeComparison
    from ffplan.results.serving import Latency, ServeBeside, ServeChoice, ServePools, ServeReport, ServeRow

_MILLI = 1e3


def _ms(latency: Latency) -> str:
    return f"{number(latency.mean * _MILLI, 3)} ({number(latency.p99 * _MILLI, 3)})"


def _loads(report: ServeReport) -> Grid:
    rows = tuple(
        (
            f"{row.concurrency:,.0f}",
            number(row.rate_s, 3),
            _ms(row.ttft_s),
            _ms(row.tpot_s),
            number(row.e2e_s.mean, 3),
            f"{row.output_tokens_s_gpu:,.0f}",
            f"{row.output_tokens_s_user:,.0f}",
            row.limited_by,
        )
        for row in report.rows
    )
    header = ("a copy", "req/s", "TTFT ms (P99)", "TPOT ms (P99)", "E2E s", "tok/s/GPU", "tok/s/user", "binds")
    return Grid("Loads", rows, header)


def _money(report: ServeReport) -> Grid:
    rows = tuple(
        (
            f"{row.concurrency:,.0f}",
            "unknown" if row.power_w is None else f"{row.power_w / 1e3:,.1f}",
            "unknown" if row.j_per_token is None else number(row.j_per_token, 3),
            *(_token_money(row.cost, name) for name in ("per_million_output", "per_million_input")),
        )
        for row in report.rows
    )
    unit = report.currency or "currency"
    return Grid("Power and cost", rows, ("a copy", "kW", "J/token", f"{unit}/M out", f"{unit}/M in"), name="cost")


def _step(row: ServeRow) -> Grid:
    rows = tuple((part.label, f"{part.seconds * _MILLI:.2f}", percent(part.share)) for part in row.parts)
    return Grid(f"Token at {row.concurrency:,.0f} a copy, ms", rows, ("part", "ms", "share"), name="step")


def _memory(report: ServeReport) -> Lines:
    memory, row = report.memory, report.rows[report.best]
    return Lines(
        "Memory of an accelerator, GiB",
        (
            ("engine takes", number(memory.limit_gib, 4)),
            ("weights", number(memory.weights_gib, 4)),
            ("keys and values", number(memory.cache_gib, 4)),
            ("a token", f"{row.kv.bytes_per_token:,.0f} bytes over all layers and heads"),
            ("room", f"{row.kv.capacity_tokens:,.0f} tokens an attention group, {percent(row.kv.used)} in use"),
        ),
    )


def _pools(report: ServeReport, pools: ServePools) -> Lines:
    moved, busy = pools.transfer, report.rows[report.best].prefill_busy
    prefill, decode = _pool_texts(pools)
    rate = f"{number(moved.gbyte_s, 3)} GB/s an accelerator, bound by {moved.link}"
    left = f", {percent(moved.fabric_share)} of the accelerator's links" if moved.fabric_share < 1 else ""
    return Lines(
        "Pools",
        (
            ("prefill", f"{prefill}, {percent(busy or 0.0)} busy"),
            ("decode", decode),
            ("keys and values", f"{stored(moved.bytes)} a prompt, {number(moved.seconds * _MILLI, 3)} ms after it"),
            ("rate", rate + left),
            *(_beside(report.beside) if report.beside else ()),
        ),
    )


def _beside(beside: ServeBeside) -> tuple[tuple[str, str], ...]:
    taken = f"; keys and values take {percent(beside.moved_share)} of {beside.link}" if beside.link else ""
    return (("training", f"{_beside_text(beside)}{taken}"),)


def _choices(report: ServeReport) -> Grid:
    return Grid("Plans", tuple(map(_choice, report.choices)), _CHOICE)


_CHOICE = ("plan", "a copy", "tok/s/GPU", "tok/s/user", "TTFT ms", "TPOT ms")


def _choice(choice: ServeChoice) -> tuple[str, ...]:
    return (
        _plan_text(choice.plan),
        f"{choice.concurrency:,.0f}",
        f"{choice.output_tokens_s_gpu:,.0f}",
        f"{choice.output_tokens_s_user:,.0f}",
        number(choice.ttft_s * _MILLI, 3),
        number(choice.tpot_s * _MILLI, 3),
    )


def _body(report: ServeReport) -> _Body:
    where = report.design or report.accelerator
    basis = f"{plural(report.runs, 'row')} on it" if report.calibrated_on else "other accelerators"
    deployed = _deployed_text(report.plan, report.pools)
    title = f"{where}: {report.model} on {report.engine}, {deployed}, constants from {basis}"
    blocks: list[Block] = [Remarks(verdict(report)), _loads(report), _step(report.rows[report.best]), _money(report)]
    blocks.append(_memory(report))
    if report.pools is not None:
        blocks.append(_pools(report, report.pools))
    if report.choices:
        blocks.append(_choices(report))
    blocks.append(_listing("Assumptions", report.assumptions))
    return _Body(title, (*blocks, *recalled(report.unverified)))


def serve_document(report: ServeReport) -> Document:
    """Return the report of a served model in every form."""
    return Document(report, _body, rows=lambda: report.rows, first=_serve_screen)


_MONEY = ("accelerator_hour", "per_million_output", "per_million_input")
"""Amounts of a cost of tokens that tables print."""


def _served_costs(comparison: ServeComparison) -> Grid:
    rows = tuple(
        (
            side.label,
            amount(side.capex, 3) + _currency_beside(side, comparison) if side.capex is not None else "unknown",
            *(
                _token_money(side.cost, name) + _currency_beside(side, comparison)
                for name in ("accelerator_hour", "per_million_output", "per_million_input")
            ),
            at_least(kilowatts(side.facility_peak_kw), side.unrated),
            f"{side.racks:,}",
            f"{side.users_rack:,.0f}",
        )
        for side in comparison.sides
    )
    return Grid("Cost and room", rows, ("", "to buy", "GPU-hour", "M out", "M in", "peak", "racks", "users a rack"))


def _served_plans(comparison: ServeComparison) -> Grid:
    rows = tuple((side.label, *_choice(choice)) for side in comparison.sides for choice in side.choices)
    return Grid("Average tokens/s per GPU over tokens/s per user", rows, ("", *_CHOICE), name="plans")


def _comparison_body(comparison: ServeComparison) -> _Body:
    rows = tuple(_served_row(side, comparison) for side in comparison.sides)
    blocks: list[Block] = [Remarks((_winner(comparison),))]
    if rows:
        blocks += [Grid("Designs", rows, HEADER), _served_costs(comparison), _served_plans(comparison)]
    if comparison.unserved:
        blocks.append(Lines("Cannot serve it", tuple((side.label, side.reason) for side in comparison.unserved)))
    blocks.append(_listing("Assumptions", comparison.assumptions))
    return _Body(_load_of(comparison), (*blocks, *recalled(comparison.unverified)))


def serve_comparison_document(comparison: ServeComparison) -> Document:
    """Return the comparison in every form."""
    return Document(comparison, _comparison_body, rows=lambda: comparison.sides, first=_serve_comparison_screen)
