"""Output: a report as much as a terminal shows or into a file, and parts into a folder of the user's catalogue."""

from __future__ import annotations

import functools
import inspect
import os
import shutil
import sys
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ffplan.base.control_characters import visible_but_styles
from ffplan.base.errors import EXIT_FINDINGS, EXIT_PIPE, UsageError
from ffplan.base.files import is_file, is_folder, write_whole
from ffplan.base.next_commands import reading
from ffplan.cli.options import _by_comma, _given_catalogs
from ffplan.cli.progress import LINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from enum import StrEnum

    from ffplan.catalog.store import Catalog
    from ffplan.report.document import Document, View

_view: ContextVar[tuple[bool, tuple[str, ...]]] = ContextVar("view", default=(False, ()))


def _current_view() -> View:
    from ffplan.report.document import View

    full, sections = _view.get()
    return View(full=full, sections=sections)


def _to_terminal(output: str | None) -> bool:
    return output is None and sys.stdout is not None and sys.stdout.isatty()


def _refuse_page(option: str, output: str | None, remedy: str = "add `-o page.html`") -> None:
    if _to_terminal(output):
        raise UsageError(f"ffplan: {option} is a page for a browser, not for a terminal: {remedy}")


def _with_view(command: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(command)
    def run(*, full: bool, section: list[str] | None, **options: Any) -> None:
        # before a search of minutes; without its path, `explain` makes no report
        if options["form"].value == "html" and options.get("path", ...) is not None:
            remedy = "add `-o page.html`" if "output" in options else "end the command with `> page.html`"
            _refuse_page("--format html", options.get("output"), remedy)
        token = _view.set((full, tuple(section or ())))
        try:
            with reading(_given_catalogs(options.get("catalog"))):
                command(**options)
        finally:
            _view.reset(token)

    parameters = [
        *inspect.signature(command, eval_str=True).parameters.values(),
        *inspect.signature(_options, eval_str=True).parameters.values(),
    ]
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    return run


def _options(
    *,
    full: Annotated[bool, typer.Option("--full", help="Print the whole report.")] = False,
    section: Annotated[
        list[str] | None,
        typer.Option("--section", metavar="NAME", help="Print one part, or several with commas.", callback=_by_comma),
    ] = None,
) -> None:
    """Declare the options of `with_view`."""


LEAST = 40
"""Smallest width used of a terminal [1]."""


def _terminal_width(output: str | None) -> int | None:
    """Return the width of the terminal that receives the report, in characters [1]; None for other outputs."""
    return max(LEAST, shutil.get_terminal_size().columns) if _to_terminal(output) else None


def write(text: str | Iterable[str], output: str | None, *, option: str = "--output", replacing: bool = False) -> None:
    """Write a report, or its parts, to standard output, or atomically to a file; errors name the option.

    On a terminal, hidden characters become visible escapes; colours stay.

    Args:
        replacing: replace a YAML file too, or a link to one, once the new file is written.

    Raises:
        UsageError: if the file cannot be written, or would replace a YAML file.
    """
    LINE.quiet()
    try:
        if output is None or output == "-":
            parts = [text] if isinstance(text, str) else text
            _print(map(visible_but_styles, parts) if _to_terminal(None) else parts)
        else:
            if not replacing:
                _refuse_target(output, option)
            write_whole(Path(output), text, follow=not replacing)
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
    """Refuse an unwritable file before computing."""
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
    from ffplan.report.document import NoSectionError
    from ffplan.report.formats import render

    if form.value == "html":
        _refuse_page("--format html", output)
    try:
        text = render(document, form.value, _current_view(), terminal=_to_terminal(output))
    except NoSectionError as error:
        hint = did_you_mean(error.name, error.known, what="section")
        raise UsageError(f"ffplan: --section {error.name}: {hint}") from None
    write(text, output)


def _overlay_target(folder: str, name: str, parts: Catalog, command: str) -> Path:
    """Return the file to write a part to: a new one, or its existing file in a catalogue folder."""
    import os
    from pathlib import Path

    path, place = Path(folder) / f"{name}.yaml", parts.locate(name)
    if place is not None and Path(folder).resolve() in place[0].resolve().parents:
        path = place[0]  # whatever it is called there: a second file of the part would be one too many
    above = (path.parent.absolute(), *path.parent.absolute().parents)
    there = next(parent for parent in above if is_file(parent) or is_folder(parent))
    if not is_folder(there) or not os.access(there, os.W_OK):
        raise UsageError(f"{command}: --write {folder}: cannot be written: {there} is no folder to write into")
    if is_file(path) and (place is None or path.resolve() != place[0].resolve()):
        fault = f"{path} is there already and would be lost; read it with --catalog {folder}, or write elsewhere"
        raise UsageError(f"{command}: --write {folder}: {fault}")
    return path


def _refuse_doubts(command: str, doubts: tuple[str, ...], untold: str = "") -> None:
    """Exit without a written overlay if there are doubts, or why the runs tell none of it."""
    reasons = f"{'; '.join(doubts)}; --force writes it anyway" if doubts else untold
    if reasons:
        typer.echo(f"{command}: nothing written: {reasons}", err=True)
        raise typer.Exit(EXIT_FINDINGS)


def _write_overlay(path: Path, folder: str, text: str, command: str) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError as error:
        raise UsageError(f"{command}: --write {folder}: cannot be written: {error.strerror}") from None
    return str(path)
