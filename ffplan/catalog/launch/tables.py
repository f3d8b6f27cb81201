"""Settings in YAML: of NeMo, Megatron Bridge and Megatron-LM, as one flat table with the names of Megatron-LM."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.catalog.launch.settings import Setting, _noted, leaves

if TYPE_CHECKING:
    from ffplan.inputs.document import Document

_LEFT_OUT = frozenset(
    {"exp_manager", "hydra", "inference", "peft", "lora", "checkpoint", "logger", "profiling", "rng", "resume"}
    | {"nsys_profile", "env_vars", "ENV_VARS"}
)
"""Sections without settings of a model or a plan."""
_OF_SECTION = frozenset(["optim", "optimizer", "sched", "scheduler", "tokenizer", "data", "dataset", "ddp"])
"""Sections whose common names say nothing without theirs."""
_COMMON = frozenset(["name", "type", "model", "size", "path", "vocab_size", "target", "lr", "dtype"])
RENAMED = {
    "encoder_seq_length": "seq_length",
    "sequence_length": "seq_length",
    "num_moe_experts": "num_experts",
    "optim_name": "optimizer_name",
    "num_layers_in_first_pipeline_stage": "decoder_first_pipeline_num_layers",
    "num_layers_in_last_pipeline_stage": "decoder_last_pipeline_num_layers",
    "activations_checkpoint_granularity": "recompute_granularity",
    "activations_checkpoint_method": "recompute_method",
    "activations_checkpoint_num_layers": "recompute_num_layers",
    "virtual_pipeline_model_parallel_size": "num_virtual_stages_per_pipeline_rank",
    "overlap_grad_sync": "overlap_grad_reduce",
    "overlap_param_sync": "overlap_param_gather",
    "overlap_param_gather_with_optimizer_step": "overlap_param_gather",
    "ub_tp_comm_overlap": "tp_comm_overlap",
    "devices": "nproc_per_node",
    "num_nodes": "nnodes",
    "num_train_gpus": "world_size",
    "fp8_recipe_format": "fp8_format",
    "persist_layer_norm": "no_persist_layer_norm",
    "mcore_gpt": "use_mcore_models",
}
"""Names of Megatron-LM by those of NeMo and of Megatron-Core's configuration."""
_REFERENCE = re.compile(r"\$\{\.*([\w.]+)\}")
_PRODUCT = re.compile(r"\$\{multiply:\s*([^,{}]+),\s*([^,{}]+)\}")
_DEEPEST = 20
"""Most references that are followed [1]."""


def _name_of(steps: tuple[str, ...]) -> str:
    """Return the name that Megatron-LM gives to a setting at a path."""
    name = steps[-1].lstrip("-").replace("-", "_")
    section = steps[-2] if len(steps) > 1 else ""
    if section in _OF_SECTION and name in _COMMON:
        name = f"{section}_{name}"
    return RENAMED.get(name, name)


def _resolved(value: object, found: dict[str, Setting], depth: int = 0) -> object:
    """Return a value with references of OmegaConf replaced; as it is where it refers to nothing known."""
    if not isinstance(value, str) or "${" not in value or depth > _DEEPEST:
        return value
    for match in _REFERENCE.finditer(value):
        name = _name_of(tuple(match[1].split(".")))
        if name in found:
            other = _resolved(found[name].value, found, depth + 1)
            if match[0] == value:
                return other
            value = value.replace(match[0], str(other)[:100])
    product = _PRODUCT.fullmatch(value)
    if product is None:
        return value
    try:
        return int(product[1]) * int(product[2])
    except ValueError:
        return value


def _table_settings(document: Document) -> dict[str, Setting]:
    """Return the settings of a YAML file by the names of Megatron-LM; of a name with two values, both."""
    data = document.data
    found: dict[str, Setting] = {}
    for steps, value in leaves(data, _LEFT_OUT) if isinstance(data, dict) else ():
        _noted(found, _name_of(steps), Setting(value, document.place(steps, key=True)[0]))
    return {name: _known(setting, found) for name, setting in found.items()}


def _known(setting: Setting, found: dict[str, Setting]) -> Setting:
    """Return a setting with its references replaced."""
    value = _resolved(setting.value, found)
    again = setting.again
    if again is not None and _resolved(again[0], found) == value:
        again = None
    unknown = "it refers to what this file does not say" if isinstance(value, str) and "${" in value else ""
    return Setting(value, setting.line, unknown, again)
