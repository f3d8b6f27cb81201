"""`ffplan train` as a user meets it."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.studies.train.nearest_accelerator import DENSE, SIBLING
from tests.support import ROOT, ffplan, overlay_part, valid

if TYPE_CHECKING:
    from pathlib import Path

LLAMA = "train superpod-h100-4su --model llama3-70b"
TRAIN = f"{LLAMA} --batch 256"


def test_a_run_of_tokens_is_that_of_cost() -> None:
    """The same batch, plan, days and money, from the model and its tokens alone; a plan of one's own stays."""
    asked = ("superpod-h100-4su", "--model", "llama3-70b", "--tokens", "2T", "--gpus", "512", "-f", "json")
    train, cost = (json.loads(ffplan(command, *asked).out)["run"] for command in ("train", "cost"))
    assert train == cost
    own = json.loads(ffplan("train", *asked, "--tp", "8", "--pp", "4").out)
    assert [(row["plan"]["tensor"], row["plan"]["pipeline"]) for row in own["rows"]] == [(8, 4)]
    assert own["run"]["days"]["likely"] > train["days"]["likely"]
    several = ffplan("train", *asked[:5], "--gpus", "128,256")
    assert (several.code, "no batch" in several.err) == (2, True)


@pytest.mark.parametrize("precision", ["bf16", "fp8"])
def test_a_screen_states_the_peak_of_mfu_and_the_limit_of_memory(precision: str) -> None:
    plan = f"--batch 512 --gpus 64 --tp 8 --zero 3 --precision {precision}"
    text = " ".join(ffplan(f"{LLAMA} {plan}").out.split())
    row = json.loads(ffplan(f"{LLAMA} {plan} --format json").out)["rows"][0]
    assert f"MFU {100 * row['mfu']:.1f} % of {precision.upper()}." in text
    assert row["limit_gib"] == pytest.approx(78)
    assert "GiB of 78" in text
    assert "GiB of 40" in ffplan(f"{LLAMA} {plan} --memory 40GiB --recompute full").out


def test_a_plan_on_several_scales() -> None:
    run = ffplan(f"{TRAIN} --tp 8 --pp 2 --gpus 64..256 --format json")
    assert run.code == 0
    report = valid(run.out, "train")
    rows = report["rows"]
    assert isinstance(rows, list)
    assert [row["plan"]["gpus"] for row in rows] == [64, 128, 256]
    assert [row["plan"]["data"] for row in rows] == [4, 8, 16]
    for row in rows:
        assert sum(part["seconds"] for part in row["parts"]) == pytest.approx(row["step_s"])
        assert sum(part["share"] for part in row["parts"]) == pytest.approx(1)
        assert row["memory_gib"] == pytest.approx(max(stage["total_gib"] for stage in row["stages"]))
        assert row["tokens_s"] == pytest.approx(256 * 8192 / row["step_s"])
        assert row["binding"] == row["gains"][0]["resource"]
        assert 0 < row["mfu"] <= row["hfu"] < 1
    assert rows[0]["efficiency"] == 1
    text = ffplan(f"{TRAIN} --tp 8 --pp 2 --gpus 64..256 --chart")
    assert max(len(line) for line in text.out.splitlines()) <= 80
    assert "Where the step goes" in text.out
    assert "########" in text.out


def test_a_search_finds_plans_that_run_as_it_says() -> None:
    run = ffplan(f"{TRAIN} --gpus 256 --search --top 4 --format json")
    report = valid(run.out, "train")
    rows = report["rows"]
    assert isinstance(rows, list)
    assert len(rows) == 4
    assert [row["step_s"] for row in rows] == sorted(row["step_s"] for row in rows)
    assert rows[0]["lost"] is None
    assert all(row["lost"].startswith("+") or row["lost"] == "as fast" for row in rows[1:])
    refused = report["refused"]
    assert isinstance(refused, list)
    assert report["searched"] == report["feasible"] + sum(item["plans"] for item in refused)
    for row in rows:
        plan = row["plan"]
        assert row["memory_gib"] <= row["limit_gib"]
        again = ffplan(
            f"{TRAIN} --gpus 256 --tp {plan['tensor']} --pp {plan['pipeline']} --chunks {plan['chunks']}"
            f" --micro-batch {plan['micro_batch']} --zero {plan['zero']} --recompute {plan['recompute']} --format json"
            f" --overlap {','.join(plan['overlap'])} --grad-dtype {'fp32' if plan['gradient_bytes'] == 4 else 'bf16'}"
            f" --grad-reduce-dtype {'fp32' if plan['reduced_bytes'] == 4 else 'bf16'}"
            f" --optimizer-dtype {'fp32' if plan['optimizer_bytes'] == 12 else 'bf16'}"
        )
        if plan["sequence_parallel"] or plan["tensor"] == 1:
            assert json.loads(again.out)["rows"][0]["step_s"] == pytest.approx(row["step_s"], rel=1e-9)


def test_what_is_given_stays_fixed_in_a_search() -> None:
    run = ffplan(f"{TRAIN} --gpus 256 --search --tp 4 --zero 1 --format json")
    assert {(row["plan"]["tensor"], row["plan"]["zero"]) for row in json.loads(run.out)["rows"]} == {(4, 1)}


def test_data_parallel_ranks_that_are_given_stay_fixed_in_a_search() -> None:
    run = ffplan(f"{TRAIN} --gpus 256 --search --dp 8 --top 12 --format json")
    rows = json.loads(run.out)["rows"]
    assert len(rows) == 12
    for row in rows:
        plan = row["plan"]
        assert plan["data"] == 8
        assert plan["gpus"] == 8 * plan["tensor"] * plan["pipeline"] * plan["context"] <= 256


