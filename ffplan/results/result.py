"""Common parts of results: methods in Python, and records of the program, design and files behind them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ffplan.base.plain import plain
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

VIEWS: dict[str, Callable[[Any], Any]] = {}
"""Views of a result, `frame` and `html`; filled by `ffplan.api`, which knows the reports."""


def _view(name: str) -> Callable[[Any], Any]:
    """Return a view, also of a result that a process only unpickled."""
    if name not in VIEWS:
        import_module("ffplan.api")
    return VIEWS[name]


class Result:
    """A result of a study."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the same as `--format json` prints."""
        fields: dict[str, Any] = plain(self)
        return fields

    def to_frame(self) -> Any:
        """Return the main table as a pandas data frame, the same as `--format csv` prints.

        Raises:
            ImportError: without pandas.
        """
        return _view("frame")(self)

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook."""
        html: str = _view("html")(self)
        return html


@record
class ToolInfo:
    """The program behind the report."""

    name: str
    """Always ffplan."""
    version: str
    """Version of ffplan."""


@record
class DesignInfo:
    """The design that was read."""

    name: str
    """Name of the design."""
    description: str | None
    """Purpose of the design."""
    file: str
    """File as the user named it."""
    sha256: str
    """SHA-256 of the file."""


@record
class CatalogFile:
    """A catalogue file that the assessment read."""

    id: str
    """Catalogue id."""
    kind: str
    """Kind of part."""
    path: str
    """File; shipped parts start with `catalogs/`, others with the folder the user named."""
    sha256: str
    """SHA-256 of the file."""


def model_as_given(files: Sequence[CatalogFile], model: str) -> str:
    """Return a model as an option takes it: the id of a shipped one, the file of any other.

    Args:
        files: the catalogue files that were read.
        model: its id.
    """
    paths = (file.path for file in files if file.kind == "model" and file.id == model)
    return next((path for path in paths if not path.startswith("catalogs/")), model)


@record
class UnverifiedFigure:
    """A figure recalled from memory, in a file that this assessment read."""

    part: str
    """Catalogue id."""
    path: str
    """Field within the file."""
