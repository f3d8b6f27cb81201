"""Lookup of parts by id over the user's folders and the shipped catalogue; first match wins."""

from __future__ import annotations

import os
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ffplan.base.errors import Finding, InputError, UsageError
from ffplan.base.formatting import article
from ffplan.base.paths import data_folder
from ffplan.base.record import record
from ffplan.catalog.parts import Part, Server, StorageServer, Switch
from ffplan.catalog.topology import server_faults
from ffplan.inputs.document import Document, read_document
from ffplan.inputs.suggest import did_you_mean
from ffplan.inputs.validate import validate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KINDS = {
    "accelerator": "parts.Accelerator",
    "cpu": "parts.Cpu",
    "nic": "parts.Nic",
    "switch": "parts.Switch",
    "link": "parts.Link",
    "server": "parts.Server",
    "storage-server": "parts.StorageServer",
    "price-book": "prices.PriceBook",
    "library": "library.Library",
    "model": "models.Model",
}
"""Module of the model of each kind of part; most runs need few of them."""
OTHER_WORDS = {
    "gpu": "accelerator",
    "tpu": "accelerator",
    "processor": "cpu",
    "adapter": "nic",
    "hca": "nic",
    "router": "switch",
    "cable": "link",
    "optic": "link",
    "transceiver": "link",
    "host": "server",
    "node": "server",
    "storage": "storage-server",
    "price": "price-book",
}
"""Kinds of part by other words for them."""


def kind_hint(name: str) -> str:
    """Return a remedy for a kind of part that does not exist: the kind meant, or the nearest."""
    meant = OTHER_WORDS.get(name.lower().removesuffix("s"))
    return f"did you mean `{meant}`?" if meant else did_you_mean(name, KINDS, what="kind")


def model_of(kind: str) -> type[Part]:
    """Return the model of a kind of part."""
    module, name = KINDS[kind].split(".")
    found: type[Part] = getattr(import_module(f"ffplan.catalog.{module}"), name)
    return found


MIN_PORTS = 2
"""Fewest ports of a switch."""

MAX_FILES = 20_000
"""Most files a catalogue folder may hold; more means the wrong folder was named."""

P = TypeVar("P", bound=Part)


@record
class Entry:
    """A part as it was read."""

    part: Part
    document: Document
    recalled: tuple[tuple[str | int, ...], ...] = ()
    """Paths of its recalled figures (status R)."""


@record
class Root:
    """One catalogue folder; `label` stands for it in reports."""

    folder: Path
    label: str


def _walk(root: Root) -> Iterator[tuple[str, str]]:
    """Yield (name without ending, path) of every YAML file below a folder."""
    waiting, seen = [str(root.folder)], 0
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in sorted(entries, key=lambda item: item.name):
                seen += 1
                if seen > MAX_FILES:
                    raise UsageError(
                        f"ffplan: --catalog {root.label}: more than {MAX_FILES:,} files; name a smaller folder"
                    )
                name, dot, ending = entry.name.rpartition(".")
                if dot and ending in ("yaml", "yml"):
                    yield name, entry.path
                elif entry.name != "measurements" and entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def _index(root: Root) -> dict[str, tuple[str, ...]]:
    """Return the files of each id; several are a fault of the folder, for whoever asks for that id."""
    index: dict[str, tuple[str, ...]] = {}
    try:
        for name, path in _walk(root):
            index[name] = (*index.get(name, ()), path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"ffplan: --catalog {root.label}: cannot be read: {reason}") from None
    return index