@pytest.mark.parametrize("zero", [1, 2, 3])
def test_one_share_of_zero_keeps_everything_on_every_rank(zero: int, tmp_path: Path) -> None:
    """A model of 1.7 B parameters on 8 ranks: the optimizer's 12 bytes a parameter are whole with one share, and an
    eighth with eight."""
    sizes = {}
    for shard in (None, 1, 2, 8):
        line = "" if shard is None else f"shard: {shard}\n"
        (tmp_path / "plan.yaml").write_text(f"kind: training-plan\nzero: {zero}\nbatch: 64\nrecompute: full\n{line}")
        options = ("dgx-a100-10k --model megatron-1.7b --gpus 8 -f json --plan", str(tmp_path / "plan.yaml"))
        run = ffplan(f"train {options[0]}", options[1])
        (stage,) = json.loads(run.out)["rows"][0]["stages"]
        sizes[shard] = stage["optimizer_gib"]
    assert sizes[None] == pytest.approx(sizes[8])
    assert sizes[1] == pytest.approx(8 * sizes[8])
    assert sizes[2] == pytest.approx(4 * sizes[8])


@pytest.mark.parametrize(("zero", "units", "code"), [(3, 2, 0), (3, 1, 0), (2, 1, 0), (2, 2, 2), (0, 3, 2)])
def test_units_of_layers_belong_to_zero_3(zero: int, units: int, code: int, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(f"kind: training-plan\nzero: {zero}\nunit_layers: {units}\nbatch: 64\n")
    run = ffplan("train dgx-a100-10k --model megatron-1.7b --gpus 64 --plan", str(tmp_path / "plan.yaml"))
    assert run.code == code, run.err
    assert code == 0 or f"`unit_layers` has no effect with `zero: {zero}`" in run.err


def test_a_plan_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("kind: training-plan\ntensor: 4\npipeline: 4\nchunks: 5\ncontext: 2\nbatch: 512\nprecision: fp8\n")
    run = ffplan(f"{LLAMA} --gpus 256 --format json --plan", str(file))
    assert run.code == 0
    plan = json.loads(run.out)["rows"][0]["plan"]
    assert (plan["tensor"], plan["chunks"], plan["batch"], plan["precision"]) == (4, 5, 512, "fp8")
    over = ffplan(f"{LLAMA} --gpus 256 --tp 8 --format json --plan", str(file))
    assert json.loads(over.out)["rows"][0]["plan"]["tensor"] == 8


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--tp", "3"), 2, "tensor parallelism 3 does not divide 64 heads; the nearest plan that runs: --tp 4"),
        (("--tp", "8", "--pp", "81"), 2, "81 pipeline stages for 80 layers"),
        (("--pp", "16", "--chunks", "8"), 2, "80 layers do not divide into 16 stages of 8 chunks; the nearest plan"),
        (("--tp", "8", "--pp", "4", "--batch", "101"), 2, "take --batch 100 or --batch 102; --search"),
        (("--tp", "8", "--pp", "8", "--chunks", "10", "--batch", "100"), 2, "rounds of 8 stages"),
        (("--tp", "8", "--ep", "2"), 2, "of a model without experts; the nearest plan"),
        (("--cp", "3"), 2, "= 3 ranks do not divide 64 accelerators; the nearest plan"),
        (("--tp", "8", "--pp", "5"), 2, "do not divide 64 accelerators; take --gpus 40 or --gpus 80; --search"),
        (("--tp", "1"), 1, "more than the 78.0 GiB there are"),
        (("--tp", "8", "--pp", "2", "--memory", "20GiB"), 1, "most of it, 20.9 GiB, are activations"),
        (("--tp", "8", "--dp", "100"), 2, "x data 100 is not 64 accelerators; the nearest plan"),
        (("--overlap", "all"), 2, "--overlap"),
        (("--chunks", "4"), 2, "`chunks` need several stages"),
        (("--pp", "8", "--chunks", "2", "--schedule", "zb-h1"), 2, "`chunks` belong to 1f1b"),
        (("--recompute", "some"), 2, "--recompute"),
        (("--precision", "int4"), 2, "--precision"),
        (("--precision", "tf32"), 2, "nothing was calibrated for training at tf32"),
        (("--model", "lama3-70b"), 2, "no model `lama3-70b`"),
        (("--model", "h100-sxm-80gb"), 2, "is an accelerator, not a model"),
        (("--model", "llama3"), 2, "is a reliability profile, not a model; write `llama3-405b`"),
        (("--gpus", "64,128", "--search"), 2, "takes one number"),
        (("--gpus", "2000"), 1, "one job can span 1,016"),
        (("--gpus", "64", "--search", "--memory", "1GiB"), 1, "none of"),
    ],
)
def test_what_cannot_run_is_refused_with_what_would(options: tuple[str, ...], code: int, words: str) -> None:
    given = TRAIN.split()
    for name in ("--model", "--batch"):
        if name in options:
            at = given.index(name)
            del given[at : at + 2]
    run = ffplan(*given, *(() if "--gpus" in options else ("--gpus", "64")), *options)
    assert run.code == code, run.err
    assert words in run.err
    assert run.out == ""


RESNET = "train fire-flyer-2 --model resnet-50"
IMAGES = f"{RESNET} --precision fp16"


