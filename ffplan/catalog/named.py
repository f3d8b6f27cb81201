"""Parts by the names that people write, and accelerators by the names that drivers print."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ffplan.base.errors import UsageError
from ffplan.base.record import record
from ffplan.inputs.part_ids import PartNaming, id_of, unknown_part

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.catalog.parts import Accelerator, Part
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
    """Return a part named on the command line, by id or a shorter name; a model also by a file.

    Args:
        catalog: catalogue to search; a model that lies outside is added to it.

    Raises:
        UsageError: if the catalogue has no such part; the message suggests the nearest.
        InputError: if the file is of another kind, or no model of the catalogue can describe it.
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
    called = catalog.switches_called(name, (kind.kind_words,))
    if len(called) == 1:
        return part_of(catalog, kind, called[0], option)
    message, remedy = unknown_part(name, known, kind.kind_words, partial(memory_words, catalog), called)
    if part is not None:
        from ffplan.base.formatting import article

        message = f"`{name}` is {article(part.kind_words)}, not {article(kind.kind_words)}"
    raise UsageError(f"{option}: {message}; {remedy}")


def _admitted(catalog: Catalog, file: str) -> str:
    """Add the model in a file to a catalogue; return its id, or the id that the file names."""
    from ffplan.catalog.configs.part import _no_dimensions, read_import

    imported = read_import(file)
    if imported.model is not None:
        return catalog.admit(imported.model.entry, file).part.id
    if imported.launch is None or not imported.launch.part:
        raise _no_dimensions(file)
    return imported.launch.part


def memory_words(catalog: Catalog, name: str) -> str:
    """Return the memory of an accelerator, to distinguish parts with one name; empty for another part."""
    memory = getattr(catalog.entry(name).part, "memory", None)
    value = getattr(memory, "value", None)
    return f"{value / 2**30:.0f} GB" if isinstance(value, float) else ""


class _CatalogNames:
    """Ids of the parts of a catalogue, as validation asks for them."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def _ids(self, kinds: Iterable[str]) -> list[str]:
        return [name for kind in kinds for name in self.catalog.ids_of(kind)]

    def id_of(self, name: str, kinds: Iterable[str]) -> str:
        """Return the id that a name matches; the name itself if it matches none, or several."""
        if self.catalog.locate(name) is not None:
            return name
        usual = id_of(name, self._ids(kinds))
        called = self.catalog.switches_called(name, kinds) if usual == name else []  # reads every switch
        return called[0] if len(called) == 1 else usual

    def unknown(self, name: str, kinds: tuple[str, ...]) -> tuple[str, str] | None:
        """Return message and remedy for a name that is not a part's id; None for an id."""
        if self.catalog.locate(name) is not None:
            return None
        from ffplan.catalog.folders import model_of

        fact = partial(memory_words, self.catalog)
        words = model_of(kinds[0]).kind_words
        return unknown_part(name, self._ids(kinds), words, fact, self.catalog.switches_called(name, kinds))


def naming(catalog: Catalog, *, strict: bool = False) -> PartNaming:
    """Return how ids of parts are validated against a catalogue; if `strict`, unknown ones are faults of the schema."""
    return PartNaming(_CatalogNames(catalog), strict=strict)


_BESIDE = re.compile(r"\(.*")
"""Explanation in brackets after a name."""
_MEMORY = re.compile(r"([0-9]{1,4}) ?GB")
_FORM = re.compile(r"\b(SXM|PCIE|NVL|OAM)[0-9]?\b")
_STACK = re.compile(r"\bHBM[0-9]\w?\b|\bGDDR[0-9]\w?\b")
_MODEL = re.compile(r"\b(?=[A-Z0-9]*[0-9])[A-Z0-9]{2,12}\b")
_WITH_CPU = re.compile(r"^G[HB][0-9]")
"""Modules with a CPU, whose driver names give the CPU's memory."""


@record
class _DeviceName:
    models: frozenset[str]
    """Words with digits, such as H100 and MI300X."""
    form: str
    """SXM, PCIE, NVL or OAM; empty if the name has none."""
    memory: str
    """Memory as in the name [GB]; empty if the name has none."""


def _device_name(text: str) -> _DeviceName:
    left = _BESIDE.sub("", text).upper()
    form, memory = _FORM.search(left), _MEMORY.search(left)
    for pattern in (_STACK, _FORM, _MEMORY):
        left = pattern.sub(" ", left)
    models = frozenset(_MODEL.findall(left))
    with_cpu = any(map(_WITH_CPU.match, models))
    return _DeviceName(models, form[1] if form else "", memory[1] if memory and not with_cpu else "")


def is_another(text: str, part: Accelerator) -> bool:
    """Return whether a driver's name contradicts this accelerator; attributes that either name omits are ignored."""
    said, known = _device_name(text), _device_name(part.name)
    if not said.models or not known.models:
        return False
    if not said.models & known.models:
        return True
    forms, memories = {said.form, known.form} - {""}, {said.memory, known.memory} - {""}
    return len(forms) > 1 or len(memories) > 1
