"""Text as people paste it: what launchers, loggers, chats and terminals add.

Lines keep their numbers: what is removed leaves an empty line, or the rest of it, behind.
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, TypeVar

from ffplan.base.errors import InputError
from ffplan.base.files import text_of, unix_lines
from ffplan.base.hostlist import unfold
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

T = TypeVar("T")

_COLOUR = re.compile("\x1b(?:\\[[0-9;?]{0,20}[A-Za-z]|\\][^\x07\x1b]{0,200}(?:\x07|\x1b\\\\))")
"""Codes for colours, cursors and titles, which a recorded terminal holds."""
_FENCE = re.compile(r"^[ \t]{0,8}(?:```|~~~)[^`\n]{0,80}$")
"""A line that opens or closes a block of code in Markdown; chats put the first line of the text behind it."""
_PROMPT = re.compile(
    r"^(?:\[sudo\] password for .{0,80}|(?:\([\w.-]{1,40}\) ?)?\[?[\w.-]{1,64}@[\w.-]{1,64}[: ][^\n#$%>]{0,200}[#$%>]"
    r"(?: .{0,2000})?)$",
    re.MULTILINE,
)
"""A line of a shell that shows user and host."""
_PRINTED = re.compile(r"\A(\s*)[A-Za-z_][\w.]*[ \t]*=?[ \t]*(?=\{\s*\")")
"""The name of an object, such as `LlamaConfig {`."""
_SAMPLE = 2_000
"""Lines that are asked for their prefixes [1]."""
_ROUNDS = 6
"""Most prefixes that stand one behind the other, such as a time behind the tag of a pod behind a quotation mark [1]."""
_FEWEST = 2
"""Fewest lines that prove a prefix which ordinary lines may have [1]."""
_ANYWHERE, _HALF, _MOST, _EVERY = 0.0, 0.5, 0.9, 1.0
_TYPESET = {0x2212: "-", 0xA0: " ", 0x2502: " ", 0x200B: None, 0xFEFF: None}
"""Signs of editors, chats and split terminals: a minus, a blank that does not break, a line, and what has no width."""
_CLOCK = r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"


@record
class _Kind:
    pattern: str
    share: float
    """Share of the lines that must have it; 0 for a prefix that never begins an ordinary line [1]."""
    mark: str = ""
    """Text before the pattern, such as the name of a host: the same on all lines."""


_KINDS = (
    # mpirun --tag-output and --timestamp-output: [1,0]<stdout>:
    _Kind(
        rf"(?:(?:\w{{3}} )?{_MONTH} [ 0-9]?[0-9] {_CLOCK} [0-9]{{4}})?"
        r"(?:\[[\w.@-]{0,80}[0-9]{1,9},[0-9]{1,9}\](?:\[[^\]\n]{0,80}\])?)?<std(?:out|err|diag)>:",
        _ANYWHERE,
    ),
    # kubectl logs --prefix
    _Kind(r"\[(?:pod|container)/[^\]\s]{1,300}\]", _ANYWHERE),
    # kubectl, docker and journalctl -o short-iso: a date with its time
    _Kind(rf"\[?[0-9]{{4}}[-/][0-9]{{2}}[-/][0-9]{{2}}[T ]{_CLOCK} ?(?:Z|UTC|[+-][0-9]{{2}}:?[0-9]{{2}})?\]?:?", _HALF),
    # ts, in seconds since 1970
    _Kind(r"\[?1[4-9][0-9]{8}(?:\.[0-9]{1,9})?\]?(?= |$)", _MOST),
    # container runtimes: stdout F; runners of GitLab: 01O
    _Kind(r"[0-9a-f]{2}[OE](?:\+|(?= |$))", _HALF),
    _Kind(r"std(?:out|err) [FP](?= |$)", _HALF),
    # syslog and journalctl: a day with its time, a host and a program
    _Kind(rf"\[?(?:\w{{3}} )?{_MONTH} [ 0-9]?[0-9] {_CLOCK}(?: [0-9]{{4}})?\]?", _HALF),
    _Kind(r"[\w.-]{1,64} [\w./@()-]{1,80}\[[0-9]{1,9}\]:", _HALF),
    # a time alone, and the seconds since the start of a kernel
    _Kind(rf"\[?{_CLOCK}\]?(?= |$)", _HALF),
    _Kind(r"\[ {0,8}[0-9]{1,9}\.[0-9]{3,6}\]", _HALF),
    # quotations of mail and chats
    _Kind(r"(?:>|&gt;)", _HALF),
    # ranks: [0], [rank0]:, and srun -l; a port of a listing is followed by a name in quotes or a number in brackets
    _Kind(r"\[(?:rank ?|default|node|host)?[0-9]{1,7}\]:?(?!\s*[\"(\[=]|\s*$)", _HALF),
    # grep -n and cat -n in front of it, whose lines may begin with blanks of their own
    _Kind(r" {0,9}[0-9]{1,7}[\t:]", _MOST),
    _Kind(r" {0,7}[0-9]{1,7}:(?= |$)", _HALF),
    # Ray
    _Kind(r"\([\w .:-]{0,80}\bpid=[0-9]{1,9}[^)\n]{0,80}\)", _HALF),
    # docker compose, and loggers of Python
    _Kind(r" {0,60}\|(?= |$)", _MOST, r"[\w.-]{1,128}"),
    _Kind(r"(?:- )?\[?(?:INFO|DEBUG|WARNING|ERROR)\]?(?:[: ]-| ?:[\w.]{0,60}:| ?:)?(?= |$)", _MOST),
    # hosts: pdsh, clush; files: grep
    _Kind(r":(?= |$)", _MOST, r"[A-Za-z_][\w.-]{0,63}"),
    # Markdown's blocks of code without a fence
    _Kind(r"(?: {4}|\t)", _EVERY),
)


@record
class _Prefix:
    pattern: re.Pattern[str]

    def removed(self, line: str) -> str:
        """Return a line without it; a line that lacks it stays."""
        match = self.pattern.match(line)
        return line[match.end() :] if match else line


def _found(kind: _Kind, lines: Sequence[str]) -> _Prefix | None:
    """Return a kind of prefix as lines have it, with the blank behind it if all have one; None if too few have it."""
    known = re.compile(f"({kind.mark}){kind.pattern}")
    matches = [match for line in lines if (match := known.match(line))]
    marks = {match[1] for match in matches}
    if len(marks) != 1 or len(matches) < max(1.0, kind.share * len(lines)) or (kind.share and len(matches) < _FEWEST):
        return None
    behind = [match.string[match.end() : match.end() + 1] for match in matches]
    blank = "[ \t]?" if all(sign in (" ", "\t", "\n", "") for sign in behind) else ""
    return _Prefix(re.compile(re.escape(marks.pop()) + kind.pattern + blank))


def _prefixes_of(text: str) -> tuple[_Prefix, ...]:
    """Return the prefixes that the lines of a text share, from left to right."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) > _SAMPLE:
        lines = lines[: _SAMPLE // 2] + lines[_SAMPLE // 2 :: len(lines) // (_SAMPLE // 2)]
    prefixes: list[_Prefix] = []
    for _ in range(_ROUNDS):
        prefix = next((prefix for kind in _KINDS if (prefix := _found(kind, lines)) is not None), None)
        if prefix is None:
            break
        prefixes.append(prefix)
        lines = [rest for line in lines if (rest := prefix.removed(line)).strip()]
    return tuple(prefixes)


def without(prefixes: Sequence[_Prefix], lines: Iterable[str]) -> Iterator[str]:
    """Yield lines without their prefixes."""
    for line in lines:
        rest = line
        for prefix in prefixes:
            rest = prefix.removed(rest)
        yield rest


def _bared(text: str) -> str:
    """Remove what all lines begin with, whatever wrote it, up to its last blank; signs alone go whole, such as a `+`.

    For a text that a reader refuses: lines of real files may begin alike.
    """
    text = _unfenced(_unprefixed(_cleaned(text)))[0]
    for _ in range(_ROUNDS):
        lines = [line for line in text.split("\n") if line.strip()]
        least, most = (min(lines), max(lines)) if len(lines) >= _FEWEST else ("", "")
        common = "".join(
            sign for sign, _ in takewhile(lambda signs: signs[0] == signs[1], zip(least, most, strict=False))
        )
        if any(sign.isalnum() for sign in common):
            common = common[: max(common.rfind(" "), common.rfind("\t")) + 1]
        if not common:
            break
        text = _unprefixed("\n".join(line.removeprefix(common) for line in text.split("\n")))
    return text


def _cleaned(text: str) -> str:
    """Remove the byte-order mark, terminal codes, NUL, carriage returns, and what editors and chats typeset."""
    text = text.removeprefix("\ufeff")
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    text = text.replace("\0", "")
    if not text.isascii():
        text = text.translate(_TYPESET)
    return unix_lines(text)


def _unprefixed(text: str) -> str:
    prefixes = _prefixes_of(text)
    return "\n".join(without(prefixes, text.split("\n"))) if prefixes else text


def _unprompted(text: str) -> str:
    """Blank the lines of a shell: prompts with their commands, and questions for a password."""
    return _PROMPT.sub("", text)


def _marks(lines: list[str]) -> list[int]:
    """Return the places of the lines that open or close a block of code."""
    return [number for number, line in enumerate(lines) if _FENCE.match(line)]


def _unfenced(text: str) -> tuple[str, int]:
    """Blank what stands outside the blocks of code of Markdown, such as the prose of an issue; count its lines [1].

    With one mark alone, since the paste was cut, the longer side is the block.
    """
    lines = text.split("\n")
    if not (marks := _marks(lines)):
        return text, 0
    bounds = [-1, *marks, len(lines)]
    sides = list(pairwise(bounds))
    inside = sides[1::2] if len(marks) > 1 else [max(sides, key=lambda side: side[1] - side[0])]
    kept = {number for start, end in inside for number in range(start + 1, end)}
    around = sum(bool(line.strip()) for number, line in enumerate(lines) if number not in kept) - len(marks)
    return "\n".join(line if number in kept else "" for number, line in enumerate(lines)), around


def _bare(text: str) -> tuple[str, int]:
    """Return the lines of a text without what stands in front of and around them; count those around [1]."""
    return _unfenced(_unprompted(_unprefixed(_cleaned(text))))


def _bare_file(raw: bytes) -> bytes | None:
    """Return the bare lines of a file as UTF-8, without the name that Python prints in front of an object.

    None if they are the file's own, or the file is no text.
    """
    text = text_of(raw)
    if text is None:
        return None
    bare = _PRINTED.sub(r"\1", _bare(text)[0]).encode("utf-8", "surrogateescape")
    return None if bare == raw else bare


def _read_pasted(read: Callable[[str], T], text: str) -> tuple[T, int]:
    """Return a reader's result for a text; if it refuses the text, for its lines without their surroundings.

    The lines around the blocks are counted [1].
    """
    plain = text.removeprefix("\ufeff")
    try:
        return read(plain), 0
    except InputError:
        bare, around = _bare(plain)
        with suppress(InputError):
            if bare != plain:
                return read(bare), around
        raise


def _as_pasted(text: str) -> str:
    """Return a text as its program wrote it, without prefixes and marks of Markdown; prose around it stays."""
    lines = _unprefixed(_cleaned(text)).split("\n")
    for number in _marks(lines):
        lines[number] = ""
    return "\n".join(lines)


_LABEL = re.compile(
    r"\[\d{1,9},(\d{1,9})\](?:\[[^\]\n]{0,80}\])?<std(?:out|err|diag)>:"  # mpirun --tag-output
    r"|\[(?:rank ?)?(\d{1,7})\]:?(?= |$)| {0,7}(\d{1,7}):(?= |$)"  # torchrun, srun -l
    r"|([A-Za-z_][\w.-]{0,63}):(?= |$)"  # pdsh, clush
)


def _streams(text: str) -> dict[str, list[tuple[int, str]]]:
    """Return the numbered lines of each process or host, by the label in front of them; empty with fewer than two.

    Their lines come in any order, and so does what they print. Lines without one have an empty label.
    """
    streams: dict[str, list[tuple[int, str]]] = {}
    bare: list[tuple[int, str]] = []
    for number, line in enumerate(_cleaned(text).split("\n"), 1):
        if match := _LABEL.match(line):
            streams.setdefault(next(filter(None, match.groups())), []).append((number, line[match.end() :]))
        else:
            bare += [(number, line)] if line.strip() else []
    labelled = sum(map(len, streams.values()))
    if len(streams) < 2 or labelled < _MOST * (labelled + len(bare)):
        return {}
    return ({"": bare} if bare else {}) | {label: _unindented(lines) for label, lines in streams.items()}


def _unindented(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return lines without the blank behind their label, if all have it."""
    if any(line and line[0] != " " for _, line in lines):
        return lines
    return [(number, line[1:]) for number, line in lines]


_RULE = re.compile(r"-{8,40}")
_NODES = re.compile(r"([A-Za-z_][\w.,\[\]-]{0,400})(?: \([0-9]{1,6}\))?")
"""Hosts between two rules: dshbak, clush -b."""
_ANSIBLE = re.compile(
    r"([A-Za-z_][\w.-]{0,253}) \| (?:CHANGED|SUCCESS|FAILED!?|UNREACHABLE!?)(?: \| rc=-?[0-9]{1,4} >>.*| => .*)"
)
_TITLE = re.compile(
    r"([=#*>-])\1{1,40}[>\s]{0,4}(?:host(?:name)?:? |node:? )?(?=[\w.-]{0,63}[0-9.-])"
    r"(?!(?:run|test|iter|gpu|pass|step|case|round|try|loop|job|op|bs|rank|numa|port|mlx5|part|nic)[\w-]?[0-9])"
    r"([A-Za-z][\w.-]{0,63}):?[<\s]{0,4}[=#*<-]{2,40}"
)
"""The name of a host as a loop over ssh, or head and tail, print it: `== node01 ==`; it has a number or a domain."""
_HEADS = re.compile(r"^[ \t]*(?:-{8,40}[ \t\r]*$|[\w.-]{1,254} \| [A-Z]{6,11}|[=#*>-]{2})", re.MULTILINE)
"""What any heading of a host begins with."""
_MOST_HOSTS = 100_000
_ROWS_BY_RANK = ("busbw", "# OSU", "t_avg[usec]")
"""What stands in logs of collectives, which name their hosts and have titles of their own."""


def _hosts_named(lines: list[str], number: int, titles: bool) -> tuple[list[str], int]:
    """Return the hosts whose output begins at a line, and the lines of the heading [1]; none at any other line."""
    line = lines[number].strip()
    ruled = _RULE.fullmatch(line) and number + 2 < len(lines) and lines[number + 2].strip() == line
    if ruled and (match := _NODES.fullmatch(lines[number + 1].strip())):
        try:
            return unfold(match[1], _MOST_HOSTS), 3
        except ValueError:
            return [match[1]], 3
    if match := _ANSIBLE.fullmatch(line):
        return [match[1]], 0 if "=>" in line else 1
    match = _TITLE.fullmatch(line) if titles else None
    return ([match[2]], 1) if match else ([], 0)


def _sections(text: str) -> dict[str, list[tuple[int, str]]]:
    """Return the numbered lines of each host, by the headings above them; empty with fewer than two.

    What stands ahead of the first heading has the label of no host, which is empty.
    """
    if _HEADS.search(text) is None:
        return {}
    lines = _cleaned(text).split("\n")
    titles = not any(mark in text for mark in _ROWS_BY_RANK)
    sections: dict[str, list[tuple[int, str]]] = {}
    ahead: list[tuple[int, str]] = []
    hosts, number = list[str](), 0
    while number < len(lines):
        found, head = _hosts_named(lines, number, titles)
        if found:
            hosts = found
        for host in found:
            sections.setdefault(host, [])
        number += head
        if not head:
            for rows in [sections[host] for host in hosts] or [ahead]:
                rows.append((number + 1, lines[number]))
            number += 1
    if len(sections) < 2:
        return {}
    return ({"": ahead} if any(line.strip() for _, line in ahead) else {}) | sections
