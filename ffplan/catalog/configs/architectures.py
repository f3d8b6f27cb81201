"""Architectures by `model_type`, from `architectures.yaml`, and models that no dimensions describe."""

from __future__ import annotations

from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any

from ffplan.base.record import record
from ffplan.inputs.document import read_document

Default = int | bool | None


@record
class _ExpertFields:
    """Fields of a mixture of experts."""

    routed: str = "num_experts"
    top_k: str = "num_experts_per_tok"
    ffn: str = "moe_intermediate_size"
    shared: str | int = 0
    """Field with the number of shared experts, or the number."""
    shared_ffn: str = ""
    """Field with the width of all shared experts together."""
    groups: str = ""
    """Field with the groups of experts."""
    top_groups: str = ""
    """Field with the groups that a token may go to."""
    dense: str = ""
    """Field with the number of first layers without experts."""
    every: str = ""
    """Field with n, where every n-th layer has experts."""
    without: str = ""
    """Field that lists the layers without experts."""
    listed: str = ""
    """Field that lists the layers with experts."""


@record
class _WindowFields:
    """Layers with a sliding window, where `layer_types` does not list them."""

    period: int = 1
    """Every n-th layer attends to all tokens [1]; with 1 none does."""
    period_field: str = ""
    """Field with another period."""
    switch: str = ""
    """Field that turns windows on."""
    start: str = ""
    """Field with the first layer that has a window."""


@record
class _Architecture:
    """Fields and traits of one architecture; `|` separates names of the same field."""

    classes: str
    """Start of the name of its class under `architectures`."""
    defaults: dict[str, Default] = field(default_factory=dict)
    """Values of fields that a file may leave out."""
    layers: str = "num_hidden_layers"
    """Field with the layers."""
    hidden: str = "hidden_size"
    """Field with the width."""
    heads: str = "num_attention_heads"
    """Field with the attention heads."""
    kv_heads: str = "num_key_value_heads"
    """Field with the heads of keys and values; empty if it has as many as heads."""
    single: str = ""
    """Field that gives all heads one key and value."""
    grouped: str = ""
    """Field without which `kv_heads` has no effect, and with which `single` has none."""
    ffn: str = "intermediate_size"
    """Field with the inner width of the feed-forward network."""
    ffn_ratio: str | int = 0
    """Inner width over the width of the model where `ffn` is not stated, or the field with it; 0 if it must be."""
    context: str = "max_position_embeddings"
    """Field with the longest sequence."""
    gated: bool = True
    """Whether the feed-forward network is gated."""
    biases: bool | str = False
    """Whether linear layers and norms have biases, or the field that says so, behind `!` if it says the opposite."""
    learned: bool | str = False
    """Whether positions are learned, or the field that says so."""
    alibi: str = ""
    """Field of what replaces learned positions."""
    offset: int = 0
    """Learned positions beyond the longest sequence [1]."""
    latent: bool = False
    """Whether attention is multi-head latent attention."""
    experts: _ExpertFields | None = None
    """Its experts."""
    window: _WindowFields | None = None
    """Its sliding windows."""
    must: dict[str, int | str] = field(default_factory=dict)
    """Values that fields must have if the dimensions are to describe it, or the field whose value they must have."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Remarks on what fields add to a model and the dimensions leave out."""
    always: tuple[str, ...] = ()
    """Remarks on omissions of the dimensions in every such model."""


@record
class _Refusals:
    """Models that a transformer's dimensions cannot describe, and files other than `config.json`."""

    types: dict[str, str]
    """Reasons by `model_type`."""
    fields: dict[str, str]
    """Reasons by field."""
    layers: dict[str, str]
    """Reasons by the start of a kind of layer under `layer_types`."""
    files: dict[str, dict[str, str]]
    """Other JSON files by one of their fields: kind of file, and remedy."""
    magic: dict[bytes, str]
    """Other files by their first bytes."""


def _table(name: str) -> Any:
    return read_document(Path(__file__).with_name(name)).data


@cache
def architectures() -> dict[str, _Architecture]:
    """Return the architectures by `model_type`."""
    rows: dict[str, dict[str, Any]] = {}
    for name, stated in _table("architectures.yaml").items():
        base = rows[stated["like"]] if "like" in stated else {}
        overrides = {key: value for key, value in stated.items() if key != "like"}
        defaults = overrides.get("defaults", {})
        overrides["defaults"] = {} if defaults is None else {**base.get("defaults", {}), **defaults}
        rows[name] = {**base, **overrides}
    return {name: _architecture(row) for name, row in rows.items()}


def _architecture(row: dict[str, Any]) -> _Architecture:
    parts = {"experts": _ExpertFields, "window": _WindowFields}
    made = {
        key: parts[key](**value) if key in parts and value is not None else value
        for key, value in row.items()
        if key != "always"
    }
    return _Architecture(**made, always=tuple(row.get("always", ())))


@cache
def _refusals() -> _Refusals:
    table = _table("refused.yaml")
    return _Refusals(
        types={name: reason for reason, names in table["types"].items() for name in names},
        fields=table["fields"],
        layers=table["layers"],
        files=table["files"],
        magic={start.encode("latin-1"): what for start, what in table["magic"].items()},
    )
