"""Plans of torchtitan: what a file means where it leaves a setting to the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
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


CUT = 'pipeline_parallel_degree = {ranks}\npipeline_parallel_schedule = "{schedule}"\n{more}'


def cut(
    more: str, *, ranks: int = 8, schedule: str = "Interleaved1F1B", model: str = "llama3/405B"
) -> tuple[object, str]:
    """Return the chunks of a pipeline whose file says how the layers are cut, and what is said of them."""
    found = job(CUT.format(ranks=ranks, schedule=schedule, more=more), model=model)
    return found.plan.get("chunks"), "\n".join(found.of_plan)


EACH = "pipeline_parallel_layers_per_stage"
LESS = "pipeline_parallel_{}_stage_less_layers = {}"


@pytest.mark.parametrize(
    ("more", "chunks"),
    [
        (f"{EACH} = 2", 8),  # 126 layers, embedding and output over 2 are 64 stages
        (f"{EACH} = 4", 4),
        (f"{EACH} = 8", 2),
        (f"{EACH} = 5", None),  # 25.6, so 26 stages
        (f"{EACH} = 2\n{LESS.format('first', 0)}\n{LESS.format('last', 0)}", None),  # 63 stages
        (f"{EACH} = 2\n{LESS.format('first', 0)}", 8),  # 63.5, so 64
        (f"{EACH} = 2\n{LESS.format('first', 9)}\n{LESS.format('last', 9)}", 9),
    ],
)
def test_layers_of_a_stage_give_its_chunks(more: str, chunks: int | None) -> None:
    if chunks is None:
        with pytest.raises(InputError, match="stages, which 8 pipeline ranks do not divide"):
            cut(more)
        return
    found, said = cut(more)
    assert (found, "by torchtitan's default" in said) == (chunks, False)
    for end in ("first", "last"):
        stated = f"{end}_stage_less_layers = " in more
        assert (f"{end}_stage_less_layers" in said) == stated
    assert "layers_per_stage" not in said


def test_layers_of_a_stage_are_those_of_a_schedule() -> None:
    """A rank has one stage in 1F1B, two in ZB-V, and several where it interleaves."""
    assert cut(f"{EACH} = 16", schedule="1F1B") == cut("", schedule="1F1B")
    assert cut(f"{EACH} = 8", schedule="ZBVZeroBubble") == cut("", schedule="ZBVZeroBubble")
    for each, schedule, stages in (
        (8, "1F1B", "2 stages on each rank, and the schedule 1f1b has 1"),
        (4, "ZBVZeroBubble", "4 stages on each rank, and the schedule zbvzerobubble has 2"),
        (16, "Interleaved1F1B", "1 stage on each rank, and the schedule interleaved1f1b has several"),
    ):
        with pytest.raises(InputError, match=rf"^run.sh:10:1: error: .*{stages}".replace("run.sh", "job.toml")):
            cut(f"{EACH} = {each}", schedule=schedule)
    said = cut(f"{EACH} = 4", schedule="InterleavedZeroBubble")[1]
    assert "4 stages on each rank have no field in a plan with the schedule `interleavedzerobubble`" in said


def test_parts_that_a_file_names_are_its_stages() -> None:
    parts = ", ".join('["layers.0"]' for _ in range(6))
    found, said = cut(f"module_fqns_per_model_part = [{parts}]", ranks=2)
    assert (found, "layers are spread evenly" in said) == (3, True)
    with pytest.raises(InputError, match="6 parts of module_fqns_per_model_part make 6 stages, which 4 pipeline ranks"):
        cut(f"module_fqns_per_model_part = [{parts}]", ranks=4)


def test_layers_of_a_model_that_the_catalogue_lacks_give_no_chunks() -> None:
    found, said = cut(f"{EACH} = 2", model="llama3/debugmodel")
    assert found == 2
    assert f"{EACH} 2 gives no chunks: the catalogue does not have the model's layers" in said