def test_images_train_with_data_parallelism_alone() -> None:
    run = ffplan(f"{IMAGES} --micro-batch 100 --gpus 8..32 --format json")
    assert run.code == 0
    report = valid(run.out, "train")
    assert report["unit"] == "images"
    rows = report["rows"]
    assert isinstance(rows, list)
    for row in rows:
        plan = row["plan"]
        assert plan["batch"] == 100 * plan["data"] == 100 * plan["gpus"]
        assert sum(part["seconds"] for part in row["parts"]) == pytest.approx(row["step_s"])
        assert row["tokens_s"] == pytest.approx(plan["batch"] / row["step_s"])
        assert (row["rooflines"], len(row["stages"])) == ([], 1)
    accumulated = ffplan(f"{IMAGES} --micro-batch 100 --batch 3200 --gpus 8 --format json")
    many = valid(accumulated.out, "train")["rows"]
    assert isinstance(many, list)
    assert many[0]["plan"]["micro_batches"] == 4
    assert many[0]["tokens_s_gpu"] > rows[0]["tokens_s_gpu"]  # one reduction for four micro-batches
    table = ffplan(IMAGES, "--batch", "3200", "--gpus", "8,16", "--chart").out
    assert "img/s/GPU" in table
    assert "Images a second" in table


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--tp", "2"), 2, "`tensor: 2`: `resnet-50` is a convolutional network, which takes data parallelism alone"),
        (("--zero", "3"), 2, "`zero: 3`"),
        (("--recompute", "full"), 2, "`recompute: full`"),
        (("--overlap", "tensor"), 2, "`overlap: [tensor]`"),
        (("--search",), 2, "leave out --search"),
        (("--precision", "fp8"), 2, "convolutions at this precision are not modelled"),
        (("--dp", "4"), 2, "4 data-parallel ranks on 16 accelerators"),
        ((), 2, "give --micro-batch, the images per rank, or --batch"),
        (("--batch", "1000", "--micro-batch", "50"), 2, "take 800 or 1600"),
        (("--batch", "8"), 2, "take 16"),
        (("--micro-batch", "2000"), 1, "GiB too much; take at most 8"),
        (("--micro-batch", "1", "--memory", "0.1GiB"), 1, "no micro-batch fits"),
    ],
)
def test_images_that_cannot_be_trained(options: tuple[str, ...], code: int, words: str) -> None:
    run = ffplan(IMAGES, "--gpus", "16", *options)
    assert run.code == code, run.err
    assert words in run.err
    assert run.out == ""


def test_the_most_images_that_are_named_fit() -> None:
    refused = ffplan(IMAGES, "--gpus", "16", "--micro-batch", "2000")
    most = int(refused.err.rpartition("take at most ")[2].split()[0].replace(",", ""))
    assert ffplan(IMAGES, "--gpus", "16", "--micro-batch", str(most)).code == 0
    assert ffplan(IMAGES, "--gpus", "16", "--micro-batch", str(most + 1)).code == 1


@pytest.mark.parametrize(
    "options", [("--tp", "3"), ("--tp", "1"), ("--pp", "16", "--chunks", "8"), ("--tp", "16", "--pp", "3")]
)
def test_the_nearest_plan_runs(options: tuple[str, ...]) -> None:
    refused = ffplan(TRAIN, "--gpus", "64", *options)
    assert refused.code in (1, 2)
    _, _, near = refused.err.strip().partition("the nearest plan that runs: ")
    assert near
    done = ffplan(TRAIN, "--gpus", "64", *near.split())
    assert done.code == 0, done.err


def test_no_plan_runs_where_memory_is_tiny() -> None:
    assert "no plan of this model" in ffplan(f"{TRAIN} --gpus 64 --tp 8 --memory 1GiB").err


def test_a_batch_is_needed_and_uncalibrated_accelerators_are_estimated(tmp_path: Path) -> None:
    assert "no batch" in ffplan(LLAMA, "--gpus", "64").err
    text = (ROOT / "catalogs" / "accelerators" / "nvidia" / "h100-sxm-80gb.yaml").read_text()
    head, _, rest = text.partition("training:\n")
    kept = "".join(line + "\n" for line in rest.splitlines() if not line.startswith("  "))
    (tmp_path / "h100-sxm-80gb.yaml").write_text(head + kept)
    run = ffplan(f"{TRAIN} --gpus 128 --tp 8 --pp 4 --format json", "--catalog", str(tmp_path))
    report = valid(run.out, "train")
    assert report["estimated_from"] == "h800-sxm"  # the same chip
    assert report["error_band"] == SIBLING.band
    assert str(report["calibration"]).startswith("estimated: efficiencies of h800-sxm")
    own = valid(ffplan(f"{TRAIN} --gpus 128 --tp 8 --pp 4 --format json").out, "train")
    assert (own["estimated_from"], own["error_band"], own["stack"], own["stack_named"]) == (
        None,
        DENSE.band,
        None,
        False,
    )
    assert (
        own["error_basis"] == "253 published runs of dense models at 16 bits, each software stack predicted without it"
    )
    named = tmp_path / "plan.yaml"
    named.write_text("kind: training-plan\ntensor: 8\npipeline: 4\nbatch: 512\nstack: megatron-bridge-2025\n")
    told = valid(ffplan(f"{LLAMA} --gpus 128 --plan {named} --format json").out, "train")
    assert (told["error_band"], told["stack"], told["attention_kernel"]) == (
        DENSE.band,
        "megatron-bridge-2025",
        "cudnn-9.19",
    )


