"""Lookup of parts by id over the user's folders and the shipped catalogue; first match wins."""

from __future__ import annotations

import os
import re
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ffplan.base.errors import Finding, InputError, UsageError
from ffplan.base.formatting import article
from ffplan.base.paths import data_folder
from ffplan.base.record import record
from ffplan.catalog.kinds import KINDS, kind_hint, model_of
from ffplan.catalog.parts import Part, Server, StorageServer, Switch
from ffplan.catalog.topology import server_faults
from ffplan.inputs.document import Document, parse_document, read_bytes
from ffplan.inputs.suggest import did_you_mean
from ffplan.inputs.validate import validate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_KIND = re.compile(rb"^kind:[ \t]*([^\s#]+)", re.MULTILINE)

METHODS = {"nccl": "nccl", "rccl": "nccl", "hfreduce": "hfreduce", "deepep": "deepep"}
"""Methods of libraries that commands know by name; a user's file may give them other constants, not another method."""

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
    """Paths of recalled figures (status R) in its own file."""
    base: Entry | None = None
    """The price book that it extends."""
    key: tuple[str, int] = ("", 0)
    """Its id, and the position of its folder."""


@record
class Root:
    """One catalogue folder; `label` stands for it in reports."""

    folder: Path
    label: str


def _walk(root: Root) -> Iterator[tuple[str, str]]:
    """Yield (name without ending, path) of every YAML file below a folder.

    Hidden files, such as the locks of editors, are none of the user's parts; what is no file is none either, apart
    from a link to nowhere, which whoever asks for that part should hear of.
    """
    waiting, seen = [str(root.folder)], 0
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in sorted(entries, key=lambda item: item.name):
                seen += 1
                if seen > MAX_FILES:
                    raise UsageError(
                        f"ffplan: --catalog {root.label}: more than {MAX_FILES:,} files; name a smaller folder"
                    )
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting += [entry.path] if entry.name != "measurements" else []
                    continue
                name, dot, ending = entry.name.rpartition(".")
                if dot and ending in ("yaml", "yml") and (entry.is_file() or not Path(entry.path).exists()):
                    yield name, entry.path


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
        self._read: dict[tuple[str, int], Entry] = {}
        self._raw: dict[str, bytes] = {}
        self._parsed: dict[str, Entry] = {}
        self._kinds: dict[str, str] = {}

    def __repr__(self) -> str:
        """Return the number of parts."""
        return f"Catalog({len(self.ids()):,} parts)"

    def fork(self) -> Catalog:
        """Return a copy that has read the same parts; its later reads do not reach the original."""
        other = copy(self)
        other._read = dict(self._read)
        return other

    def fresh(self) -> Catalog:
        """Return a copy that counts no part as read yet; a file that either has parsed is parsed once."""
        other = copy(self)
        other._read = {}
        return other

    def with_entry(self, entry: Entry) -> Catalog:
        """Return a copy that has one part as given, and counts no other as read.

        Args:
            entry: the part; it takes the place of that of its id.
        """
        other = self.fresh()
        other._read[entry.key] = entry
        return other

    @property
    def used(self) -> list[Entry]:
        """Every part read so far, by id and folder."""
        return [self._read[key] for key in sorted(self._read)]

    def ids(self) -> list[str]:
        """Return the ids of all parts, over all folders."""
        return sorted({name for index in self._indexes for name in index})

    def _folder_of(self, name: str, first: int = 0) -> int | None:
        """Return the position of the first folder with part `name`, from position `first` on."""
        return next((at for at, index in enumerate(self._indexes) if at >= first and name in index), None)

    def _place(self, name: str, position: int) -> tuple[Path, str]:
        """Return (path, label) of part `name` in the folder at `position`.

        Raises:
            UsageError: where the folder has two files of that name.
        """
        root, files = self._roots[position], self._indexes[position][name]
        if len(files) > 1:
            both = " and ".join(sorted(files)[:2])
            raise UsageError(f"ffplan: --catalog {root.label}: two files are named `{name}`: {both}")
        below = files[0].removeprefix(str(root.folder).rstrip(os.sep)).replace(os.sep, "/")
        return Path(files[0]), root.label.rstrip("/") + below

    def locate(self, name: str) -> tuple[Path, str] | None:
        """Return (path, label) of the file that holds part `name`, or None."""
        position = self._folder_of(name)
        return None if position is None else self._place(name, position)

    def entry(self, name: str) -> Entry:
        """Return part `name` with its document; a price book with the prices of the books that it extends.

        Raises:
            KeyError: where no folder has it.
            InputError: where its file is wrong.
        """
        position = self._folder_of(name)
        if position is None:
            raise KeyError(name)
        return self._entry((name, position), ())

    def _entry(self, key: tuple[str, int], chain: tuple[tuple[str, int], ...]) -> Entry:
        """Return the part of one folder; `chain` holds the price books that wait for it."""
        if key not in self._read:
            path, label = self._place(*key)
            whole = self._part(path, label)
            document = whole.document
            part = self._with_constants(whole.part, document, key[1])
            recalled = whole.recalled if part is whole.part else _recalled(part)
            entry = Entry(part=part, document=document, recalled=recalled, key=key)
            self._read[key] = self._extended(entry, (*chain, key)) if part.kind == "price-book" else entry
        return self._read[key]

    def _extended(self, entry: Entry, chain: tuple[tuple[str, int], ...]) -> Entry:
        """Return a price book with the prices of the book that it extends."""
        from ffplan.catalog.prices import PriceBook, inherit

        book = entry.part
        if not isinstance(book, PriceBook) or book.extends is None:
            return entry
        position = self._folder_of(book.extends, chain[-1][1] + 1 if book.extends == book.id else 0)
        key = None if position is None else (book.extends, position)
        if key in chain or (key is None and book.extends == book.id):
            around = chain[chain.index(key) if key in chain else -1 :]
            raise InputError(_cycle(entry.document, [name for name, _ in around]))
        if key is None:
            raise InputError(self._unknown(PriceBook, book.extends, entry.document, ("extends",)))
        base = self._entry(key, chain)
        if not isinstance(base.part, PriceBook):
            raise InputError(self._other_kind(PriceBook, base.part, entry.document, ("extends",)))
        if base.part.currency != book.currency:
            message = f"`{book.id}` is in {book.currency}, while `{base.part.id}`, which it extends, is in "
            raise InputError(
                entry.document.finding(
                    "currency-mixed",
                    ("currency",),
                    f"{message}{base.part.currency}",
                    "two currencies are never added: give every price in one currency",
                )
            )
        return replace(entry, part=inherit(book, base.part), base=base)

    def _with_constants(self, part: Part, document: Document, position: int) -> Part:
        """Return a library with the constants of the one that it extends, which extends none itself.

        A library may extend the one of its own id in the next folder.

        Raises:
            InputError: where there is no such library, or that one extends another.
        """
        name = getattr(part, "extends", None)
        if part.kind != "library" or name is None:
            return part
        place = self._folder_of(name, position + 1 if name == part.id else 0)
        if place is None:
            raise InputError(self._unknown(type(part), name, document, ("extends",)))
        path, label = self._place(name, place)
        base = self._part(path, label).part
        if not isinstance(base, type(part)):
            raise InputError(self._other_kind(type(part), base, document, ("extends",)))
        if getattr(base, "extends", None) is not None:
            raise InputError(
                document.finding(
                    "catalog-library",
                    ("extends",),
                    f"`{name}` extends another library itself",
                    "name the library that has the constants",
                )
            )
        if name != part.id:
            self.entry(name)  # it counts as read
        own = {field: getattr(part, field) for field in part.model_fields_set}
        return base.model_copy(update={**own, "sources": {**base.sources, **part.sources}})

    def own_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield name and content of every file of the user's folders, in order; no content where it cannot be read."""
        for index in self._indexes[:-1]:
            for path in sorted(path for paths in index.values() for path in paths):
                try:
                    yield path, self._content(Path(path), path)
                except InputError:
                    yield path, b""

    def ids_of(self, kind: str) -> list[str]:
        """Return the ids of one kind, found by the `kind:` line of each file."""
        if not self._kinds:
            self._kinds.update({name: self.kind_of(name) for name in self.ids()})
        return [name for name, own in self._kinds.items() if own == kind]

    def kind_of(self, name: str) -> str:
        """Return the kind of part `name` as its file says, or an empty text where it says none or cannot be read."""
        files = next((index[name] for index in self._indexes if name in index), ())
        if len(files) != 1:
            return ""
        try:
            raw = self._content(Path(files[0]), files[0])
        except InputError:
            return ""
        found = _KIND.search(raw)
        return found[1].decode("utf-8", "replace") if found else ""

    def _content(self, path: Path, label: str) -> bytes:
        """Return the bytes of a file, which is read once.

        Raises:
            InputError: where it cannot be read.
        """
        key = str(path)
        if key not in self._raw:
            self._raw[key] = read_bytes(path, label)
        return self._raw[key]

    def _part(self, path: Path, label: str) -> Entry:
        """Return the part of a file as it stands there, which is parsed once.

        Raises:
            InputError: where it is wrong.
        """
        key = str(path)
        if key not in self._parsed:
            self._parsed[key] = read_part(parse_document(self._content(path, label), label), path.stem)
        return self._parsed[key]

    def get(self, model: type[P], name: str, document: Document, path: Iterable[str | int]) -> P:
        """Return part `name` as `model`, asked for at `path` of `document`.

        Raises:
            InputError: where there is no such part, it is of another kind, or its file is wrong.
        """
        try:
            part = self.entry(name).part
        except KeyError:
            raise InputError(self._unknown(model, name, document, path)) from None
        if not isinstance(part, model):
            raise InputError(self._other_kind(model, part, document, path))
        return part

    def ids_of_model(self, model: type[Part]) -> list[str]:
        """Return the ids of the kind that a model describes."""
        return self.ids_of(next(kind for kind, home in KINDS.items() if home.split(".")[1] == model.__name__))

    def _unknown(self, model: type[Part], name: str, document: Document, path: Iterable[str | int]) -> Finding:
        words = model.kind_words
        remedy = did_you_mean(name, self.ids_of_model(model), what=words)
        return document.finding("reference-unknown", path, f"no {words} `{name}` in the catalogue", remedy)

    def _other_kind(self, model: type[Part], part: Part, document: Document, path: Iterable[str | int]) -> Finding:
        words = model.kind_words
        return document.finding(
            "reference-kind",
            path,
            f"`{part.id}` is {article(part.kind_words)}; {article(words)} is wanted here",
            did_you_mean(part.id, self.ids_of_model(model), what=words),
        )


def _cycle(document: Document, names: list[str]) -> Finding:
    """Return the finding for price books that extend each other."""
    through = f"`{names[0]}` extends itself"
    if len(names) > 1:
        through += f" through {', '.join(f'`{name}`' for name in names[1:])}"
    return document.finding(
        "catalog-cycle", ("extends",), through, "remove `extends` from the book whose prices are complete"
    )


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
    return Entry(part=part, document=document, recalled=_recalled(part))


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
    method = getattr(part, "method", None)
    if part.kind == "library" and method != METHODS.get(part.id, method):
        yield document.finding(
            "catalog-library",
            ("method",),
            f"the library `{part.id}` has the method `{method}`",
            f"write `method: {METHODS[part.id]}`",
        )
    if part.kind == "failure-study":
        from ffplan.catalog.failure_sums import sum_faults

        yield from sum_faults(part, document)
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
        if part.power_max and part.power and part.power.value > part.power_max.value:
            yield document.finding(
                "number-range", ("power",), "the typical power exceeds the maximum", "correct one of the two"
            )