class Catalog:
    """Parts from several folders, read when first asked for."""

    def __init__(self, overlays: Iterable[str] = ()) -> None:
        """Index the folders.

        Args:
            overlays: folders of the user, searched in this order before the shipped catalogue.

        Raises:
            UsageError: where a folder cannot be read, or is far too large.
        """
        self._roots = [Root(Path(folder), folder) for folder in overlays]
        self._roots.append(Root(data_folder("catalogs"), "catalogs"))
        self._indexes = [_index(root) for root in self._roots]
        self._read: dict[str, Entry] = {}

    def __repr__(self) -> str:
        """Return the number of parts."""
        return f"Catalog({len(self.ids()):,} parts)"

    def fork(self) -> Catalog:
        """Return a copy that has read the same parts; its later reads do not reach the original."""
        other = copy(self)
        other._read = dict(self._read)
        return other

    @property
    def used(self) -> list[Entry]:
        """Every part read so far, by id."""
        return [self._read[name] for name in sorted(self._read)]

    def ids(self) -> list[str]:
        """Return the ids of all parts, over all folders."""
        return sorted({name for index in self._indexes for name in index})

    def locate(self, name: str) -> tuple[Path, str] | None:
        """Return (path, label) of the file that holds part `name`, or None.

        Raises:
            UsageError: where one folder has two files of that name.
        """
        for root, index in zip(self._roots, self._indexes, strict=True):
            if name in index:
                files = index[name]
                if len(files) > 1:
                    both = " and ".join(sorted(files)[:2])
                    raise UsageError(f"ffplan: --catalog {root.label}: two files are named `{name}`: {both}")
                path = Path(files[0])
                return path, f"{root.label.rstrip('/')}/{path.relative_to(root.folder).as_posix()}"
        return None

    def entry(self, name: str) -> Entry:
        """Return part `name` with its document.

        Raises:
            KeyError: where no folder has it.
            InputError: where its file is wrong.
        """
        if name not in self._read:
            place = self.locate(name)
            if place is None:
                raise KeyError(name)
            self._read[name] = read_part(read_document(*place), place[0].stem)
        return self._read[name]

    def ids_of(self, kind: str) -> list[str]:
        """Return the ids of one kind, found by the `kind:` line of each file."""
        return [name for name in self.ids() if self.kind_of(name) == kind]

    def kind_of(self, name: str) -> str:
        """Return the kind of part `name` as its file says, or an empty text where it says none or cannot be read."""
        files = next((index[name] for index in self._indexes if name in index), ())
        if len(files) != 1:
            return ""
        try:
            with Path(files[0]).open(encoding="utf-8", errors="replace") as stream:
                for line in stream:
                    if line.startswith("kind:"):
                        return line.partition(":")[2].partition("#")[0].strip()
        except OSError:
            return ""
        return ""

    def get(self, model: type[P], name: str, document: Document, path: Iterable[str | int]) -> P:
        """Return part `name` as `model`, asked for at `path` of `document`.

        Raises:
            InputError: where there is no such part, it is of another kind, or its file is wrong.
        """
        words = model.kind_words
        wanted = next(kind for kind, home in KINDS.items() if home.split(".")[1] == model.__name__)
        try:
            part = self.entry(name).part
        except KeyError:
            raise InputError(
                document.finding(
                    "reference-unknown",
                    path,
                    f"no {words} `{name}` in the catalogue",
                    did_you_mean(name, self.ids_of(wanted), what=words),
                )
            ) from None
        if not isinstance(part, model):
            raise InputError(
                document.finding(
                    "reference-kind",
                    path,
                    f"`{name}` is {article(part.kind_words)}; {article(words)} is wanted here",
                    did_you_mean(name, self.ids_of(wanted), what=words),
                )
            )
        return part


def _recalled(part: Part) -> tuple[tuple[str | int, ...], ...]:
    return tuple(
        path for path, figure in part.figures() if (figure.status or part.sources[figure.source].status) == "R"
    )


def read_part(document: Document, stem: str) -> Entry:
    """Return a part as its file has it.

    Args:
        document: the file.
        stem: its name without ending, which must be the id.

    Raises:
        InputError: where the file is wrong.
    """
    part = _part(document, stem)
    return Entry(part, document, _recalled(part))


def _part(document: Document, stem: str) -> Part:
    data = document.data
    kind = data.get("kind") if isinstance(data, dict) else None
    model = model_of(kind) if isinstance(kind, str) and kind in KINDS else None
    if model is None:
        what = f"`kind` is `{kind}`" if kind is not None else "the field `kind` is missing"
        raise InputError(
            document.finding(
                "schema-choice",
                ("kind",),
                f"{what}; a catalogue file needs a known kind",
                kind_hint(str(kind)),
            )
        )
    part = validate(model, document)
    faults = list(_part_faults(part, document, stem))
    if faults:
        raise InputError(*faults)
    return part


def _part_faults(part: Part, document: Document, stem: str) -> Iterator[Finding]:
    if part.id != stem:
        yield document.finding(
            "catalog-id",
            ("id",),
            f"the id `{part.id}` differs from the file name `{stem}`",
            "name the file after the id",
        )
    for path, figure in part.figures():
        source = part.sources.get(figure.source)
        if source is None:
            yield document.finding(
                "catalog-source",
                (*path, "source"),
                f"the source `{figure.source}` is not under `sources`",
                did_you_mean(figure.source, part.sources, what="source"),
            )
        elif (figure.status or source.status) == "R" and (figure.grade or source.grade) != "estimate":
            yield document.finding(
                "catalog-grade",
                path,
                "a recalled figure (status R) must have grade `estimate`",
                "grade it `estimate`, or follow it to a source",
            )
    if isinstance(part, Server | StorageServer):
        yield from server_faults(part, document)
        if part.power.training and part.power.maximum and part.power.training.value > part.power.maximum.value:
            yield document.finding(
                "number-range",
                ("power", "training"),
                "the power in training exceeds the maximum",
                "correct one of the two",
            )
    if isinstance(part, Switch):
        if part.ports.value < MIN_PORTS:
            yield document.finding(
                "number-range",
                ("ports",),
                f"a switch of {part.ports.value} port(s) joins nothing",
                f"write at least {MIN_PORTS} ports",
            )
        if part.power_max and part.power.value > part.power_max.value:
            yield document.finding(
                "number-range", ("power",), "the typical power exceeds the maximum", "correct one of the two"
            )