def test_a_table_keeps_what_runs() -> None:
    """8 accelerators are too few; the others are told, with what cannot run and why, and exit code 1."""
    options = (TRAIN, "--tp", "8", "--pp", "2", "--gpus", "8,64,128")
    run = ffplan(*options, "--format", "json")
    assert run.code == 1
    report = valid(run.out, "train")
    rows, skipped = report["rows"], report["skipped"]
    assert isinstance(rows, list)
    assert isinstance(skipped, list)
    assert [row["plan"]["gpus"] for row in rows] == [64, 128]
    assert [item["gpus"] for item in skipped] == [8]
    assert "16 ranks do not divide 8 accelerators" in skipped[0]["why"]
    text = ffplan(*options, "--full")
    assert text.code == 1
    assert "Where the plan cannot run" in text.out
    assert max(len(line) for line in text.out.splitlines()) <= 80
    assert ffplan(IMAGES, "--batch", "1600", "--gpus", "16,1000000").code == 1


def test_every_scale_has_its_columns() -> None:
    scales = [64, 96, 128, 192, 256, 384, 512]
    run = ffplan(f"{LLAMA} --full --batch 1536 --tp 8 --zero 3 --gpus", ",".join(map(str, scales)))
    assert run.code == 0, run.err
    heads = [line.split()[1:] for line in run.out.splitlines() if line.startswith("  part")]
    assert [name for head in heads for name in head] == [str(scale) for scale in scales]


def test_what_products_reach_is_told_where_it_was_derived() -> None:
    """TF32 on A100 PCIe follows from Table II of the paper, bf16 was fitted."""
    options = ("--model", "gpt2-medium", "--gpus", "16", "--batch", "64")
    plain = ffplan("train", "fire-flyer-2", *options, "--full")
    derived = ffplan("train", "fire-flyer-2", *options, "--precision", "tf32", "--full")
    assert "products at tf32" in " ".join(derived.out.split())
    assert "products at" not in " ".join(plain.out.split())


def test_units_too_large_are_told_to_be_left_out(tmp_path: Path) -> None:
    """The nearest plan that runs can be typed in; a search blames the unit; a unit is at most all layers."""
    file = tmp_path / "plan.yaml"
    file.write_text("kind: training-plan\nzero: 3\nunit_layers: 1000\n")
    refused = ffplan(TRAIN, "--full", "--gpus", "256", "--plan", str(file))
    assert refused.code == 1
    assert "nearest plan that runs: without `unit_layers` --zero 3" in refused.err
    searched = ffplan(f"{TRAIN} --gpus 256 --search --tp 1 --pp 1 --plan", str(file))
    assert "can run with `unit_layers: 1000`; leave it out" in searched.err
    options = ("--gpus", "64", "--batch", "64", "--recompute", "full", "--plan", str(file))
    whole = ffplan("train", "superpod-h100-4su", "--model", "llama3-8b", *options, "--full")
    assert "unit32" in whole.out
    assert "32 layers at a time and one unit ahead" in " ".join(whole.out.split())
    alone = ffplan("train superpod-h100-4su --model llama3-8b --full --overlap none", *options)
    assert "one unit ahead" not in " ".join(alone.out.split())


def test_shares_of_zero_divide_those_of_an_expert_too(tmp_path: Path) -> None:
    """24 ranks, 6 of them with the same experts: shares of 4 leave one and a half replicas."""
    file = tmp_path / "plan.yaml"
    options = ("-m", "deepseek-v3", "-g", "24", "--batch", "24", "--ep", "4", "--memory", "4000GiB")
    for shard, code in ((3, 0), (4, 2), (6, 0), (12, 0)):
        file.write_text(f"kind: training-plan\nzero: 3\nshard: {shard}\n")
        run = ffplan("train", "superpod-h100-4su", *options, "--plan", str(file))
        assert run.code == code, run.err
        assert ("ZeRO over 4 ranks does not divide the 6 with the same experts" in run.err) == (shard == 4)


def test_zero_3_of_one_rank_gathers_nothing() -> None:
    options = ("-m", "llama3-8b", "-g", "8", "--batch", "8", "--tp", "8", "--format", "json")
    none, full = (json.loads(ffplan("train", "superpod-h100-4su", *options, "--zero", zero).out) for zero in "03")
    assert full["rows"][0]["memory_gib"] == none["rows"][0]["memory_gib"]
    assert not any("gathers parameters" in text for text in full["assumptions"])


def test_hfreduce_has_no_scatter() -> None:
    run = ffplan("train fire-flyer-2 -m gpt2-medium -g 16 --batch 64 --zero 3 --reducer hfreduce")
    assert (run.code, run.out) == (2, "")
    assert "hfreduce has no scatter" in run.err
    options = ("-m", "llama-13b", "-g", "64", "--batch", "256", "--reducer", "hfreduce")
    searched = ffplan("train fire-flyer-2", *options, "--search", "--top", "20", "--format", "json")
    assert all(row["plan"]["zero"] < 3 for row in json.loads(searched.out)["rows"])
    one = ffplan("train", "fire-flyer-2", *options, "--tp", "1")
    near = one.err.rstrip().rpartition("the nearest plan that runs: ")[2].split()
    assert ffplan("train", "fire-flyer-2", *options, "--tp", "1", *near).code == 0


@pytest.mark.parametrize(
    "given",
    [
        ("pcie-a100-three-tier", "-m", "llama3-70b", "-g", "64", "--batch", "7", "--recompute", "full"),
        ("fire-flyer-2", "-m", "deepseek-moe-16b", "-g", "24", "--batch", "7", "--ep", "16", "--zero", "2"),
        ("pcie-a100-three-tier", "-m", "gpt2-medium", "-g", "512", "--batch", "100", "--micro-batch", "4"),
        ("superpod-h100-4su", "-m", "llama3-70b", "-g", "64", "--batch", "64", "--tp", "3", "--dp", "8"),
    ],
)
def test_the_nearest_plan_can_be_typed_in_behind_what_was_asked(given: tuple[str, ...]) -> None:
    refused = ffplan("train", *given)
    assert refused.code in (1, 2)
    near = refused.err.rstrip().rpartition("the nearest plan that runs: ")[2].split()
    again = ffplan("train", *given, *near)
    assert again.code == 0, again.err


