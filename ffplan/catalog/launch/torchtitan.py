"""The training plan in a TOML file of torchtitan, and the model that it names.

Names and defaults follow `config/job_config.py` of torchtitan 0.2.0, and older names; flavours its `torchtitan/models`
(recalled).
"""

from __future__ import annotations

import re
from typing import Any

from ffplan.base.formatting import plural
from ffplan.catalog.launch.settings import Setting, Settings, leaves

FLAVOURS = {
    ("llama3", "8b"): "llama3.1-8b",
    ("llama3", "70b"): "llama3.1-70b",
    ("llama3", "405b"): "llama3.1-405b",
    ("llama4", "17bx16e"): "llama4-scout",
    ("llama4", "17bx128e"): "llama4-maverick",
    ("deepseek_v3", "16b"): "deepseek-v2-lite",
    ("deepseek_v3", "236b"): "deepseek-v2",
    ("deepseek_v3", "671b"): "deepseek-v3",
    ("qwen3", "0.6b"): "qwen3-0.6b",
    ("qwen3", "1.7b"): "qwen3-1.7b",
    ("qwen3", "4b"): "qwen3-4b",
    ("qwen3", "8b"): "qwen3-8b",
    ("qwen3", "14b"): "qwen3-14b",
    ("qwen3", "32b"): "qwen3-32b",
    ("qwen3", "30b-a3b"): "qwen3-30b-a3b",
    ("qwen3", "235b-a22b"): "qwen3-235b-a22b",
    ("gpt_oss", "20b"): "gpt-oss-20b",
    ("gpt_oss", "120b"): "gpt-oss-120b",
}
"""Ids of the catalogue by name and flavour."""
_SIZES = {
    "tensor": ("parallelism.tensor_parallel_degree", "training.tensor_parallel_degree"),
    "pipeline": ("parallelism.pipeline_parallel_degree", "experimental.pipeline_parallel_degree"),
    "context": ("parallelism.context_parallel_degree", "experimental.context_parallel_degree"),
    "expert": ("parallelism.expert_parallel_degree",),
    "sequence": ("training.seq_len",),
}
_EXPERT_TENSOR = "parallelism.expert_tensor_parallel_degree"
_SHARD = ("parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree")
_COPIES = ("parallelism.data_parallel_replicate_degree", "training.data_parallel_replicate_degree")
_NO_SHARD = ("`data_parallel_shard_degree` is 0", "write the ranks that share parameters, or -1 for all that are left")
_GLOBAL = "training.global_batch_size"
_SCHEDULES = {
    "1f1b": "1f1b",
    "interleaved1f1b": "1f1b",
    "zbvzerobubble": "zb-v",
    "interleavedzerobubble": "zb-h1",
    "dualpipev": "zb-v",
}
"""Schedules by name. DualPipeV is folded and holds its weights once, as ZB-V: torch 2.9.0, pipelining/schedules.py."""
_READ = (
    "job.",
    "model.",
    "training.",
    "parallelism.",
    "experimental.",
    "activation_checkpoint.",
    "float8.",
    "quantize.",
)
"""Sections with settings of a plan."""
_DULL = re.compile(r"model\.|job\.|training\.(?:steps|dataset|seed|max_norm|gc|deterministic)")
_LESS = tuple(f"parallelism.pipeline_parallel_{end}_stage_less_layers" for end in ("first", "last"))
_EACH = "parallelism.pipeline_parallel_layers_per_stage"
_PARTS = "parallelism.module_fqns_per_model_part"
_ON_A_RANK = {"1f1b": 1, "gpipe": 1, "zbvzerobubble": 2, "dualpipev": 2}
"""Stages that a rank has in schedules of one number: torch 2.9.0, distributed/pipelining/schedules.py (recalled)."""
_EVERY = 2
"""Layers of which torchtitan recomputes one by default."""
_CHUNKS = 2
"""Chunks of a stage that torchtitan makes for schedules of several stages a rank, unless told otherwise."""


