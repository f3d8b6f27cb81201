"""Results of suites that are published: InferenceX (formerly InferenceMAX), and logs of MLPerf's LoadGen.

A result of InferenceX is one deployment at one number of requests under way; LoadGen's are a summary and a detailed log
of the scenarios Server and Offline.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from ffplan.base.errors import located
from ffplan.interop.served.fields import RULE, _Result
from ffplan.results.serving_runs import BenchmarkRun

if TYPE_CHECKING:
    from collections.abc import Iterator

INFERENCEX = "InferenceX"
INFERENCEX_MARKS = (
    *("hw", "tp", "ep", "dp_attention", "conc", "framework", "precision", "isl", "osl", "tput_per_gpu"),
    *("mean_ttft", "mean_tpot", "median_ttft", "median_tpot"),
)
"""Fields that tell such a result."""
_SHORTEST = 0.8
"""Least length as a fraction of the nominal one: its client draws from there on [1]."""
_ENGINES = {"vllm": "vllm", "sglang": "sglang", "trt": "trtllm", "trtllm": "trtllm", "tensorrt": "trtllm"}
_VERSION = re.compile(r":v?([0-9]+\.[0-9]+[0-9a-z.]*)")


def _refused(result: _Result) -> str:
    if result.flag("disagg") or result.flag("is_multinode"):
        return "prompts and answers ran on separate accelerators, or on several nodes"
    if result.count("conc") is None:
        return "it has no number of requests under way (`conc`)"
    drafted = (result.text_of("spec_decoding", "spec") or "none").lower()
    return "" if drafted == "none" else f"the engine speculated ({drafted}), and no step says how much was accepted"


def _read_inferencex(result: _Result, program: str) -> BenchmarkRun:
    """Return a result; its times are in seconds."""
    tensor, expert, data = result.count("tp"), result.count("ep"), 1
    if result.flag("dp_attention") and tensor:
        # each accelerator is an attention group of its own, and experts span them all
        tensor, data, expert = 1, tensor, max(tensor, expert or 1)
    mean = result.get("mean_tpot") is not None
    statistic: Literal["mean", "median"] = "mean" if mean else "median"
    software = re.split(r"[-_ ]", (result.text_of("framework") or "").lower())
    version = _VERSION.search(result.text_of("image") or "")
    per_gpu, gpus = result.number("output_tput_per_gpu"), (tensor or 1) * data
    return BenchmarkRun(
        result.file,
        result.line,
        program,
        model=result.text_of("model"),
        accelerator=result.text_of("hw"),
        software=next((_ENGINES[word] for word in software if word in _ENGINES), None),
        version=version[1] if version else None,
        precision=(result.text_of("precision") or "").lower() or None,
        tensor=tensor,
        pipeline=1,
        data=data,
        expert=expert,
        prompt=result.number("isl", scale=0.5 * (1 + _SHORTEST)),
        output=result.number("osl", scale=0.5 * (1 + _SHORTEST)),
        shortest=_SHORTEST,
        load="closed",
        concurrency=result.number("conc"),
        ttft_ms=result.number(f"{statistic}_ttft", scale=1e3),
        tpot_ms=result.number(f"{statistic}_tpot", scale=1e3),
        latency_ms=result.number(f"{statistic}_e2el", f"{statistic}_e2e", scale=1e3),
        tokens_s=None if per_gpu is None else per_gpu * gpus,
        statistic=statistic,
        date=result.day("date"),
        refused=_refused(result),
    )


LOADGEN = "MLPerf LoadGen"
LOADGEN_MARKS = ("scenario", "validity", "samples_s", "tokens_s", "ttft", "tpot", "target")
"""Figures that tell such a log, by our names."""
_SUMMARY = {
    "scenario": "Scenario",
    "validity": "Result is",
    "samples_s": ("Completed samples per second", "Samples per second"),
    "scheduled": "Scheduled samples per second",
    "tokens_s": ("Completed tokens per second", "Tokens per second"),
    "ttft": "Mean First Token latency (ns)",
    "tpot": "Mean Time per Output Token (ns)",
    "ttft_median": "50.00 percentile first token latency (ns)",
    "tpot_median": "50.00 percentile time to output token (ns)",
    "target": "target_qps",
}
"""Labels of the summary by our names."""
_DETAIL = {
    "scenario": ("effective_scenario", "requested_scenario"),
    "validity": "result_validity",
    "samples_s": ("result_completed_samples_per_sec", "result_samples_per_second"),
    "scheduled": "result_scheduled_samples_per_sec",
    "tokens_s": ("result_completed_tokens_per_second", "result_tokens_per_second"),
    "ttft": "result_first_token_mean_latency_ns",
    "tpot": ("result_time_to_output_token_mean", "result_time_per_output_token_mean"),
    "ttft_median": "result_first_token_50.00_percentile_latency_ns",
    "tpot_median": "result_time_per_output_token_50.00_percentile_ns",
    "target": ("effective_target_qps", "requested_server_target_qps", "requested_offline_expected_qps"),
}
"""Keys of the detailed log by our names."""
_LINE = re.compile(r"^[ *]*([^:\n]{3,80}?)[ \t]*:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_MLLOG = ":::MLLOG"
_SUMMARY_HEAD = re.compile(r"MLPerf Results Summary")
_DETAIL_HEAD = re.compile(r":::MLLOG[ \t]+\{[^\n]*\"key\"[ \t]*:[ \t]*\"loadgen_version\"")
"""What each log begins with: its title, or its first entry."""
_ENTRY = re.compile(r":::MLLOG[ \t]+(\{.*\})[ \t]*$", re.MULTILINE)


def _entries(text: str, *, detailed: bool) -> Iterator[tuple[str, Any]]:
    if not detailed:
        yield from ((match[1], match[2]) for match in _LINE.finditer(text))
        return
    for match in _ENTRY.finditer(text):
        try:
            entry = json.loads(match[1])
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            yield str(entry.get("key")), entry.get("value")


def _loadgen_results(text: str, file: str) -> list[_Result]:
    """Return the figures of each log in a text by our names; none if LoadGen did not write it."""
    starts = {
        detailed: [match.start() for match in head.finditer(text)]
        for detailed, head in ((False, _SUMMARY_HEAD), (True, _DETAIL_HEAD))
    }
    detailed = _MLLOG in text
    if not detailed and not starts[False]:
        return []
    if detailed and starts[False]:
        _refuse_both(text, file, min(starts[False][0], text.index(_MLLOG)))
    begins = [0, *starts[detailed][1:]]
    results = [
        _loadgen_result(text, file, start, end, detailed=detailed)
        for start, end in zip(begins, [*begins[1:], len(text)], strict=True)
    ]
    known = ["scenario" in result.data for result in results]
    if any(known) and not all(known):
        results[known.index(False)].refuse("Scenario", "this log has none, others of the file have")
    return results if all(known) else []


def _refuse_both(text: str, file: str, start: int) -> NoReturn:
    message = "the file holds a summary and a detailed log"
    place = (text.count("\n", 0, start) + 1, 1)
    raise located(RULE, file, place, message, "give one of them: both are of one run, or each needs its own file")


def _loadgen_result(text: str, file: str, start: int, end: int, *, detailed: bool) -> _Result:
    """Return the figures of one log, from its place in the text.

    Raises:
        InputError: where one figure stands twice, differently: two logs without the heading of the second.
    """
    said: dict[str, Any] = {}
    twice: set[str] = set()
    for key, value in _entries(text[start:end], detailed=detailed):
        if said.setdefault(key, value) != value:
            twice.add(key)
    figures: dict[str, Any] = {}
    result = _Result(data=figures, file=file, text=text, start=start, end=end)
    for name, known in (_DETAIL if detailed else _SUMMARY).items():
        label = next((label for label in ((known,) if isinstance(known, str) else known) if label in said), None)
        if label is None:
            continue
        if label in twice:
            result.refuse(label, "it stands twice, with different values", "give each log as LoadGen wrote it")
        figures[name] = said[label]
    return result


def _read_loadgen(result: _Result, program: str) -> BenchmarkRun:
    scenario = str(result.get("scenario"))
    if scenario not in ("Server", "Offline"):
        result.refuse("Scenario", f"{scenario[:40]} is no load to calibrate on", "give a log of Server or Offline")
    server = scenario == "Server"
    samples, tokens = result.number("samples_s"), result.number("tokens_s")
    mean = result.get("tpot") is not None
    valid = str(result.get("validity"))
    ttft, tpot = ("ttft", "tpot") if mean else ("ttft_median", "tpot_median")
    return BenchmarkRun(
        result.file,
        result.line,
        program,
        output=tokens / samples if tokens and samples else None,
        load="open" if server else "queued",
        rate=result.number("scheduled", "target") if server else None,
        requests_s=samples,
        ttft_ms=result.number(ttft, scale=1e-6) if server else None,
        tpot_ms=result.number(tpot, scale=1e-6) if server else None,
        tokens_s=tokens,
        statistic="mean" if mean else "median",
        refused="" if valid == "VALID" else f"LoadGen calls the result {valid[:20]}",
    )