def test_a_saved_plan_says_on_how_many_accelerators_it_runs(tmp_path: Path) -> None:
    file = tmp_path / "best.plan"
    run = ffplan("train superpod-h100-4su --full -m deepseek-v3 -g 500 --search --batch 1024 --save", str(file))
    assert run.code == 0, run.err
    assert "run it with --gpus" in run.err
    count = run.err.split()[-1]
    assert ffplan("train superpod-h100-4su --full -m deepseek-v3 -g", count, "--plan", str(file)).code == 0
    assert "kept to the schedule 1f1b" in " ".join(run.out.split())
    nowhere = ffplan(f"{TRAIN} --tp 8 --gpus 64 --save", str(tmp_path / "none" / "a.plan"))
    assert (nowhere.code, nowhere.out) == (2, "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--gpus", ""), "`` is no whole number"),
        (("--gpus", "1..1000000000"), "are too many"),
        (("--top", "3"), "--top has no effect without --search"),
        (("--precision", "fp4"), "precision"),
        (("--catalog", "nosuch"), "ffplan: --catalog nosuch: cannot be read"),
    ],
)
def test_more_that_is_refused(options: tuple[str, ...], words: str) -> None:
    run = ffplan(TRAIN, "--tp", "8", *options)
    assert (run.code, run.out) == (2, "")
    assert words in run.err


def test_a_peak_that_is_not_there_cannot_be_fitted() -> None:
    run = ffplan("train dgx-a100-10k -m llama3-8b -g 64 --batch 64 --precision fp8")
    assert run.code == 2
    assert "has no peak for fp8; it has" in run.err
    assert "calibrate" not in run.err


def test_rooflines_of_the_book_and_of_the_plan() -> None:
    """Llama 3 8B on 512 H100, gradients of 4 bytes over rings: 2 C / W = 4,945; the book has C / 2 W, in the network.

    ZeRO 2 and 3 meet the network for every micro-batch, whose tokens count.
    """
    options = ("-m", "llama3-8b", "-g", "512", "--batch", "2048", "--sequence", "2048", "--memory", "200GiB")
    found = {}
    for zero in ("0", "2", "3"):
        run = ffplan("train", "superpod-h100-4su", *options, "--zero", zero, "--format", "json")
        found[zero] = {item["name"]: item for item in json.loads(run.out)["rows"][0]["rooflines"]}
    plain, second, third = found["0"], found["2"], found["3"]
    assert (plain["data"]["value"], second["data"]["value"], third["fsdp"]["value"]) == (8192, 2048, 2048)
    assert plain["data"]["critical"] == pytest.approx(1236.75, abs=0.5)
    assert plain["data-here"]["critical"] == pytest.approx(4 * 1236.75, abs=2)
    assert second["data-here"]["critical"] == pytest.approx(2 * 1236.75, abs=1)  # scattered
    assert third["fsdp"]["critical"] == pytest.approx(2473.5, abs=1)
    assert third["fsdp-here"]["critical"] == pytest.approx(1.5 * 2473.5, abs=1)
    assert plain["data-here"]["computing_binds"]
    assert not second["data-here"]["computing_binds"]


def test_the_fullest_stage_is_listed() -> None:
    """Of 31 stages of DeepSeek-V3 the first with experts throughout outweighs the first, second and last."""
    options = ("--gpus", "496", "--batch", "4096", "--pp", "31", "--ep", "8", "--recompute", "full", "--format", "json")
    row = json.loads(ffplan("train", "superpod-h100-4su", "--model", "deepseek-v3", *options).out)["rows"][0]
    assert max(stage["total_gib"] for stage in row["stages"]) == pytest.approx(row["memory_gib"])


def test_shares_of_zero_that_do_not_divide_are_told_apart_from_plans_that_do_not_run(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("kind: training-plan\nzero: 3\nshard: 3\nrecompute: full\n")
    refused = ffplan(TRAIN, "--full", "--gpus", "256", "--plan", str(file))
    assert refused.code == 2
    assert "the nearest plan that runs: without `shard` --zero 3 --recompute full" in refused.err
    assert "leave it out" in ffplan(TRAIN, "--gpus", "256", "--plan", str(file), "--search").err
    few = ffplan(TRAIN, "--gpus", "8", "--plan", str(file), "--search")  # it does not fit without either
    assert few.code == 1
    assert "would do without `shard`" in few.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--tp", "8", "--etp", "4"), "expert_tensor 4 of a model without experts"),
        (("--tp", "8", "--overlap", "gradients,none"), "`none` stands alone"),
        (("--tp", "8", "--gpus", "1,016"), "`016` is no whole number"),
        (("--tp", "8", "--pp", "2", "--save", "/nowhere/plan"), "--save /nowhere/plan: cannot be written"),
    ],
)
def test_what_means_nothing_is_refused(options: tuple[str, ...], words: str) -> None:
    run = ffplan(TRAIN, *(() if "--gpus" in options else ("--gpus", "64")), *options)
    assert run.code == 2
    assert words in run.err


