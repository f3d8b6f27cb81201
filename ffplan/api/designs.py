"""Designs as Python sees them: read from a file, a shipped name or YAML text, changed by path, with their catalogue."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ffplan.api.arguments import LoadedDesign, plain_value, reads, utf8
from ffplan.base.errors import UsageError
from ffplan.base.plain import NoPlaceError, put
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.inputs.design_files import find_design
from ffplan.inputs.document import parse_document, read_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.schema import Design as Spec
    from ffplan.inputs.document import Document

T = TypeVar("T")


class Design(LoadedDesign):
    """A design with its parts; every function of ffplan takes it, or whatever `load` takes."""

    def __init__(self, document: Document, catalogs: Iterable[str | Path] = ()) -> None:
        self.document = document
        self.catalogs: tuple[str, ...] = tuple(str(folder) for folder in catalogs)
        self._catalog = Catalog(self.catalogs)
        self.resolved: ResolvedDesign = resolve(document, self._catalog)
        self._kept: tuple[ResolvedDesign, dict[str, Any]] = (self.resolved, {})

    def kept(self, name: str, make: Callable[[], T]) -> T:
        """Return a result of the design and its parts alone, made at the first request.

        Args:
            name: name of the result.
            make: makes it.
        """
        if self._kept[0] is not self.resolved:  # it stands for another design now
            self._kept = (self.resolved, {})
        known = self._kept[1]
        if name not in known:
            known[name] = make()
        value: T = known[name]
        return value

    @property
    def catalog(self) -> Catalog:
        """Its parts. Each study gets a separate fork, so that studies do not see the reads of each other."""
        return self._catalog.fork()

    @property
    def name(self) -> str:
        """Its name."""
        return self.resolved.spec.name

    @property
    def spec(self) -> Spec:
        """The fields of the file, validated."""
        return self.resolved.spec

    @reads()
    def vary(self, changes: Mapping[str, Any]) -> Design:
        """Return the design with some values changed, checked as a file would be.

        Args:
            changes: values by path, such as `{"nodes[0].count": 900, "fabric.oversubscription": "2:1"}`.

        Raises:
            UsageError: if a path leads nowhere.
            InputError: if a value is wrong.
        """
        import yaml

        data = deepcopy(self.document.data)
        for path, value in changes.items():
            try:
                put(data, str(path), plain_value(value))
            except NoPlaceError as error:
                raise UsageError(f"`{path}`: the design has no `{error.step}` there") from None
        try:
            text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
        except yaml.YAMLError as error:
            raise UsageError(f"vary: a value cannot be written as YAML: {error}") from None
        return Design(parse_document(utf8(text, "vary: changes"), self.document.file), self.catalogs)

    def __repr__(self) -> str:
        return f"Design({self.name!r}, {self.document.file!r}, {self.resolved.accelerators:,} accelerators)"


@reads()
def load(source: str | Path | Design, *, catalogs: str | Path | Iterable[str | Path] = ()) -> Design:
    """Return a design.

    Args:
        source: a path, the name of a shipped design, YAML text of several lines, or a design, which is returned.
        catalogs: one folder of your own parts or several, searched first.

    Raises:
        UsageError: for a missing file, or a source that is none.
        InputError: for a wrong design, with every fault.
    """
    if isinstance(source, Design):
        if catalogs:
            raise UsageError("load: a design has its catalogues already; give them with its file")
        return source
    folders = tuple(map(str, (catalogs,) if isinstance(catalogs, str | Path) else catalogs))
    if isinstance(source, str) and "\n" in source:
        return Design(parse_document(utf8(source, "load: source"), "<text>"), folders)
    return Design(read_document(*find_design(str(source))), folders)