def _torchtitan_settings(data: dict[str, Any], file: str, lines: dict[str, int]) -> Settings:
    values = {
        name: Setting(value=value, line=lines.get(name, 1))
        for name, value in ((".".join(steps), value) for steps, value in leaves(data))
    }
    return Settings("torchtitan", file, values, nulls=("",))  # TOML has no null: `mode = "none"` is a mode


def _is_job(settings: Settings) -> bool:
    """Return whether a setting that is read here is stated."""
    stated = {name for names in _SIZES.values() for name in names}
    stated |= {"model.flavor", "training.local_batch_size", "training.batch_size", "activation_checkpoint.mode"}
    return any(name in stated or name.startswith("parallelism.") for name in settings.values)


def _flavour(settings: Settings) -> str:
    """Return the id of the catalogue of the model that is named; empty, with a remark, if it has none."""
    name, kind = settings.word("model.name"), settings.word("model.flavor")
    model = FLAVOURS.get((name, kind), "")
    if not model and (name or kind):
        settings.remark(f"the catalogue has no model for `{name[:40]}` in flavour `{kind[:40]}`: give `--model`")
    elif not model:
        settings.remark("the file names no model: give `--model`")
    return model


def _plan_of(settings: Settings, layers: int | None) -> dict[str, Any]:
    """Return the fields of a plan; `layers` of the model, if the catalogue has it."""
    plan: dict[str, Any] = {field: settings.whole(*names) for field, names in _SIZES.items()}
    plan = {field: size for field, size in plan.items() if size is not None} | _experts(settings, plan["expert"] or 1)
    local = settings.whole("training.local_batch_size", "training.batch_size")
    if local is None:
        settings.remark("training.local_batch_size is not stated: micro_batch is 1")
    stages = plan.get("pipeline", 1)
    plan["micro_batch"] = local or 1
    if stages > 1:
        plan |= _pipeline(settings, stages, local or 1, layers)
    batch = settings.whole(_GLOBAL, least=-1)
    if batch is not None and batch > 0:
        plan["batch"] = batch
    else:
        settings.each = local or 1
    plan |= _sharding(settings, stages, plan.get("context", 1)) | _recompute(settings)
    _divided(settings, plan.get("batch"), local)
    # FSDP2 under a pipeline reduces behind the last backward pass, not beside it: see `_sharding`
    overlap = ["parameters"] if stages > 1 and plan["zero"] else ["gradients", "parameters"]
    if settings.flag("parallelism.enable_async_tensor_parallel", "experimental.enable_async_tensor_parallel"):
        overlap.append("tensor")
    return plan | {"overlap": tuple(overlap), "elementwise": _kernels(settings)}


def _divided(settings: Settings, batch: int | None, local: int | None) -> None:
    """Note a batch that its ranks do not divide, which torchtitan refuses too (recalled: train.py)."""
    unit = (local or 1) * (settings.ranks or 1)
    if batch is not None and batch % unit:
        ranks = f" on each of {settings.ranks:,} data-parallel ranks ({settings.ranks_by})" if settings.ranks else ""
        message = f"`global_batch_size` {batch:,} is no multiple of local_batch_size {local or 1}{ranks}"
        settings.fault("config-value", _GLOBAL, message, f"write a multiple of {unit:,}")


def _kernels(settings: Settings) -> str:
    """Return the kernels between GEMMs: one for every operation, unless the layers are compiled.

    torchtitan 0.2.0, config/job_config.py and models/llama3/infra/parallelize.py; older files say so in `[training]`.
    """
    parts = settings.stated("compile.components")
    layers = parts is None or "model" in re.findall(r"\w+", str(parts))
    return "fused" if settings.flag("compile.enable", "training.compile") and layers else "eager"


def _experts(settings: Settings, ranks: int) -> dict[str, Any]:
    """Return the tensor parallelism of experts, 1 unless stated.

    On a single rank of expert parallelism they are split as everything else is, whatever the file says: torchtitan
    0.2.0, config/job_config.py and models/llama4/infra/parallelize.py.
    """
    stated = settings.whole(_EXPERT_TENSOR)
    return {"expert_tensor": stated or 1} if ranks > 1 else {}


