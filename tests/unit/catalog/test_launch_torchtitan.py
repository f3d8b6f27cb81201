"""Plans of torchtitan: what a file means where it leaves a setting to the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.catalog.test_launch import launch

if TYPE_CHECKING:
    from ffplan.catalog.launch.read import Launch


def job(parallelism: str = "", *, more: str = "", model: str = "llama3/8B") -> Launch:
    """Return what is read of a file with settings of parallelism, and other sections behind them."""
    name, flavour = model.split("/")
    head = f'[model]\nname = "{name}"\nflavor = "{flavour}"\n[training]\nlocal_batch_size = 4\nseq_len = 4096\n'
    return launch(f"{head}[parallelism]\n{parallelism}\n{more}", "job.toml")


@pytest.mark.parametrize(
    ("parallelism", "expert_tensor"),
    [
        ("expert_parallel_degree = 8\ntensor_parallel_degree = 4", 1),
        ("expert_parallel_degree = 8\ntensor_parallel_degree = 4\nexpert_tensor_parallel_degree = 1", 1),
        ("expert_parallel_degree = 8\ntensor_parallel_degree = 4\nexpert_tensor_parallel_degree = 4", 4),
        ("expert_parallel_degree = 8", 1),
        ("expert_parallel_degree = 1\ntensor_parallel_degree = 4", None),
        ("tensor_parallel_degree = 4\nexpert_tensor_parallel_degree = 1", None),
        ("tensor_parallel_degree = 4", None),
    ],
)
def test_tensor_parallelism_of_experts_is_one_unless_stated(parallelism: str, expert_tensor: int | None) -> None:
    found = job(parallelism, model="deepseek_v3/16B")
    assert found.plan.get("expert_tensor") == expert_tensor
    assert not any("expert_tensor" in text for text in found.of_plan)


@pytest.mark.parametrize(("stages", "whole"), [(1, 3), (2, 1)])
@pytest.mark.parametrize("policy", ["default", "always", "never", None])
def test_a_pipeline_reduces_whole_gradients_once(stages: int, whole: int, policy: str | None) -> None:
    reshard = "" if policy is None else f'fsdp_reshard_after_forward = "{policy}"'
    found = job(f"pipeline_parallel_degree = {stages}\n{reshard}")
    assert found.plan["zero"] == (2 if policy == "never" and stages == 1 else whole)
    assert found.plan["overlap"] == (("gradients", "parameters") if stages == 1 else ("parameters",))
    assert found.plan["grad_dtype"] == "fp32"
    named = any("fsdp_reshard_after_forward always has no field" in text for text in found.of_plan)
    assert named == (stages > 1 and policy == "always")


def test_sharding_is_over_data_and_context() -> None:
    plain = "data_parallel_replicate_degree = 2\n"
    assert "shard" not in job().plan
    assert job(f"{plain}data_parallel_shard_degree = 4").plan["shard"] == 4
    assert job(f"{plain}data_parallel_shard_degree = 4\ncontext_parallel_degree = 2").plan["shard"] == 8
    alone = job(f"{plain}data_parallel_shard_degree = 1\ncontext_parallel_degree = 2").plan
    assert (alone["zero"], alone["shard"]) == (3, 2)
    copies = job(f"{plain}data_parallel_shard_degree = 1").plan
    assert (copies["zero"], copies.get("shard")) == (0, None)


@pytest.mark.parametrize(
    ("section", "elementwise"),
    [
        ("", "eager"),
        ("[compile]\nenable = false", "eager"),
        ("[compile]\nenable = true", "fused"),
        ('[compile]\nenable = true\ncomponents = ["model", "loss"]', "fused"),
        ('[compile]\nenable = true\ncomponents = ["model"]\nbackend = "inductor"', "fused"),
        ('[compile]\nenable = true\ncomponents = ["loss"]', "eager"),
        ("[compile]\nenable = true\ncomponents = []", "eager"),
        ('[compile]\ncomponents = ["model"]', "eager"),
    ],
)
def test_layers_that_are_not_compiled_are_eager(section: str, elementwise: str) -> None:
    found = job(more=section)
    assert found.plan["elementwise"] == elementwise
    assert found.of_plan == job().of_plan


@pytest.mark.parametrize(("compiled", "elementwise"), [("true", "fused"), ("false", "eager")])
def test_older_files_compile_in_training(compiled: str, elementwise: str) -> None:
    found = launch(f"[training]\nbatch_size = 2\nseq_len = 4096\ncompile = {compiled}\n", "job.toml")
    assert found.plan["elementwise"] == elementwise
    assert not any("compile" in text for text in found.of_plan)


WHOLE_LAYERS = "whole layers at times, which has no field in a plan: every layer is kept"


@pytest.mark.parametrize(
    ("section", "recompute", "named"),
    [
        ("", "none", "selective_ac_option is not stated, so 2: "),
        ('mode = "selective"', "none", "selective_ac_option is not stated, so 2: "),
        ('mode = "selective"\nselective_ac_option = "2"', "none", "selective_ac_option 2: "),
        ('mode = "selective"\nselective_ac_option = 3', "none", "selective_ac_option 3: "),
        ('mode = "selective"\nselective_ac_option = "0"', "full", ""),
        ('mode = "selective"\nselective_ac_option = "1"', "full", ""),
        ('mode = "selective"\nselective_ac_option = "op"', "every-second", ""),
        ('selective_ac_option = "op"', "every-second", ""),
        ('mode = "full"', "full", ""),
        ('mode = "none"', "none", ""),
    ],
)
def test_modes_of_recomputation(section: str, recompute: str, named: str) -> None:
    found = job(more=f"[activation_checkpoint]\n{section}")
    assert found.plan["recompute"] == recompute
    remarks = [text for text in found.of_plan if "selective_ac_option" in text]
    assert remarks == ([f"{named}{WHOLE_LAYERS}"] if named else [])


@pytest.mark.parametrize(
    ("name", "schedule", "remark"),
    [
        ("1F1B", "1f1b", False),
        ("Interleaved1F1B", "1f1b", True),
        ("ZBVZeroBubble", "zb-v", False),
        ("DualPipeV", "zb-v", True),
        ("LoopedBFS", "1f1b", True),
    ],
)
def test_schedules_hold_one_copy_of_the_weights(name: str, schedule: str, remark: bool) -> None:
    pipeline = f'pipeline_parallel_degree = 4\npipeline_parallel_schedule = "{name}"'
    plain = set(job("pipeline_parallel_degree = 4").of_plan)
    found = job(pipeline)
    assert found.plan["schedule"] == schedule
    assert bool(set(found.of_plan) - plain) == remark
