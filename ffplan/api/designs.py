"""Designs as Python sees them: read from a file, a shipped name or YAML text, changed by path, with their catalogue."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import UsageError
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.inputs.design_files import find_design
from ffplan.inputs.document import parse_document, read_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.schema import Design as Spec
    from ffplan.inputs.document import Document


class Design:
    """A design with its parts; every function of ffplan takes it, or whatever `load` takes."""

    def __init__(self, document: Document, catalogs: Iterable[str | Path] = ()) -> None:
        """Resolve a design.

        Args:
            document: the file.
            catalogs: folders of your own parts, searched first.

        Raises:
            InputError: where it is wrong, with every fault found.
        """
        self.document = document
        self.catalogs = tuple(str(folder) for folder in catalogs)
        self.catalog = Catalog(self.catalogs)
        self.resolved: ResolvedDesign = resolve(document, self.catalog)

    @property
    def name(self) -> str:
        """Its name."""
        return self.resolved.spec.name

    @property
    def spec(self) -> Spec:
        """What the file says, as validated fields."""
        return self.resolved.spec

    def vary(self, changes: Mapping[str, Any]) -> Design:
        """Return the design with some values changed, checked as a file would be.

        Args:
            changes: values by path, such as `{"nodes[0].count": 900, "fabric.oversubscription": "2:1"}`.

        Raises:
            UsageError: where a path leads nowhere.
            InputError: where a value is wrong.
        """
        import yaml

        data = deepcopy(self.document.data)
        for path, value in changes.items():
            _put(data, path, value)
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
        return Design(parse_document(text.encode(), self.document.file), self.catalogs)

    def __repr__(self) -> str:
        """Return its name, file and size."""
        return f"Design({self.name!r}, {self.document.file!r}, {self.resolved.accelerators:,} accelerators)"


def steps(path: str) -> list[str | int]:
    """Return the steps of a path such as `nodes[0].count`.

    Raises:
        UsageError: where it is none.
    """
    found: list[str | int] = []
    for part in path.split("."):
        name, *places = part.split("[")
        found.append(name)
        for place in places:
            if not (place.endswith("]") and place[:-1].isdigit()):
                raise UsageError(f"`{path}` is no path; write one such as `nodes[0].count`")
            found.append(int(place[:-1]))
    return found


def _put(data: Any, path: str, value: Any) -> None:
    """Set the value at a path; mappings that lead there must exist, the last name need not."""
    *way, last = steps(path)
    at = data
    for step in way:
        try:
            at = at[step]
        except (KeyError, IndexError, TypeError):
            raise UsageError(f"`{path}`: the design has no `{step}` there") from None
    if isinstance(at, list) and not (isinstance(last, int) and last < len(at)):
        raise UsageError(f"`{path}`: the design has no `{last}` there")
    at[last] = value


def load(source: str | Path | Design, *, catalogs: Iterable[str | Path] = ()) -> Design:
    """Return a design.

    Args:
        source: a path, the name of a shipped design, YAML text of several lines, or a design, which is returned.
        catalogs: folders of your own parts, searched first.

    Raises:
        UsageError: where there is no such file.
        InputError: where it is wrong, with every fault found.
    """
    if isinstance(source, Design):
        return source
    if isinstance(source, str) and "\n" in source:
        return Design(parse_document(source.encode(), "<text>"), catalogs)
    return Design(read_document(*find_design(str(source))), catalogs)
