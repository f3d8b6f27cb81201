"""Formats of findings for people, pipelines and code hosts: one module each, with a function `render`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffplan.check.formats.checked import Checked

FORMATS = ("text", "json", "sarif", "junit", "github", "gitlab", "markdown")
"""Formats by the names that the command line takes; each is a module of this folder."""


def render(checked: Checked, form: str, *, width: int | None = None) -> str:
    """Return findings as text in one of the formats.

    Args:
        checked: the files and their findings.
        form: one of `FORMATS`.
        width: letters of a line of the terminal that `text` goes to [1]; None for any other place.

    Raises:
        KeyError: for any other format.
    """
    if form not in FORMATS:
        raise KeyError(form)
    module = import_module(f"ffplan.check.formats.{form}")
    text: str = module.render(checked) if width is None or form != "text" else module.render(checked, width)
    return text
