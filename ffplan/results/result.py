"""Methods of every result in Python: plain data, a table, and HTML for notebooks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ffplan.base.plain import plain

if TYPE_CHECKING:
    from collections.abc import Callable

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
