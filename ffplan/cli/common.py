"""Options and output that the commands share."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import EXIT_PIPE, UsageError
from ffplan.base.paths import data_folder

if TYPE_CHECKING:
    from ffplan.results.design import Assessment


class ReportFormat(StrEnum):
    """Formats of a report."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"


def shipped_designs() -> list[str]:
    """Return the names of the designs that ship with ffplan."""
    return sorted(path.stem for path in data_folder("designs").glob("*.yaml"))


def _complete_design(incomplete: str) -> list[str]:
    return [name for name in shipped_designs() if name.startswith(incomplete)]


MOST_BYTES = 256 * 2**20
"""Largest file of another program that is read [byte]."""
CatalogOption = Annotated[
    list[str] | None,
    typer.Option(
        "--catalog",
        metavar="DIR",
        help="Folder of your own parts, searched first. May be repeated.",
    ),
]
OutputOption = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to FILE, whole or not at all."),
]
FormatOption = Annotated[ReportFormat, typer.Option("--format", "-f", help="Format of the report.")]
DesignArgument = Annotated[
    str,
    typer.Argument(
        metavar="DESIGN",
        help="A design file, or the name of a shipped design.",
        autocompletion=_complete_design,
    ),
]
DesignsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="DESIGN...",
        help="Design files, or names of shipped designs.",
        autocompletion=_complete_design,
    ),
]


def find_design(name: str) -> tuple[Path, str]:
    """Return the file of a design given by path, or by the name of a shipped one, and what to call the file."""
    if not name:
        raise UsageError("ffplan: the name of a design is empty")
    path = Path(name)
    try:
        plain_name = not path.exists() and not path.suffix and path.name == name
    except (OSError, ValueError):
        return path, name
    if plain_name:
        shipped = data_folder("designs") / f"{name}.yaml"
        if shipped.is_file():
            return shipped, f"designs/{name}.yaml"
        from ffplan.inputs.suggest import did_you_mean

        hint = did_you_mean(name, shipped_designs(), what="shipped design")
        raise UsageError(f"ffplan: no file and no shipped design is called `{name}`; {hint}")
    return path, name


def examine_design(name: str, catalogs: list[str] | None) -> Assessment:
    """Return the assessment of a design given by path or name, with a catalogue of its own."""
    from ffplan.catalog.store import Catalog
    from ffplan.check.run import examine

    path, file = find_design(name)
    return examine(path, file, Catalog(catalogs or ()))


def read_bytes(file: str, most: int = MOST_BYTES) -> bytes:
    """Return the content of a file.

    Raises:
        UsageError: where it cannot be read, or is far too large.
    """
    try:
        path = Path(file)
        if path.stat().st_size > most:
            raise UsageError(f"ffplan: {file}: larger than {most // 2**20} MiB")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise UsageError(f"ffplan: {file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def read_text(file: str, most: int = MOST_BYTES) -> str:
    """Return the content of a text file.

    Raises:
        UsageError: where it cannot be read, or is no UTF-8 text.
    """
    try:
        return read_bytes(file, most).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"ffplan: {file}: this is no UTF-8 text") from None


def to_terminal(output: str | None) -> bool:
    """True where the report goes to a terminal."""
    return output is None and sys.stdout is not None and sys.stdout.isatty()


def write(text: str, output: str | None, *, option: str = "--output") -> None:
    """Write a report to standard output, or to a file that appears whole or not at all; errors name the option.

    Raises:
        UsageError: where it cannot be written, or would replace a YAML file.
    """
    try:
        if output in (None, "-"):
            _print(text)
        else:
            _write_file(text, Path(output or ""), output or "", option)
    except (OSError, ValueError) as error:
        place = "standard output" if output in (None, "-") else f"{option} {output}"
        raise UsageError(f"ffplan: {place}: cannot be written: {getattr(error, 'strerror', None) or error}") from None


def _print(text: str) -> None:
    if sys.stdout is None:
        raise UsageError("ffplan: standard output is closed")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_stdout()
        raise typer.Exit(EXIT_PIPE) from None
    except OSError:
        _discard_stdout()
        raise


def _discard_stdout() -> None:
    """Point standard output elsewhere, so that what is left in its buffer troubles nobody at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def refuse_target(name: str, option: str) -> None:
    """Refuse a file that cannot be written to, before anything is reckoned for it.

    Raises:
        UsageError: where it is a folder, or in none, or would replace a YAML file.
    """
    target = Path(name)
    if target.is_dir():
        raise UsageError(f"ffplan: {option} {name}: this is a folder; name a file")
    if not target.parent.is_dir():
        raise UsageError(f"ffplan: {option} {name}: cannot be written: there is no folder {target.parent}")
    if target.exists() and target.suffix in (".yaml", ".yml"):
        raise UsageError(f"ffplan: {option} {name}: no YAML file is replaced; name another")


def _write_file(text: str, target: Path, name: str, option: str) -> None:
    refuse_target(name, option)
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8")
    else:
        _replace(target.resolve(), text)


def _replace(target: Path, text: str) -> None:
    """Write beside the target and move into place."""
    scratch = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        scratch.write_text(text, encoding="utf-8")
        if target.exists():
            scratch.chmod(target.stat().st_mode & 0o7777)
        scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)
