"""Content of another training program's file: program, model and plan."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from dataclasses import field, replace
from hashlib import sha256
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError, located
from ffplan.base.files import text_lines, text_of, unix_lines
from ffplan.base.record import record
from ffplan.catalog.launch import deepspeed, megatron, megatron_plan, torchtitan
from ffplan.catalog.launch.arguments import (
    _Argument,
    _Branches,
    _plain_lines,
    _printed_arguments,
    _settings_of,
    _Variables,
    _without_branches,
    arguments,
)
from ffplan.catalog.launch.settings import RENAMED, Setting, Settings, _name_of, _table_settings
from ffplan.catalog.launch.steps import _of_step, _without_other_steps
from ffplan.catalog.launch.world import _OF_SLURM, _launcher_arguments, _without_asides, sized
from ffplan.inputs.composer import Node
from ffplan.inputs.document import Document, comment, flow, parse_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ffplan.catalog.configs.config_file import _ConfigFile

_KNOWN = (
    "num[-_]layers|hidden[-_]size|num[-_]attention[-_]heads|(?:tensor[-_])?model[-_]parallel[-_]size|"
    "pipeline[-_]model[-_]parallel[-_]size|micro[-_]batch[-_]size|global[-_]batch[-_]size|use[-_]distributed[-_]optimizer|"
    "context[-_]parallel[-_]size|expert[-_]model[-_]parallel[-_]size|recompute[-_]granularity|zero[-_]stage"
)
"""Settings that identify a file of Megatron-LM or NeMo."""
_ARGUMENT = re.compile(rf"(?<![\w$-])--(?:{_KNOWN})(?![\w-])(?!\s*:)|(?<![\w.])(?:model|trainer)\.\w[\w.]*=")
_NAME = re.compile(_KNOWN)
_ROW = re.compile(
    rf"(?m)^[ \t]*(?:[']?(?:--)?(?:{_KNOWN})[']?[ \t]*:(?:\s|$)|\"(?:--)?(?:{_KNOWN})\"[ \t]*:(?!.*,[ \t\r]*$))"
)
"""A row of YAML; one of JSON ends with a comma."""
_SHARED = frozenset(["micro_batch_size", "context_parallel_size"])
"""Names of these that other programs, such as Axolotl, have too: none of them makes a file Megatron-LM's."""
_OTHERS = (
    ("Axolotl", r"base_model"),
    ("LLaMA-Factory", r"finetuning_type|cutoff_len"),
    ("Accelerate", r"distributed_type|(?:fsdp|deepspeed)_config_file"),
    ("the Trainer of Hugging Face", r"per_device_train_batch_size"),
    ("MosaicML", r"device_train_microbatch_size|global_train_batch_size"),
)
"""Programs whose YAML no reader takes, and settings at its top that they alone have; the first counts."""
_OTHER = tuple((name, re.compile(rf"(?m)^(?:{marks})[ \t]*:")) for name, marks in _OTHERS)
_SECTION = re.compile(
    r"(?m)^[ \t]*\[(?:model|training|parallelism|activation_checkpoint|experimental|job|lr_scheduler|float8)\]"
    r"[ \t]*(?:#.*)?\r?$"
)
_TITLE = re.compile(r"^[ \t]*\[([\w.]+)\]")
_ROW_OF_TOML = re.compile(r"^[ \t]*([\w-]+)[ \t]*=")
_NEMO = frozenset(
    ["encoder_seq_length", "activations_checkpoint_granularity", "num_nodes", "share_embeddings_and_output_weights"]
)
"""Names that NeMo alone has."""
_MOST_BYTES = 4 * 2**20
"""Largest file of arguments [byte]."""
_LEAST = 2
"""Settings that make a YAML file one of a training program [1]."""


@record
class LaunchSize:
    """Size of a job, as the command knows it, for a plan in another program's file."""

    gpus: int | None = None
    """Accelerators that were asked for."""
    most: int | None = None
    """Accelerators of a job where nobody says; None leaves the batch open."""
    fields: dict[str, Any] = field(default_factory=dict)
    """Fields of the plan that options give."""


