"""Lookup of parts by id over the user's folders and the shipped catalogue; first match wins."""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ffplan.base.errors import Finding, InputError, UsageError, did_you_mean
from ffplan.base.files import data_folder
from ffplan.base.formatting import article
from ffplan.catalog.folders import KINDS, Root, _listed_index, _other_id, _placed_index, _shipped_index, model_of
from ffplan.catalog.parts import Part
from ffplan.catalog.read import METHODS, Entry, _of_user, _recalled_paths, _with_base, base_name, read_part
from ffplan.inputs.document import Document, parse_document, read_bytes
from ffplan.inputs.part_ids import unknown_part
from ffplan.inputs.quantities import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

_KIND = re.compile(rb"^kind:[ \t]*([^\s#]+)", re.MULTILINE)
"""The kind of a shipped file."""
FILES = Root(Path(), "")
"""Files named one by one, in place of a folder."""
_ADMITTED = -1
"""Position of parts that lie in no folder."""

P = TypeVar("P", bound=Part)


def _folders(overlays: Any) -> tuple[str, ...]:
    folders = (overlays,) if isinstance(overlays, str | Path) or not isinstance(overlays, Iterable) else tuple(overlays)
    wrong = next((folder for folder in folders if not isinstance(folder, str | Path)), None)
    if wrong is not None:
        raise UsageError(f"Catalog: overlays: {describe(wrong)} is no folder; give the path of one or several")
    return tuple(map(str, folders))


