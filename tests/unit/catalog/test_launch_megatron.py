"""Plans of Megatron-LM: what its options do to layers, collectives and stages."""

from __future__ import annotations

import pytest

from tests.unit.catalog.test_launch import SIZES, launch

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
