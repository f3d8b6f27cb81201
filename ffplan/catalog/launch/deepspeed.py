"""The training plan in a JSON file of DeepSpeed.

Names and defaults follow DeepSpeed's configuration (recalled).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ffplan.catalog.launch.settings import Setting, Settings, leaves

if TYPE_CHECKING:
    from ffplan.catalog.configs.config_file import _ConfigFile

KEYS = frozenset(
    {
        "zero_optimization",
        "train_micro_batch_size_per_gpu",
        "train_batch_size",
        "gradient_accumulation_steps",
        "zero_allow_untested_optimizer",
        "activation_checkpointing",
    }
)
"""Fields that a DeepSpeed file alone has."""
_BATCH = ("train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "train_batch_size")
_SHARD = ("zero_optimization.zero_hpz_partition_size", "zero_optimization.mics_shard_size")
_DULL = re.compile(
    r"optimizer\.params|scheduler|gradient_clipping|steps_per_print|wall_clock|bf16\.|fp16\.|bfloat16\."
    r"|zero_optimization\.reduce_|zero_optimization\.allgather_|zero_optimization\.stage3_"
    r"|zero_optimization\.contiguous|zero_optimization\.sub_group|zero_optimization\.round"
    r"|zero_optimization\.offload_|zero_optimization\.ignore|zero_force|zero_allow|prescale|dump_state"
    r"|tensorboard|wandb|csv_monitor|comms_logger|flops_profiler|checkpoint|data_types\."
    r"|gradient_predivide|seed"
)
"""Beginnings of fields that a plan needs no field for."""


def _deepspeed_settings(config: _ConfigFile) -> Settings:
    values = {
        ".".join(steps): Setting(
            value=value,
            line=config.places.get(steps, (1, 1))[0],
            unknown="the trainer fills it in" if value == "auto" else "",
        )
        for steps, value in leaves(config.data)
    }
    return Settings("DeepSpeed", config.file, values)


def _plan_of(settings: Settings) -> dict[str, Any]:
    zero = settings.whole("zero_optimization.stage", least=0) or 0
    if zero > 3:
        message = f"`zero_optimization.stage` is {zero}"
        settings.fault("config-value", "zero_optimization.stage", message, "write a stage from 0 to 3")
    half = settings.flag("fp16.enabled")
    brain = settings.flag("bf16.enabled", "bfloat16.enabled")
    plan: dict[str, Any] = {"zero": zero, "precision": "bf16" if brain else "fp16" if half else "tf32"}
    if not (half or brain):
        settings.remark("neither bf16 nor fp16 is on, so 32 bits, which a plan has as tf32")
    plan |= _batch(settings) | _gradients(settings, zero, brain=brain, half=half) | _offload(settings)
    if zero == 3:
        plan["weights_copy"] = half or brain
    shard = settings.whole(*_SHARD, least=-1)
    if shard is not None and shard > 1 and zero:
        if settings.stated(_SHARD[0]) is not None:
            settings.remark(
                "zero_hpz_partition_size: limits the gathering of weights to a group of ranks; a plan has no field"
            )
        else:
            plan["shard"] = shard
    context = settings.whole("sequence_parallel_size")
    if context is not None and context > 1:
        plan |= {"context": context, "context_exchange": "heads"}
    tensor = settings.whole("tensor_parallel.autotp_size", "tensor_parallel.tp_size")
    if tensor is not None:
        plan["tensor"] = tensor
    if any(name.startswith("activation_checkpointing") for name in settings.values):
        settings.used.update(name for name in settings.values if name.startswith("activation_checkpointing"))
        settings.remark(
            "activation_checkpointing says how, not whether: give `--recompute full` where the model does it"
        )
    return plan


def _batch(settings: Settings) -> dict[str, Any]:
    """Return the batch and the micro-batch; a batch is micro-batch times accumulation times data-parallel ranks."""
    micro, steps, batch = (settings.whole(name) for name in _BATCH)
    fields: dict[str, Any] = {"micro_batch": micro} if micro is not None else {}
    follows = micro is None and _BATCH[0] not in settings.values
    if batch is not None and steps is not None and (micro is not None or follows):
        unit = (micro or 1) * steps
        stated = [f"{name} {value:,}" for name, value in zip(_BATCH, (micro, steps, batch), strict=True) if value]
        if batch % unit:
            *units, whole = stated
            message = f"{whole} is no multiple of {' times '.join(units)}"
            settings.fault("config-value", _BATCH[2], message, f"write a multiple of {unit:,}")
        elif micro is None:
            settings.steps = steps
        else:
            settings.ranks, settings.ranks_of = batch // unit, settings.ranks_of | {"batch", "micro_batch"}
            settings.ranks_by = f"{stated[2]} over {stated[0]} times {stated[1]}"
    elif steps is not None and batch is not None:
        settings.remark(f"{_BATCH[1]} {steps} is left out: a plan has as many steps as its batch needs")
    if follows and not settings.steps:
        settings.remark(f"{_BATCH[0]} is not stated: micro_batch is 1 unless `--micro-batch` says more")
    if batch is not None:
        return {**fields, "batch": batch}
    settings.each = (micro or 0) * (steps or 0)
    if not settings.each:
        settings.remark("no batch is stated: give `--batch`, micro-batch times accumulation times data-parallel ranks")
    return fields


def _gradients(settings: Settings, zero: int, *, brain: bool, half: bool) -> dict[str, Any]:
    """Return the precision of gradients, with ZeRO the model's 16 bits, and the overlapped collectives."""
    kept = settings.word("data_types.grad_accum_dtype")
    sent = settings.word("communication_data_type")
    if not (brain or half):
        return {"overlap": ("gradients",) if settings.flag("zero_optimization.overlap_comm") else ()}
    wide = kept.startswith(("fp32", "float")) and "16" not in kept if kept else (brain and not zero)
    fields: dict[str, Any] = {"grad_dtype": "fp32" if wide else "bf16"}
    if sent:
        fields["grad_reduce_dtype"] = "bf16" if "16" in sent else "fp32"
    elif wide:
        fields["grad_reduce_dtype"] = "bf16"
    hides = settings.flag("zero_optimization.overlap_comm") or (
        zero == 3 and not settings.off("zero_optimization.overlap_comm")
    )
    hidden = ("gradients", "parameters") if zero == 3 else ("gradients",)
    return {**fields, "overlap": hidden if hides else ()}


def _offload(settings: Settings) -> dict[str, Any]:
    states = settings.word("zero_optimization.offload_optimizer.device")
    weights = settings.word("zero_optimization.offload_param.device")
    if settings.flag("zero_optimization.cpu_offload"):
        states = "cpu"
    places = {place for place in (states, weights) if place not in ("", "none")}
    if not places:
        return {}
    return {
        "offload": "parameters" if weights not in ("", "none") else "optimizer",
        **({"offload_to": "drives"} if "nvme" in places else {}),
    }


def _without_field(settings: Settings) -> list[str]:
    return settings.unread(_DULL)
