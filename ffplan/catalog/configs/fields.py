"""Fields of a config, checked as they are read, and the precision of published weights; faults are collected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.catalog.configs.config_file import shown
from ffplan.inputs.model import MOST_COUNT

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.catalog.configs.architectures import Default
    from ffplan.catalog.configs.config_file import FieldPath, _ConfigFile


class _ConfigFields:
    """Fields of a language model, with the defaults of its architecture."""

    def __init__(self, config: _ConfigFile, inside: FieldPath, defaults: dict[str, Default]) -> None:
        self.config, self.inside, self.defaults = config, inside, defaults
        self.faults: list[Finding] = []
        self.assumed: dict[str, Default] = {}
        """Defaults that were taken."""

    def path(self, name: str) -> FieldPath:
        """Return the path of a field: the first of several names that the file has."""
        names = [(*self.inside, *one.split(".")) for one in name.split("|")]
        return next((path for path in names if path in self.config.places), names[0])

    def stated(self, name: str) -> Any:
        """Return the stated value of a field, without defaults; None if it is missing or null."""
        value: Any = self.config.data
        for step in self.path(name):
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def value(self, name: str) -> Any:
        """Return the value of a field: the one stated, else the default; None if it has neither."""
        if not name:
            return None
        stated = self.stated(name)
        first = name.split("|")[0]
        # a null is a value of its own, such as of no window
        if stated is None and self.path(name) not in self.config.places and self.defaults.get(first) is not None:
            self.assumed[first] = self.defaults[first]
            return self.defaults[first]
        return stated

    def refuse(self, rule: str, name: str, message: str, remedy: str) -> None:
        fault = self.config.finding(rule, self.path(name), message, remedy)
        if fault not in self.faults:
            self.faults.append(fault)

    def whole(self, name: str, least: int = 1, *, most: int = MOST_COUNT, needed: bool = True) -> int | None:
        """Return a whole number; None if it is wrong or missing, a fault if needed."""
        value = self.value(name)
        label = name.split("|")[0]
        if value is None:
            if needed:
                self.refuse("config-field", name, f"the field `{label}` is missing", f'add `"{label}":` and its number')
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            remedy = f"write a whole number from {least:,} to {most:,}"
            self.refuse("config-value", name, f"`{label}` is `{shown(value, quotes=True)}`", remedy)
            return None
        return value

    def flag(self, name: str) -> bool:
        """Return a truth value; false if missing."""
        value = self.value(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        self.refuse("config-value", name, f"`{name}` is `{shown(value, quotes=True)}`", "write true or false")
        return False

    def trait(self, name: bool | str) -> bool:
        """Return a trait: a truth value, or a field's value, negated by `!`."""
        if isinstance(name, bool):
            return name
        return not self.flag(name[1:]) if name.startswith("!") else self.flag(name)

    def numbers(self, name: str) -> list[int] | None:
        value = self.value(name)
        if value is None:
            return None
        if isinstance(value, list) and all(isinstance(entry, int) and not isinstance(entry, bool) for entry in value):
            return value
        self.refuse(
            "config-value", name, f"`{name}` is `{shown(value, quotes=True)}`", "write a list of numbers of layers"
        )
        return None

    def texts(self, name: str) -> list[str] | None:
        value = self.value(name)
        if value is None:
            return None
        if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            return value
        self.refuse("config-value", name, f"`{name}` is `{shown(value, quotes=True)}`", "write a list of texts")
        return None


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
