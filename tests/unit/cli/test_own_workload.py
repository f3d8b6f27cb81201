"""`--tokens` alone, beside the workload of a design: every command has the one job that the design states."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path

NAME = "superpod-h100-4su"
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
    assert "is no number of tokens" in ffplan("cost", one, "--tokens", "many").err
    for command in ("diff", "explain"):
        words = [command, one, two] if command == "diff" else [command, one, "run.days"]
        assert "--batch and --gpus have an effect with --model only" in ffplan(*words, "--batch", "8").err


def test_other_tokens_are_the_same_job(tmp_path: Path) -> None:
    one, two = own(tmp_path / "a", ", tokens: 2T"), own(tmp_path / "b", ", tokens: 3T")
    both = said("compare", one, two, *TOKENS, *LEAST)
    assert [side["run"]["tokens"] for side in both["money"]["sides"]] == [1e12, 1e12]
