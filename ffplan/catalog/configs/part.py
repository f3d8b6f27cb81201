"""A model of the catalogue from a file of another program, and that file as `ffplan fabric import model` writes it."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError, located
from ffplan.base.record import record
from ffplan.catalog.configs.config_file import _parse_config, _refuse_other, _text_fields, content
from ffplan.catalog.configs.dimensions import _model_of_config
from ffplan.catalog.launch.read import Launch, read_launch
from ffplan.catalog.read import Entry, read_part
from ffplan.inputs.document import flow, parse_document, quoted, scalar
from ffplan.inputs.model import LONGEST_ID

if TYPE_CHECKING:
    from ffplan.catalog.configs.config_file import _ConfigFile
    from ffplan.catalog.configs.dimensions import _ConfigModel
    from ffplan.inputs.document import Document

_HUB = re.compile(r"[\w.-]+/[\w.-]+")
"""Owner and name of a model on the hub."""
_KIND = re.compile(rb"(?m)^kind:[ \t]*[\"']?model\b")
_TEXT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:[^\s{\x80-\xff]|\Z)")
"""Start of a text that is not a JSON object."""
_MOST_NOTE = 1900
"""Most letters of a note, below the limit of a text [1]."""


@record
class _ImportedModel:
    text: str
    """Its catalogue file."""
    entry: Entry
    """The part; its document has the name and the hash of the file."""
    remarks: tuple[str, ...]
    """Assumptions and omissions."""


@record
class Import:
    """Content of a file."""

    model: _ImportedModel | None
    """None if it has no dimensions."""
    launch: Launch | None
    """Its training plan; None of a file with a model alone."""


def _named(config: _ConfigFile, model: _ConfigModel) -> tuple[str, str]:
    """Return the maker and the name of a model: those on the hub, else its folder or file."""
    hub = config.data.get("_name_or_path")
    if isinstance(hub, str) and _HUB.fullmatch(hub) and not hub.startswith("."):
        owner, name = hub.split("/")
        return owner, name
    path = PurePosixPath(config.file.replace("\\", "/"))
    known = [path.stem if path.stem != "config" else "", path.parent.name]
    return "unknown", next((name for name in known if name.strip(".")), f"imported-{model.model_type}")


def _id(name: str) -> str:
    letters = re.sub(r"[^a-z0-9.+-]+", "-", name.lower()).strip("-.+")
    return letters[:LONGEST_ID] or "imported-model"


def _text(name: str, vendor: str, title: str, note: tuple[str, ...], dimensions: dict[str, Any]) -> str:
    lines = [
        "kind: model",
        f"id: {scalar(name)}",
        f"name: {quoted(title[:200])}",
        f"vendor: {scalar(vendor)}",
        "sources: {}",
        f"note: {quoted('; '.join(note)[:_MOST_NOTE])}",
        "transformer:",
        *(f"  {key}: {flow(value)}" for key, value in dimensions.items()),
    ]
    return "\n".join(lines) + "\n"


def _import_model(file: str, name: str | None = None) -> _ImportedModel:
    model = read_import(file, name).model
    if model is None:
        raise _no_dimensions(file)
    return model


def _no_dimensions(file: str) -> InputError:
    """Return the fault of a file with a training plan alone."""
    message = "the file has a training plan, and no dimensions of a model"
    return located("config-field", file, (1, 1), message, "name a file that has them, or a model's id")


def read_import(file: str, name: str | None = None) -> Import:
    """Read a model and a training plan from a file.

    A model comes from a `config.json`, from a folder with one, from a catalogue file, or from the arguments of a
    training program, with its plan.

    Args:
        name: id of the model; one made of its name if omitted.

    Raises:
        InputError: if the file is of another kind, or a model of the catalogue cannot describe it.
    """
    path, raw = content(file)
    _refuse_other(path, raw)
    if _KIND.search(raw) is not None:
        return Import(_part(parse_document(raw, path), raw.decode("utf-8-sig")), None)
    launch = read_launch(raw, path)
    if launch is None:
        return Import(_of_config(_read_config(path, raw), name), None)
    if launch.dimensions is not None:
        return Import(_of_launch(launch, launch.dimensions, name), launch)
    return Import(None, launch)


def _read_config(path: str, raw: bytes) -> _ConfigFile:
    """Read a config as it is; else, without what pasting put around its lines."""
    try:
        return _parse_config(path, raw)
    except InputError as error:
        fault = error
    from ffplan.base.pasted import _bare_file

    with suppress(InputError):
        if (bare := _bare_file(raw)) is not None:
            return replace(_parse_config(path, bare), sha256=sha256(raw).hexdigest())
    if not path.lower().endswith(".json") and _TEXT.match(raw):
        message = "no `config.json`, and no settings of Megatron-LM, NeMo, torchtitan or DeepSpeed"
        raise located("config-format", path, (1, 1), message, "name the file that has them")
    raise fault


def _part(document: Document, text: str) -> _ImportedModel:
    return _ImportedModel(text, read_part(document), ())


def _of_launch(launch: Launch, dimensions: dict[str, Any], name: str | None) -> _ImportedModel:
    title = PurePosixPath(launch.file.replace("\\", "/")).stem or "imported-model"
    read = f"Read from {PurePosixPath(launch.file).name} ({launch.program})"
    text = _text(name or _id(title), "unknown", title, (read, *launch.of_model), dimensions)
    document = parse_document(text.encode(), launch.file)
    try:
        entry = read_part(document)
    except InputError as error:
        findings = (replace(finding, line=1, column=1, remedy="correct it in the file") for finding in error.findings)
        raise InputError(*findings) from None
    return _ImportedModel(text, replace(entry, document=replace(document, sha256=launch.sha256)), launch.of_model)


def _of_config(config: _ConfigFile, name: str | None) -> _ImportedModel:
    model, fields = _model_of_config(config, _text_fields(config))
    if model is None:
        raise InputError(*fields.faults)
    vendor, title = _named(config, model)
    read = f"Read from {PurePosixPath(config.file).name} ({model.model_type})"
    text = _text(name or _id(title), vendor, title, (read, *model.remarks), model.dimensions)
    document = parse_document(text.encode(), config.file)
    try:
        entry = read_part(document)
    except InputError as error:
        raise _placed(error, config, model) from None
    return _ImportedModel(text, replace(entry, document=replace(document, sha256=config.sha256)), model.remarks)


def _placed(error: InputError, config: _ConfigFile, model: _ConfigModel) -> InputError:
    """Return faults of dimensions at the fields of the file that they came from."""
    findings = []
    for finding in error.findings:
        dimension = finding.path.removeprefix("transformer.")
        field = model.fields.get(dimension) or model.fields.get(dimension.split(".")[0]) or ""
        path = tuple(field.split(".")) if field else ()
        findings.append(config.finding("config-value", path, finding.message, f"correct `{field or dimension}`"))
    return InputError(*findings)
