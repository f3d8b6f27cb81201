"""Git, asked for revisions: a commit, a file at one, and the file that it takes for a renamed one."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ffplan.base.errors import UsageError
from ffplan.base.files import MAX_BYTES
from ffplan.base.formatting import first_few

SECONDS = 30
"""Time limit of a git command [s]."""


class _NoFileError(UsageError):
    """The revision has no such file."""


class _RefusedError(UsageError):
    """Git refused; `silent` if it printed no reason."""

    def __init__(self, said: list[str], code: int) -> None:
        super().__init__(f"ffplan: git: {said[-1] if said else f'exit code {code}'}")
        self.silent = not said


def _git(folder: Path, *arguments: str, given: bytes | None = None) -> bytes:
    """Return the output of git.

    Args:
        given: its standard input; empty if omitted.
    """
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, input=given or b"", capture_output=True, timeout=SECONDS, check=False)
    except FileNotFoundError:
        raise UsageError("ffplan: a revision needs git, and it is not installed") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"ffplan: git took more than {SECONDS} s") from None
    if done.returncode:
        raise _RefusedError(done.stderr.decode("utf-8", "replace").strip().splitlines(), done.returncode)
    return done.stdout


def _commit(folder: Path, revision: str) -> str:
    if "..." in revision:
        one, _, two = revision.partition("...")
        if "..." in two:
            raise UsageError(f"ffplan: `{revision}` is neither a revision nor a pair of them")
        return _git(folder, "merge-base", _commit(folder, one), _commit(folder, two)).decode().strip()
    try:
        output = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except _RefusedError as error:
        if not error.silent:
            raise
        raise UsageError(f"ffplan: git knows no revision `{revision}` in {folder}") from None
    return output.decode().strip()


def _former(folder: Path, commit: str, path: Path) -> str | None:
    """Return the name that a file had at a commit, from the top; None if git finds no renamed file in it."""
    top = Path(_git(folder, "rev-parse", "--show-toplevel").decode().rstrip("\n"))
    output = _git(folder, *["diff", "--name-status", "-z", "--find-renames", "--diff-filter=R"], commit, "--")
    names = output.decode("utf-8", "surrogateescape").split("\0")[:-1]
    pairs = zip(names[1::3], names[2::3], strict=True)  # each row has a score, the name there and the name here
    return next((there for there, here in pairs if (top / here).resolve() == path), None)


def _at_revision(path: Path, revision: str) -> tuple[bytes, str]:
    """Return a file at a revision, and its name in messages; of a renamed file, what git takes for it there.

    Args:
        path: the file; it may be deleted by now.
        revision: branch, tag or hash, or two joined by `...` for their merge base.

    Raises:
        UsageError: if the revision is unknown.
        _NoFileError: if the revision lacks the file.
    """
    real = path.resolve()  # git keeps a link as its target's name
    folder = real.parent
    commit = _commit(folder, revision)
    blob, name = f"{commit}:./{real.name}", str(path)
    try:
        size = int(_git(folder, "cat-file", "-s", blob))
    except _RefusedError:
        former = _former(folder, commit, real)
        if former is None:
            raise _NoFileError(f"ffplan: {path}: the revision `{revision}` has no such file") from None
        blob, name = f"{commit}:{former}", former
        size = int(_git(folder, "cat-file", "-s", blob))
    if _git(folder, "cat-file", "-t", blob).strip() != b"blob":
        names = _git(folder, "ls-tree", "--name-only", blob).decode("utf-8", "replace").split("\n")
        some = first_few(name for name in names if name.endswith((".yaml", ".yml")))
        raise UsageError(
            f"ffplan: {path}: a folder in `{revision}`; name one of its files{some and f', such as {some}'}"
        )
    if size > MAX_BYTES:
        raise UsageError(f"ffplan: {path}: larger than {MAX_BYTES // 1024} KiB in `{revision}`")
    return _git(folder, "cat-file", "blob", blob), f"{name}@{revision}"


def _known_revision(path: Path, revision: str) -> None:
    """Refuse a revision unknown to a file's repository.

    Args:
        path: a file of the repository.
        revision: branch, tag or hash.

    Raises:
        UsageError: if the revision is unknown.
    """
    _commit(path.resolve().parent, revision)
