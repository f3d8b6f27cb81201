"""A `config.json`: the place of each field, checks of those that are read, and other files recognised by content."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffplan.base.control_characters import visible
from ffplan.base.errors import Finding, InputError, Severity, located
from ffplan.base.files import read_limited
from ffplan.base.record import record
from ffplan.catalog.configs.architectures import _refusals
from ffplan.inputs.model import MOST_COUNT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.catalog.configs.architectures import Default

CONFIG, ADAPTER = "config.json", "adapter_config.json"
MOST_BYTES = 16 * 2**20
"""Largest file read [byte]; lists of unquantised layers can take some megabytes."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_SAFETENSORS = re.compile(rb'.{8}\{"', re.DOTALL)
"""A length, and the JSON of the names of tensors."""
_MOST_SHOWN = 60
"""Most letters of a value that a message repeats [1]."""

FieldPath = tuple[str, ...]


@record
class _ConfigFile:
    """A JSON object with the places of its fields."""

    file: str
    """Name as the user wrote it, with `config.json` if a folder was named."""
    sha256: str
    data: dict[str, Any]
    places: dict[FieldPath, tuple[int, int]]
    """Line and column of the name of each field; fields inside lists are left out."""

    def finding(self, rule: str, path: FieldPath, message: str, remedy: str) -> Finding:
        """Return a finding at a field, or at the deepest of those around it that the file has."""
        held = next((path[:end] for end in range(len(path), 0, -1) if path[:end] in self.places), ())
        line, column = self.places.get(held, (1, 1))
        return Finding(
            rule=rule,
            severity=Severity.ERROR,
            file=self.file,
            line=line,
            column=column,
            message=message,
            remedy=remedy,
            path=".".join(path),
        )


def shown(value: object, *, quotes: bool = False) -> str:
    """Return a value for a message: on one line, and short."""
    text = visible(value if isinstance(value, str) and not quotes else json.dumps(value))
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _refuse_other(file: str, raw: bytes) -> None:
    """Refuse weights and other formats that are known by their first bytes."""
    start = next((what for magic, what in _refusals().magic.items() if raw.startswith(magic)), None)
    if start is None and _SAFETENSORS.match(raw):
        start = "weights in the format safetensors"
    if start is not None:
        message = f"this is {start}, which ffplan does not read"
        raise located("config-format", file, (1, 1), message, f"name the {CONFIG} of the model")


def content(name: str) -> tuple[str, bytes]:
    """Return the name and content of a file; for a folder, of the config in it.

    Raises:
        InputError: if it cannot be read.
    """
    file = name
    try:
        if Path(name).is_dir():
            file = f"{name.rstrip('/')}/{CONFIG}"
            if not Path(file).exists():
                file = f"{name.rstrip('/')}/{ADAPTER}"
            if not Path(file).exists():
                message = f"this folder has no {CONFIG}"
                raise located("file-unreadable", name, (1, 1), message, f"name the folder that has it, or the {CONFIG}")
        raw = read_limited(Path(file), MOST_BYTES)
    except FileNotFoundError:
        raise located("file-unreadable", file, (1, 1), "no such file", "check the path") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise located("file-unreadable", file, (1, 1), f"cannot be read: {reason}", "check the path") from None
    if raw is not None:
        return file, raw
    with Path(file).open("rb") as stream:
        start = stream.read(16)
    if start.startswith(tuple(_refusals().magic)) or _SAFETENSORS.match(start):
        return file, start
    message = f"the file is larger than {MOST_BYTES // 2**20} MiB"
    raise located("config-format", file, (1, 1), message, f"a {CONFIG} is a few kilobytes; check that this is the file")


def _parse_config(file: str, raw: bytes) -> _ConfigFile:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        message = "this is not UTF-8 text"
        raise located("config-format", file, (1, 1), message, f"name the {CONFIG} of the model") from None
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        fault = f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        remedy = "download the file again, or correct the JSON here"
        raise located("config-format", file, (error.lineno, error.colno), fault, remedy) from None
    except (RecursionError, ValueError):
        remedy = f"a {CONFIG} holds a few fields; check that this is the file"
        raise located(
            "config-format", file, (1, 1), "this JSON is too deep, or has too long a number", remedy
        ) from None
    if not isinstance(data, dict):
        remedy = f"a {CONFIG} holds an object of fields between braces"
        raise located("config-format", file, (1, 1), "this JSON is not an object", remedy)
    places: dict[FieldPath, tuple[int, int]] = {}
    for path, place in _places(text):
        if path in places:
            line, column = places[path]
            remedy = f"keep one; the first is at line {line}, column {column}"
            raise located("config-format", file, place, f"the field `{shown(path[-1])}` is written twice", remedy)
        places[path] = place
    return _ConfigFile(file, sha256(raw).hexdigest(), data, places)


def _places(text: str) -> Iterator[tuple[FieldPath, tuple[int, int]]]:
    """Yield the path and the place of each field of a valid JSON text, but for those inside lists."""
    starts = [0, *(match.end() for match in re.finditer("\r\n|\r|\n", text))]
    path: list[str | None] = []
    name = ""
    begin = 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in "{[":
            path.append(None)
        elif mark in "}]":
            path.pop()
        elif mark == ":":
            path[-1] = json.loads(name)
            steps = tuple(step for step in path if step is not None)
            if len(steps) == len(path):
                row = bisect_right(starts, begin)
                yield steps, (row, begin - starts[row - 1] + 1)
        else:
            name, begin = mark, token.start()


def _text_fields(config: _ConfigFile) -> FieldPath:
    """Return the path of the object that holds the language model; empty if the file is one throughout."""
    table, data = _refusals(), config.data
    if "peft_type" in data:
        base = data.get("base_model_name_or_path")
        named = f" of its base model, `{shown(base)}`" if isinstance(base, str) and base else " of its base model"
        finding = config.finding(
            "config-format",
            ("peft_type",),
            "this is the config of an adapter, not of a model",
            f"name the {CONFIG}{named}",
        )
        raise InputError(finding)
    inner = next((name for name in ("text_config", "llm_config", "language_config") if name in data), None)
    if inner is not None and isinstance(data[inner], dict):
        return (inner,)
    if "model_type" in data or "architectures" in data:
        return ()
    known = next((name for name in table.files if name in data), None)
    if known is None and any(data.get(name) for name in table.fields):
        return ()  # such as state-space layers in a form of their own
    if known is None:
        message, remedy = "neither `model_type` nor `architectures` is stated", 'add `model_type`, such as "llama"'
        raise InputError(config.finding("config-field", (), message, remedy))
    other = table.files[known]
    raise InputError(config.finding("config-format", (known,), f"this is {other['what']}", other["remedy"]))


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
