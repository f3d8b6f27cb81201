"""Files at a git revision."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError
from ffplan.inputs import limits

if TYPE_CHECKING:
    from pathlib import Path

_RANGE = re.compile(r"(?P<one>[^:]*?)(?P<dots>\.\.\.?)(?P<two>[^:]*)")
SECONDS = 30
"""Time limit of a git command [s]."""


class NoFileError(UsageError):
    """The revision has no such file."""


class _RefusedError(UsageError):
    """Git refused; `silent` if it printed no reason."""

    def __init__(self, said: list[str], code: int) -> None:
        super().__init__(f"ffplan: git: {said[-1] if said else f'exit code {code}'}")
        self.silent = not said


def revisions(text: str) -> tuple[str, str | None] | None:
    """Return the two revisions of a range such as `main..HEAD`; the second is None for the working tree.

    Args:
        text: the range; `main..` ends at the working tree, `main...HEAD` starts at the merge base.
    """
    match = _RANGE.fullmatch(text)
    if match is None or not match["one"]:
        return None
    first, second = match["one"], match["two"] or None
    return (f"{first}...{second or 'HEAD'}" if match["dots"] == "..." else first), second


def _git(folder: Path, *arguments: str) -> bytes:
    """Run a git command; return its output.

    Raises:
        UsageError: if git is missing, takes too long, or refuses.
    """
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, timeout=SECONDS, check=False)
    except FileNotFoundError:
        raise UsageError("ffplan: a revision needs git, and it is not installed") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"ffplan: git took more than {SECONDS} s") from None
    if done.returncode:
        raise _RefusedError(done.stderr.decode("utf-8", "replace").strip().splitlines(), done.returncode)
    return done.stdout


def _commit(folder: Path, revision: str) -> str:
    """Return the hash of the commit that a revision names.

    Raises:
        UsageError: if the revision is unknown.
    """
    if "..." in revision:
        one, _, two = revision.partition("...")
        if "..." in two:
            raise UsageError(f"ffplan: `{revision}` is no revision, and no two of them")
        return _git(folder, "merge-base", _commit(folder, one), _commit(folder, two)).decode().strip()
    try:
        output = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except _RefusedError as error:
        if not error.silent:
            raise
        raise UsageError(f"ffplan: git knows no revision `{revision}` in {folder}") from None
    return output.decode().strip()


def at_revision(path: Path, revision: str) -> tuple[bytes, str]:
    """Return a file at a revision, and its name in messages.

    Args:
        path: the file; it may be deleted by now.
        revision: branch, tag or hash, or two joined by `...` for their merge base.

    Raises:
        UsageError: if the revision is unknown.
        NoFileError: if the revision lacks the file.
    """
    real = path.resolve()  # git keeps a link as its target's name
    folder = real.parent
    blob = f"{_commit(folder, revision)}:./{real.name}"
    try:
        size = int(_git(folder, "cat-file", "-s", blob))
    except _RefusedError:
        raise NoFileError(f"ffplan: {path}: the revision `{revision}` has no such file") from None
    if size > limits.MAX_BYTES:
        raise UsageError(f"ffplan: {path}: larger than {limits.MAX_BYTES // 1024} KiB in `{revision}`")
    return _git(folder, "cat-file", "blob", blob), f"{path}@{revision}"


def known_revision(path: Path, revision: str) -> None:
    """Refuse a revision unknown to a file's repository.

    Args:
        path: a file of the repository.
        revision: branch, tag or hash.

    Raises:
        UsageError: if the revision is unknown.
    """
    _commit(path.resolve().parent, revision)