def test_a_saved_plan_serves_other_scales(tmp_path: Path) -> None:
    file = tmp_path / "best.plan"
    saved = ffplan(f"{TRAIN} --tp 8 --pp 2 --gpus 64 --save", str(file))
    assert saved.code == 0, saved.err
    again = ffplan("train superpod-h100-4su -m llama3-70b --gpus 64..256 --plan", str(file))
    assert again.code == 0, again.err
    images = tmp_path / "images.plan"
    first = ffplan(f"{IMAGES} --micro-batch 100 --gpus 16 --format json --save", str(images))
    second = ffplan(f"{RESNET} --gpus 16 --format json --plan", str(images))
    assert second.code == 0, second.err
    assert json.loads(second.out)["rows"] == json.loads(first.out)["rows"]
    assert ffplan(RESNET, "--gpus", "16..64", "--plan", str(images)).code == 0
    kept = tmp_path / "kept.yaml"
    kept.write_text("kind: training-plan\n")
    refused = ffplan(TRAIN, "--gpus", "64", "--search", "--save", str(kept))
    assert (refused.code, refused.out) == (2, "")
    assert f"--save {kept}: no YAML file is replaced" in refused.err


def test_what_is_chosen_is_told(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    fields = ("zero: 3", "shard: 64", "recompute: full", "elementwise: eager", "offload: optimizer")
    file.write_text("\n".join(("kind: training-plan", *fields)) + "\n")
    text = " ".join(ffplan(TRAIN, "--full", "--gpus", "256", "--plan", str(file)).out.split())
    told = (
        "shard64",
        "eager",
        "offload-optimizer",
        "256 sequences of 8,192 tokens, bf16",
        "Megatron SC 21, Table 2",
        "memory assumes fused kernels",
    )
    for words in told:
        assert words in text


def test_a_found_plan_is_saved_and_runs_again(tmp_path: Path) -> None:
    file = tmp_path / "best.plan"
    model = "train superpod-h100-4su --model llama4-maverick"
    searched = ffplan(f"{model} --batch 512 --gpus 512 --search --top 1 --format json --save", str(file))
    found = json.loads(searched.out)["rows"][0]
    again = ffplan(f"{model} --gpus {found['plan']['gpus']} --format json --plan", str(file))
    assert again.code == 0, again.err
    row = json.loads(again.out)["rows"][0]
    assert row["plan"] == found["plan"]
    assert row["step_s"] == pytest.approx(found["step_s"])


def test_a_search_lists_no_plan_twice_and_keeps_tensor_parallelism_in_a_node() -> None:
    options = ("--model", "gpt3-175b", "--batch", "1536", "--search", "--top", "40", "--format", "json")
    rows = json.loads(ffplan("train", "superpod-h100-4su", "--gpus", "960", *options).out)["rows"]
    plans = [json.dumps(row["plan"], sort_keys=True) for row in rows]
    assert len(set(plans)) == len(plans)
    assert {row["plan"]["tensor"] for row in rows} <= {1, 2, 4, 8}
    assert all(max(stage["total_gib"] for stage in row["stages"]) <= row["limit_gib"] for row in rows)


def test_csv_has_a_column_for_every_part() -> None:
    """Parts add up to the step, in which 256 sequences of 8,192 tokens pass."""
    rows = list(csv.DictReader(ffplan(f"{TRAIN} --tp 8 --pp 2 --gpus 64,128 --format csv").out.splitlines()))
    assert [(row["plan.gpus"], row["plan.tensor"], row["plan.pipeline"]) for row in rows] == [
        ("64", "8", "2"),
        ("128", "8", "2"),
    ]
    for row in rows:
        step = float(row["step_s"])
        assert sum(float(row[name]) for name in row if name.startswith("parts.")) == pytest.approx(step)
        assert float(row["tokens_s"]) == pytest.approx(256 * 8192 / step)


def test_nvlink_reduction_needs_nvlink() -> None:
    run = ffplan("train fire-flyer-2 -m llama-13b --batch 512 -g 64 --pp 4 --reducer hfreduce-nvlink")
    assert run.code == 2
    assert "needs NVLink between GPUs" in run.err


def test_a_search_without_a_plan_says_how_many_accelerators_would_do() -> None:
    run = ffplan("train superpod-h100-4su -m llama3-70b -g 2 --batch 512 --search")
    assert run.code == 1
    assert "16 accelerators would do; with `offload: optimizer` 4 accelerators would do" in run.err
    larger = ffplan("train superpod-h100-4su -m llama3-405b -g 4 --batch 512 --search")
    assert "it takes 16 accelerators to hold the states of the optimizer in host memory" in larger.err


def test_a_search_offloads_the_optimizer_where_nothing_else_fits() -> None:
    """Llama 3 405B on 32 H100: 142 GiB of weights, gradients and moments each; with moments on the host plans run."""
    options = "train superpod-h100-4su --model llama3-405b --gpus 32 --batch 64 --search --format json"
    report = valid(ffplan(options).out, "train")
    rows = report["rows"]
    assert isinstance(rows, list)
    assert {row["plan"]["offload"] for row in rows} == {"optimizer"}
    assert "host memory does" in str(report["assumptions"])
    assert ffplan("train superpod-h100-4su --model llama3-405b --gpus 8 --batch 64 --search").code == 1


def test_a_search_at_the_edge_of_memory_names_a_plan_that_fits_beyond_doubt() -> None:
    """The plan of that name alone fits, and takes as long; where none fits, that is said."""
    job = "train superpod-h100-4su --model llama3-70b --batch 1016 --gpus 1016"
    report: Any = valid(ffplan(f"{job} --search --format json").out, "train")
    sure, first = report["sure"], report["rows"][0]
    assert first["memory_verdict"] == "edge"
    assert sure["slower"] == pytest.approx(sure["step_s"] / first["step_s"] - 1)
    assert sure["slower"] > 0
    text = " ".join(ffplan(f"{job} --search --full").out.split())
    plan = re.search(r"fits beyond doubt is (tp8 dp127 mb1 zero1):", text)
    assert plan is not None
    options = "--tp 8 --zero 1 --micro-batch 1 --grad-dtype bf16 --optimizer-dtype bf16"
    options += " --overlap gradients,parameters,pipeline,tensor"
    (alone,) = json.loads(ffplan(f"{job} {options} --format json").out)["rows"]
    assert alone["memory_verdict"] == "fits"
    assert alone["step_s"] == pytest.approx(sure["step_s"], rel=0.02)
    none = ffplan("train superpod-h100-4su --model llama3-405b --gpus 64 --batch 64 --search --full")
    assert "No plan fits beyond doubt." in none.out
    fits = json.loads(ffplan("train superpod-h100-4su --model llama3-8b --gpus 64 --batch 64 --search -f json").out)
    assert (fits["rows"][0]["memory_verdict"], fits["sure"]) == ("fits", None)


def test_a_saved_plan_keeps_what_the_search_offloaded(tmp_path: Path) -> None:
    saved = tmp_path / "best.yaml"
    run = ffplan("train superpod-h100-4su --model llama3-405b --gpus 32 --batch 64 --search --save", str(saved))
    assert run.code == 0, run.err
    assert "offload: optimizer" in saved.read_text()
    again = ffplan("train superpod-h100-4su --model llama3-405b --gpus 32 --plan", str(saved))
    assert again.code == 0, again.err


def test_a_stack_and_a_kernel_are_named(tmp_path: Path) -> None:
    """FlashAttention 2 is slower than cuDNN on H100; an unknown stack is refused with the nearest one."""
    plan = (
        "train superpod-h100-4su --model llama3-70b --gpus 64 --batch 128 --tp 4 --pp 4 --cp 2 --chunks 5 --format json"
    )
    plain, named = (valid(ffplan(f"{plan} {more}").out, "train") for more in ("", "--stack nemo-2024 --attention fa2"))
    assert (named["stack"], named["attention_kernel"]) == ("nemo-2024", "fa2")
    steps = [
        next(part["seconds"] for part in report["rows"][0]["parts"] if part["name"] == "attention")  # type: ignore[index]
        for report in (plain, named)
    ]
    assert steps[1] > 1.3 * steps[0]
    for given in ("--stack nemo-2052", "--attention fa9"):
        refused = ffplan(f"{plan} {given}")
        assert (refused.code, refused.out) == (2, "")
    file = tmp_path / "plan.yaml"
    file.write_text("kind: training-plan\nstack: nemo-2052\nbatch: 64\n")
    told = ffplan("train superpod-h100-4su --model llama3-8b --gpus 64 --plan", str(file))
    assert "plan.yaml:2:8: error: no software stack `nemo-2052`" in told.err
    assert "did you mean `nemo-2025`?" in told.err


def test_a_search_tries_policies_between_selective_and_full() -> None:
    options = "train superpod-h100-4su --model llama3-70b --gpus 16 --batch 512 --search --format json"
    report = valid(ffplan(options).out, "train")
    rows = report["rows"]
    assert isinstance(rows, list)
    assert rows[0]["plan"]["recompute"] == "keep-products"


def test_offloaded_parameters_are_searched_under_zero_3_alone(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("kind: training-plan\nbatch: 64\nzero: 1\noffload: parameters\n")
    options = ("train", "superpod-h100-4su", "-m", "llama3-8b", "-g", "8", "--plan", str(file), "--format", "json")
    refused = ffplan(*options)
    assert refused.code == 2
    assert "offloaded parameters need ZeRO 3" in refused.err
    file.write_text("kind: training-plan\nbatch: 64\noffload: parameters\n")
    rows = json.loads(ffplan(*options, "--search").out)["rows"]
    assert {row["plan"]["zero"] for row in rows} == {3}


def test_a_report_names_the_relative_it_rests_on_and_the_precision_it_found(tmp_path: Path) -> None:
    path = tmp_path / "mesh.yaml"
    path.write_text(
        "name: mesh\nnodes: [{role: compute, server: mi300x-8nic, count: 16}]\n"
        "fabric: {family: rail-optimised, switch: qm9700, tiers: 2, oversubscription: 1:1,"
        " link: {endpoint: 400g-dac, inter_switch: 400g-dr4}}\nsite: {pue: 1.2}\n"
    )
    report = json.loads(ffplan(f"train {path} --model llama3-8b --gpus 64 --batch 512 --search --format json").out)
    assert report["estimated_from"] in {item["id"] for item in report["catalog"]}
    first, words = report["rows"][0]["plan"], " ".join(report["assumptions"])
    assert f"Gradients are kept at {first['gradient_bytes']} bytes and reduced at {first['reduced_bytes']}" in words


def test_an_offloaded_optimizer_passes_the_root_ports(tmp_path: Path) -> None:
    """Fire-Flyer's nodes have two GPUs at a root port that limits them; the same plan without offload needs no host."""
    file = tmp_path / "plan.yaml"
    found = {}
    for offload in ("none", "optimizer"):
        file.write_text(f"kind: training-plan\nbatch: 64\nzero: 1\nrecompute: full\noffload: {offload}\n")
        run = ffplan("train fire-flyer-2 --model megatron-1.7b --gpus 64 -f json --plan", str(file))
        assert run.code == 0, run.err
        found[offload] = json.loads(run.out)["rows"][0]
    assert found["optimizer"]["step_s"] > found["none"]["step_s"]
    assert found["optimizer"]["memory_gib"] < found["none"]["memory_gib"]


def test_faults_of_a_plan_from_a_pipe_have_a_place() -> None:
    """The file is read once: a pipe of the shell is empty the second time."""
    text = "kind: training-plan\\npipeline: 2\\ntensor: 7\\n"
    command = f"{sys.executable} -m ffplan {TRAIN_GPT} --plan <(printf '{text}')"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert ":3:9: error: this plan cannot run: tensor parallelism 7 does not divide 96 heads" in done.stderr


TRAIN_GPT = "train dgx-a100-10k --model gpt3-175b --gpus 112 --batch 64"


FIELDS_OF_EXPERTS = (
    "imbalance: 1.5",
    "dispatcher: deepep",
    "dispatch_dtype: fp8",
    "dispatch_sms: 24",
    "expert_tensor: 2",
)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("expert: 8, dispatch_sms: 24", "belongs to deepep and hybrid, the dispatcher is alltoall"),
        ("expert: 8, dispatcher: deepep, dispatch_sms: 133", "`h100-sxm-80gb` has 132 multiprocessors"),
        ("expert: 8, dispatcher: hybrid, dispatch_sms: 24", "and none is hidden"),
    ],
)
def test_multiprocessors_without_effect_are_refused(fields: str, words: str, tmp_path: Path) -> None:
    plan, cases = tmp_path / "plan.yaml", tmp_path / "cases.yaml"
    plan.write_text("kind: training-plan\nbatch: 256\n" + fields.replace(", ", "\n") + "\n")
    run = ffplan("train superpod-h100-4su --model deepseek-moe-16b --gpus 64 --plan", str(plan))
    assert run.code == 2
    assert words in run.err
    cases.write_text(
        "kind: training-cases\nid: mine\nname: mine\n"
        "source: {title: ours, date: '2026', grade: measured, status: V}\n"
        "tables: [{id: one, system: {server: hgx-h100-8nic}, model: deepseek-moe-16b, "
        f"plan: {{{fields}}}, columns: [gpus, batch, seconds], rows: [[64, 256, 1]]}}]\n"
    )
    replay = ffplan("model accuracy training --cases", str(cases))
    assert replay.code == 2
    assert words in replay.err


