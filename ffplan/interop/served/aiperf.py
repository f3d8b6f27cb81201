"""Exports of AIPerf and of its predecessor genai-perf: a record for each metric, with its unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ffplan.interop.served.fields import _shortest_of
from ffplan.results.serving_runs import BenchmarkRun

if TYPE_CHECKING:
    from ffplan.interop.served.fields import _Result

AIPERF = "AIPerf or genai-perf"
MARKS = (
    *("time_to_first_token", "inter_token_latency", "request_latency", "output_token_throughput"),
    *("input_sequence_length", "output_sequence_length", "input_config"),
)
"""Fields that tell such an export."""
_MILLIS = {"ms": 1.0, "s": 1e3, "sec": 1e3, "us": 1e-3, "µs": 1e-3, "ns": 1e-6}
"""Milliseconds of a unit of time [ms]."""
_CONCURRENCY = (
    *("input_config.loadgen.concurrency", "input_config.perf_analyzer.stimulus.concurrency"),
    *("input_config.concurrency", "input_config.profiling.concurrency"),
)
"""Where versions have the requests under way."""
_RATE = (
    *("input_config.loadgen.request_rate", "input_config.perf_analyzer.stimulus.request_rate"),
    *("input_config.request_rate", "input_config.profiling.rate"),
)
"""Where versions have the rate of arrival."""
_MODELS = (
    *("input_config.endpoint.model_names", "input_config.model_names", "input_config.models"),
    *("input_config.model", "input_config.formatted_model_name"),
)


def _time(result: _Result, metric: str) -> float | None:
    """Return the mean of a metric of time [ms]; None if the export has none."""
    value = result.number(f"{metric}.avg")
    if value is None:
        return None
    unit = str(result.get(f"{metric}.unit") or "ms")
    if unit not in _MILLIS:
        result.refuse(metric, f"`{unit[:20]}` is no unit of time", f"write one of {', '.join(_MILLIS)}")
    return value * _MILLIS[unit]


def _phase(result: _Result, field: str) -> float | None:
    """Return a number of the phase that was measured, where the settings list phases; None without one."""
    phases: Any = result.get("input_config.phases")
    if isinstance(phases, dict):
        phases = list(phases.values())
    measured = [phase for phase in phases or () if isinstance(phase, dict) and not phase.get("exclude_from_results")]
    values = [phase.get(field) for phase in measured]
    numbers = [float(value) for value in values if isinstance(value, int | float) and value > 0]
    return numbers[-1] if numbers else None


def _model(result: _Result) -> str | None:
    name = result.text_of(*_MODELS)
    if name is None:
        items: Any = result.get("input_config.models.items") or result.get("input_config.models")
        first = items[0] if isinstance(items, list) and len(items) == 1 else None
        name = first.get("name") if isinstance(first, dict) else None
    return name


def _shortest(result: _Result) -> float | None:
    """Return the least answer as a fraction of the largest [1]; None if the export has no spread."""
    mean, spread = result.number("output_sequence_length.avg"), result.get("output_sequence_length.std")
    if mean is None or not isinstance(spread, int | float) or not 0 <= spread < 1e9:
        return None
    return _shortest_of(spread / mean)


def _refused(result: _Result) -> str:
    failed = result.number("error_request_count.avg")
    if failed is not None:
        return f"{failed:,.0f} requests failed"
    if result.flag("was_cancelled"):
        return "the run was cancelled"
    if result.get("is_complete") is False:
        return f"the run is not complete: {result.text_of('incomplete_reason') or 'no reason stated'}"
    listed = result.get("error_summary")
    return f"requests failed for {len(listed)} reasons" if isinstance(listed, list) and listed else ""


def _read_aiperf(result: _Result, program: str) -> BenchmarkRun:
    rate = result.number(*_RATE) or _phase(result, "rate")
    concurrency = result.number(*_CONCURRENCY) or _phase(result, "concurrency")
    load: Literal["closed", "open", "queued"] = "open" if rate else "closed" if concurrency else "queued"
    seconds = _time(result, "benchmark_duration")
    return BenchmarkRun(
        result.file,
        result.line,
        program,
        model=_model(result),
        prompt=result.number("input_sequence_length.avg"),
        output=result.number("output_sequence_length.avg"),
        shortest=_shortest(result),
        load=load,
        concurrency=None if rate else concurrency,
        rate=rate,
        requests=result.number("request_count.avg", "request_latency.count"),
        seconds=None if seconds is None else seconds / 1e3,
        requests_s=result.number("request_throughput.avg"),
        ttft_ms=_time(result, "time_to_first_token"),
        tpot_ms=_time(result, "inter_token_latency"),
        latency_ms=_time(result, "request_latency"),
        tokens_s=result.number("output_token_throughput.avg"),
        date=result.day("start_time"),
        refused=_refused(result),
    )
