"""What the recipes of a stack write stands in for what a plan leaves out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from ffplan.catalog.stacks import Runtime, SoftwareStack
from ffplan.catalog.store import Catalog
from ffplan.design.training import PRESETS, PlanFields
from ffplan.inputs.document import read_document
from ffplan.inputs.validate import validate
from ffplan.studies.train.software import Software, stack_of_source
from ffplan.validation.cases import TrainingFile
from tests.published.test_training import FILES
from tests.support import ffplan

if TYPE_CHECKING:
    from pathlib import Path

JOB = "train superpod-h100-4su --model llama3-8b --tp 2 --gpus 64 --batch 128 -f json"


def software(name: str, *, named: bool = True) -> Software:
    part = Catalog().entry(name).part
    assert isinstance(part, SoftwareStack)
    runtime = Catalog().entry(part.runtime).part
    assert isinstance(runtime, Runtime)
    return Software(part, None, runtime, named)


@pytest.mark.parametrize(
    ("preset", "stacks"),
    [
        ("megatron-core", ("megatron-2021", "megatron-core-2024", "megatron-core-2026")),
        ("nemo", ("nemo-2024", "nemo-2025", "megatron-bridge-2025")),
    ],
)
def test_presets_keep_gradients_as_their_stacks_do(preset: str, stacks: tuple[str, ...]) -> None:
    """Megatron-LM adds gradients up at 32 bits, 18 bytes of states a parameter; recipes of NeMo at 16."""
    plan = PlanFields.model_validate(PRESETS[preset])
    for name in stacks:
        stack = software(name).stack
        assert stack is not None
        assert stack.settings.gradient_bytes == plan.kept_bytes
        assert stack.settings.source in stack.sources
    states = 2 + plan.kept_bytes + plan.optimizer_bytes
    assert states == {"megatron-core": 18, "nemo": 16}[preset]


def test_settings_have_a_source() -> None:
    for settings, words in (({"gradient_bytes": 2}, "no source"), ({"gradient_bytes": 2, "source": "x"}, "`x`")):
        known = software("torchtitan-2024").stack
        assert known is not None
        with pytest.raises(ValidationError, match=words):
            SoftwareStack.model_validate({**known.model_dump(exclude_none=True), "settings": settings})


@pytest.mark.parametrize(
    ("given", "kept", "reduced"),
    [
        ({}, 2, 2),
        ({"gradient_bytes": 4}, 4, 4),
        ({"grad_reduce_dtype": "bf16"}, 4, 2),  # a plan that writes one width writes all
        ({"preset": "fsdp", "grad_dtype": "fp32", "grad_reduce_dtype": "fp32"}, 4, 4),
    ],
)
def test_widths_of_gradients_are_those_of_the_recipes(given: dict[str, Any], kept: int, reduced: int) -> None:
    """NVIDIA/dgxc-benchmarking v25.05: grad_reduce_in_fp32 = False."""
    plan = software("nemo-2025").settled(PlanFields.model_validate(given))
    assert (plan.kept_bytes, plan.reduced_bytes) == (kept, reduced)


def test_a_stack_that_is_not_named_settles_nothing() -> None:
    plan = PlanFields()
    assert software("nemo-2025", named=False).settled(plan) is plan
    assert software("torchtitan-2024").settled(plan) is plan


def test_tf32_keeps_its_widths() -> None:
    assert software("nemo-2025").settled(PlanFields(precision="tf32")).kept_bytes == 4


def test_known_benchmarks_have_their_gate_and_plans_that_name_the_stack_have_not() -> None:
    """NeMo AutoModel balances by a gate that gives experts out in turn; a router of a real run does not."""
    stack, plan = software("automodel-2025"), PlanFields()
    named = PlanFields(stack="automodel-2025")
    assert stack.as_benchmarked(named, experts=True).routing == "random"
    assert stack.settled(plan).routing == "random"
    assert stack.as_benchmarked(plan, experts=True).routing == "in-turn"
    assert stack.as_benchmarked(plan, experts=False).routing == "random"
    written = PlanFields(routing="random")
    assert stack.as_benchmarked(written, experts=True).routing == "random"


def test_train_says_whose_widths_it_takes() -> None:
    own, told, plain = (
        json.loads(ffplan(f"{JOB} {more}").out)
        for more in ("--stack nemo-2025 --grad-dtype fp32", "--stack nemo-2025", "")
    )
    widths = [item["rows"][0]["plan"]["gradient_bytes"] for item in (own, told, plain)]
    assert widths == [4, 2, 4]
    words = "The recipes of `nemo-2025` give the widths of gradients, which the plan leaves out."
    assert [words in item["assumptions"] for item in (own, told, plain)] == [False, True, False]


def test_megatron_core_keeps_the_widths_of_megatron() -> None:
    assert stack_of_source(Catalog(), "NVIDIA/Megatron-LM README") == "megatron-core-2024"
    assert software("megatron-core-2024").settled(PlanFields()).kept_bytes == 4


@pytest.mark.parametrize(
    ("title", "stack"),
    [
        ("NVIDIA/dgxc-benchmarking READMEs, v24.11.1 to v25.05.05: seconds of a step", "nemo-2025"),
        ("NVIDIA/dgxc-benchmarking READMEs, MaxText and Paxml recipes: seconds of a step", "xla-2025"),
        ("Narayanan et al., arXiv 2104.04473 (SC 21), printed TFLOP/s", "megatron-2021"),
        ("Narayanan et al., arXiv 2104.04473 (SC 21), Table 2: ZeRO-3 without model parallelism", "deepspeed-2021"),
        ("NVIDIA-NeMo/Automodel docs/performance-summary.mdx", "automodel-2025"),
        ("an unknown page", None),
    ],
)
def test_the_last_name_of_a_title_is_the_stack(title: str, stack: str | None) -> None:
    assert stack_of_source(Catalog(), title) == stack


def test_titles_lead_to_the_stacks_that_shipped_tables_name() -> None:
    """All but gpt3-175b, grok1 and nemotron4-15b of DGX Cloud, whose software is that of 2024, and an own script."""
    for path in (path for path in FILES if path.stem != "pytorch-h200"):
        file = validate(TrainingFile, read_document(path))
        named = {table.plan.stack for table in file.tables} - {None, "nemo-2024"}
        assert named <= {stack_of_source(Catalog(), file.source.title)}, path.stem


def test_the_report_says_how_tensors_are_gathered() -> None:
    """DeepSpeed of 2021: a call for each tensor, whatever the unit; a search tries no other units."""
    job = "train superpod-h100-4su --model llama3-8b --gpus 64 --batch 64 --zero 3 -f json"
    found = json.loads(ffplan(f"{job} --stack deepspeed-2021").out)
    words = "each of 4 tensors of a layer at a time and one tensor ahead"
    assert any(words in text for text in found["assumptions"])
    assert not any("measurements of 2021" in text for text in found["assumptions"])
    plain = json.loads(ffplan(job).out)["assumptions"]
    assert any("a layer at a time and one unit ahead" in text for text in plain)
    assert any("`--stack deepspeed-2021` has their calls" in text for text in plain)
    searched = json.loads(ffplan(f"{job} --search --stack deepspeed-2021").out)
    assert {row["plan"]["unit_layers"] for row in searched["rows"]} == {1}


def test_experts_that_take_turns_are_said_to(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("kind: training-plan\nexpert: 16\nbatch: 64\ndispatcher: deepep\nrouting: in-turn\n")
    more = "--model deepseek-v3 --gpus 64 --zero 3 --memory 4000GiB -f json"
    found = json.loads(ffplan(f"train superpod-h100-4su --plan {file} {more}").out)
    assert any("experts of a token are neighbours" in text for text in found["assumptions"])
    assert found["rows"][0]["plan"]["routing"] == "in-turn"
