"""Branches of a shell script: those that its own variables rule out are blanked, those left open are remembered."""

from __future__ import annotations

import re
from itertools import pairwise

from ffplan.base.record import record
from ffplan.catalog.launch.arguments import _UnknownError, _Variables

_IF = re.compile(r"^\s*(?P<word>if|elif)\s+(?P<test>[^\n;]*?)\s*(?:;\s*(?:then\b.*)?)?$")
_TEST = re.compile(
    r"""\[\[?\s+(?P<left>"[^"]*"|'[^']*'|\S+)\s+(?P<how>==?|!=|-eq|-ne)\s+(?P<right>"[^"]*"|'[^']*'|\S+)\s+\]\]?"""
)
_CASE = re.compile(r"""^\s*case\s+(?P<left>"[^"]*"|'[^']*'|\S+)\s+in\b""")
_PATTERN = re.compile(r"""^\s*\(?(?P<names>["']?[\w.*+-]+["']?(?:\s*\|\s*["']?[\w.*+-]+["']?)*)\)""")
_QUOTED = re.compile(r"""(?<!\\)(?:"[^"]*"|'[^']*')""")
_BEGINS = re.compile(r"(?:^|(?<=;))\s*(?:if|elif|else|fi|case|esac)(?![\w.-])")
_ENDS = re.compile(r";;|(?:^|(?<=;))\s*(?:then|else)(?![\w.-])|\bcase\s+\S+\s+in\b")
"""Where parts of a branch begin and end, which may stand on one line."""
_MOST_TESTS, _MOST_LETTERS, _DEEPEST = 200, 200_000, 50
"""Conditions that are worked out, letters of a script whose conditions are, and branches inside each other [1]."""


@record
class _Branches:
    """A script without the branches that it does not take."""

    text: str
    open: frozenset[int]
    """Lines of branches that it may take."""


class _Branch:
    """One `if` or `case` as far as it has been read."""

    def __init__(self, subject: str | None = None, *, case: bool = False) -> None:
        self.subject, self.case = subject, case
        self.taken: bool | None = None
        """Whether the present part of it runs; None if not known."""
        self.earlier: bool | None = False
        """Whether an earlier part runs."""

    def enter(self, fits: bool | None) -> None:
        """Begin the next part, whose condition holds, or not, or may."""
        if self.earlier:
            self.taken = False
        elif fits and self.earlier is None:
            self.taken = None
        else:
            self.taken = fits
        if self.earlier is not True:
            self.earlier = True if self.taken else None if self.earlier is None or self.taken is None else False


def _known(text: str, variables: _Variables) -> str | None:
    """Return a word with its variables replaced; None if one is not known."""
    try:
        return variables.expanded(text.strip("\"'"))
    except _UnknownError:
        return None


def _holds(test: str, variables: _Variables) -> bool | None:
    """Return whether a comparison of two words holds; None of another condition, or with unknown words."""
    match = _TEST.fullmatch(test)
    if match is None:
        return None
    left, right = _known(match["left"], variables), _known(match["right"], variables)
    if left is None or right is None:
        return None
    return (left == right) == (match["how"] in ("=", "==", "-eq"))


def _fits(names: str, subject: str | None) -> bool | None:
    """Return whether a word fits the pattern of a case."""
    words = [name.strip().strip("\"'") for name in names.split("|")]
    if "*" in words:
        return True
    return None if subject is None or any("*" in word for word in words) else subject in words


def _pieces(line: str) -> list[str]:
    """Return a line cut where a branch, or a part of one, begins or ends."""
    plain = _QUOTED.sub(lambda quoted: '"' * len(quoted[0]), line)
    cuts = {match.start() for match in _BEGINS.finditer(plain)} | {match.end() for match in _ENDS.finditer(plain)}
    places = sorted(cuts | {0, len(line)})
    return [line[start:end] for start, end in pairwise(places)] or [line]


class _Reader:
    """The branches of a script, line by line."""

    def __init__(self, *, follows: bool) -> None:
        """Begin.

        Args:
            follows: whether conditions are worked out.
        """
        self.follows = follows
        self.kept: list[str] = []
        self.still: list[_Branch] = []
        self.tests = 0

    def line(self, line: str) -> bool:
        """Keep what may run of a line; return whether it is in an open branch."""
        maybe = False
        self.kept.append("")
        for piece in _pieces(line):
            self._step(piece)
            states = {branch.taken for branch in self.still}
            self.kept[-1] += " " * len(piece) if False in states else piece
            maybe |= None in states and False not in states and bool(piece.strip())
        return maybe

    def _step(self, piece: str) -> None:
        still = self.still
        word = piece.strip().partition(" ")[0].rstrip(";")
        test, case = _IF.match(piece), _CASE.match(piece)
        pattern = _PATTERN.match(piece) if still and still[-1].case else None
        if (test or case or pattern) and len(still) < _DEEPEST:
            self.tests += 1
            variables = _Variables("\n".join(self.kept) if self.follows and self.tests <= _MOST_TESTS else "")
            if case is not None:
                still.append(_Branch(_known(case["left"], variables), case=True))
            elif pattern is not None:
                still[-1].enter(_fits(pattern["names"], still[-1].subject))
            elif test is not None:
                if test["word"] == "if" or not still:
                    still.append(_Branch())
                still[-1].enter(_holds(test["test"], variables))
        elif word == "else" and still:
            still[-1].enter(True)
        elif word in ("fi", "esac") and still:
            still.pop()


def _without_branches(plain: str) -> _Branches:
    """Return a script that `plain_lines` made, without branches that it does not take."""
    reader = _Reader(follows=len(plain) <= _MOST_LETTERS)
    maybe = {number for number, line in enumerate(plain.split("\n"), 1) if reader.line(line)}
    return _Branches("\n".join(reader.kept), frozenset(maybe))
