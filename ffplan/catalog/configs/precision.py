"""The precision of published weights, from `quantization_config`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.catalog.configs.config_file import shown

if TYPE_CHECKING:
    from ffplan.catalog.configs.fields import _ConfigFields

_METHODS = {"fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "mxfp4"}
"""Precision by method."""
_FP8_BITS = 8


def checkpoint(fields: _ConfigFields, remarks: list[str]) -> dict[str, Any]:
    """Return the precision of the weights, and of the matrices around attention; nothing for 16 bits.

    Args:
        remarks: takes a remark on a precision that a model cannot state.
    """
    outer = fields.config.data.get("quantization_config")
    stated = fields.stated("quantization_config") or outer
    if not isinstance(stated, dict):
        return {}
    method = stated.get("quant_method")
    precision = _METHODS.get(str(method)) or _of_groups(stated)
    if precision is None:
        bits = stated.get("bits") or stated.get("w_bit") or stated.get("quant_algo") or stated.get("format")
        said = f"{shown(method)}{f' ({shown(bits)})' if bits else ''}"
        remarks.append(
            f"its weights are quantised by {said}, for which `checkpoint` has no word: it stands as bf16, "
            "and `serve` takes a `--precision`"
        )
        return {}
    kept = stated.get("modules_to_not_convert") or stated.get("ignored_layers") or []
    attention = any("self_attn" in name for name in kept if isinstance(name, str)) if isinstance(kept, list) else False
    return {"checkpoint": precision, **({"attention_fp4": "bf16"} if precision == "mxfp4" and attention else {})}


def _of_groups(stated: dict[str, Any]) -> str | None:
    """Return the precision of compressed-tensors and modelopt, where all weights are of 8-bit floats; None else."""
    if stated.get("quant_algo") == "FP8":
        return "fp8"
    groups = stated.get("config_groups")
    if not isinstance(groups, dict) or not groups:
        return None
    weights = [group.get("weights") if isinstance(group, dict) else None for group in groups.values()]
    floats = [
        isinstance(kind, dict) and kind.get("type") == "float" and kind.get("num_bits") == _FP8_BITS for kind in weights
    ]
    return "fp8" if all(floats) else None