@pytest.mark.parametrize("field", FIELDS_OF_EXPERTS)
def test_fields_of_experts_are_refused_without_experts(field: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(f"kind: training-plan\nbatch: 256\n{field}\n")
    run = ffplan("train superpod-h100-4su --model llama3-8b --gpus 64 --plan", str(plan))
    assert run.code == 2
    assert f"plan.yaml:3:{len(field.partition(' ')[0]) + 2}: error: {field.replace(':', '')} of a model" in run.err


def test_a_preset_may_say_more_than_a_dense_model_needs() -> None:
    run = ffplan("train superpod-h100-4su --model llama3-8b --batch 512 --preset deepseek")
    assert "of a model without experts" not in run.err


def test_a_stack_that_names_no_table_of_kernels_is_refused(tmp_path: Path) -> None:
    overlay_part(tmp_path, "llm-foundry-2023", ("attention-h100: triton", "attention-h1oo: triton"))
    run = ffplan(f"{LLAMA} --batch 256 --stack llm-foundry-2023 --catalog", str(tmp_path))
    assert run.code == 2
    assert "llm-foundry-2023.yaml:13:53: error:" in run.err
    assert "did you mean `attention-h100`" in run.err


def test_the_host_refuses_what_it_cannot_hold(tmp_path: Path) -> None:
    """Nodes of 512 GB and eight GPUs: 80 % are 47.7 GiB a GPU; half of 13 billion parameters at 12 bytes are 72.7."""
    file = tmp_path / "plan.yaml"
    plan = "kind: training-plan\npipeline: 2\nbatch: 1024\nsequence: 2048\nrecompute: full\ngrad_dtype: bf16\n"
    job = ("train", "fire-flyer-2", "--model", "llama-13b", "--gpus", "256", "--plan", str(file))
    file.write_text(plan + "offload: optimizer\nreducer: nccl\nzero: 0\n")
    refused = ffplan(*job)
    assert refused.code == 1
    assert "every rank leaves 72.7 GiB to host memory, but may fill only 47.7 GiB" in refused.err
    assert "the nearest plan that runs: --pp 2 --zero 1 --recompute full" in refused.err
    file.write_text(plan + "offload: optimizer\nreducer: nccl\nzero: 1\n")
    assert ffplan(*job).code == 0


def test_a_report_begins_with_the_answer() -> None:
    job = "train superpod-h100-4su --model llama3-8b --batch 1024 --grad-dtype bf16"
    found = " ".join(ffplan(f"{job} --search --gpus 96 --top 2 --full").out.split())
    report = json.loads(ffplan(f"{job} --search --gpus 96 --top 2 -f json").out)
    first = report["rows"][0]
    count = f"{first['plan']['gpus']} of 96" if first["idle"] else "96"
    assert f"The fastest of {report['feasible']:,} plans that can run is" in found
    assert f"on {count} accelerators: {first['step_s']:.3f} s a step, {first['tokens_s']:,.0f} tokens/s, MFU" in found
    gain = 100 * first["gains"][0]["faster"]
    assert f"What binds it: {first['binding_label']}; 10 % more of it would be {gain:.1f} % faster." in found
    assert found.index("The fastest") < found.index("GPUs plan")
    assert "is left" not in found
    series = " ".join(ffplan(f"{job} --zero 1 --gpus 64,128 --full").out.split())
    assert re.search(
        r"On 128 accelerators 99\.\d % of the rate of an accelerator is left: 1,\d\d\d,\d\d\d tokens/s", series
    )
    assert "The fastest of" not in series
