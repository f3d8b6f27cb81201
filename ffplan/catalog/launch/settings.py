"""Settings of a training program by name, with their lines, also from YAML; wrong and missing ones are collected."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import Finding, Severity
from ffplan.base.record import record
from ffplan.catalog.configs.config_file import shown as short_text
from ffplan.inputs.model import MOST_COUNT

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from ffplan.inputs.document import Document


_NOTHING = ("none", "null", "")
_NO = ("false", "0", "no", "off")


def shown(value: object) -> str:
    """Return a value for a message: on one line, and short."""
    return short_text(" ".join(str(value).split()))


@record
class Setting:
    """One setting as written."""

    value: object
    """Its value; True for an argument without one."""
    line: int
    unknown: str = ""
    """Why its value is not known, such as of a variable that the file does not set."""
    again: tuple[object, int] | None = None
    """Another value of the same name, and its line."""
    written: str = ""
    """Its name in the file, where the program's is another."""

    def absent(self, nulls: tuple[str, ...] = _NOTHING) -> bool:
        """Return whether it is a null, or a text for one, which is as if the file lacked it."""
        return self.value is None or (isinstance(self.value, str) and self.value.strip().lower() in nulls)


def _noted(settings: dict[str, Setting], name: str, setting: Setting) -> None:
    """Add a setting; of a name with two values, keep both. A null gives way to a value."""
    first = settings.setdefault(name, setting)
    if first.absent() or setting.absent():
        settings[name] = setting if first.absent() else first
    elif first is not setting and first.value != setting.value and first.again is None:
        settings[name] = replace(first, again=(setting.value, setting.line))


