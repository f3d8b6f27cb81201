"""The repository's own parts as a revision has them, for a design of that revision that names parts of then."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError
from ffplan.base.files import MAX_BYTES
from ffplan.base.record import record
from ffplan.catalog.folders import MAX_FILES
from ffplan.check.policy import find_policy, read_defaults
from ffplan.cli.revisions import _commit, _git, _RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLAIN_FILE = "100"
"""Start of git's mode of a plain file; a link or a submodule has another."""


def _listed(top: Path, commit: str, folder: str) -> Iterator[tuple[str, str]]:
    """Yield (object, name from the top) of every YAML file that a folder has at a commit."""
    output = _git(top, *["ls-tree", "-r", "-l", "-z", "--full-tree"], commit, "--", folder)
    for row in output.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        facts, name = row.split("\t", 1)
        mode, _, blob, size = facts.split()
        if mode.startswith(_PLAIN_FILE) and name.lower().endswith((".yaml", ".yml")) and int(size) <= MAX_BYTES:
            yield blob, name


def _write(top: Path, files: list[tuple[str, str]], scratch: Path) -> None:
    """Write files of a commit below a folder, by their names from the top of the repository."""
    wanted = "".join(f"{blob}\n" for blob, _ in files).encode()
    stream = io.BytesIO(_git(top, "cat-file", "--batch", given=wanted))
    for _, name in files:
        size = int(stream.readline().split()[2])
        path = scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(stream.read(size))
        stream.read(1)  # the line end that git adds


def _named_then(top: Path, commit: str, scratch: Path) -> Iterator[Path]:
    """Yield the folders of parts that the project's settings name at a commit."""
    settings = find_policy(Path.cwd())
    if settings is None or not settings.resolve().is_relative_to(top):
        return
    name = settings.resolve().relative_to(top)
    try:
        raw = _git(top, "cat-file", "blob", f"{commit}:{name.as_posix()}")
    except _RefusedError:
        return  # there were none yet
    place = scratch / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(raw)
    for folder in read_defaults(place, f"{name}@{commit[:10]}").catalog:
        yield settings.resolve().parent / folder


@record
class _OwnParts:
    """The repository's own parts, as revisions have them."""

    catalogs: tuple[str, ...]
    """Folders of the current parts."""
    scratch: Path
    """Folder for the parts of revisions."""
    written: dict[tuple[str, str], bool]
    """Folders of commits that were written there, and whether they had parts."""


def _former_folders(design: Path, revision: str, own: _OwnParts) -> list[str] | None:
    """Return the folders of parts as they were at a revision; None if no folder lies in the design's repository.

    Folders of today outside the repository stay.
    """
    folder = design.resolve().parent
    commit = _commit(folder, revision)
    top = Path(_git(folder, "rev-parse", "--show-toplevel").decode().rstrip("\n")).resolve()
    place = own.scratch / commit
    today = [Path(name).resolve() for name in own.catalogs]
    then = [*today, *(path.resolve() for path in _named_then(top, commit, place))]
    former: list[str] = []
    inside = False
    for path in dict.fromkeys(then):
        if not path.is_relative_to(top):
            former += [name for name in own.catalogs if Path(name).resolve() == path][:1]
            continue
        inside = True
        name = path.relative_to(top).as_posix()
        if (commit, name) not in own.written:
            files = list(_listed(top, commit, name))
            if len(files) > MAX_FILES:
                raise UsageError(f"ffplan check: --against {revision}: {name}: more than {MAX_FILES:,} files of parts")
            _write(top, files, place)
            own.written[commit, name] = bool(files)
        former += [str(place / name)] if own.written[commit, name] else []
    return former if inside else None


_FAULT = "ffplan: --catalog "
"""Start of what a catalogue says of a folder that cannot be used."""


def _named_as_then(error: UsageError, own: _OwnParts, revision: str) -> str | None:
    """Return a fault of a folder of then, by its name in the repository; None of anything else."""
    text = str(error)
    for commit, name in own.written:
        place = own.scratch / commit
        if text.startswith(f"{_FAULT}{place / name}: "):
            then = text.removeprefix(f"{_FAULT}{place / name}: ").replace(f"{place}/", "")
            return f"{name}@{revision}: {then}"
    return None