@record
class Launch:
    """A model and a training plan as another program takes them."""

    program: str
    file: str
    sha256: str
    """Of the file's bytes."""
    dimensions: dict[str, Any] | None
    """Of the model; None if the file has none."""
    part: str
    """Id of the catalogue of the model that the file names; empty if it names none."""
    plan: dict[str, Any]
    """Fields of a training plan."""
    lines: dict[str, int]
    """Line of each of them that the file states."""
    of_model: tuple[str, ...]
    """Assumptions and omissions of the model."""
    of_plan: tuple[str, ...]
    """The same of the plan."""

    @property
    def text(self) -> str:
        """The plan's file."""
        head = [f"Read from {PurePosixPath(self.file).name} ({self.program})", *self.of_plan]
        rows = [f"{name}: {flow(value)}" for name, value in self.plan.items()]
        return "\n".join([*(f"# {comment(line)}" for line in head), "kind: training-plan", *rows]) + "\n"

    def document(self) -> Document:
        """Return the plan as a separate document, with places in this file."""
        data = {"kind": "training-plan", **{key: _flowed(value) for key, value in self.plan.items()}}
        places = {name: (self.lines.get(name, 1), 1) for name in data}
        children = {name: _node(value, *places[name]) for name, value in data.items()}
        root = Node(1, 1, data, children, places, size=1 + len(data), height=1)
        return Document(self.file, self.sha256, root)


def _flowed(value: object) -> object:
    """Return a value as YAML reads it: a list in place of a tuple."""
    return list(value) if isinstance(value, tuple) else value


def _node(value: object, line: int, column: int) -> Node:
    children = [Node(line, column, child) for child in value] if isinstance(value, list) else None
    return Node(line, column, value, children)


def read_launch(raw: bytes, file: str, job: LaunchSize | None = None) -> Launch | None:
    """Return the model and plan in a file of a training program; None for other files.

    Args:
        job: what fills the batch of a file that states none.

    Raises:
        InputError: if it is, but its settings are wrong, contradict each other, or hold neither model nor plan.
    """
    read = _read_pasted(raw, file)
    return None if read is None else replace(_sized(*read, job or LaunchSize()), sha256=sha256(raw).hexdigest())


def _read_pasted(raw: bytes, file: str) -> tuple[Launch, Settings] | None:
    """Read a file as it is; else, without what pasting put around its lines."""
    read, fault = None, None
    try:
        read = _read(raw, file)
        if read is not None or raw.startswith(b"{") or len(raw) > _MOST_BYTES:
            return read
    except InputError as error:
        fault = error
    from ffplan.base.pasted import _bare_file

    bare = _bare_file(raw)
    if bare is not None:
        with suppress(InputError):
            read, fault = _read(bare, file), None
    if fault is not None:
        raise fault
    return read


def _read(raw: bytes, file: str) -> tuple[Launch, Settings] | None:
    text = text_of(raw) if len(raw) <= _MOST_BYTES else None
    if text is None or "\0" in text:
        return None
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if start == "{":
        return _deepspeed(raw, file)
    _refuse_others(text, file)
    kinds: list[tuple[str, Callable[[], tuple[Launch, Settings]]]] = []
    if _SECTION.search(text):
        kinds.append(("settings of torchtitan", lambda: _torchtitan(text, raw, file)))
    if (table := _known_rows(text)) >= _LEAST:
        kinds.append(("settings in YAML", lambda: _yaml(raw, file)))
    if (printed := _printed_arguments(text)) or _ARGUMENT.search(_plain_lines(text)):
        rows = printed or None
        kinds.append(("arguments of Megatron-LM", lambda: _arguments(text, raw, file, printed=rows is not None)))
    if not kinds and table:
        kinds.append(("settings in YAML", lambda: _yaml(raw, file)))
    if len(kinds) > 1:
        both = " and ".join(name for name, _ in kinds)
        raise located("config-format", file, (1, 1), f"the file holds {both}", "give a file of one program at a time")
    return kinds[0][1]() if kinds else None