class Catalog:
    """Parts from several folders, read on demand."""

    def __init__(
        self,
        overlays: str | Path | Iterable[str | Path] = (),
        *,
        beside: str | None = None,
        files: Iterable[str] = (),
    ) -> None:
        """Index the folders.

        Args:
            overlays: one folder of the user or several, searched in this order before the shipped catalogue.
            beside: a folder searched first, whose files may be of any kind.
            files: files searched before all folders, which may be of any kind; the first of an id counts.

        Raises:
            UsageError: if a folder cannot be read, or is far too large.
            InputError: with every file of an overlay that cannot be placed.
        """
        self._read: dict[tuple[str, int], Entry] = {}
        self._raw: dict[str, bytes] = {}
        self._parsed: dict[str, Entry] = {}
        self._merged: dict[str, Entry] = {}
        self._alone: dict[tuple[str, int], Entry] = {}
        self._kinds: dict[str, str] = {}
        single = _listed_index(files, self._content)
        first = [] if beside is None else [Root(Path(beside), beside)]
        named = [Root(Path(folder), folder) for folder in _folders(overlays)]
        shipped = Root(data_folder("catalogs"), "catalogs")
        self._roots = [*([FILES] if single.files else []), *first, *named, shipped]
        indexes = [
            *([single] if single.files else []),
            *(_placed_index(root, self._content, strict=False) for root in first),
            *(_placed_index(root, self._content) for root in named),
            _shipped_index(shipped),
        ]
        self._indexes = [index.files for index in indexes]
        self._places: dict[tuple[str, int], tuple[Path, str]] = {}
        self._placed = {path: kind for index in indexes for path, kind in index.kinds.items()}

    def __repr__(self) -> str:
        """Return the number of parts."""
        return f"Catalog({len(self.ids()):,} parts)"

    def fork(self) -> Catalog:
        """Return a copy with the same read parts; its later reads do not affect the original."""
        copied = copy(self)
        copied._read = dict(self._read)
        return copied

    def fresh(self) -> Catalog:
        """Return a copy without read parts; both share parsed files."""
        copied = copy(self)
        copied._read = {}
        return copied

    def with_files(self, files: Iterable[str]) -> Catalog:
        """Return a copy that searches some files first; both share parsed files.

        Args:
            files: files of any kind; the first of an id counts.
        """
        own = _listed_index(files, self._content)
        copied, listed = self.fresh(), self._roots[0] is FILES
        copied._indexes = [{**(self._indexes[0] if listed else {}), **own.files}, *self._indexes[listed:]]
        copied._roots = [FILES, *self._roots[listed:]]
        copied._placed = {**self._placed, **own.kinds}
        copied._merged, copied._alone, copied._places, copied._kinds = {}, {}, {}, {}  # by what is searched first
        for key in (key for key in self._alone if key[1] == _ADMITTED):
            copied._alone[key], copied._places[key] = self._alone[key], self._places[key]
        return copied

    def with_entry(self, entry: Entry) -> Catalog:
        """Return a copy with one part replaced, and no other part read."""
        return self.with_entries([entry])

    def with_entries(self, entries: Iterable[Entry]) -> Catalog:
        """Return a copy with some parts replaced, and no other part read."""
        copied = self.fresh()
        copied._read.update({entry.key: entry for entry in entries})
        return copied

    @property
    def used(self) -> list[Entry]:
        """Every part read so far, by id and folder."""
        return [self._read[key] for key in sorted(self._read)]

    @property
    def shipped_position(self) -> int:
        """Position of the shipped catalogue, the last in the search order."""
        return len(self._roots) - 1

    @property
    def overlaid(self) -> bool:
        """Whether any folder is the user's."""
        return len(self._roots) > 1

    def ids(self) -> list[str]:
        """Return the ids of all parts, over all folders."""
        return sorted({name for index in self._indexes for name in index})

    def admit(self, entry: Entry, path: str) -> Entry:
        """Add a part that lies in no folder, before all others; copies of the catalogue have it too."""
        key = (entry.part.id, _ADMITTED)
        self._alone[key] = self._read[key] = replace(entry, key=key)
        self._places[key] = Path(path), entry.document.file
        return self._read[key]

    def admitted(self, path: str) -> str | None:
        """Return the id of the part that was added from a file; None if none was."""
        places = self._places.items()
        return next((name for (name, at), (file, _) in places if at == _ADMITTED and file == Path(path)), None)

    def _folder_of(self, name: str, first: int = 0) -> int | None:
        """Return the position of the first folder with part `name`, from position `first` on."""
        if first == 0 and (name, _ADMITTED) in self._alone:
            return _ADMITTED
        for place in range(first, len(self._indexes)):
            if name in self._indexes[place]:
                return place
        return None

    def _place(self, name: str, position: int) -> tuple[Path, str]:
        """Return (path, label) of part `name` in the folder at `position`."""
        if (name, position) not in self._places:
            root, files = self._roots[position], self._indexes[position][name]
            if len(files) > 1:
                both = " and ".join(sorted(files)[:2])
                raise UsageError(f"ffplan: --catalog {root.label}: two files have the id `{name}`: {both}; keep one")
            self._places[name, position] = Path(files[0]), root.named(files[0])
        return self._places[name, position]

    def locate(self, name: str) -> tuple[Path, str] | None:
        """Return (path, label) of the file that holds part `name`, or None."""
        position = self._folder_of(name)
        return None if position is None else self._place(name, position)

    def entry(self, name: str) -> Entry:
        """Return part `name` with its document; a price book includes the prices of the books it extends.

        Raises:
            KeyError: if no folder has it.
            InputError: if its file is wrong.
        """
        position = self._folder_of(name)
        if position is None:
            raise KeyError(name)
        return self._entry((name, position), ())

    def _entry(self, key: tuple[str, int], chain: tuple[tuple[str, int], ...]) -> Entry:
        """Return the part of one folder; `chain` holds the parts whose bases are being read."""
        if key not in self._read and (known := self._alone.get(key) or self._profile(key, chain)) is not None:
            self._read[key] = known
        if key not in self._read:
            path, label = self._place(*key)
            whole = self._part(path, label, shipped=self._ships(key[1]))
            if whole.part.id != key[0]:
                raise _other_id(label, whole.part.id, key[0])
            document = whole.document
            part = self._with_constants(whole.part, document, key[1])
            recalled = whole.recalled if part is whole.part else _recalled_paths(part)
            entry = Entry(part=part, document=document, recalled=recalled, key=key)
            merged = self._read[key] = self._extended(entry, (*chain, key)) if part.kind == "price-book" else entry
            if merged is entry and part is whole.part:  # it takes nothing of another, which would count as read
                self._alone[key] = entry
        return self._read[key]

    def _extended(self, entry: Entry, chain: tuple[tuple[str, int], ...]) -> Entry:
        from ffplan.catalog.prices import PriceBook, _inherit

        book = entry.part
        if not isinstance(book, PriceBook) or book.extends is None:
            return entry
        base = self._base(PriceBook, book.extends, entry.document, chain)
        assert isinstance(base.part, PriceBook)
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
        return replace(entry, part=_inherit(book, base.part), base=base)

    def _base(self, model: type[Part], name: str, document: Document, chain: tuple[tuple[str, int], ...]) -> Entry:
        """Return the base of a part, which may have the same id in a later folder."""
        same = name == chain[-1][0]
        position = self._folder_of(name, chain[-1][1] + 1 if same else 0)
        key = None if position is None else (name, position)
        if key in chain or (key is None and same):
            around = chain[chain.index(key) if key in chain else -1 :]
            raise InputError(_cycle(document, [waiting for waiting, _ in around]))
        if key is None:
            raise InputError(self._unknown(model, name, document, ("extends",)))
        base = self._entry(key, chain)
        if not isinstance(base.part, model):
            raise InputError(self._other_kind(model, base.part.id, base.part.kind_words, document, ("extends",)))
        return base

    def _profile(self, key: tuple[str, int], chain: tuple[tuple[str, int], ...]) -> Entry | None:
        """Return a reliability profile merged with its base; None for any other part."""
        path, label = self._place(*key)
        known = self._merged.get(str(path))
        if known is None and (str(path) in self._parsed or self.kind_of(key[0]) != "reliability"):
            return None
        from ffplan.catalog.reliability import ReliabilityProfile

        document = parse_document(self._content(path, label), label) if known is None else known.document
        name = base_name(document.data)
        if name is None:
            self._parsed[str(path)] = read_part(document, shipped=self._ships(key[1]))
            return None
        base = self._base(ReliabilityProfile, name, document, (*chain, key))  # counts as read
        if known is None:
            shipped = self._ships(key[1]) and self._all_ship(base)
            if self._ships(key[1]) and not shipped:
                document = _of_user(document, base.data, self._shipped_data(name))
            known = self._merged[str(path)] = read_part(document, base, shipped=shipped)
        return replace(known, key=key)

    def _all_ship(self, entry: Entry) -> bool:
        return self._ships(entry.key[1]) and (entry.base is None or self._all_ship(entry.base))

    def _shipped_data(self, name: str) -> dict[str, Any]:
        """Return the data of a shipped reliability profile, merged with the shipped one that it extends."""
        path, label = self._place(name, len(self._roots) - 1)
        data: dict[str, Any] = parse_document(self._content(path, label), label).data
        base = base_name(data)
        return data if base is None else _with_base(data, self._shipped_data(base))

    def _with_constants(self, part: Part, document: Document, position: int) -> Part:
        """Merge a library with the constants of its base, which must not extend another.

        A library may extend its namesake in the next folder.
        """
        name = getattr(part, "extends", None)
        if part.kind != "library" or name is None:
            return part
        place = self._folder_of(name, position + 1 if name == part.id else 0)
        if place is None:
            raise InputError(self._unknown(type(part), name, document, ("extends",)))
        path, label = self._place(name, place)
        base = self._part(path, label, shipped=self._ships(place)).part
        if not isinstance(base, type(part)):
            raise InputError(self._other_kind(type(part), base.id, base.kind_words, document, ("extends",)))
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
        constants = {field: getattr(part, field) for field in part.model_fields_set}
        return base.model_copy(update={**constants, "sources": {**base.sources, **part.sources}})

    def own_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield name and content of every user file in order; an unreadable file has no content."""
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
        return [name for name, stated in self._kinds.items() if stated == kind]

    def kind_of(self, name: str) -> str:
        """Return the kind in the file of part `name`; empty if missing or unreadable."""
        if (admitted := self._alone.get((name, _ADMITTED))) is not None:
            return admitted.part.kind
        files = next((index[name] for index in self._indexes if name in index), ())
        if len(files) != 1:
            return ""
        if (placed := self._placed.get(files[0])) is not None:
            return placed
        try:
            raw = self._content(Path(files[0]), files[0])
        except InputError:
            return ""
        match = _KIND.search(raw)
        return match[1].decode("utf-8", "replace") if match else ""

    def _content(self, path: Path, label: str) -> bytes:
        """Return the content of a file, read only once."""
        key = str(path)
        if key not in self._raw:
            self._raw[key] = read_bytes(path, label)
        return self._raw[key]

    def _ships(self, position: int) -> bool:
        return position == self.shipped_position

    def _part(self, path: Path, label: str, *, shipped: bool) -> Entry:
        """Return the part in a file, parsed only once and without its base."""
        key = str(path)
        if key not in self._parsed:
            document = parse_document(self._content(path, label), label)
            self._parsed[key] = read_part(document, shipped=shipped)
        return self._parsed[key]

    def get(self, model: type[P], name: str, document: Document, path: Iterable[str | int]) -> P:
        """Return part `name` as `model`; faults are located at `path` of `document`.

        Raises:
            InputError: if the part is unknown or of another kind, or its file is wrong.
        """
        try:
            part = self.entry(name).part
        except KeyError:
            raise InputError(self._unknown(model, name, document, path)) from None
        if not isinstance(part, model):
            raise InputError(self._other_kind(model, part.id, part.kind_words, document, path))
        return part

    def misnamed(self, kind: str, name: str, document: Document, path: Iterable[str | int]) -> Finding | None:
        """Return the fault of an id that no part of a kind has, at `path` of `document`; no part is read."""
        model = model_of(kind)
        if self._folder_of(name) is None:
            return self._unknown(model, name, document, path)
        stated = self.kind_of(name)
        if stated in ("", kind):  # without a kind the file is wrong, as whoever reads it is told
            return None
        return self._other_kind(model, name, model_of(stated).kind_words, document, path)

    def ids_of_model(self, model: type[Part]) -> list[str]:
        """Return the ids of all parts of a model's kind."""
        return self.ids_of(next(kind for kind, home in KINDS.items() if home.split(".")[1] == model.__name__))

    def switches_called(self, name: str, kinds: Iterable[str] = ("switch",)) -> list[str]:
        """Return the switches whose name or product lines have the words of a name, such as `tomahawk-5`.

        Args:
            kinds: kinds of parts that the name may be of; without switches, none is read.
        """
        query, unread, called = _hyphenated(name), self.fresh(), []
        for known in self.ids_of("switch") if "switch" in kinds and re.search("[a-z]", query) else ():
            try:
                part = unread.entry(known).part
            except InputError:  # its file is refused where the part itself is asked for
                continue
            if any(query in _hyphenated(text) for text in (part.name, *getattr(part, "product_lines", ()))):
                called.append(known)
        return called

    def _unknown(self, model: type[Part], name: str, document: Document, path: Iterable[str | int]) -> Finding:
        kind = model.kind_words
        called = self.switches_called(name, (kind,))
        return document.finding(
            "reference-unknown", path, *unknown_part(name, self.ids_of_model(model), kind, called=called)
        )

    def _other_kind(
        self, model: type[Part], name: str, words: str, document: Document, path: Iterable[str | int]
    ) -> Finding:
        kind = model.kind_words
        return document.finding(
            "reference-kind",
            path,
            f"`{name}` is {article(words)}; {article(kind)} is wanted here",
            did_you_mean(name, self.ids_of_model(model), what=kind),
        )


def _hyphenated(text: str) -> str:
    return f"-{re.sub('[^a-z0-9]+', '-', text.lower()).strip('-')}-"


def _cycle(document: Document, names: list[str]) -> Finding:
    through = f"`{names[0]}` extends itself"
    if len(names) > 1:
        through += f" through {', '.join(f'`{name}`' for name in names[1:])}"
    return document.finding("catalog-cycle", ("extends",), through, "remove `extends` from the one that is complete")


__all__ = ["METHODS", "Catalog", "Entry", "read_part"]
