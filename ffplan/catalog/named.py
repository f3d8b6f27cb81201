"""Parts by the names that people write: ids, and what stands for them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ffplan.base.errors import UsageError
from ffplan.inputs.part_ids import PartNaming, id_of, unknown_part

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.catalog.parts import Part
    from ffplan.catalog.store import Catalog

P = TypeVar("P", bound="Part")
_FILES = (
    *(".json", ".yaml", ".yml", ".toml", ".sh", ".slurm", ".sbatch", ".txt", ".log"),
    *(".gguf", ".safetensors", ".bin", ".pt", ".pth"),
)
"""Endings of files of models."""


def names_file(name: str) -> bool:
    """Return whether the name of a model is the path of a file or a folder."""
    return "/" in name or "\\" in name or name in (".", "..") or name.lower().endswith(_FILES)


def part_of(catalog: Catalog, kind: type[P], name: str, option: str) -> P:
    """Return a part given on the command line, by its id or what stands for it; a model by a file as well.

    Args:
        catalog: catalogue to search; a model that lies outside is added to it.
        option: command and option, for messages.

    Raises:
        UsageError: if the catalogue has no such part; the message suggests the nearest.
        InputError: if the file of a model is another, or describes what no model of the catalogue can.
    """
    name = str(name)
    if kind.kind_words == "model" and names_file(name):
        name = catalog.admitted(name) or _admitted(catalog, name)
    part = catalog.entry(name).part if catalog.locate(name) is not None else None
    if isinstance(part, kind):
        return part
    known = catalog.ids_of_model(kind)
    if (usual := id_of(name, known)) in known:
        return part_of(catalog, kind, usual, option)
    message, remedy = unknown_part(name, known, kind.kind_words, partial(memory_words, catalog))
    if part is not None:
        from ffplan.base.formatting import article

        message = f"`{name}` is {article(part.kind_words)}, not {article(kind.kind_words)}"
    raise UsageError(f"{option}: {message}; {remedy}")


def _admitted(catalog: Catalog, file: str) -> str:
    """Add the model in a file to a catalogue; return its id, or that of the model which the file names.

    Raises:
        InputError: if the file has neither.
    """
    from ffplan.catalog.configs.part import _no_dimensions, read_import

    found = read_import(file)
    if found.model is not None:
        return catalog.admit(found.model.entry, file).part.id
    if found.launch is None or not found.launch.part:
        raise _no_dimensions(file)
    return found.launch.part


def memory_words(catalog: Catalog, name: str) -> str:
    """Return the memory of an accelerator, which tells it from others of its name; empty for another part."""
    memory = getattr(catalog.entry(name).part, "memory", None)
    value = getattr(memory, "value", None)
    return f"{value / 2**30:.0f} GB" if isinstance(value, float) else ""


class _CatalogNames:
    """Ids of the parts of a catalogue, as validation asks for them."""

    def __init__(self, catalog: Catalog) -> None:
        """Take the catalogue."""
        self.catalog = catalog

    def _ids(self, kinds: Iterable[str]) -> list[str]:
        return [name for kind in kinds for name in self.catalog.ids_of(kind)]

    def id_of(self, name: str, kinds: Iterable[str]) -> str:
        """Return the id that a name stands for; the name itself if it stands for none, or for several."""
        return name if self.catalog.locate(name) is not None else id_of(name, self._ids(kinds))

    def unknown(self, name: str, kinds: tuple[str, ...]) -> tuple[str, str] | None:
        """Return what is wrong with a name as the id of a part, and the remedy; None of an id of a part."""
        if self.catalog.locate(name) is not None:
            return None
        from ffplan.catalog.kinds import _model_of

        fact = partial(memory_words, self.catalog)
        return unknown_part(name, self._ids(kinds), _model_of(kinds[0]).kind_words, fact)


def naming(catalog: Catalog, *, strict: bool = False) -> PartNaming:
    """Return how ids of parts are validated against a catalogue.

    Args:
        strict: unknown ids are faults of the schema.
    """
    return PartNaming(_CatalogNames(catalog), strict=strict)
