"""The dimensions of a model from the arguments of Megatron-LM, or the same settings of NeMo.

Names and defaults follow Megatron-LM's `megatron/training/arguments.py` and NeMo's `megatron_gpt_config.yaml`
(recalled).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ffplan.catalog.launch.settings import shown

if TYPE_CHECKING:
    from ffplan.catalog.launch.settings import Settings

_LATENT = {
    "query_rank": ("q_lora_rank", None),
    "key_value_rank": ("kv_lora_rank", 512),
    "rope_dim": ("qk_pos_emb_head_dim", 64),
    "nope_dim": ("qk_head_dim", 128),
    "value_dim": ("v_head_dim", 128),
}
"""Settings of multi-head latent attention, and their defaults."""
_TOKENIZERS = {"gpt2bpetokenizer": 50257, "llama2tokenizer": 32000}
"""Entries of the vocabularies that a tokenizer's name determines."""
_UNDESCRIBED = {
    "hybrid_override_pattern": "state-space layers",
    "hybrid_layer_pattern": "layers of several kinds",
    "is_hybrid_model": "state-space layers",
    "mamba_state_dim": "state-space layers",
    "linear_attention_freq": "linear attention",
    "experimental_attention_variant": "another attention",
    "encoder_num_layers": "an encoder beside the decoder",
    "heterogeneous_layers_config_path": "layers that differ in width",
}
"""Features that a transformer's dimensions do not describe, by setting."""
_GATED = ("swiglu", "fast-swiglu", "geglu", "fast-geglu", "reglu", "fast-reglu", "silu", "openai-geglu")
_PATTERN = re.compile(r"\[[01](?:,[01])*,?\](?:\*\d{1,4})?(?:\+\[[01](?:,[01])*,?\](?:\*\d{1,4})?)*")
_MOST_LAYERS = 10_000
_PADDING = 128
"""Default of `make_vocab_size_divisible_by` [1]."""


def _has_architecture(settings: Settings) -> bool:
    """Return whether a file states layers or width of a model."""
    return "num_layers" in settings.values or "hidden_size" in settings.values


def _dimensions(settings: Settings) -> dict[str, Any]:
    """Return the dimensions of a model; faults of its settings are noted."""
    settings.strict = True
    for name, reason in _UNDESCRIBED.items():
        if settings.flag(name):
            message = f"`{settings.label(name)}`: the model has {reason}, which no dimensions describe"
            settings.fault("config-unsupported", name, message, "give a model of attention and feed-forward layers")
    layers, hidden = settings.whole("num_layers", needed=True), settings.whole("hidden_size", needed=True)
    dimensions: dict[str, Any] = {"layers": layers, "hidden": hidden, **_attention(settings, hidden)}
    gated = settings.flag("swiglu", "gated_linear_unit") or settings.word("activation", "activation_func") in _GATED
    dimensions |= {"ffn": _inner(settings, hidden, gated=gated), "gated": gated}
    dimensions["biases"] = not (settings.flag("disable_bias_linear") or settings.off("add_bias_linear", "bias"))
    dimensions["vocabulary"] = vocabulary(settings)
    dimensions["sequence"] = settings.whole("seq_length", needed=True)
    dimensions["positions"] = _positions(settings)
    dimensions["tied"] = not _untied(settings)
    dimensions["experts"] = _experts(settings, layers, dimensions["ffn"])
    dimensions["window"] = _window(settings, layers)
    if settings.flag("add_qkv_bias", "qkv_bias") and not dimensions["biases"]:
        settings.remark("biases of queries, keys and values are not counted")
    settings.strict = False
    return {key: value for key, value in dimensions.items() if value not in (None, False, 0)}


def _untied(settings: Settings) -> bool:
    untied = settings.flag("untie_embeddings_and_output_weights")
    return untied or settings.off("share_embeddings_and_output_weights")


def _attention(settings: Settings, hidden: int | None) -> dict[str, Any]:
    heads = settings.whole("num_attention_heads", needed=True)
    dimensions: dict[str, Any] = {"heads": heads}
    if settings.flag("multi_latent_attention"):
        latent = {
            key: settings.whole(name, least=value is not None) or _default(settings, name, value)
            for key, (name, value) in _LATENT.items()
        }
        return {**dimensions, "latent": {key: value for key, value in latent.items() if value is not None}}
    groups = settings.whole("num_query_groups", "num_key_value_heads")
    grouped = settings.flag("group_query_attention", "num_key_value_heads") or not settings.prefix
    if settings.off("group_query_attention"):
        grouped = False
    if groups is not None and grouped and groups != heads:
        dimensions["kv_heads"] = groups
    elif grouped and groups is None and settings.flag("group_query_attention"):
        dimensions["kv_heads"] = _default(settings, "num_query_groups", 1)
    width = settings.whole("kv_channels")
    if width is not None and heads is not None and width * heads != hidden:
        dimensions["head_dim"] = width
    return dimensions


def _default(settings: Settings, name: str, value: int | None) -> int | None:
    if value is not None:
        settings.assumed.append(f"{settings.label(name)} {value:,}")
    return value


def _inner(settings: Settings, hidden: int | None, *, gated: bool) -> int | None:
    """Return the inner width; by default four times the model's, for gated networks 8/3 times, in steps of 64."""
    faults = len(settings.faults)
    stated = settings.whole("ffn_hidden_size")
    if stated is not None or hidden is None or len(settings.faults) > faults:
        return stated
    width = hidden * 8 // 3 // 64 * 64 if gated and settings.program != "NeMo" else 4 * hidden
    return _default(settings, "ffn_hidden_size", width)


