"""Plans of Megatron-LM: what its options do to layers, collectives and stages."""

from __future__ import annotations

import pytest

from tests.unit.catalog.test_launch import SIZES, launch, refused

SELECTIVE = "--recompute-granularity selective --recompute-modules"


@pytest.mark.parametrize("modules", ["moe_act mla_up_proj layernorm", "mla_up_proj layernorm moe_act"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_modules_recompute_the_same_in_any_order(modules: str, quote: str) -> None:
    found = launch(f"{SIZES} --num-experts 8 {SELECTIVE} {quote}{modules}{quote}")
    assert found.plan["recompute_parts"] == ("norms", "latent", "activation")
    assert found.plan["recompute"] == "none"


EVERY = "--num-experts 8 --moe-layer-freq 1"
MIXED = ("--num-experts 8 --moe-layer-freq 2", "--num-experts 8 --moe-layer-freq ([0]*1+[1]*3)")
NETWORK = ("activation", "up", "down")


@pytest.mark.parametrize(
    ("model", "modules", "parts"),
    [
        ("", "mlp", NETWORK),
        ("", "layernorm mlp", ("norms", *NETWORK)),
        ("", "moe_act", ()),
        *((model, "mlp", ()) for model in (EVERY, *MIXED)),
        *((model, "mlp moe_act layernorm", ("norms", "activation")) for model in (EVERY, *MIXED)),
    ],
)
def test_a_module_recomputes_in_layers_that_have_it(model: str, modules: str, parts: tuple[str, ...]) -> None:
    found = launch(f"{SIZES} {model} {SELECTIVE} {modules}")
    assert set(found.plan.get("recompute_parts", ())) == set(parts)
    named = any("mlp, of the layers without experts alone" in text for text in found.of_plan)
    assert named == (model in MIXED and "mlp" in modules)


@pytest.mark.parametrize(
    ("arguments", "zero", "overlap"),
    [
        ("--use-torch-fsdp2", 3, ("gradients", "parameters")),
        ("--use-torch-fsdp2 --overlap-grad-reduce", 3, ("gradients", "parameters")),
        ("--use-torch-fsdp2 --torch-fsdp2-no-reshard-after-forward", 2, ("gradients", "parameters")),
        ("--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params", 3, ()),
        ("--use-distributed-optimizer", 1, ()),
    ],
)
def test_torch_overlaps_its_own_collectives(arguments: str, zero: int, overlap: tuple[str, ...]) -> None:
    found = launch(f"{SIZES} {arguments}")
    assert (found.plan["zero"], found.plan["overlap"]) == (zero, overlap)
    assert not any("fsdp2" in text for text in found.of_plan)


@pytest.mark.parametrize(
    ("arguments", "width"), [("--use-torch-fsdp2", "bf16"), ("--use-distributed-optimizer", "fp32")]
)
def test_gradients_of_fsdp2_are_as_wide_as_its_weights(arguments: str, width: str) -> None:
    """megatron-core 0.14.0, torch_fully_sharded_data_parallel.py: fully_shard has no policy of precision."""
    assert launch(f"{SIZES} --bf16 {arguments}").plan["grad_dtype"] == width


EMBEDDING, LOSS = (f"--account-for-{part}-in-pipeline-split" for part in ("embedding", "loss"))


@pytest.mark.parametrize(
    ("layers", "stages", "each", "counted", "chunks"),
    [
        (126, 16, 1, (EMBEDDING, LOSS), 8),
        (126, 16, 2, (EMBEDDING, LOSS), 4),
        (62, 4, 4, (EMBEDDING, LOSS), 4),
        (63, 4, 4, (LOSS,), 4),
        (63, 4, 4, (EMBEDDING,), 4),
        (64, 4, 4, (), 4),
    ],
)
def test_embedding_and_loss_count_as_layers(
    layers: int, stages: int, each: int, counted: tuple[str, ...], chunks: int
) -> None:
    sizes = SIZES.replace("--num-layers 4", f"--num-layers {layers}")
    model = f"{sizes} {' '.join(counted)} --pipeline-model-parallel-size {stages} "
    found = launch(f"{model} --num-layers-per-virtual-pipeline-stage {each}")
    assert found.plan["chunks"] == chunks
    assert found.plan == launch(f"{model} --num-virtual-stages-per-pipeline-rank {chunks}").plan
    named = [text for text in found.of_plan if "account-for" in text]
    assert bool(named) == (counted == (EMBEDDING,))


def test_layers_that_do_not_divide_are_refused_with_what_counts() -> None:
    stages = "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 3"
    refused(f"{SIZES} {stages}", "does not divide 4 layers on 2 stages")
    refused(f"{SIZES} {LOSS} {stages}", "does not divide 4 layers and loss on 2 stages")
    assert launch(f"{SIZES} {EMBEDDING} {LOSS} {stages}").plan["chunks"] == 1
    off = launch(
        "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\nseq_length: 128\nposition_embedding_type: rope\n"
        "vocab_size: 512\nbf16: true\npipeline_model_parallel_size: 2\nnum_layers_per_virtual_pipeline_stage: 1\n"
        "account_for_embedding_in_pipeline_split: false\naccount_for_loss_in_pipeline_split: false\n",
        "gpt.yaml",
    )
    assert off.plan["chunks"] == 2
    assert not any("account_for" in text for text in off.of_plan)


def test_a_plan_has_the_stages_that_embedding_and_loss_ask_for() -> None:
    """Both, or the loss alone: the layers of each stage as Megatron-LM places them."""
    from ffplan.design.training import PlanFields
    from ffplan.training.parallel_plan import parallel_plans, stage_layers

    def placed(layers: int, chunks: int) -> list[float]:
        plans = parallel_plans(PlanFields(pipeline=4, chunks=chunks, batch=8), 4.0)
        return [float(stage_layers(layers, plans, float(stage))) for stage in range(4)]

    assert placed(62, 4) == [15, 16, 16, 15]
    assert placed(63, 4) == [16, 16, 16, 15]
    assert placed(30, 1) == [7, 8, 8, 7]
