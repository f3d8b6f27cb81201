"""Settings of training frameworks: precisions of gradients, overlap and recomputation.

A plan names a preset and overrides single fields of it.

Gradient widths equal the catalogue's stacks, which cite sources.

Sources:
    [1] NVIDIA/dgxc-benchmarking v25.02 to v25.05, NeMo recipes: `grad_reduce_in_fp32 = False`, distributed optimizer,
        overlap of gradients, parameters, tensor parallelism and point-to-point.
    [2] bigscience-workshop/bigscience, tr11-176B-ml: DeepSpeed's BF16_Optimizer adds gradients up at 32 bits and
        reduces them at 16.
    [3] pytorch/torchtitan, 9dec370: FSDP2 with parameters at 16 bits, `mixed_precision_reduce` float32; sharded
        parameters at 32 bits are the optimizer's own copy.
    [4] DeepSeek-V3 report, arXiv 2412.19437, sections 3.2 and 3.3: DualPipe hides dispatch and combine; moments at 16
        bits, main parameters and gradients at 32; norms, MLA up-projections and SwiGLU are recomputed.
"""

from __future__ import annotations

from typing import Any, Literal

Preset = Literal["megatron-core", "nemo", "deepspeed", "fsdp", "deepseek"]

MEGATRON: dict[str, Any] = {
    "zero": 1,
    "grad_dtype": "fp32",
    "grad_reduce_dtype": "fp32",
    "main_params": "fp32",
    "optimizer_dtype": "fp32",
    "overlap": ("gradients", "parameters", "tensor", "pipeline"),
}
"""Fields of Megatron-LM with --bf16 and 32-bit gradient accumulation: 18 bytes of states a parameter before ZeRO."""
PRESETS: dict[str, dict[str, Any]] = {
    "megatron-core": MEGATRON,
    "nemo": {**MEGATRON, "grad_dtype": "bf16", "grad_reduce_dtype": "bf16"},
    "deepspeed": {
        "zero": 1,
        "weights_copy": True,
        "grad_dtype": "fp32",
        "grad_reduce_dtype": "bf16",
        "main_params": "fp32",
        "optimizer_dtype": "fp32",
        "overlap": ("gradients", "parameters"),
    },
    "fsdp": {
        "zero": 3,
        "grad_dtype": "fp32",
        "grad_reduce_dtype": "fp32",
        "main_params": "fp32",
        "optimizer_dtype": "fp32",
        "overlap": ("gradients", "parameters"),
    },
    "deepseek": {
        "zero": 1,
        "precision": "fp8",
        "schedule": "dualpipe",
        "grad_dtype": "fp32",
        "grad_reduce_dtype": "fp32",
        "main_params": "fp32",
        "optimizer_dtype": "bf16",
        "recompute_parts": ("norms", "latent", "activation"),
        "overlap": ("gradients", "parameters", "pipeline", "experts"),
        "stack": "deepseek-2024",
        "dispatcher": "deepep",
        "dispatch_dtype": "fp8",
    },
}
"""Fields of a plan by preset: `nemo` [1], `deepspeed` [2], `fsdp` [3], `deepseek` [4]."""