def vocabulary(settings: Settings) -> int | None:
    """Return the entries of the vocabulary as padded to be divided among ranks."""
    padded = settings.whole("padded_vocab_size", "pad_vocab_size_to")
    if padded is not None:
        return padded
    kind = ""
    size = settings.whole("override_vocab_size", "vocab_size", "tokenizer_vocab_size")
    if size is None and not {"vocab_size", "override_vocab_size"} & settings.values.keys():
        kind = str(settings.stated("tokenizer_type") or "")
        if not kind and "merge_file" in settings.values:
            kind = "GPT2BPETokenizer"
        size = _TOKENIZERS.get(kind.lower())
        if size is not None:
            settings.remark(f"the vocabulary is {kind}'s: {size:,} entries")
    if size is None:
        if not {"vocab_size", "override_vocab_size"} & settings.values.keys():
            why = f": `{shown(kind)}` does not tell its size" if kind else ""
            remedy = f"add {_vocabulary_words(settings)}: the entries of the tokenizer's vocabulary, a whole number"
            settings.fault("config-field", "tokenizer_type", f"the vocabulary is not stated{why}", remedy)
        return None
    if settings.off("should_pad_vocab"):
        return size
    multiple = settings.whole("make_vocab_size_divisible_by") or _PADDING
    settings.strict = False  # of a TP size that is not known the plan says so
    step = multiple * (settings.whole("tensor_model_parallel_size", "model_parallel_size") or 1)
    settings.strict = True
    full = -(-size // step) * step
    if full != size:
        settings.remark(f"the vocabulary of {size:,} is padded to {full:,}, a multiple of {step:,}")
    return full


def _vocabulary_words(settings: Settings) -> str:
    """Return the setting of a vocabulary as the file would write it, with an example of its value."""
    if settings.prefix:
        return f"`{settings.label('vocab_size')} 32000`"
    if any(setting.written.startswith("model.") for setting in settings.values.values()):
        return "`model.override_vocab_size=32000`"
    if settings.program == "NeMo":
        return "`override_vocab_size: 32000` under `model`"
    return "`vocab_size: 32000`"


def _positions(settings: Settings) -> int | None:
    kind = settings.word("position_embedding_type") or "learned_absolute"
    if settings.flag("use_rotary_position_embeddings") or settings.off("add_position_embedding"):
        kind = "rope"
    if kind != "learned_absolute":
        settings.stated("max_position_embeddings")
        return None
    return settings.whole("max_position_embeddings", needed=True)


def _window(settings: Settings, layers: int | None) -> dict[str, Any] | None:
    value = settings.stated("window_size", "sliding_window")
    if value is None or layers is None:
        return None
    if "window_attn_skip_freq" in settings.values:
        settings.remark(f"{settings.label('window_attn_skip_freq')} is not read: no layer is taken to have a window")
        return None
    tokens = re.search(r"\d{1,9}", str(value))
    return {"layers": layers, "tokens": max(1, int(tokens[0]))} if tokens else None


def _experts(settings: Settings, layers: int | None, ffn: int | None) -> dict[str, Any] | None:
    routed = settings.whole("num_experts")
    if routed is None:
        return None
    mixture: dict[str, Any] = {"routed": routed}
    mixture["top_k"] = settings.whole("moe_router_topk") or _default(settings, "moe_router_topk", 2)
    mixture["ffn"] = settings.whole("moe_ffn_hidden_size") or ffn
    groups, top = settings.whole("moe_router_num_groups"), settings.whole("moe_router_group_topk")
    if groups and top and groups > 1:
        mixture |= {"groups": groups, "top_groups": top}
    shared = settings.whole("moe_shared_expert_intermediate_size", least=0)
    if shared:
        mixture |= {"shared": 1, "shared_ffn": shared}
    return mixture | _placed(settings, layers)


def _placed(settings: Settings, layers: int | None) -> dict[str, Any]:
    """Return which layers have experts: every n-th, or all but the first."""
    value = settings.stated("moe_layer_freq", needed=True)
    if value is None or layers is None:
        return {}
    text = str(value).replace(" ", "").strip("\"'()")
    if text.isdecimal() and 1 <= len(text) <= 4 and int(text):
        step = int(text)
        if layers % step == 0:
            return {"every": step} if step > 1 else {}
    pattern = _listed(text)
    first = pattern.index(1) if pattern is not None and 1 in pattern else 0
    if pattern is not None and len(pattern) == layers and all(pattern[first:]):
        return {"dense_layers": first} if first else {}
    message = f"`{settings.label('moe_layer_freq')}` is `{text[:60]}`"
    remedy = f"write a number that divides {layers:,} layers, or a list of {layers:,} with the zeros first"
    settings.fault("config-unsupported", "moe_layer_freq", message, remedy)
    return {}


def _listed(text: str) -> list[int] | None:
    """Return a list such as [0]*3+[1]*58; None of another text, or one too long."""
    if _PATTERN.fullmatch(text) is None:
        return None
    pattern: list[int] = []
    for part in text.split("+"):
        bits, _, times = part.partition("*")
        pattern += [int(bit) for bit in re.findall("[01]", bits)] * int(times or 1)
        if len(pattern) > _MOST_LAYERS:
            return None
    return pattern
