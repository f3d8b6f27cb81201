"""The first screens of `serve` and `compare --serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import at_least, chance, listed, number, percent, plural, power, ranged, stored
from ffplan.inputs.workloads import PoolPlan
from ffplan.report.document import _FirstScreen, _recalled_count
from ffplan.results.difference import judged
from ffplan.results.recommendation import MOST_RECALLED

if TYPE_CHECKING:
    from ffplan.results.serve_comparison import ServeComparison, ServedSide
    from ffplan.results.serving import (
        Latency,
        ServeBeside,
        ServeChoice,
        ServeCost,
        ServePlan,
        ServePool,
        ServePools,
        ServeReport,
        ServeRow,
        ServeTargets,
        TokenPrice,
    )

_MILLI = 1e3
_BLOCKS = "▁▂▃▄▅▆▇█"
_PLANS = 3


def _plan_text(plan: ServePlan) -> str:
    ways = (("TP", plan.tensor), ("PP", plan.pipeline), ("EP", plan.expert), ("DP", plan.data))
    sizes = " ".join(f"{name}{size}" for name, size in ways if size > 1)
    cache = f", {plan.kv} cache" if plan.kv != "bf16" else ""
    return f"{sizes or 'TP1'} {plan.precision}{cache}"


def _pool_texts(pools: ServePools) -> tuple[str, str]:
    """Return the plans for prefill and for decoding, with their accelerators if these are unlike."""
    unlike = pools.prefill.accelerator != pools.decode.accelerator

    def text(pool: ServePool) -> str:
        on = f" on {pool.accelerator}" if unlike else ""
        return f"{pool.copies} x {PoolPlan.of(pool.plan).ways(' ')}{on}"

    return text(pools.prefill), text(pools.decode)


def _deployed_text(plan: ServePlan, pools: ServePools | None) -> str:
    if pools is None:
        return _plan_text(plan)
    cache = f", {plan.kv} cache" if plan.kv != "bf16" else ""
    prefill, decode = _pool_texts(pools)
    return f"{prefill} prefill, {decode} decode, {plan.precision}{cache}"


def _copies_text(side: ServedSide) -> str:
    if side.pools is None:
        return f"{side.copies:,} x {_plan_text(side.plan)}"
    return f"{side.copies:,} x ({_deployed_text(side.plan, side.pools)})"


def _unit_gpus(plan: ServePlan, pools: ServePools | None) -> int:
    return plan.gpus if pools is None else sum(pool.copies * pool.plan.gpus for pool in (pools.prefill, pools.decode))


def verdict(report: ServeReport) -> tuple[str, ...]:
    """Return the answer: what the copies serve, and what binds them."""
    row, targets = report.rows[report.best], report.targets
    one = _one(report)
    copies = plural(report.copies, one, "copies" if one == "copy" else "units")
    size = plural(_unit_gpus(report.plan, report.pools), "GPU")
    size += f" ({report.idle:,} idle)" if report.idle else ""
    verb = "serves" if report.copies == 1 else "serve"
    served = f"{copies} of {size} {verb} {number(row.rate_s, 3)} requests a second"
    if targets is None:
        most = f"{row.output_tokens_s:,.0f} tokens/s at {number(row.concurrency, 3)} requests a {one}"
        first = f"{served}: {most}."
    else:
        within = _limits_text(targets)
        first = f"{served} within {within}." if row.meets else f"No load is within {within}; the nearest is below."
    binds = f"The largest part of a token's time is {row.limited_by_label}."
    if row.limited_by == "memory":
        binds = "Requests wait for room in memory."
    return first, f"{binds} {_ends(report)}"


def _limits_text(targets: ServeTargets) -> str:
    limits = [
        f"{name} {number(limit * scale, 3)} {unit}"
        for name, limit, scale, unit in (("TTFT", targets.ttft_s, 1.0, "s"), ("TPOT", targets.tpot_s, _MILLI, "ms"))
        if limit is not None
    ]
    return f"{' and '.join(limits)} ({targets.at.upper()})"


def _one(report: ServeReport) -> str:
    return "copy" if report.pools is None else "unit"


def _ends(report: ServeReport) -> str:
    largest = report.saturation
    what = {
        "memory": "keys and values fill memory",
        "sequences": "the engine's limit on sequences",
        "prompts": "prefill takes all the time",
    }[largest.cause]
    return f"A {_one(report)} saturates at {plural(round(largest.concurrency), 'request')}: {what}."


def _spread(latency: Latency, scale: float, unit: str) -> str:
    return f"{number(latency.mean * scale, 3)} {unit} (P99 {number(latency.p99 * scale, 3)})"


def _curve(report: ServeReport) -> str:
    """Return TPOT by load as a line of blocks."""
    values = [row.tpot_s.mean for row in report.rows]
    low, high = min(values), max(values)
    steps = [round((len(_BLOCKS) - 1) * (value - low) / max(high - low, 1e-12)) for value in values]
    return "".join(_BLOCKS[step] for step in steps)


def _power(row: ServeRow) -> tuple[str, str]:
    if row.power_w is None or row.j_per_token is None:
        return "unknown", ""
    return power(row.power_w), f"{number(row.j_per_token, 3)} J a token"


def _figures(report: ServeReport, row: ServeRow) -> list[tuple[str, ...]]:
    band = ranged(row.tpot_s.mean * _MILLI, row.band.low * _MILLI, row.band.high * _MILLI, "ms")
    rows: list[tuple[str, ...]] = [
        ("time to first token", _spread(row.ttft_s, 1.0, "s"), f"request {number(row.e2e_s.mean, 3)} s"),
        ("time per token", band, f"P99 {number(row.tpot_s.p99 * _MILLI, 3)} ms"),
        ("output", f"{row.output_tokens_s_gpu:,.0f} tokens/s a GPU", f"{row.output_tokens_s_user:,.0f} a user"),
        ("memory", f"{percent(row.kv.used)} of the KV cache", f"{report.memory.weights_gib:.0f} GiB of weights a GPU"),
        ("power", *_power(row)),
    ]
    if report.pools is not None and row.prefill_busy is not None:
        moved = report.pools.transfer
        sent = f"{stored(moved.bytes)} of KV a prompt"
        rows.append(("prefill pool", f"{percent(row.prefill_busy)} busy", sent))
    if row.cost is not None:
        paid = f"{_token_money(row.cost, 'per_million_output')} {report.currency} a million out"
        hour = f"GPU-hour {number(row.cost.accelerator_hour, 3)}"
        rows.append(("cost", paid, f"{number(row.cost.per_million_input, 3)} in, {hour}"))
    if len(report.rows) > 1:
        ends = f"{report.rows[0].concurrency:,.0f} to {report.rows[-1].concurrency:,.0f} a {_one(report)}"
        rows.append(("TPOT by load", _curve(report), ends))
    return rows


def _api_text(api: TokenPrice | None) -> str:
    if api is None:
        return ""
    price = f"{number(api.per_million_output_all, 3)} {api.currency} a million out, prompts included"
    return f"{api.provider} sells the tokens at {price}" + (f" ({api.date})" if api.date else "")


def _beside_text(beside: ServeBeside) -> str:
    others = f"a job on the other {plural(beside.gpus, 'GPU')}"
    if beside.link is None:
        return f"{others} shares no link with keys and values"
    return f"{others} keeps {percent(beside.kept)} of its allreduce rate"


def _serve_api_text(report: ServeReport, row: ServeRow) -> str:
    text = _api_text(report.api)
    if not text or row.cost is None:
        return text
    return f"{text}; here {_token_money(row.cost, 'per_million_output_all')} at this load"


def _serve_screen(report: ServeReport) -> _FirstScreen:
    row = report.rows[report.best]
    where = report.design or plural(
        report.copies * _unit_gpus(report.plan, report.pools), report.accelerator, report.accelerator
    )
    lengths = f"{report.prompt_tokens:,.0f} in, {report.output_tokens:,.0f} out"
    parts = ", ".join(f"{part.label} {percent(part.share)}" for part in row.parts[:3])
    kin = "" if report.calibrated_on else f"no run of {report.engine} on {report.accelerator}. "
    quick = "" if report.searched or report.pools else "--search, --disaggregate (other plans)"
    plans = "; ".join(
        f"{_plan_text(choice.plan)}: {choice.output_tokens_s_user:,.0f} a user, {choice.output_tokens_s_gpu:,.0f} a GPU"
        for choice in _spread_choices(report)
    )
    return _FirstScreen(
        head=f"{where} · {report.model} · {report.engine}, {_deployed_text(report.plan, report.pools)} · {lengths}",
        verdict=verdict(report),
        figures=tuple(_figures(report, row)),
        advice=(
            ("A token", parts),
            ("Plans", plans),
            ("Training", _beside_text(report.beside) if report.beside else ""),
            ("Price", report.price or "no price of an accelerator-hour is known"),
            ("API", _serve_api_text(report, row)),
            ("Next", quick),
        ),
        unverified=kin + _recalled_count(report.unverified),
    )


def _spread_choices(report: ServeReport) -> list[ServeChoice]:
    choices = report.choices
    if len(choices) <= _PLANS:
        return list(choices)
    return [choices[0], choices[len(choices) // 2], choices[-1]]


_ROWS = 8
_TILES = 3
"""Designs whose cost a page shows large [1]."""
_LEVEL = 0.05
"""Largest cost above the cheapest that is called level with it, as a share [1]."""
HEADER = ("", "GPUs", "req/s", "tok/s/GPU", "TTFT s", "TPOT ms", "all/M out", "k tok/s/MW")


def _token_money(cost: ServeCost | None, name: str) -> str:
    """Return an amount of a cost of tokens by its name, or that it is unknown."""
    return "unknown" if cost is None else at_least(number(getattr(cost, name), 3), cost.partial)


def _currency_beside(side: ServedSide, comparison: ServeComparison) -> str:
    """Return the currency of a design's amounts as a suffix; empty where all designs have one."""
    currencies = {one.cost.currency for one in comparison.sides if one.cost is not None}
    return f" {side.cost.currency}" if side.cost is not None and len(currencies) > 1 else ""


