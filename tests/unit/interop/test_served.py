"""Results of serving benchmarks, in the shapes that their programs write; values by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from ffplan.base.errors import InputError
from ffplan.interop.served.fields import _shortest_of
from ffplan.interop.served.read import read_results

VLLM: dict[str, Any] = {
    "date": "20260301-101500",
    "endpoint_type": "vllm",
    "label": None,
    "model_id": "meta-llama/Llama-3.1-70B-Instruct",
    "tokenizer_id": "meta-llama/Llama-3.1-70B-Instruct",
    "num_prompts": 200,
    "tp": "8",
    "request_rate": "inf",
    "burstiness": 1.0,
    "max_concurrency": 16,
    "duration": 120.5,
    "completed": 200,
    "total_input_tokens": 204800,
    "total_output_tokens": 51200,
    "request_throughput": 1.66,
    "request_goodput": None,
    "output_throughput": 424.9,
    "total_token_throughput": 2124.5,
    "mean_ttft_ms": 180.25,
    "median_ttft_ms": 171.0,
    "p99_ttft_ms": 402.0,
    "mean_tpot_ms": 11.5,
    "median_tpot_ms": 11.4,
    "p99_tpot_ms": 14.0,
}
SGLANG: dict[str, Any] = {
    "tag": None,
    "backend": "sglang-oai",
    "dataset_name": "random",
    "request_rate": 4.0,
    "max_concurrency": None,
    "sharegpt_output_len": None,
    "random_input_len": 1024,
    "random_output_len": 256,
    "random_range_ratio": 0.5,
    "server_info": {
        "model_path": "deepseek-ai/DeepSeek-R1",
        "tp_size": 8,
        "dp_size": 4,
        "ep_size": 1,
        "enable_dp_attention": True,
        "quantization": "fp8",
        "version": "0.5.9",
        "speculative_algorithm": None,
    },
    "duration": 60.0,
    "completed": 240,
    "total_input_tokens": 184320,
    "total_output_tokens": 46080,
    "request_throughput": 4.0,
    "output_throughput": 768.0,
    "mean_e2e_latency_ms": 2500.0,
    "mean_ttft_ms": 210.0,
    "mean_tpot_ms": 12.0,
    "accept_length": None,
}
AIPERF: dict[str, Any] = {
    "schema_version": "1.1",
    "input_config": {"endpoint": {"model_names": ["Qwen/Qwen3-32B"]}, "loadgen": {"concurrency": 8}},
    "time_to_first_token": {"unit": "ms", "avg": 95.0, "p50": 90.0, "p90": 120.0, "p99": 180.0},
    "inter_token_latency": {"unit": "ms", "avg": 9.5, "p50": 9.4, "p90": 10.0, "p99": 12.0},
    "request_latency": {"unit": "s", "avg": 2.4},
    "request_count": {"unit": "requests", "avg": 100},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 800.0},
    "input_sequence_length": {"unit": "tokens", "avg": 550.0, "std": 50.0},
    "output_sequence_length": {"unit": "tokens", "avg": 250.0, "std": 0.0},
    "was_cancelled": False,
    "error_summary": [],
    "start_time": "2026-04-02T09:00:00",
}
INFERENCEX: dict[str, Any] = {
    "hw": "h200-nb",
    "tp": 8,
    "ep": 8,
    "dp_attention": "true",
    "conc": 64,
    "model": "deepseek-ai/DeepSeek-R1-0528",
    "framework": "sglang",
    "image": "lmsysorg/sglang:v0.5.9-cu129",
    "precision": "fp8",
    "spec_decoding": "none",
    "disagg": False,
    "isl": 1000,
    "osl": 2000,
    "tput_per_gpu": 900.0,
    "output_tput_per_gpu": 450.0,
    "mean_ttft": 0.5,
    "median_ttft": 0.45,
    "mean_tpot": 0.025,
    "median_tpot": 0.024,
    "mean_e2el": 45.0,
}
SUMMARY = """\
================================================
MLPerf Results Summary
================================================
SUT name : PySUT
Scenario : Server
Mode     : PerformanceOnly
Completed samples per second    : 9.80
Completed tokens per second: 2450.00
Result is : VALID
  Performance constraints satisfied : Yes

