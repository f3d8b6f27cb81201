"""A model of the catalogue from a `config.json`: its file as `ffplan import model` writes it, and the part."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.catalog.configs.config_file import read_config, text_fields
from ffplan.catalog.configs.dimensions import model_of_config
from ffplan.catalog.read import Entry, read_part
from ffplan.inputs.document import parse_document
from ffplan.inputs.emit import flow, quoted, scalar
from ffplan.inputs.model import LONGEST_ID

if TYPE_CHECKING:
    from ffplan.catalog.configs.config_file import ConfigFile
    from ffplan.catalog.configs.dimensions import ConfigModel

_HUB = re.compile(r"[\w.-]+/[\w.-]+")
"""Owner and name of a model on the hub."""
_MOST_NOTE = 1900
"""Most letters of a note, below the limit of a text [1]."""


@record
class ImportedModel:
    """A model read from a `config.json`."""

    text: str
    """Its catalogue file."""
    entry: Entry
    """The part; its document has the name and the hash of the `config.json`."""
    remarks: tuple[str, ...]
    """What was assumed, and what is left out."""


def _named(config: ConfigFile, model: ConfigModel) -> tuple[str, str]:
    """Return the maker and the name of a model: those on the hub, else its folder or file."""
    hub = config.data.get("_name_or_path")
    if isinstance(hub, str) and _HUB.fullmatch(hub) and not hub.startswith("."):
        owner, name = hub.split("/")
        return owner, name
    path = PurePosixPath(config.file.replace("\\", "/"))
    known = [path.stem if path.stem != "config" else "", path.parent.name]
    return "unknown", next((name for name in known if name.strip(".")), f"imported-{model.model_type}")


def _id(name: str) -> str:
    """Return a name as an id."""
    letters = re.sub(r"[^a-z0-9.+-]+", "-", name.lower()).strip("-.+")
    return letters[:LONGEST_ID] or "imported-model"


def _lines(config: ConfigFile, model: ConfigModel, name: str | None) -> list[str]:
    """Return the lines of the catalogue file."""
    vendor, title = _named(config, model)
    note = "; ".join((f"Read from {PurePosixPath(config.file).name} ({model.model_type})", *model.remarks))
    rows = [f"  {key}: {flow(value)}" for key, value in model.dimensions.items()]
    return [
        "kind: model",
        f"id: {scalar(name or _id(title))}",
        f"name: {quoted(title[:200])}",
        f"vendor: {scalar(vendor)}",
        "sources: {}",
        f"note: {quoted(note[:_MOST_NOTE])}",
        "transformer:",
        *rows,
    ]


def import_model(file: str, name: str | None = None) -> ImportedModel:
    """Read a model from a `config.json`, or from the folder that holds one.

    Args:
        file: path as the user wrote it.
        name: id of the model; one made of its name if omitted.

    Raises:
        InputError: if the file is another, or describes what a model of the catalogue cannot.
    """
    config = read_config(file)
    model, fields = model_of_config(config, text_fields(config))
    if model is None:
        raise InputError(*fields.faults)
    text = "\n".join(_lines(config, model, name)) + "\n"
    document = parse_document(text.encode(), config.file)
    try:
        entry = read_part(document)
    except InputError as error:
        raise _placed(error, config, model) from None
    return ImportedModel(text, replace(entry, document=replace(document, sha256=config.sha256)), model.remarks)


def _placed(error: InputError, config: ConfigFile, model: ConfigModel) -> InputError:
    """Return faults of dimensions at the fields of the file that they came from."""
    findings = []
    for finding in error.findings:
        dimension = finding.path.removeprefix("transformer.")
        field = model.fields.get(dimension) or model.fields.get(dimension.split(".")[0]) or ""
        path = tuple(field.split(".")) if field else ()
        findings.append(config.finding("config-value", path, finding.message, f"correct `{field or dimension}`"))
    return InputError(*findings)