def _served_row(side: ServedSide, comparison: ServeComparison) -> tuple[str, ...]:
    """Return a design as a row of the table; latencies at the statistic of the targets."""
    at = comparison.targets.at if comparison.targets is not None else "mean"
    return (
        side.label if side.meets else f"{side.label} (misses)",
        f"{side.accelerators:,}",
        number(side.rate_s, 3),
        f"{side.output_tokens_s_gpu:,.0f}",
        number(getattr(side.ttft_s, at), 2),
        number(getattr(side.tpot_s, at) * _MILLI, 3),
        _token_money(side.cost, "per_million_output_all") + _currency_beside(side, comparison),
        "unknown" if side.output_tokens_s_mw is None else f"{side.output_tokens_s_mw / 1e3:,.0f}",
    )


def _load_of(comparison: ServeComparison) -> str:
    return f"{comparison.model} · {comparison.prompt_tokens:,.0f} in, {comparison.output_tokens:,.0f} out"


def _winner(comparison: ServeComparison) -> str:
    within = f" within {_limits_text(comparison.targets)}" if comparison.targets is not None else ""
    verdict = comparison.verdict
    if verdict is None:
        meeting = [side for side in comparison.sides if side.meets]
        if not meeting:
            return f"No design serves {comparison.model}{within}."
        if len(meeting) == 1:
            return f"Only {meeting[0].label} serves {comparison.model}{within}."
        return f"{len(meeting)} designs serve {comparison.model}{within}; whole costs in one currency are missing."
    costs = {side.label: side.cost for side in comparison.sides}
    mine, other = costs[verdict.cheapest], costs[verdict.other]
    assert mine is not None
    assert other is not None
    called = judged(verdict.ratio, verdict.chance)
    if not called.gap:
        return f"{verdict.cheapest} and {verdict.other} serve {comparison.model}{within} at about the same cost."
    both = f"{number(mine.per_million_output_all, 3)} against {number(other.per_million_output_all, 3)} {mine.currency}"
    level = _level(comparison, mine.per_million_output_all)
    return (
        f"{called.doubt}{verdict.cheapest} serves {comparison.model} {percent(1 - verdict.ratio)} cheaper a token than "
        f"{verdict.other} ({both} a million out, prompts included; {chance(verdict.chance)} sure at these prices)"
        f"{within}.{level}"
    )


