"""Results of programs that load an engine: vllm bench serve, SGLang bench_serving, AIPerf and genai-perf."""

from __future__ import annotations

from statistics import pstdev
from typing import TYPE_CHECKING, Any, Literal

from ffplan.interop.served.fields import _shortest_of
from ffplan.results.serving_runs import BenchmarkRun

if TYPE_CHECKING:
    from ffplan.interop.served.fields import _Result

VLLM = "vllm bench serve"
SGLANG = "SGLang bench_serving"
VLLM_MARKS = (
    *("model_id", "tokenizer_id", "num_prompts", "burstiness", "endpoint_type", "label"),
    *("request_goodput", "total_token_throughput"),
)
"""Fields that only the first has."""
SGLANG_MARKS = (
    *("dataset_name", "random_input_len", "random_output_len", "random_range_ratio", "sharegpt_output_len"),
    *("total_output_tokens_retokenized", "server_info", "mean_e2e_latency_ms", "accept_length"),
)
"""Fields that only the second has."""
SHARED_MARKS = ("mean_ttft_ms", "mean_tpot_ms", "completed", "duration", "total_output_tokens", "request_throughput")
_ENGINES = {"sglang": "sglang", "vllm": "vllm", "trt": "trtllm"}
"""Software by the beginning of SGLang's `backend`; other names are protocols."""
_HIT = 5.0
"""Prompt tokens from a prefix cache from which a run is another load [%]."""
_SPECULATION = 1.05
"""Tokens of a step from which an engine speculates [1]."""


def _unlimited(value: Any) -> bool:
    """Return whether a rate sends all requests at once."""
    return value is None or str(value).lower() in ("inf", "infinity")


def _load(result: _Result) -> tuple[Literal["closed", "open", "queued"], float | None, float | None]:
    """Return the kind of load, requests under way and rate [1/s]."""
    most = result.number("max_concurrency")
    rate = None if _unlimited(result.get("request_rate")) else result.number("request_rate")
    if rate is not None:
        return "open", None, rate
    return ("queued", None, None) if most is None else ("closed", most, None)


def _refused(result: _Result, completed: float | None) -> str:
    """Return the reason in a result not to fit it; empty without one."""
    prompts, failed = result.number("num_prompts"), result.number("failed")
    if failed is None and prompts is not None and completed is not None and completed < prompts:
        failed = prompts - completed
    errors = result.get("errors")
    if failed is None and isinstance(errors, list):
        failed = float(sum(bool(error) for error in errors)) or None
    if completed is None:
        return "no request completed"
    if failed is not None:
        return f"{failed:,.0f} of {completed + failed:,.0f} requests failed"
    if result.get("request_rate") == "trace":
        return "requests followed a trace, whose load changes"
    if result.text_of("ramp_up_strategy") is not None:
        return "the rate ramped up, so that no load was steady"
    accepted = result.number("accept_length")
    if (accepted or 0) > _SPECULATION or result.text_of("server_info.speculative_algorithm"):
        return "the engine speculated, and no step says how much was accepted"
    hit = result.number("cache_report.cache_hit_rate_pct")
    return f"{hit:.0f} % of the prompt tokens came from a prefix cache" if (hit or 0) > _HIT else ""


def _shortest(result: _Result) -> float | None:
    """Return the least answer as a fraction of the largest [1]; None if neither lengths nor their range is there."""
    lengths = result.get("output_lens")
    if isinstance(lengths, list) and lengths and all(isinstance(length, int) and length >= 0 for length in lengths):
        mean = sum(lengths) / len(lengths)
        return _shortest_of(pstdev(lengths) / mean) if mean else None
    ratio = result.get("random_range_ratio")
    drawn = isinstance(ratio, int | float) and 0 <= ratio <= 1 and str(result.get("dataset_name")).startswith("random")
    return max(float(ratio), 0.01) if drawn else None


def _deployment(result: _Result) -> dict[str, Any]:
    """Return the plan as metadata or the server's settings state it."""
    server = "server_info."
    plan = {
        "tensor": result.count("tp", "tensor_parallel_size", "tp_size", f"{server}tp_size"),
        "pipeline": result.count("pp", "pipeline_parallel_size", "pp_size", f"{server}pp_size"),
        "data": result.count("dp", "data_parallel_size", "dp_size", f"{server}dp_size"),
        "expert": result.count("ep", "expert_parallel_size", "ep_size", f"{server}ep_size"),
    }
    tensor, data = plan["tensor"], plan["data"]
    if result.flag(f"{server}enable_dp_attention") and tensor and data:
        # SGLang's tensor ranks are all accelerators, which attention groups divide and experts span
        plan |= {"tensor": max(tensor // data, 1), "expert": tensor}
    return plan


def _read_bench_serving(result: _Result, program: str) -> BenchmarkRun:
    completed = result.number("completed")
    load, concurrency, rate = _load(result) if result.get("request_rate") != "trace" else ("open", None, None)
    mean = result.get("mean_tpot_ms") is not None or result.get("median_tpot_ms") is None
    statistic: Literal["mean", "median"] = "mean" if mean else "median"
    prompt, output = result.number("total_input_tokens"), result.number("total_output_tokens")
    backend = (result.text_of("backend") or "").lower() if program == SGLANG else ""
    return BenchmarkRun(
        result.file,
        result.line,
        program,
        model=result.text_of("model_id", "model", "server_info.model_path"),
        accelerator=result.text_of("accelerator", "hw"),
        software=next((name for start, name in _ENGINES.items() if backend.startswith(start)), None),
        version=result.text_of("version", "server_info.version"),
        precision=result.text_of("precision", "server_info.quantization"),
        **_deployment(result),
        prompt=prompt / completed if prompt and completed else result.number("random_input_len", "isl"),
        output=output / completed if output and completed else result.number("random_output_len", "osl"),
        shortest=_shortest(result),
        load=load,
        concurrency=concurrency,
        rate=rate,
        requests=completed,
        seconds=result.number("duration"),
        requests_s=result.number("request_throughput"),
        ttft_ms=result.number(f"{statistic}_ttft_ms"),
        tpot_ms=result.number(f"{statistic}_tpot_ms"),
        latency_ms=result.number("mean_e2el_ms", "mean_e2e_latency_ms"),
        tokens_s=result.number("output_throughput"),
        statistic=statistic,
        date=result.day("date"),
        refused=_refused(result, completed),
    )


AIPERF = "AIPerf or genai-perf"
AIPERF_MARKS = (
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


def _shortest_export(result: _Result) -> float | None:
    """Return the least answer as a fraction of the largest [1]; None if the export has no spread."""
    mean, spread = result.number("output_sequence_length.avg"), result.get("output_sequence_length.std")
    if mean is None or not isinstance(spread, int | float) or not 0 <= spread < 1e9:
        return None
    return _shortest_of(spread / mean)


def _failed_export(result: _Result) -> str:
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
        shortest=_shortest_export(result),
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
        refused=_failed_export(result),
    )
