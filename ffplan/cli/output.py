"""Output of results: standard output or a file, in one of the formats."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ffplan.base.control_characters import visible_but_styles
from ffplan.base.errors import EXIT_PIPE, UsageError
from ffplan.base.files import is_file, is_folder, write_whole
from ffplan.cli.progress import LINE
from ffplan.cli.view import _current_view, _refuse_page, _to_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable
    from enum import StrEnum

    from ffplan.report.document import Document


LEAST = 40
"""Smallest width used of a terminal [1]."""


def _terminal_width(output: str | None) -> int | None:
    """Return the width of the terminal that receives the report, in characters [1]; None for other outputs."""
    return max(LEAST, shutil.get_terminal_size().columns) if _to_terminal(output) else None


def write(text: str | Iterable[str], output: str | None, *, option: str = "--output") -> None:
    """Write a report, or its parts, to standard output, or atomically to a file; errors name the
    option.

    On a terminal, hidden characters become visible escapes; colours stay.

    Raises:
        UsageError: if the file cannot be written, or would replace a YAML file.
    """
    LINE.quiet()
    try:
        if output is None or output == "-":
            parts = [text] if isinstance(text, str) else text
            _print(map(visible_but_styles, parts) if _to_terminal(None) else parts)
        else:
            _refuse_target(output, option)
            write_whole(Path(output), text)
    except (OSError, ValueError) as error:
        place = "standard output" if output in (None, "-") else f"{option} {output}"
        raise UsageError(f"ffplan: {place}: cannot be written: {getattr(error, 'strerror', None) or error}") from None


def _print(parts: Iterable[str]) -> None:
    if sys.stdout is None:
        raise UsageError("ffplan: standard output is closed")
    try:
        sys.stdout.writelines(parts)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_stdout()
        raise typer.Exit(EXIT_PIPE) from None
    except OSError:
        _discard_stdout()
        raise


def _discard_stdout() -> None:
    """Redirect standard output, so that flushing its buffer at exit raises no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse_target(name: str, option: str) -> None:
    """Refuse an unwritable file before computing.

    Raises:
        UsageError: if the path is a folder, its folder is missing, or it would replace a YAML file.
    """
    target, real = Path(name), Path(os.path.realpath(name))
    if is_folder(name):
        raise UsageError(f"ffplan: {option} {name}: this is a folder; name a file")
    if not is_folder(real.parent):
        raise UsageError(f"ffplan: {option} {name}: cannot be written: there is no folder {target.parent}")
    if is_file(name) and {target.suffix.lower(), real.suffix.lower()} & {".yaml", ".yml"}:
        raise UsageError(f"ffplan: {option} {name}: no YAML file is replaced; name another")


def emit(document: Document, form: StrEnum, output: str | None) -> None:
    """Write a result in one of the formats.

    Args:
        output: file, or None for standard output.
    """
    from ffplan.base.errors import did_you_mean
    from ffplan.report.first.screen import NoSectionError
    from ffplan.report.formats import render

    if form.value == "html":
        _refuse_page("--format html", output)
    try:
        text = render(document, form.value, _current_view(), terminal=_to_terminal(output))
    except NoSectionError as error:
        hint = did_you_mean(error.name, error.known, what="section")
        raise UsageError(f"ffplan: --section {error.name}: {hint}") from None
    write(text, output)