================================================
Additional Stats
================================================
Scheduled samples per second : 10.00
Mean First Token latency (ns)                : 400000000
50.00 percentile first token latency (ns)   : 350000000
Mean Time per Output Token (ns)               : 60000000
"""


def detail(**values: object) -> str:
    return "".join(
        f":::MLLOG {json.dumps({'key': name, 'value': value, 'event_type': 'POINT_IN_TIME'})}\n"
        for name, value in values.items()
    )


def read(document: dict[str, Any], **changes: Any) -> Any:
    return read_results(json.dumps({**document, **changes}), "run.json")[0]


def test_vllm_bench_serve() -> None:
    run = read(VLLM)
    assert (run.program, run.model, run.tensor) == ("vllm bench serve", "meta-llama/Llama-3.1-70B-Instruct", 8)
    assert (run.prompt, run.output) == (204800 / 200, 51200 / 200)
    assert (run.load, run.concurrency, run.rate) == ("closed", 16.0, None)
    assert (run.ttft_ms, run.tpot_ms, run.statistic, run.date) == (180.25, 11.5, "mean", "2026-03-01")
    assert (run.refused, run.accelerator, run.precision, run.shortest) == ("", None, None, None)
    assert read(VLLM, completed=188).refused == "12 of 200 requests failed"
    assert read(VLLM, completed=0, total_output_tokens=0).refused == "no request completed"
    assert "ramped up" in read(VLLM, ramp_up_strategy="linear").refused
    assert read(VLLM, max_concurrency=None).load == "queued"
    assert (read(VLLM, request_rate=2.5).load, read(VLLM, request_rate="2.5").rate) == ("open", 2.5)
    medians = {"mean_ttft_ms": None, "mean_tpot_ms": None}
    assert (read(VLLM, **medians).tpot_ms, read(VLLM, **medians).statistic) == (11.4, "median")
    # 100 and 300: standard deviation 100 at a mean of 200
    assert read(VLLM, output_lens=[100, 300]).shortest == pytest.approx(_shortest_of(0.5))


def test_the_spread_of_lengths_drawn_evenly() -> None:
    """Between 0.8 and 1 the mean is 0.9 and the deviation 0.2 / sqrt(12)."""
    assert _shortest_of(0.2 / 12**0.5 / 0.9) == pytest.approx(0.8)
    assert _shortest_of(0.0) == 1.0
    assert _shortest_of(2.0) == 0.01


def test_sglang_bench_serving_takes_the_plan_of_its_server() -> None:
    run = read(SGLANG)
    assert (run.program, run.software, run.version) == ("SGLang bench_serving", "sglang", "0.5.9")
    assert (run.tensor, run.data, run.expert, run.pipeline) == (2, 4, 8, None)
    assert (run.precision, run.shortest, run.load, run.rate) == ("fp8", 0.5, "open", 4.0)
    assert (run.prompt, run.output, run.latency_ms) == (768.0, 192.0, 2500.0)
    assert "speculated" in read(SGLANG, accept_length=2.6).refused
    assert "60 % of the prompt tokens" in read(SGLANG, cache_report={"cache_hit_rate_pct": 60.2}).refused
    assert read(SGLANG, errors=["", "timeout"]).refused == "1 of 241 requests failed"


def test_json_lines_have_their_own_lines() -> None:
    runs = read_results("\n".join(json.dumps({**SGLANG, "completed": n}) for n in (240, 120, 60)), "a.jsonl")
    assert [(run.line, run.requests) for run in runs] == [(1, 240.0), (2, 120.0), (3, 60.0)]
    listed = read_results(json.dumps([INFERENCEX, INFERENCEX], indent=1), "a.json")
    assert [run.line for run in listed] == [2, 2 + len(INFERENCEX) + 2]


def test_aiperf_and_genai_perf() -> None:
    run = read(AIPERF)
    assert (run.model, run.load, run.concurrency) == ("Qwen/Qwen3-32B", "closed", 8.0)
    assert (run.ttft_ms, run.tpot_ms, run.latency_ms) == (95.0, 9.5, 2400.0)
    assert (run.prompt, run.output, run.shortest, run.date) == (550.0, 250.0, 1.0, "2026-04-02")
    old = {"model_names": ["qwen3"], "perf_analyzer": {"stimulus": {"concurrency": 4}}}
    assert (read(AIPERF, input_config=old).concurrency, read(AIPERF, input_config=old).model) == (4.0, "qwen3")
    phases = [{"name": "warmup", "concurrency": 1, "exclude_from_results": True}, {"name": "main", "concurrency": 32}]
    assert read(AIPERF, input_config={"phases": phases}).concurrency == 32.0
    assert read(AIPERF, input_config={"loadgen": {"request_rate": 3}}).rate == 3.0
    assert read(AIPERF, error_request_count={"unit": "requests", "avg": 2}).refused == "2 requests failed"
    assert "cancelled" in read(AIPERF, was_cancelled=True).refused


def test_inferencex_states_seconds_and_nominal_lengths() -> None:
    run = read(INFERENCEX)
    assert (run.accelerator, run.software, run.version, run.precision) == ("h200-nb", "sglang", "0.5.9", "fp8")
    assert (run.tensor, run.data, run.expert) == (1, 8, 8)
    assert (run.prompt, run.output, run.shortest) == (pytest.approx(900.0), pytest.approx(1800.0), 0.8)
    assert (run.ttft_ms, run.tpot_ms, run.latency_ms) == (500.0, 25.0, 45000.0)
    assert run.tokens_s == 450.0 * 8
    plain = read(INFERENCEX, dp_attention=False)
    assert (plain.tensor, plain.data, plain.expert) == (8, 1, 8)
    assert "speculated (mtp)" in read(INFERENCEX, spec_decoding="mtp").refused
    assert "separate accelerators" in read(INFERENCEX, disagg=True).refused


def test_loadgen_summary_and_detail_say_the_same() -> None:
    run = read_results(SUMMARY, "mlperf_log_summary.txt")[0]
    assert (run.load, run.rate, run.requests_s) == ("open", 10.0, 9.8)
    assert run.output == pytest.approx(250.0)
    assert (run.ttft_ms, run.tpot_ms, run.tokens_s, run.refused) == (400.0, 60.0, 2450.0, "")
    same = detail(
        effective_scenario="Server",
        result_validity="VALID",
        result_completed_samples_per_sec=9.8,
        result_scheduled_samples_per_sec=10.0,
        result_completed_tokens_per_second=2450.0,
        result_first_token_mean_latency_ns=400000000,
        result_time_to_output_token_mean=60000000,
    )
    again = read_results(same, "mlperf_log_detail.txt")[0]
    names = ("load", "rate", "requests_s", "output", "ttft_ms", "tpot_ms", "tokens_s", "refused")
    assert [getattr(again, name) for name in names] == [getattr(run, name) for name in names]
    assert read_results(SUMMARY.replace("VALID", "INVALID"), "x")[0].refused == "LoadGen calls the result INVALID"
    offline = read_results(
        detail(
            requested_scenario="Offline",
            result_validity="VALID",
            result_samples_per_second=8,
            result_tokens_per_second=800,
        ),
        "x",
    )[0]
    assert (offline.load, offline.output, offline.ttft_ms) == ("queued", 100.0, None)


OFFLINE = SUMMARY.partition("Completed samples")[0].replace("Server", "Offline") + (
    "Samples per second: 40.00\nTokens per second: 11200.00\nResult is : VALID\n"
)
SERVER_LOG = {
    "loadgen_version": "5.1",
    "effective_scenario": "Server",
    "result_validity": "VALID",
    "result_completed_samples_per_sec": 9.8,
    "result_completed_tokens_per_second": 2450.0,
    "result_time_to_output_token_mean": 60000000,
}
OFFLINE_LOG = {
    "loadgen_version": "5.1",
    "effective_scenario": "Offline",
    "result_validity": "VALID",
    "result_samples_per_second": 40.0,
    "result_tokens_per_second": 11200.0,
}


@pytest.mark.parametrize(
    ("server", "offline"),
    [(SUMMARY, OFFLINE), (detail(**SERVER_LOG), detail(**OFFLINE_LOG))],
    ids=["summary", "detail"],
)
def test_each_log_of_loadgen_in_a_file_is_a_run(server: str, offline: str) -> None:
    """In any order and number, each with its own figures, as from a file of its own, and its line."""
    alone = {text: read_results(text, "x")[0] for text in (server, offline)}
    for order in permutations((server, offline, server)):
        runs = read_results("".join(order), "x")
        assert [replace(run, line=1) for run in runs] == [alone[text] for text in order]
        lines = [sum(text.count("\n") for text in order[:place]) for place in range(3)]
        head = 2 if server is SUMMARY else 1
        assert [run.line for run in runs] == [1, lines[1] + head, lines[2] + head]


def test_logs_of_loadgen_that_cannot_be_told_apart_are_refused() -> None:
    """Without what each begins with, or of both kinds, or one without a scenario."""
    server, offline = (
        detail(**{name: value for name, value in log.items() if name != "loadgen_version"})
        for log in (SERVER_LOG, OFFLINE_LOG)
    )
    for text, words in (
        (server + offline, "x:1:.*`effective_scenario`: it stands twice, with different values"),
        (SUMMARY + server, "x:2:1: .*a summary and a detailed log"),
        (SUMMARY + OFFLINE.replace("Scenario", "Other"), rf"x:{SUMMARY.count(chr(10)) + 2}:.*this log has none"),
    ):
        with pytest.raises(InputError, match=words):
            read_results(text, "x")


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_content_alone_tells_the_program(order: tuple[int, ...]) -> None:
    documents = [VLLM, SGLANG, AIPERF, INFERENCEX]
    programs = ["vllm bench serve", "SGLang bench_serving", "AIPerf or genai-perf", "InferenceX"]
    text = "\n".join(json.dumps(dict(reversed(documents[place].items()))) for place in order)
    assert [run.program for run in read_results(text, "any.name")] == [programs[place] for place in order]


@pytest.mark.parametrize("text", ["", "[]", "x", '{"a": 1}', "{" * 5000, "[1]", "\x00", ":::MLLOG {]"])
def test_what_no_program_wrote_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InputError) as error:
        read_results(text, "run.json")
    assert str(error.value).startswith("run.json:1:")
    assert "[serving-run]" in str(error.value)


def test_a_wrong_number_is_refused_at_its_field() -> None:
    text = json.dumps({**VLLM, "mean_tpot_ms": "n/a"}, indent=2)
    with pytest.raises(InputError) as error:
        read_results(text, "run.json")
    line = next(number for number, row in enumerate(text.splitlines(), 1) if "mean_tpot_ms" in row)
    assert str(error.value).startswith(f"run.json:{line}:3: error: `mean_tpot_ms`: `n/a` is not a number")