def _known_rows(text: str) -> int:
    """Count the rows of YAML with settings of Megatron-LM or NeMo; none if other programs have all of them too."""
    names = [match[0].replace("-", "_") for row in _ROW.findall(text) if (match := _NAME.search(row))]
    return len(names) if set(names) - _SHARED else 0


def _refuse_others(text: str, file: str) -> None:
    """Refuse a file of a program that no reader takes: a few names that it shares would give a wrong plan."""
    for program, marks in _OTHER:
        if (mark := marks.search(text)) is not None:
            place = (text.count("\n", 0, mark.start()) + 1, 1)
            message = f"this is a file of {program}, which is not read"
            remedy = "give the JSON of DeepSpeed that it names, or state its plan with options such as `--zero`"
            raise located("config-format", file, place, message, remedy)


def _deepspeed(raw: bytes, file: str) -> tuple[Launch, Settings] | None:
    from ffplan.catalog.configs.config_file import _parse_config

    config: _ConfigFile = _parse_config(file, raw)
    if "model_type" in config.data or not deepspeed.KEYS & config.data.keys():
        return None
    settings = deepspeed._deepspeed_settings(config)
    plan = deepspeed._plan_of(settings)
    return _launch(settings, raw, plan, without=deepspeed._without_field(settings)), settings


def _torchtitan(text: str, raw: bytes, file: str) -> tuple[Launch, Settings]:
    try:
        data = tomllib.loads(unix_lines(text.lstrip("\ufeff")))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        fault = str(error) or "too deep"
        place = re.search(r"\(at line (\d+), column (\d+)\)", fault)
        at = (int(place[1]), int(place[2])) if place else (1, 1)
        fault = fault.split(" (at ")[0]
        message = f"this is not TOML: {fault[:1].lower()}{fault[1:200]}"
        raise located("config-format", file, at, message, "correct it there") from None
    settings = torchtitan._torchtitan_settings(data, file, _toml_lines(text))
    if not torchtitan._is_job(settings):
        raise _nothing(settings, "`[parallelism]` or `[training]` with its settings")
    part = torchtitan._flavour(settings)
    plan = torchtitan._plan_of(settings, _layers_of(part))
    return _launch(settings, raw, plan, without=torchtitan._without_field(settings), part=part), settings


def _layers_of(part: str) -> int | None:
    """Return the layers of a model of the catalogue."""
    from ffplan.catalog.models import Model
    from ffplan.catalog.store import Catalog

    model = Catalog().entry(part).part if part else None
    return int(model.transformer.layers) if isinstance(model, Model) and model.transformer else None


def _toml_lines(text: str) -> dict[str, int]:
    section = ""
    lines: dict[str, int] = {}
    for number, line in enumerate(text_lines(text), 1):
        if (title := _TITLE.match(line)) is not None:
            section = f"{title[1]}."
        elif (row := _ROW_OF_TOML.match(line)) is not None:
            lines.setdefault(section + row[1], number)
    return lines


def _yaml(raw: bytes, file: str) -> tuple[Launch, Settings]:
    document = parse_document(raw, file)
    values = _table_settings(document)
    program = "NeMo" if _names_nemo(raw) else "Megatron-LM"
    return _megatron(Settings(program, file, values), raw)


def _names_nemo(raw: bytes) -> bool:
    return any(name.encode() in raw for name in _NEMO)