def _pipeline(settings: Settings, stages: int, local: int, layers: int | None) -> dict[str, Any]:
    name = settings.word("parallelism.pipeline_parallel_schedule", "experimental.pipeline_parallel_schedule") or "1f1b"
    fields: dict[str, Any] = {"schedule": _SCHEDULES.get(name, "1f1b")}
    if name not in _SCHEDULES:
        settings.remark(f"the schedule `{name[:40]}` has no equivalent: 1f1b is assumed")
    if name == "dualpipev":
        settings.remark("the schedule DualPipeV is taken as zb-v, without its bubble, about a sixth of 1f1b's")
    fields |= _chunks(settings, name, _stages_of_rank(settings, stages, layers))
    micro = settings.whole("parallelism.pipeline_parallel_microbatch_size")
    several = settings.whole(
        "experimental.pipeline_parallel_microbatches", "parallelism.pipeline_parallel_microbatches"
    )
    if micro is not None:
        fields["micro_batch"] = micro
    elif several is not None and local % several == 0:
        fields["micro_batch"] = local // several
    elif name and "parallelism.pipeline_parallel_degree" in settings.values:
        fields["micro_batch"] = 1
        settings.remark("parallelism.pipeline_parallel_microbatch_size is not stated: 1 by default")
    else:
        fields["micro_batch"] = max(1, local // stages)
        settings.remark(f"micro-batches are as many as the stages, {stages}, by the default of older releases")
    return fields


def _chunks(settings: Settings, name: str, each: int | None) -> dict[str, Any]:
    """Return the chunks of a stage in a schedule of that name, where the file gives a rank so many stages, or none."""
    if name == "interleaved1f1b" and each is None:
        settings.remark(f"chunks {_CHUNKS} by torchtitan's default for Interleaved1F1B")
        return {"chunks": _CHUNKS}
    if each is None:
        return {}
    fits = each > 1 if name == "interleaved1f1b" else each == _ON_A_RANK.get(name, each)
    if not fits:
        asks = "several" if name == "interleaved1f1b" else str(_ON_A_RANK[name])
        message = f"the layers are cut into {plural(each, 'stage')} on each rank, and the schedule {name} has {asks}"
        where = _PARTS if _PARTS in settings.values else _EACH
        settings.fault("config-value", where, message, "take another schedule, or leave it out")
    elif name == "interleaved1f1b":
        return {"chunks": each}
    elif name not in _ON_A_RANK and each > 1:
        settings.remark(f"{each:,} stages on each rank have no field in a plan with the schedule `{name[:40]}`")
    return {}


def _stages_of_rank(settings: Settings, ranks: int, layers: int | None) -> int | None:
    """Return the stages that a rank of a pipeline holds, where the file says how layers are cut; else None.

    Layers, and those that embedding and output weigh, 1 each unless stated, over the layers of a stage, rounded up, are
    the stages; torchtitan refuses a number that its ranks do not divide (0.2.0, distributed/pipeline_parallel.py,
    pipeline_llm; recalled).
    """
    less = [settings.whole(name, least=0) for name in _LESS]
    cut, each = settings.stated(_PARTS), settings.whole(_EACH)
    if isinstance(cut, list) and cut:
        count, by = len(cut), f"{len(cut):,} parts of module_fqns_per_model_part"
        settings.remark("module_fqns_per_model_part has no field in a plan but by its stages: layers are spread evenly")
    elif each is not None and layers is not None:
        first, last = (1 if weight is None else weight for weight in less)
        count = -(-(layers + first + last) // each)
        by = f"{layers:,} layers, {first} for embedding and {last} for output over {each} layers a stage"
    else:
        if each is not None:
            settings.remark(f"{_short(_EACH)} {each} gives no chunks: the catalogue does not have the model's layers")
        count, by = 0, ""
    for name, weight in zip(_LESS, less, strict=True):
        if weight is not None and weight != 1:
            settings.remark(f"{_short(name)} {weight} has no field in a plan: a plan counts embedding and output as 1")
    if not count:
        return None
    if count % ranks:
        message = f"{by} make {count:,} stages, which {ranks:,} pipeline ranks do not divide"
        where = _PARTS if isinstance(cut, list) else _EACH
        settings.fault("config-value", where, message, f"write one that makes a multiple of {ranks:,} stages")
        return None
    return count // ranks


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _sharding(settings: Settings, stages: int, context: int) -> dict[str, Any]:
    """Return precision and sharding, by FSDP2 over the ranks of data and of context parallelism.

    Without a pipeline, ZeRO 3; ZeRO 2 where parameters are kept after the forward pass. Under one, ZeRO 1: gradients
    stay whole and are reduced once, behind the last backward pass, and parameters stay gathered (torch 2.9.0,
    distributed/pipelining/stage.py, backward_maybe_with_nosync; torchtitan 0.2.0, models/llama3/infra/parallelize.py
    and distributed/parallel_dims.py).
    """
    shard, copies = settings.whole(*_SHARD, least=-1), settings.whole(*_COPIES)
    if shard == 0:
        settings.fault("config-value", next(name for name in _SHARD if name in settings.values), *_NO_SHARD)
    reshard = settings.word("parallelism.fsdp_reshard_after_forward") or "default"
    sharded = shard != 1 or context > 1
    fields: dict[str, Any] = {"zero": 0 if not sharded else 1 if stages > 1 else 2 if reshard == "never" else 3}
    if fields["zero"] == 1 and reshard == "always":
        settings.remark(
            "fsdp_reshard_after_forward always has no field in a plan with pipeline stages: parameters stay gathered "
            "for the step"
        )
    if shard is not None and shard >= 1:
        settings.ranks = shard * (copies or 1)
        copied = f"data_parallel_replicate_degree {copies} times " if copies else ""
        settings.ranks_by = f"{copied}data_parallel_shard_degree {shard}"
        fields |= {"shard": shard * context} if sharded else {}
    elif sharded and copies is not None and copies > 1:
        settings.remark(f"data_parallel_replicate_degree {copies}: give `shard`, the data-parallel ranks over {copies}")
    converted = f"{settings.stated('model.converters')} {settings.word('float8.enable_float8_linear')}".lower()
    eight = "float8" in converted or "true" in converted
    stored = settings.word("training.mixed_precision_param") or "bfloat16"
    if not sharded:
        settings.remark("without FSDP parameters stay in 32 bits unless training.dtype says otherwise: a plan has bf16")
    fields["precision"] = "fp8" if eight else "tf32" if stored == "float32" else "bf16"
    reduced = settings.word("training.mixed_precision_reduce") or "float32"
    return fields | {"grad_dtype": "fp32", "grad_reduce_dtype": "fp32" if reduced == "float32" else "bf16"}


def _recompute(settings: Settings) -> dict[str, Any]:
    """Return the recomputation: every second product in the mode `op`, which a file must name.

    By default torchtitan recomputes every second layer whole: 0.2.0, config/job_config.py, selective_ac_option, and
    distributed/activation_checkpoint.py, where 0 is every layer, as is 1.
    """
    mode = settings.word("activation_checkpoint.mode") or "selective"
    option = settings.word("activation_checkpoint.selective_ac_option")
    if mode in ("full", "none"):
        return {"recompute": mode}
    if mode != "selective":
        settings.remark(f"activation_checkpoint.mode `{mode[:40]}` has no equivalent: no recomputation")
        return {"recompute": "none"}
    if option == "op":
        return {"recompute": "every-second"}
    if option in ("0", "1"):
        return {"recompute": "full"}
    stated = f"selective_ac_option {option[:40]}" if option else f"selective_ac_option is not stated, so {_EVERY}"
    settings.remark(f"{stated}: whole layers at times, which has no field in a plan: every layer is kept")
    return {"recompute": "none"}


def _without_field(settings: Settings) -> list[str]:
    return [name for name in settings.unread(_DULL) if name.startswith(_READ)]
