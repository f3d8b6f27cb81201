"""`--tokens` alone, beside the workload of a design: every command has the one job that the design states."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path

NAME, OTHER = "superpod-h100-4su", "superpod-b200-4su"
JOB = "workload: {model: llama3-8b, gpus: 64, batch: 1024%s}\nname:"
LEAST = ("--draws", "0", "-f", "json")
TOKENS = ("--tokens", "1T")
ASKED = (*TOKENS, "-f", "json")


def own(folder: Path, more: str = "", name: str = NAME) -> str:
    folder.mkdir(exist_ok=True)
    return str(vary_design(folder, name, ("name:", JOB % more)))


def said(*command: str) -> Any:
    done = ffplan(*command)
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.mark.deep
def test_cost_train_and_compare_have_one_job(tmp_path: Path) -> None:
    file = own(tmp_path)
    asked = ("--model", "llama3-8b", "--gpus", "64", "--batch", "1024", "--tokens", "1T")
    cost, again = said("cost", file, *TOKENS, *LEAST), said("cost", NAME, *asked, *LEAST)
    assert cost["run"] == again["run"]
    train = said("train", file, *ASKED)
    assert train["rows"] == said("train", NAME, *asked, "--search", "-f", "json")["rows"]
    assert train["run"]["days"]["likely"] == pytest.approx(cost["run"]["days"]["likely"])
    both = said("compare", file, "superpod-b200-4su", *TOKENS, *LEAST)
    named = said("compare", NAME, "superpod-b200-4su", *asked, *LEAST)
    assert both["money"] == named["money"]
    assert both["training"] == named["training"]


@pytest.mark.deep
def test_tokens_of_the_command_line_replace_those_of_the_design(tmp_path: Path) -> None:
    file, plain = own(tmp_path, ", tokens: 3T"), own(tmp_path / "b")
    once, thrice = (said("cost", file, *more, *LEAST)["run"] for more in (("--tokens", "1T"), ()))
    assert (once["tokens"], thrice["tokens"]) == (1e12, 3e12)
    assert said("train", file, "-f", "json")["run"]["tokens"] == 3e12
    assert said("train", plain, "-f", "json")["run"] is None
    asked = ("run.days", *ASKED)
    assert said("explain", file, *asked)["root"]["value"] == pytest.approx(once["days"]["likely"])
    assert said("explain", plain, *asked)["root"]["value"] == pytest.approx(once["days"]["likely"])
    half = tmp_path / "half.yaml"
    half.write_text((tmp_path / "b" / f"{NAME}.yaml").read_text().replace("gpus: 64", "gpus: 32"))
    figures = said("diff", plain, str(half), *ASKED)["figures"]
    days = {row["figure"]: row for row in figures}["run_days"]
    assert days["before"] == pytest.approx(once["days"]["likely"])
    assert days["after"] > 1.5 * days["before"]


def test_the_plan_of_the_design_is_kept(tmp_path: Path) -> None:
    file = own(tmp_path, ", plan: {tensor: 2}")
    (row,) = said("train", file, "-f", "json")["rows"]
    assert (row["plan"]["tensor"], row["plan"]["batch"]) == (2, 1024)
    other = ("--tp", "4", "--batch", "512")
    (row,) = said("train", file, *other, "-f", "json")["rows"]
    assert (row["plan"]["tensor"], row["plan"]["batch"]) == (4, 512)
    plan = tmp_path / "plan.yaml"
    plan.write_text("kind: training-plan\ntensor: 8\n")
    (row,) = said("train", file, "--plan", str(plan), "-f", "json")["rows"]
    assert (row["plan"]["tensor"], row["plan"]["batch"]) == (8, 1024)
    both = said("compare", file, "superpod-b200-4su", *TOKENS, *LEAST)
    assert {size["sides"][0]["plan"]["tensor"] for size in both["training"]["sizes"] if size["sides"][0]["plan"]} == {2}


def test_what_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    one, two = own(tmp_path / "a"), own(tmp_path / "b", ", search: true")
    done = ffplan("compare", one, two, "--tokens", "1T")
    assert done.code == 2
    assert f"{one} and {two} have different workloads" in done.err
    assert "no `workload` in the design" in ffplan("train", NAME).err
    assert "--top has no effect" in ffplan("train", own(tmp_path / "c", ", plan: {tensor: 2}"), "--top", "3").err
    assert "is not a number of tokens" in ffplan("cost", one, "--tokens", "many").err
    for command in ("diff", "explain"):
        words = [command, one, two] if command == "diff" else [command, one, "run.days"]
        assert "--batch and --gpus have an effect with --model only" in ffplan(*words, "--batch", "8").err


def test_other_tokens_are_the_same_job(tmp_path: Path) -> None:
    one, two = own(tmp_path / "a", ", tokens: 2T"), own(tmp_path / "b", ", tokens: 3T")
    both = said("compare", one, two, *TOKENS, *LEAST)
    assert [side["run"]["tokens"] for side in both["money"]["sides"]] == [1e12, 1e12]


def test_compare_trains_the_job_that_designs_share(tmp_path: Path) -> None:
    """With a fixed plan, as `--tokens` does; the first screen says so and stays within 24 lines."""
    job = ", tokens: 1T, plan: {tensor: 8}"
    one, two = own(tmp_path / "a", job), own(tmp_path / "b", job, OTHER)
    alone = said("compare", one, two, *LEAST)
    asked = said("compare", one, two, *TOKENS, *LEAST)
    assert alone.pop("workload") == "their `workload`: llama3-8b on 1 T tokens"
    assert asked.pop("workload") == ""
    assert alone["money"] == asked["money"] is not None
    assert alone["training"] == asked["training"]
    screen = ffplan("compare", one, two).out.splitlines()
    assert len(screen) <= 24
    assert screen[0].startswith(f"{NAME} against {OTHER} · their `workload`: ")
    fewer = own(tmp_path / "c", job.replace("1T", "500B"), OTHER)
    assert "on 1 T tokens; others state 0.5 T" in said("compare", one, fewer, *LEAST)["workload"]
    whole = [own(tmp_path / name, ", plan: {tensor: 8}", name) for name in (NAME, OTHER)]
    untold = said("compare", *whole, *LEAST)
    assert (untold["money"], untold["training"]["batch"]) == (None, 1024)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("tokens: 1T", "", "no `workload` in superpod-b200-4su; --tokens T trains the others' on all"),
        (
            "tokens: 1T",
            "tokens: 1T, search: true",
            "the `workload` of the designs differs; --model ID names one",
        ),
        ("", "", ""),
    ],
)
def test_compare_says_why_no_job_is_compared(first: str, second: str, words: str, tmp_path: Path) -> None:
    jobs = zip((NAME, OTHER), (first, second), strict=True)
    files = [own(tmp_path / name, f", {more}", name) if more else name for name, more in jobs]
    done = said("compare", *files, *LEAST)
    assert (done["training"], done["money"], done["workload"]) == (None, None, words)


def test_draws_hold_for_every_row_of_a_comparison(tmp_path: Path) -> None:
    """The purchase is drawn as often, and from the same seed, as the run; `cost` has it so."""
    job = ", tokens: 1T, plan: {tensor: 8}"
    files = own(tmp_path / "a", job), own(tmp_path / "b", job, OTHER)
    drawn = ("--draws", "200", "--seed", "3", "-f", "json")
    both, cost = said("compare", *files, *drawn), said("cost", files[0], *drawn)
    site = both["designs"][0]["site"]
    quantiles = {name: site[f"purchase_{name}"] for name in ("p10", "p50", "p90")}
    assert quantiles.items() <= cost["tco"]["purchase"].items()
    assert both["money"]["draws"] == 200
    assert said("compare", NAME, OTHER, *drawn)["designs"][0]["site"] == site
    assert said("compare", NAME, OTHER, "-f", "json")["designs"][0]["site"]["purchase_p10"] != site["purchase_p10"]
