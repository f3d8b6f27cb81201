"""A training job on several designs: speed, capital, and what is said of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.results.comparison import JobSide, JobSize, TrainingComparison
from ffplan.studies.compare.verdicts import verdicts
from tests.support import WITHOUT_PRICES, ffplan, valid, vary_design

if TYPE_CHECKING:
    from pathlib import Path

JOB = "--model llama-13b --batch 2048 --gpus 512"


def side(ratio: float | None) -> JobSide:
    """Return a side whose capital a token is `ratio` times the baseline's."""
    nothing: dict[str, Any] = dict.fromkeys(JobSide.__dataclass_fields__)
    return JobSide(**{**nothing, "capital_ratio": ratio})


def training(*ratios: float | None) -> TrainingComparison:
    """Return a job on two designs at several batches."""
    sizes = tuple(JobSize(batch=2**at, sides=(side(ratio), side(1.0))) for at, ratio in enumerate(ratios))
    return TrainingComparison(
        model="m",
        gpus=1024,
        size_basis="",
        own_sizes=(),
        batch=1,
        capital_basis="purchase",
        currency="USD",
        sizes=sizes,
        catalog=(),
    )


def test_sentences() -> None:
    (words,) = verdicts(training(1.67, 1.0, 0.76), ("a", "b"), 1)
    assert words == (
        "For m on 1,024 accelerators, a token of a is 1.67 times as expensive at batch 1, equally expensive at batch 2"
        " and 24% cheaper at batch 4, against b."
    )
    assert verdicts(training(None), ("a", "b"), 1) == (
        "a and b are not priced alike: no price of a token can be compared for m on 1,024 accelerators.",
    )


def test_a_job_on_two_designs() -> None:
    """Capital a token/s is the price of an accelerator, with its fraction of the cluster, over its tokens a second."""
    run = ffplan(f"compare fire-flyer-2 dgx-a100-10k --baseline dgx-a100-10k {JOB} --format json")
    report: Any = valid(run.out, "comparison")
    job = report["training"]
    assert [size["batch"] for size in job["sizes"]] == [512, 2048, 8192]
    for size in job["sizes"]:
        pcie, dgx = size["sides"]
        for item, price in ((pcie, 1.16055672), (dgx, 2.3)):
            assert item["capital_per_token_s"] == pytest.approx(price / item["tokens_s_gpu"], rel=1e-4)
        assert dgx["capital_ratio"] == dgx["speed_ratio"] == 1
        assert pcie["capital_ratio"] == pytest.approx(pcie["capital_per_token_s"] / dgx["capital_per_token_s"])
    assert "a token of fire-flyer-2 is" in report["verdicts"][0]
    alone: Any = json.loads(ffplan(f"train fire-flyer-2 --search --top 1 --format json {JOB}").out)
    assert job["sizes"][1]["sides"][0]["tokens_s"] == pytest.approx(alone["rows"][0]["tokens_s"])


@pytest.mark.deep
def test_a_smaller_design_bounds_the_job_and_each_says_what_it_gives() -> None:
    """Of 1,016 and 10,000 accelerators 1,016 are compared, which is said; each own speed is that of `train`."""
    job = "--model llama3-70b --batch 512"
    run = ffplan(f"compare superpod-h100-4su fire-flyer-2 {job} --full")
    assert "The job has 1,016 accelerators, the largest job on `superpod-h100-4su`" in run.out
    assert "`fire-flyer-2` could give 10,000." in run.out.replace("\n", " ")
    report: Any = json.loads(ffplan(f"compare superpod-h100-4su fire-flyer-2 {job} --format json").out)
    for name, own in zip(("superpod-h100-4su", "fire-flyer-2"), report["training"]["own_sizes"], strict=True):
        alone: Any = json.loads(ffplan(f"train {name} --search --top 1 --format json {job}").out)
        assert own["tokens_s"] == pytest.approx(alone["rows"][0]["tokens_s"])
    asked = ffplan(f"compare superpod-h100-4su fire-flyer-2 {job} --gpus 512 --format json")
    assert json.loads(asked.out)["training"]["size_basis"] == "The job has 512 accelerators, as asked for."


def test_capital_is_the_purchase_where_none_has_gaps() -> None:
    """The purchase of `cost`, over accelerators, over tokens a second of each."""
    job_asked = "--model llama3-8b --batch 512 --gpus 64"
    found = json.loads(ffplan(f"compare superpod-h100-4su superpod-b200-4su {job_asked} -f json").out)
    job = found["training"]
    assert (job["capital_basis"], job["currency"]) == ("purchase", "USD")
    sides = zip(found["labels"], job["sizes"][1]["sides"], found["designs"], strict=True)
    for name, side, accelerators in ((name, side, design["accelerators"]) for name, side, design in sides):
        bought = json.loads(ffplan(f"cost {name} -f json").out)["tco"]["purchase"]["p50"] / accelerators
        assert side["capital_per_token_s"] == pytest.approx(bought / side["tokens_s_gpu"])


def test_capital_in_two_currencies_names_them() -> None:
    """11,606 units over 10,000 accelerators, and some 38 million dollars over 1,016, are no row of one unit."""
    job = "--model llama3-8b --batch 512 --gpus 64"
    found = ffplan(f"compare superpod-h100-4su fire-flyer-2 {job} --full").out
    (row,) = [line.split() for line in found.splitlines() if line.startswith("parts a token/s")]
    assert row[4::2] == ["USD", "paper-unit"]


def test_a_job_that_cannot_run_and_prices_that_cannot_be_compared(tmp_path: Path) -> None:
    unpriced = vary_design(
        tmp_path, "fire-flyer-2", *WITHOUT_PRICES, ("count: 1250", "count: 4"), ("count: 135, zones: every", "count: 2")
    )
    run = ffplan(f"compare {unpriced} dgx-a100-10k --model gpt3-175b --batch 16 --format json")
    report: Any = json.loads(run.out)
    small, large = report["training"]["sizes"][1]["sides"]
    assert report["training"]["gpus"] == 32
    assert "can run" in small["refused"] or small["tokens_s"] > 0
    assert large["capital_ratio"] is None
    assert "no price of a token can be compared" in report["verdicts"][0]


def test_options_of_the_job_go_together() -> None:
    assert "needs --batch" in ffplan("compare fire-flyer-2 dgx-a100-10k --model llama-13b").err
    assert "needs a transformer" in ffplan("compare fire-flyer-2 dgx-a100-10k --model vgg16 --batch 512").err
    big = ffplan("compare fire-flyer-2 dgx-a100-10k --model llama-13b --batch 512 --gpus 100000")
    assert (big.code, "one job can span 10,000" in big.err) == (2, True)
    assert "with --model only" in ffplan("compare fire-flyer-2 dgx-a100-10k --batch 512").err


def test_a_stack_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    pair = "compare superpod-h100-4su superpod-b200-4su --model llama3-8b --gpus 64 --batch 1024"
    done = ffplan(f"{pair} --stack megatron-lm")
    assert (done.code, done.out) == (2, "")
    assert "ffplan compare: --stack: no software stack `megatron-lm` in the catalogue; did you mean" in done.err
    plan = tmp_path / "plan.yaml"
    plan.write_text("kind: training-plan\nbatch: 1024\nstack: megatron-lm\n")
    done = ffplan(f"{pair} --plan", str(plan))
    assert done.code == 2
    assert "no software stack `megatron-lm`" in done.err