def _level(comparison: ServeComparison, least: float) -> str:
    """Return which other designs cost hardly more than the cheapest, as a sentence; empty if none does."""
    verdict = comparison.verdict
    assert verdict is not None
    near = [
        side.label
        for side in comparison.sides
        if side.meets
        and side.cost is not None
        and not _currency_beside(side, comparison)
        and side.cost.per_million_output_all <= least * (1 + _LEVEL)
    ]
    names = [label for label in near if label not in (verdict.cheapest, verdict.other)]
    return f" {listed(names)} {'is' if len(names) == 1 else 'are'} within {percent(_LEVEL)} of it." if names else ""


def _serve_comparison_screen(comparison: ServeComparison) -> _FirstScreen:
    sides = comparison.sides[:_ROWS]
    plans = "; ".join(f"{side.label}: {_copies_text(side)}" for side in sides)
    users = "; ".join(f"{side.label} {side.users_rack:,.0f}" for side in sides)
    kin = ", ".join(side.label for side in sides if not side.calibrated)
    guessed = ", ".join(
        f"{percent(side.recalled_share)} of {side.label}'s price"
        for side in sides
        if side.recalled_share is not None and side.recalled_share > MOST_RECALLED
    )
    doubts = [f"no run of the engine on {kin}"] * bool(kin) + [guessed] * bool(guessed)
    return _FirstScreen(
        head=_load_of(comparison),
        verdict=(_winner(comparison),),
        figures=tuple(_served_row(side, comparison) for side in sides),
        header=HEADER,
        advice=(
            ("Plans", plans),
            ("Racks", f"requests in flight per rack: {users}" if sides else ""),
            ("API", _api_text(comparison.api)),
            ("Cannot", "; ".join(f"{side.label}: {side.reason}" for side in comparison.unserved)),
            ("Next", f"ffplan serve DESIGN … --disaggregate --precision {sides[0].plan.precision}" if sides else ""),
        ),
        unverified="".join(f"{doubt}. " for doubt in doubts) + _recalled_count(comparison.unverified),
        tiles=_token_tiles(comparison),
    )


def _token_tiles(comparison: ServeComparison) -> tuple[tuple[str, str, str], ...]:
    tiles = [
        (
            side.label,
            f"{_token_money(side.cost, 'per_million_output_all')} {side.cost.currency}",
            "a million output tokens",
        )
        for side in comparison.sides[:_TILES]
        if side.cost is not None
    ]
    verdict = comparison.verdict
    if verdict is not None:
        tiles.append((f"{verdict.cheapest} cheaper", f"{chance(verdict.chance)} sure", "at these prices"))
    return tuple(tiles)