def _arguments(text: str, raw: bytes, file: str, *, printed: bool) -> tuple[Launch, Settings]:
    script = _Branches(text, frozenset()) if printed else _without_branches(_plain_lines(text))
    rows, notes = (_printed_arguments(text), list[str]()) if printed else _of_script(script.text)
    values: dict[str, Setting] = {}
    for name, setting in _settings_of(rows, _Variables("" if printed else script.text)).items():
        steps = tuple(name.split("."))
        values.setdefault(_name_of(steps) if len(steps) > 1 else RENAMED.get(name, name), setting)
    nemo = any("." in row.name for row in rows)
    settings = Settings("NeMo" if nemo else "Megatron-LM", file, values, "" if printed or nemo else "--")
    maybe = [f"--{row.name}" for row in rows if row.line in script.open and megatron_plan._matters(row.name)]
    if maybe:
        notes.append(f"taken, though in a branch of the script: {', '.join(dict.fromkeys(maybe))}"[:1000])
    if script.text.rstrip(" \t\n").endswith("\\"):
        notes.append("the file ends inside a command: it may be cut")
    if '"zero_optimization"' in text:
        notes.append("the configuration of DeepSpeed inside is not read: give it as a separate file")
    return _megatron(settings, raw, notes)


def _of_script(text: str) -> tuple[list[_Argument], list[str]]:
    """Return the arguments of a script, and remarks on precedence."""
    plain, steps = _without_other_steps(_without_asides(text), _ARGUMENT)
    return _of_step([*arguments(plain), *_launcher_arguments(plain)], plain, steps, _OF_SLURM)


def _nothing(settings: Settings, what: str) -> InputError:
    message = f"the file has no settings of {settings.program} that ffplan reads"
    return located("config-format", settings.file, (1, 1), message, f"add {what}")


def _megatron(settings: Settings, raw: bytes, notes: Iterable[str] = ()) -> tuple[Launch, Settings]:
    if not any(_NAME.fullmatch(name) for name in settings.values):
        raise _nothing(settings, f"`{settings.label('num_layers')}` or `{settings.label('micro_batch_size')}`")
    dimensions = megatron._dimensions(settings) if megatron._has_architecture(settings) else None
    of_model = list(settings.remarks)
    assumed = list(settings.assumed)
    settings.remarks, settings.assumed = list(notes), []
    layers, mixture = (dimensions or {}).get("layers"), (dimensions or {}).get("experts") or {}
    mixed = dimensions is None or not {"dense_layers", "every"}.isdisjoint(mixture)
    plan = megatron_plan._plan_of(settings, layers, experts="num_experts" in settings.values, mixed=mixed)
    if assumed:
        of_model.append(f"not stated, so by the defaults of {settings.program}: {', '.join(assumed)}")
    without = [settings.label(name) for name in settings.unread(megatron_plan.IGNORED)]
    launch = _launch(settings, raw, plan, without=without, dimensions=dimensions)
    lines = {
        field: settings.line(*names)
        for field, names in megatron_plan.SIZES.items()
        if field in plan and any(name in settings.values for name in names)
    }
    return replace(launch, of_model=tuple(of_model), lines=lines), settings


def _sized(launch: Launch, settings: Settings, job: LaunchSize) -> Launch:
    plan, remarks = sized(launch.plan, settings, job.gpus, job.most, job.fields)
    return replace(launch, plan=plan, of_plan=(*launch.of_plan, *remarks))


def _launch(
    settings: Settings,
    raw: bytes,
    plan: dict[str, Any],
    *,
    without: list[str],
    dimensions: dict[str, Any] | None = None,
    part: str = "",
) -> Launch:
    if settings.faults:
        raise InputError(*settings.faults)
    remarks = list(settings.remarks)
    if settings.assumed:
        remarks.append(f"not stated, so by the defaults of {settings.program}: {', '.join(settings.assumed)}")
    if without:
        remarks.append(f"without a field in a plan: {', '.join(without)}"[:1000])
    return Launch(
        program=settings.program,
        file=settings.file,
        sha256=sha256(raw).hexdigest(),
        dimensions=dimensions,
        part=part,
        plan=plan,
        lines={},
        of_model=(),
        of_plan=tuple(remarks),
    )
