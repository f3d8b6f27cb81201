"""The training plan in the arguments of Megatron-LM, or the same settings of NeMo.

Names and defaults follow Megatron-LM's `megatron/training/arguments.py` (recalled).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ffplan.catalog.launch.world import world

if TYPE_CHECKING:
    from ffplan.catalog.launch.settings import Settings

SIZES = {
    "tensor": ("tensor_model_parallel_size", "model_parallel_size"),
    "pipeline": ("pipeline_model_parallel_size",),
    "context": ("context_parallel_size", "ulysses_sequence_parallel_size", "ds_sequence_parallel_size"),
    "expert": ("expert_model_parallel_size", "moe_expert_parallel_size"),
    "expert_tensor": ("expert_tensor_parallel_size", "expert_tensor_model_parallel_size"),
    "micro_batch": ("micro_batch_size",),
    "batch": ("global_batch_size",),
    "sequence": ("seq_length",),
    "mtp_layers": ("mtp_num_layers",),
}
"""Settings behind each size of a plan."""
_MODULES = {
    "layernorm": ("norms",),
    "mla_up_proj": ("latent",),
    "moe_act": ("activation",),
    "mlp": ("up", "activation", "down"),
}
"""Parts that are recomputed, by the module that Megatron-LM names: megatron-core 0.14.0, transformer_layer.py and
moe/experts.py. `mlp` runs the whole network of a dense layer again, and nothing of a layer with experts; `moe_act` is
of experts alone."""
_SHARDING = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}
_ATTENTION = {"fused": "cudnn", "flash": "fa2", "unfused": "unfused", "local": "unfused"}
_OPTIMIZERS = ("", "adam", "adamw", "fused_adam", "distributed_fused_adam", "mcore_distributed_optim")
_DISTRIBUTED = ("distributed_fused_adam", "mcore_distributed_optim")
_SHORT = ("bf16", "bfloat16", "fp8", "torch.bfloat16", "fp16", "float16")
"""Precisions of optimizer states that a plan has as 16 bits."""
_NO_FIELD = {
    "pipeline_model_parallel_layout": "layers are spread evenly over the stages",
    "decoder_first_pipeline_num_layers": "layers are spread evenly over the stages",
    "decoder_last_pipeline_num_layers": "layers are spread evenly over the stages",
    "rampup_batch_size": "the last, full batch is planned",
    "moe_expert_capacity_factor": "tokens are neither dropped nor padded",
    "moe_shared_expert_overlap": "the shared expert is not hidden",
    "attention_dropout": "",
    "hidden_dropout": "",
    "enable_cuda_graph": "a software stack has them",
    "defer_embedding_wgrad_compute": "the output layer's gradient is not deferred",
    "hierarchical_context_parallel_sizes": "context parallelism has one level",
    "optimizer_offload_fraction": "all of the optimizer's states are offloaded",
}
"""Remark for settings without a field in a plan."""
IGNORED = re.compile(
    r"_|TEST|optimizer_lr|tiktoken|fp8_amax|calculate_per|deepspeed|lr|min_lr|weight_decay|adam_|clip_grad|init_method|seed|train_|eval_|save|load|log_|tensorboard"
    r"|wandb|data(?!_parallel)|split|vocab|merge_file|tokenizer|num_workers|exit_|master|node|nproc|nnodes|rdzv|rank"
    r"|world_size|distributed_backend|distributed_timeout|override_opt|finetune|no_load|no_save"
    r"|use_checkpoint|norm_epsilon|layernorm_epsilon|normalization|rotary|make_vocab|dataloader"
    r"|num_dataset|print_|timing_|ckpt|dist_ckpt|async_save|manual_gc|profile|use_legacy|start_weight"
    r"|end_weight|attention_dropout|hidden_dropout|apply_layernorm|apply_query|loss_scale|initial_loss"
    r"|min_loss|hysteresis|consumed_|mock_data|reset_|eod_mask|use_rope|use_rotary|max_position|standalone"
    r"|gpus|ntasks|cpus|mem|time|job|account|partition|exclusive|output|error|nodes|container|array"
    r"|comment|qos|reservation|moe_aux_loss|moe_z_loss|moe_router_load|moe_router_score|moe_router_pre"
    r"|moe_router_bias|moe_router_enable|max_steps|disable_scaled|no_position|no_masked|no_bias"
    r"|no_gradient|no_query|transformer_engine|trainer|accelerator|library|name|restore|megatron_amp"
    r"|optim_|benchmark|replace_|logger|scheduler|sched|hydra|use_mcore|use_cpu_init"
    r"|gradient_accumulation_fusion|distributed_"
)
"""Beginnings of names that change neither memory nor time of a step as a plan describes it."""


def _matters(name: str) -> bool:
    """Return whether an argument may change memory or time of a step."""
    return IGNORED.match(name.replace("-", "_")) is None


def _plan_of(settings: Settings, layers: int | None, *, experts: bool, mixed: bool = False) -> dict[str, Any]:
    """Return the fields of a plan.

    Args:
        layers: layers of the model, if the file states them.
        experts: whether the model has experts.
        mixed: whether it may have dense layers too.
    """
    sizes = {field: settings.whole(*names, least=0) for field, names in SIZES.items()}
    plan: dict[str, Any] = {field: size for field, size in sizes.items() if size}
    plan["micro_batch"] = plan.get("micro_batch", 1)
    if "micro_batch_size" not in settings.values:
        settings.remark(f"{settings.label('micro_batch_size')} is not stated: micro_batch is 1")
    plan["chunks"] = _chunks(settings, plan.get("pipeline", 1), layers)
    plan["sequence_parallel"] = settings.flag("sequence_parallel")
    plan |= _precision(settings) | _sharding(settings) | _kernels(settings)
    plan |= _recompute(settings, experts=experts, mixed=mixed)
    plan["overlap"] = _overlap(settings, chunks=plan["chunks"])
    if experts:
        plan |= _dispatch(settings)
    elif plan.pop("expert", 1) > 1:
        settings.remark(f"{settings.label('expert_model_parallel_size')} is left out: the file states no experts")
    if plan.get("context", 1) > 1:
        plan |= _exchange(settings)
    settings.world = world(settings)
    if "batch" not in plan and "global_batch_size" not in settings.values:
        settings.each = plan["micro_batch"]  # Megatron-LM takes one micro-batch a rank
    for name, instead in _NO_FIELD.items():
        if name in settings.values and instead and settings.stated(name) is not None:
            settings.remark(f"{settings.label(name)} has no field in a plan: {instead}")
    return plan


def _chunks(settings: Settings, pipeline: int, layers: int | None) -> int:
    """Return the chunks of a stage.

    Embedding and loss may count as a layer each: megatron-core 0.14.0, transformer_config.py (`__post_init__`). A plan
    takes layers that are missing off the last stage and then off the first, which both together, and the loss, ask for.
    """
    counted = [part for part in ("embedding", "loss") if settings.flag(f"account_for_{part}_in_pipeline_split")]
    if counted == ["embedding"] and pipeline > 1:
        name = settings.label("account_for_embedding_in_pipeline_split")
        settings.remark(f"{name} alone has no field in a plan: the last stage has a layer less, not the first")
    chunks = settings.whole("num_virtual_stages_per_pipeline_rank")
    each = settings.whole("num_layers_per_virtual_pipeline_stage")
    if chunks is not None or each is None:
        return chunks or 1
    name = settings.label("num_layers_per_virtual_pipeline_stage")
    if layers is None:
        settings.remark(f"{name} {each} gives no chunks: the file does not state the layers")
        return 1
    whole = layers + len(counted)
    if whole % (pipeline * each):
        those = " and ".join([f"{layers:,} layers", *counted])
        message = f"`{name}` of {each} does not divide {those} on {pipeline:,} stages"
        settings.fault("config-value", "num_layers_per_virtual_pipeline_stage", message, "write a number that does")
        return 1
    return whole // (pipeline * each)


def _precision(settings: Settings) -> dict[str, Any]:
    trained = settings.word("precision", "mixed_precision", "precision_config")
    half = settings.flag("fp16") or trained.startswith(("16", "fp16"))
    brain = settings.flag("bf16") or trained.startswith(("bf16", "bfloat16"))
    eight = settings.flag("fp8", "fp8_format", "fp8_hybrid", "fp8_e4m3") or "fp8" in trained
    fields: dict[str, Any] = {"precision": "fp8" if eight else "bf16" if brain else "fp16" if half else "tf32"}
    if not (half or brain or eight):
        settings.remark(
            "neither bf16 nor fp16 is stated, so 32 bits, which a plan has as tf32: plain fp32 is slower than its times"
        )
    if settings.flag("fp4", "fp4_format"):
        settings.remark(f"{settings.label('fp4_format')} has no equivalent; a plan has no 4-bit training")
    kept = "fp32"
    if half and not settings.flag("accumulate_allreduce_grads_in_fp32", "megatron_amp_O2") and not brain:
        kept = "bf16"  # 16 bits of either kind
    reduced = settings.word("grad_sync_dtype", "main_grads_dtype", "grad_reduce_dtype")
    if settings.flag("grad_reduce_in_bf16") or settings.off("grad_reduce_in_fp32") or reduced in _SHORT:
        kept = "bf16"
    if settings.flag("use_torch_fsdp2"):
        kept = "bf16"  # fully_shard without a policy of precision: gradients are as wide as the weights that it gathers
    if fields["precision"] != "tf32":
        fields["grad_dtype"] = kept
    else:
        fields["grad_dtype"] = "fp32"
    moments = {settings.word("exp_avg_dtype"), settings.word("exp_avg_sq_dtype")} - {""}
    if moments and moments <= set(_SHORT):
        fields["optimizer_dtype"] = "bf16"
    elif moments & set(_SHORT):
        settings.remark("moments of two precisions have no field in a plan: both have 32 bits")
    if settings.word("main_params_dtype") in _SHORT:
        fields["main_params"] = "bf16"
    return fields


def _sharding(settings: Settings) -> dict[str, Any]:
    name = settings.word("optimizer", "optim_name", "optimizer_name")
    if name not in _OPTIMIZERS:
        settings.remark(f"the optimizer `{name[:40]}` has no field in a plan: the states of Adam are assumed")
    zero = 1 if settings.flag("use_distributed_optimizer") or name in _DISTRIBUTED else 0
    strategy = settings.word("data_parallel_sharding_strategy")
    if settings.flag("use_torch_fsdp2", "use_megatron_fsdp", "use_custom_fsdp", "fsdp"):
        zero = _torch_sharding(settings) if settings.flag("use_torch_fsdp2") else _SHARDING.get(strategy, 0)
    zero = min(3, settings.whole("zero_stage", least=0) or zero)
    fields: dict[str, Any] = {"zero": zero}
    if zero == 3:
        fields["weights_copy"] = True  # Megatron's optimizers keep weights at 16 bits beside their own
    copies = settings.whole("num_distributed_optimizer_instances")
    if copies is not None and copies > 1 and zero:
        label = settings.label("num_distributed_optimizer_instances")
        settings.remark(f"{label} {copies}: give `shard`, the data-parallel ranks over {copies}")
    if settings.flag("optimizer_cpu_offload", "cpu_offload", "cpu_optimizer"):
        fields["offload"] = "optimizer"
    return fields


def _torch_sharding(settings: Settings) -> int:
    """Return the stage of torch's FSDP2, which frees parameters behind the forward pass unless told to keep them.

    megatron-core 0.14.0, distributed/torch_fully_sharded_data_parallel_config.py.
    """
    kept = settings.flag("torch_fsdp2_no_reshard_after_forward") or settings.off(
        "torch_fsdp2_reshard_after_forward", "reshard_after_forward"
    )
    return 2 if kept else 3


def _recompute(settings: Settings, *, experts: bool, mixed: bool) -> dict[str, Any]:
    kind, method = settings.word("recompute_granularity"), settings.word("recompute_method")
    layers = settings.whole("recompute_num_layers", least=0)
    if kind == "full" or settings.flag("checkpoint_activations") or (method and not kind):
        if method == "block" or (layers or 1) > 1:
            text = f"{settings.label('recompute_method')} {method or 'uniform'} of {layers or 1} layers"
            settings.remark(f"{text} has no field in a plan: every layer is recomputed by itself")
        return {"recompute": "full"}
    if kind not in ("selective", "") or not (kind or settings.flag("recompute_activations")):
        if kind:
            settings.remark(f"{settings.label('recompute_granularity')} `{kind[:40]}` is unknown: no recomputation")
        return {"recompute": "none"}
    modules = re.findall(r"\w+", settings.word("recompute_modules")) or ["core_attn"]
    label = settings.label("recompute_modules")
    for name in modules:
        if name not in _MODULES and name != "core_attn":
            settings.remark(f"{label} {name[:40]} has no field in a plan: it is kept")
    if "mlp" in modules and experts and mixed:
        settings.remark(
            f"{label} mlp, of the layers without experts alone, has no field in a plan: every layer is kept"
        )
    without = "mlp" if experts else "moe_act"
    parts = [part for name, of in _MODULES.items() if name in modules and name != without for part in of]
    return {
        "recompute": "selective" if "core_attn" in modules else "none",
        **({"recompute_parts": tuple(dict.fromkeys(parts))} if parts else {}),
    }


def _kernels(settings: Settings) -> dict[str, Any]:
    """Return the kernel of attention, and how stages send."""
    backend = settings.word("attention_backend")
    flash = settings.flag("use_flash_attn", "use_flash_attn_v2", "use_flash_attn_triton")
    local = settings.word("transformer_impl") == "local" and not flash
    fields: dict[str, Any] = {"attention": _ATTENTION[backend]} if backend in _ATTENTION else {}
    if local and not fields:
        fields["attention"] = "unfused"
    elif not fields and not flash and not settings.word("transformer_impl") and settings.program == "Megatron-LM":
        settings.assumed.append("attention fused, as in Transformer Engine")
    if settings.flag("no_scatter_gather_tensors_in_pipeline"):
        fields["scatter_gather"] = False
    return fields


def _overlap(settings: Settings, *, chunks: int) -> tuple[str, ...]:
    """Return the overlapped collectives; Megatron-LM overlaps sends between stages if it interleaves.

    FSDP2 of torch gathers ahead and reduces on streams of its own, whatever the other flags say: megatron-core 0.14.0,
    distributed/torch_fully_sharded_data_parallel.py; torch 2.9.0, FSDPCommContext of _fsdp_param_group.py.
    """
    own = settings.flag("use_torch_fsdp2")
    hidden = {
        "gradients": settings.flag("overlap_grad_reduce") or own,
        "parameters": settings.flag("overlap_param_gather") or own,
        "tensor": settings.flag("tp_comm_overlap"),
        "pipeline": chunks > 1
        and not settings.flag("no_overlap_p2p_communication")
        and not settings.off("overlap_p2p_comm", "overlap_p2p_communication"),
        "experts": settings.flag("overlap_moe_expert_parallel_comm", "moe_a2a_overlap"),
    }
    return tuple(name for name, on in hidden.items() if on)


def _dispatch(settings: Settings) -> dict[str, Any]:
    """Return how tokens reach experts; Megatron-LM gathers all by default."""
    kind = settings.word("moe_token_dispatcher_type")
    if not kind:
        settings.assumed.append(f"{settings.label('moe_token_dispatcher_type')} allgather")
    if kind == "flex":
        hybrid = "hybrid" in settings.word("moe_flex_dispatcher_backend")
        return {"dispatcher": "hybrid" if hybrid else "deepep"}
    return {"dispatcher": "alltoall" if kind.startswith("alltoall") else "allgather"}


def _exchange(settings: Settings) -> dict[str, Any]:
    # one for all layers, or one for each: megatron-core 0.14.0, transformer_config.py
    kinds = dict.fromkeys(re.findall(r"[\w+]+", settings.word("cp_comm_type")))
    kind = " ".join(kinds) or "p2p"
    if kind == "a2a" or "ds_sequence_parallel_size" in settings.values:
        return {"context_exchange": "heads"}
    if kind != "p2p":
        settings.remark(
            f"{settings.label('cp_comm_type')} {kind[:40]} has no field in a plan: keys and values go round a ring"
        )
    return {}
