"""`ffplan serve` as a user meets it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import ROOT, ffplan, reported

if TYPE_CHECKING:
    from pathlib import Path

H100 = "serve --accelerator h100-sxm-80gb --gpus 4 --model llama3.1-70b --precision fp8"


def report(command: str) -> dict[str, Any]:
    return reported(command, "serve")


def test_a_load_on_accelerators_without_a_design() -> None:
    found = report(f"{H100} --tp 4 --concurrency 16,64")
    assert (found["design"], found["copies"], found["plan"]["gpus"]) == (None, 1, 4)
    assert [row["concurrency"] for row in found["rows"]] == [16, 64]
    for row in found["rows"]:
        assert sum(part["seconds"] for part in row["parts"]) == pytest.approx(row["tpot_s"]["mean"])
        assert row["output_tokens_s"] == pytest.approx(row["rate_s"] * 1024)
        assert row["output_tokens_s_gpu"] == pytest.approx(row["output_tokens_s"] / 4)
        assert row["j_per_token"] == pytest.approx(row["power_w"] / row["output_tokens_s"])
        whole = row["cost"]["per_million_output"] + row["cost"]["per_million_input"]  # as many tokens in as out
        assert whole == pytest.approx(row["cost"]["per_million_output_all"])
        hour = row["cost"]["accelerator_hour"] * 4
        assert row["cost"]["per_million_output_all"] == pytest.approx(hour / (row["output_tokens_s"] * 3600 / 1e6))
        latency = row["ttft_s"]["mean"] + 1023 * row["tpot_s"]["mean"]
        assert row["e2e_s"]["mean"] == pytest.approx(latency)
        assert row["band"]["low"] < row["tpot_s"]["mean"] < row["band"]["high"]


def test_the_largest_load_within_targets() -> None:
    found = report(f"{H100} --ttft 2s --tpot 30ms")
    row = found["rows"][found["best"]]
    assert row["meets"]
    assert row["tpot_s"]["p99"] <= 0.03
    more = ffplan(f"{H100} --ttft 2s --tpot 30ms --concurrency {row['concurrency'] + 1:.0f} --format json")
    assert (more.code, json.loads(more.out)["rows"][0]["meets"]) == (1, False)


def test_a_design_is_filled_with_copies() -> None:
    found = report("serve superpod-h100-4su --model llama3.1-70b --tp 8 --concurrency 32")
    assert (found["copies"], found["idle"]) == (127, 0)
    one = report("serve superpod-h100-4su --model llama3.1-70b --tp 8 --concurrency 32 --gpus 8")
    assert found["rows"][0]["rate_s"] == pytest.approx(127 * one["rows"][0]["rate_s"])
    # as many tokens for a megawatt and for a dollar, whatever part of the design serves
    for name in ("output_tokens_s_gpu", "output_tokens_s_mw", "power_w"):
        copies = 127 if name == "power_w" else 1
        assert found["rows"][0][name] == pytest.approx(copies * one["rows"][0][name])
    # the price is that of the design's own cost study
    cost = json.loads(ffplan("cost superpod-h100-4su --format json --draws 0").out)
    hour = cost["tco"]["per_accelerator_hour"]["likely"]
    assert found["rows"][0]["cost"]["accelerator_hour"] == pytest.approx(hour)


def test_a_search_beats_the_default_and_is_a_frontier() -> None:
    plain = report(f"{H100} --tpot 50ms")
    found = report("serve --accelerator h100-sxm-80gb --gpus 4 --model llama3.1-70b --tpot 50ms --search --at mean")
    choices = found["choices"]
    assert found["searched"] > 100
    assert max(choice["output_tokens_s_gpu"] for choice in choices) >= 0.93 * max(
        row["output_tokens_s_gpu"] for row in plain["rows"] if row["meets"]
    )
    users = [choice["output_tokens_s_user"] for choice in choices]
    rates = [choice["output_tokens_s_gpu"] for choice in choices]
    assert users == sorted(users, reverse=True)
    assert rates == sorted(rates)


def test_a_search_keeps_what_is_given() -> None:
    found = report("serve --accelerator b200 --gpus 8 --model deepseek-r1 --search --dp 4 --ep 8 --kv fp8")
    assert {(choice["plan"]["data"], choice["plan"]["expert"]) for choice in found["choices"]} == {(4, 8)}
    assert {choice["plan"]["kv"] for choice in found["choices"]} == {"fp8"}
    staged = report("serve --accelerator a100-sxm-80gb --gpus 8 --model llama3.1-8b --search --pp 2")
    # no 8-bit units: 16-bit weights, and not those of narrower formats alone
    plans = [choice["plan"] for choice in staged["choices"]]
    assert {(plan["pipeline"], plan["precision"]) for plan in plans} == {(2, "bf16")}


def test_the_same_seed_gives_the_same_bytes() -> None:
    command = f"{H100} --rate 2/s --format json"
    assert ffplan(command).out == ffplan(command).out
    assert ffplan(f"{command} --seed 1").out != ffplan(command).out


def test_engines_by_release() -> None:
    engines = {name: report(f"{H100} --concurrency 8 --engine {name}")["engine"] for name in ("vllm", "vllm@0.11")}
    assert engines == {"vllm": "vllm-2026", "vllm@0.11": "vllm-2025"}
    # no run of it there: kin stand in, and the report says so
    kin = report("serve --accelerator a100-pcie-40gb --gpus 1 --model llama3.1-8b --concurrency 4")
    assert (kin["calibrated_on"], kin["runs"]) == (None, 0)
    assert any("other accelerators' constants are used" in text for text in kin["assumptions"])


def test_more_ranks_than_heads_hold_copies() -> None:
    found = report("serve superpod-h100-4su --model llama3.1-70b --tp 16 --concurrency 4")
    assert any("copies" in text for text in found["assumptions"])
    inside = report("serve superpod-h100-4su --model llama3.1-70b --tp 8 --concurrency 4")
    # two nodes: the network's latency is in every layer
    communication = [
        next(part["seconds"] for part in one["rows"][0]["parts"] if part["name"] == "communication")
        for one in (found, inside)
    ]
    assert communication[0] > 2 * communication[1]


def test_lengths_and_traces(tmp_path: Path) -> None:
    lengths = tmp_path / "lengths.csv"
    lengths.write_text("isl,osl\n100,50\n300,150\n")
    found = report(f"{H100} --lengths {lengths} --rate 2/s")
    assert (found["prompt_tokens"], found["output_tokens"]) == (200, 100)
    trace = tmp_path / "trace.jsonl"
    lines = [{"timestamp": 1000 * second, "input_length": 400, "output_length": 40} for second in range(50)]
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
    followed = report(f"{H100} --trace {trace}")
    assert followed["rows"][0]["rate_s"] == pytest.approx(1.0)
    for options, words in (
        (f"--lengths {lengths} --isl 5", "--isl has no effect beside --lengths"),
        (f"--trace {trace} --rate 2/s", "--rate has no effect beside --trace; leave it out, or take lengths alone"),
        (f"--trace {trace} --lengths {lengths}", "--lengths has no effect beside --trace; leave it out"),
    ):
        run = ffplan(f"{H100} {options}")
        assert run.code == 2
        assert words in run.err
    trace.write_text(json.dumps(lines[0]) + "\n")
    assert "all requests arrive at one time" in ffplan(f"{H100} --trace {trace}").err


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ("--accelerator h100-sxm-80gb --model llama3.1-70b", 1, "try --gpus 2 or --precision fp8"),
        ("--accelerator b200 --gpus 8 --model deepseek-r1 --precision fp8 --rate 5000", 1, "at most"),
        ("--model llama3.1-8b", 2, "name a design, or --accelerator"),
        ("fire-flyer-2 --accelerator b200 --model llama3.1-8b", 2, "fire-flyer-2 has no b200"),
        ("--accelerator b200 --model llama3.1-8b --at p50", 2, "--at p50: it is the statistic of a target"),
        ("--accelerator b200 --model resnet-50", 2, "no transformer"),
        ("--accelerator b200 --model llama3.1-9b", 2, "llama3.1-8b"),
        ("--accelerator b200 --gpus 8 --model llama3.1-8b --tp 3", 2, "32 heads; write 2 or 4"),
        ("--accelerator h200-sxm --gpus 8 --model phi4 --tp 8", 2, "10 of keys and values; write 5 or 10"),
        ("--accelerator b200 --gpus 8 --model llama3.1-8b --isl 30000 --chunk 1", 2, "write 24 or more"),
        (
            "--accelerator b300 --gpus 4 --model llama3.1-8b --tp 4 --isl 1 --osl 10000000 --kv fp8 --rate 1",
            1,
            "evicted and computed again without end",
        ),
        ("--accelerator b200 --gpus 4 --model llama3.1-8b --tp 8", 2, "a copy takes 8 accelerators"),
        ("--accelerator b200 --gpus 64 --model llama3.1-8b --pp 64", 2, "32 layers"),
        ("--accelerator b200 --gpus 8 --model llama3.1-8b --ep 2", 2, "no experts"),
        ("--accelerator b200 --gpus 8 --model deepseek-r1 --tp 8 --ep 3", 2, "write 1 or 8"),
        ("--accelerator b200 --model llama3.1-8b --engine vlm", 2, "vllm"),
        ("--accelerator b200 --model llama3.1-8b --engine vllm@x", 2, "no version"),
        ("--accelerator b200 --model llama3.1-8b --engine trtllm@0.9 --speculate mtp:3:0.8", 2, "has no mtp"),
        ("--accelerator b200 --model llama3.1-8b --speculate mtp:3", 2, "mtp:3:0.8"),
        ("--accelerator b200 --model llama3.1-8b --rate x", 2, "not a rate"),
        ("--accelerator b200 --model llama3.1-8b --rate 1 --concurrency 2", 2, "one of the two"),
        ("--accelerator b200 --model llama3.1-8b --prefix-hit 200%", 2, "no share"),
        ("--accelerator b200 --model llama3.1-8b --precision fp9", 2, "fp8"),
        ("--accelerator b200 --model llama3.1-8b --ttft 1km", 2, "--ttft"),
        ("fire-flyer-2 --gpus 100000 --model llama3-8b", 2, "has 10,000"),
    ],
)
def test_bad_input_says_what_would_be_right(options: str, code: int, words: str) -> None:
    run = ffplan(f"serve {options}")
    assert (run.code, words in run.err) == (code, True), run.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no requests"),
        ("prompt\n1\n", "no column with the tokens of answers"),
        ("prompt,output\n1\n", "1 cells under 2 columns"),
        ("prompt,output\n1,x\n", "'x', no number of tokens"),
        ("prompt,output\n0,1\n", "no number of tokens"),
        ('{"prompt": 1, "output": 2\n', "the line is not JSON"),
        ('{"isl": 1, "osl": 2}\n[1]\n', "the line is not an object"),
        ("time,prompt,output\n2,1,1\n1,1,1\n", "earlier than on the line above"),
        ("time,prompt,output\nsoon,1,1\n", "no time"),
        ("prompt,output\r1,1\r\n1,x\n", "trace.csv:3:1: error: `output` is 'x'"),
        (f"prompt,output\n1,{'1' * 200_000}\n", "not valid CSV"),
    ],
)
def test_faults_of_a_file_are_located(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "trace.csv"
    file.write_text(text)
    run = ffplan(f"{H100} --trace {file}")
    assert run.code == 2
    assert words in run.err
    assert f"{file}:" in run.err


def test_targets_that_nothing_meets_exit_with_1() -> None:
    run = ffplan(f"{H100} --tpot 1ms")
    assert run.code == 1
    assert "No load is within TPOT 1 ms (P99)" in run.out
    searched = ffplan("serve --accelerator b200 --gpus 8 --model llama3.1-70b --tpot 100us --search")
    assert (searched.code, "the nearest has a TTFT of" in searched.err) == (1, True)


def test_a_first_screen_and_its_sections() -> None:
    for columns in (80, 120):
        run = ffplan(f"{H100} --ttft 2s --tpot 30ms", env={"COLUMNS": str(columns)})
        assert len(run.out.splitlines()) <= 24
        assert max(map(len, run.out.splitlines())) <= columns
    assert "Token at" in ffplan(f"{H100} --concurrency 8 --section step").out


@pytest.mark.parametrize("load", ["concurrency: 32", "rate: 2.5/s"])
def test_a_section_and_its_options_ask_the_same(load: str, tmp_path: Path) -> None:
    """A design's `serving` answers like the options that say the same."""
    text = (ROOT / "designs" / "l40s-8-roce.yaml").read_text()
    path = tmp_path / "served.yaml"
    path.write_text(f"{text}\nserving: {{model: llama3.1-8b, engine: vllm, isl: 512, osl: 64, {load}}}\n")
    option, _, value = load.partition(": ")
    asked = f"--model llama3.1-8b --engine vllm --isl 512 --osl 64 --{option} {value} --format json"
    stated, typed = (
        json.loads(ffplan(command).out) for command in (f"serve {path} --format json", f"serve {path} {asked}")
    )
    assert stated["rows"] == typed["rows"]