def leaves(
    table: Mapping[Any, Any], left_out: Container[str] = (), path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield the path and the value of every setting of a nested table."""
    for key, value in table.items():
        steps = (*path, str(key))
        if not isinstance(value, dict):
            yield steps, value
        elif str(key) not in left_out:
            yield from leaves(value, left_out, steps)


class Settings:
    """The settings of one file."""

    def __init__(
        self,
        program: str,
        file: str,
        values: dict[str, Setting],
        prefix: str = "",
        nulls: tuple[str, ...] = _NOTHING,
    ) -> None:
        """Take settings, but for nulls.

        Args:
            nulls: texts that stand for a null in files of the program.
        """
        self.program, self.file, self.prefix = program, file, prefix
        self.values = {name: setting for name, setting in values.items() if not setting.absent(nulls)}
        self.strict = False
        """Whether an unknown value is always a fault, as of a dimension."""
        self.used: set[str] = set()
        self.faults: list[Finding] = []
        self.remarks: list[str] = []
        self.assumed: list[str] = []
        """Values of settings that the file leaves to the program."""
        self.each = 0
        """Sequences of a step on each data-parallel rank if no batch is stated; else, or if unknown, 0."""
        self.world: int | None = None
        """Accelerators that the file starts the job on, if it says so."""
        self.world_by = ""
        """What these rest on, or why they are not known."""
        self.ranks: int | None = None
        """Data-parallel ranks that its settings fix together."""
        self.ranks_by = ""
        """These settings, with their values."""
        self.ranks_of: frozenset[str] = frozenset({"data"})
        """Fields of the plan that fix other ranks where options give them."""
        self.steps = 0
        """Accumulation steps that, with a stated batch, fix the micro-batch on any number of ranks; else 0."""

    def label(self, name: str) -> str:
        """Return a name as the file writes it, or would."""
        if name in self.values and self.values[name].written:
            return f"{self.prefix}{self.values[name].written}"
        return f"{self.prefix}{name.replace('_', '-') if self.prefix else name}"

    def line(self, *names: str) -> int:
        """Return the line of the first of some settings that the file has; else 1."""
        return next((self.values[name].line for name in names if name in self.values), 1)

    def fault(self, rule: str, name: str, message: str, remedy: str) -> None:
        """Note a fault of a setting."""
        self.faults.append(
            Finding(
                rule=rule,
                severity=Severity.ERROR,
                file=self.file,
                line=self.line(name),
                column=1,
                message=message,
                remedy=remedy,
                path=name,
            )
        )

    def remark(self, text: str) -> None:
        """Note what has no equivalent, or is missing; once."""
        if text not in self.remarks:
            self.remarks.append(text)

    def stated(self, *names: str, needed: bool = False) -> object | None:
        """Return the value of the first of some names that the file has; None if none has one.

        Args:
            needed: an unknown value is a fault, else a remark.
        """
        self.used.update(names)
        name = next((name for name in names if name in self.values), None)
        if name is None:
            return None
        setting = self.values[name]
        if setting.again is not None:
            value, line = setting.again
            message = f"`{self.label(name)}` is set to {shown(setting.value)}, and to {shown(value)} at line {line}"
            self.fault("config-value", name, message, "keep one of them")
            return None
        if setting.unknown:
            message = f"`{self.label(name)} {shown(setting.value)}`: {setting.unknown}"
            if needed or self.strict:
                self.fault("config-field", name, message, f"write `{self.label(name)}` with its value")
            else:
                self.remark(f"{message}; left out")
            return None
        return setting.value

    def whole(self, *names: str, least: int = 1, needed: bool = False) -> int | None:
        """Return a whole number; None if it is wrong, or missing, a fault if `needed`."""
        faults = len(self.faults)
        value = self.stated(*names, needed=needed)
        number = value if isinstance(value, int) and not isinstance(value, bool) else _whole(value)
        if number is not None and least <= number <= MOST_COUNT:
            return number
        first = next((name for name in names if name in self.values), names[0])
        if value is not None:
            said = "has no value" if value is True and self.prefix else f"is `{shown(value)}`"
            message = f"`{self.label(first)}` {said}"
            self.fault("config-value", first, message, f"write a whole number from {least:,} to {MOST_COUNT:,}")
        elif needed and len(self.faults) == faults:
            message = f"`{self.label(first)}` is missing"
            self.fault("config-field", first, message, f"add `{self.label(first)}` and its number")
        return None

    def flag(self, *names: str) -> bool:
        """Return whether one of some settings is on; an argument is on, whatever its value."""
        self.used.update(names)
        settings = [self.values[name] for name in names if name in self.values]
        return any(str(setting.value).lower() not in (*_NO, *_NOTHING) for setting in settings)

    def off(self, *names: str) -> bool:
        """Return whether one of some settings is stated as off."""
        self.used.update(names)
        return any(str(self.values[name].value).lower() in _NO for name in names if name in self.values)

    def word(self, *names: str) -> str:
        """Return a text in lower case; empty if missing."""
        value = self.stated(*names)
        return "" if value is None else str(value).strip().lower()

    def unread(self, ignored: re.Pattern[str]) -> list[str]:
        """Return the names that were never read, except ignored prefixes."""
        return sorted(name for name in self.values if name not in self.used and ignored.match(name) is None)


def _whole(value: object) -> int | None:
    """Return a number written as text, or a whole float; None if it is none."""
    try:
        number = float(str(value).replace("_", "")) if value is not None and not isinstance(value, bool) else 0.5
        return int(number) if number == int(number) else None
    except (ValueError, OverflowError):
        return None


_LEFT_OUT = frozenset(
    {"exp_manager", "hydra", "inference", "peft", "lora", "checkpoint", "logger", "profiling", "rng", "resume"}
    | {"nsys_profile", "env_vars", "ENV_VARS"}
)
"""Sections without settings of a model or a plan."""
_OF_SECTION = frozenset(["optim", "optimizer", "sched", "scheduler", "tokenizer", "data", "dataset", "ddp"])
"""Sections whose common names are ambiguous without theirs."""
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
"""Megatron-LM's name for a setting of NeMo or Megatron-Core."""
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


def _written(steps: tuple[str, ...]) -> str:
    """Return the name of a setting in its file, with its section where the name alone is ambiguous."""
    named = len(steps) > 1 and steps[-2] in _OF_SECTION and steps[-1] in _COMMON
    return ".".join(steps[-2:]) if named else steps[-1]


def _resolved(value: object, settings: dict[str, Setting], depth: int = 0) -> object:
    """Return a value with OmegaConf's references replaced; unchanged if a reference is unknown."""
    if not isinstance(value, str) or "${" not in value or depth > _DEEPEST:
        return value
    for match in _REFERENCE.finditer(value):
        name = _name_of(tuple(match[1].split(".")))
        if name in settings:
            other = _resolved(settings[name].value, settings, depth + 1)
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
    settings: dict[str, Setting] = {}
    for steps, value in leaves(data, _LEFT_OUT) if isinstance(data, dict) else ():
        line = document.place(steps, key=True)[0]
        _noted(settings, _name_of(steps), Setting(value=value, line=line, written=_written(steps)))
    return {name: _known(setting, settings) for name, setting in settings.items()}


def _known(setting: Setting, settings: dict[str, Setting]) -> Setting:
    value = _resolved(setting.value, settings)
    again = setting.again
    if again is not None and _resolved(again[0], settings) == value:
        again = None
    unknown = "it refers to a setting that this file lacks" if isinstance(value, str) and "${" in value else ""
    return replace(setting, value=value, unknown=unknown, again=again)
