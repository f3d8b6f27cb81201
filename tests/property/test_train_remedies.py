"""Every remedy that `train` names runs when it is typed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import ffplan as api
from ffplan.base.errors import UsageError
from ffplan.training.constraints import RefusedError
from tests.support import examples

DESIGNS = {name: api.load(name) for name in ("superpod-h100-4su", "dgx-a100-10k")}
FIELDS = {
    "--tp": "tensor",
    "--cp": "context",
    "--pp": "pipeline",
    "--dp": "data",
    "--ep": "expert",
    "--etp": "expert_tensor",
    "--micro-batch": "micro_batch",
    "--chunks": "chunks",
    "--batch": "batch",
    "--zero": "zero",
    "--recompute": "recompute",
    "--schedule": "schedule",
    "--gpus": "gpus",
    "--grad-dtype": "grad_dtype",
}
REFUSALS = (RefusedError, UsageError)


def run(design: str, model: str, fields: dict[str, Any]) -> str:
    """Return why a plan is refused; an empty text where it runs."""
    try:
        report = api.train(DESIGNS[design], model, **fields)
    except REFUSALS as error:
        return str(error)
    assert report.rows
    return ""


def given_by(options: str) -> dict[str, Any]:
    """Return the fields of some options as they are printed."""
    found: dict[str, Any] = {}
    words = options.split()
    while words:
        name = words.pop(0)
        if name in ("--sp", "--no-sp"):
            found["sequence_parallel"] = name == "--sp"
            continue
        value = words.pop(0)
        assert "," not in value, f"{value} cannot be typed"
        found[FIELDS[name]] = int(value) if value.isdecimal() else value
    return found


def named(message: str) -> list[dict[str, Any]]:
    """Return the remedies that a message names, as fields."""
    found = []
    for part in message.split("; "):
        if part.startswith("take "):
            found += [given_by(options) for options in part.removeprefix("take ").split(" or ")]
        with_batch, lead, near = part.rpartition("the nearest plan that runs: ")
        if lead:
            batch = re.fullmatch(r"with (--batch [0-9]+), ", with_batch)
            found.append(given_by(f"{batch[1] if batch else ''} {near}"))
    suggested = re.search(r"such as (--batch [0-9]+), with which the plan runs", message)
    return [*found, given_by(suggested[1])] if suggested else found


@examples(60)
@given(
    design=st.sampled_from(sorted(DESIGNS)),
    model=st.sampled_from(["llama3-8b", "llama3-70b", "gpt3-175b", "deepseek-v3"]),
    fields=st.fixed_dictionaries(
        {"gpus": st.integers(1, 1016)},
        optional={
            "batch": st.integers(1, 4096),
            "tensor": st.integers(1, 16),
            "pipeline": st.integers(1, 20),
            "context": st.integers(1, 4),
            "expert": st.integers(1, 64),
            "micro_batch": st.integers(1, 4),
            "chunks": st.integers(1, 5),
            "data": st.integers(1, 130),
            "zero": st.integers(0, 3),
            "recompute": st.sampled_from(["none", "full"]),
        },
    ),
)
@example(design="superpod-h100-4su", model="llama3-70b", fields={"gpus": 1016, "batch": 1024, "tensor": 8, "zero": 3})
@example(
    design="superpod-h100-4su", model="llama3-70b", fields={"gpus": 100, "batch": 1024, "tensor": 8, "pipeline": 4}
)
@example(design="superpod-h100-4su", model="llama3-8b", fields={"gpus": 64})
@example(design="superpod-h100-4su", model="llama3-8b", fields={"gpus": 64, "zero": 3})
def test_every_remedy_runs_when_it_is_typed(design: str, model: str, fields: dict[str, Any]) -> None:
    message = run(design, model, fields)
    for remedy in named(message):
        again = run(design, model, {**fields, **remedy})
        assert again == "", f"{message}\n{remedy}: {again}"
    if "--search finds the fastest" in message:
        assert api.search(DESIGNS[design], model, **fields).rows


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"gpus": 100, "batch": 1024, "tensor": 8, "pipeline": 4}, "take --gpus 64 or --gpus 128; "),
        ({"gpus": 1016, "batch": 1024, "tensor": 8, "zero": 3}, "take --batch 1016 or --batch 1143; "),
        ({"gpus": 64, "zero": 3}, "such as --batch 512, with which the plan runs on 64 accelerators"),
        ({"gpus": 64}, "with --batch 512, the nearest plan that runs: "),
    ],
)
def test_what_is_named(fields: dict[str, Any], words: str) -> None:
    model = "llama3-70b" if "batch" in fields else "llama3-8b"
    assert words in run("superpod-h100-4su", model, fields)
