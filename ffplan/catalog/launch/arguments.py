"""Arguments `--name value` in shell scripts, command lines and logs, with the variables and branches of a script.

Every argument of the text counts, in any array or branch; of two values neither is chosen. Branches that the
script's variables rule out are blanked, undecided ones are remembered.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

from ffplan.base.files import unix_lines
from ffplan.base.record import record
from ffplan.catalog.launch.settings import Setting, _noted

if TYPE_CHECKING:
    from collections.abc import Iterable


_VALUE = (
    r"""(?P<value>"(?!\s*--)[^"\n]*"|'(?!\s*--)[^'\n]*'|"""
    r"""\$\(\([^\n]{0,200}?\)\)|\$\{[^}\n]{0,200}\}(?=["'\s,)]|$)|(?!["']*--)\S+)"""
)
_FLAG = re.compile(rf"(?<![\w$-])--(?P<name>[A-Za-z][\w-]*)(?:(?:=|[\"',]*\s+(?:-\s+)?|[\"',]+){_VALUE})?")
_OVERRIDE = re.compile(rf"(?<![\w.])\+{{0,2}}(?P<name>(?:model|trainer)(?:\.\w+)+)={_VALUE}")
"""An override of Hydra, as NeMo takes."""
_DUMPED = re.compile(r"(?m)(?<![\w.-])(?P<name>[a-z]\w*) \.{3,} (?P<value>\S[^\n]*)")
"""A line of the arguments that Megatron-LM prints as it starts."""
_ASSIGNED = re.compile(
    r"""(?m)(?:^|(?<=[\s;&(]))(?P<name>[A-Za-z_]\w*)=(?!\()"""
    r"""(?P<value>"[^"\n]*"|'[^'\n]*'|(?=(?P<lines>"[^"]{0,4000}"|'[^']{0,4000}'))["']"""
    r"""|\$\(\([^\n]{0,200}?\)\)|\$\([^)\n]{0,200}\)|\$\{[^}\n]{0,200}\}|[^\s;"'()]*)"""
)
"""An assignment; one whose value has several lines may hold others."""
_DEFAULTED = re.compile(r"\$\{(?P<name>[A-Za-z_]\w*):?=(?P<value>[^}\n]{0,200})\}")
_USE = re.compile(
    r"\$\(\((?P<sum>[^\n]*?)\)\)|\$\{(?P<braced>\w+)(?::?[-=](?P<default>[^}\n]*))?\}|\$(?P<bare>\w+)|(?P<other>\$[({@*#])"
)
_COMMENT = re.compile(r"(?m)(?:^|(?<=\s))#(?!SBATCH\b|PBS\b|BSUB\b)[^\n]*")
_SEVERAL = frozenset(
    {"recompute_modules", "offload_modules", "cuda_graph_scope", "cuda_graph_modules", "cp_comm_type"}
    | {"hierarchical_context_parallel_sizes", "rampup_batch_size", "moe_router_load_balancing_type"}
    | {"moe_aux_loss_coeff", "data_path", "train_data_path", "valid_data_path", "test_data_path", "profile_ranks"}
    | {"mrope_section", "spec", "tiktoken_special_tokens", "high_priority_stream_groups"}
)
"""Options of several words, argparse's `nargs='+'` and `'*'`: Megatron-LM, `megatron/training/arguments.py` (recalled);
megatron-core 0.14.0 has lists for them in `transformer_config.py`."""
_CONTINUED = "\f"
"""What stands for the backslash of a line that goes on: space to every pattern."""
_WORD = (
    r"""(?P<word>"(?!\s*-)[^"\n]*"|'(?!\s*-)[^'\n]*'|(?:\$\{[^}\n]{0,200}\}|[$\w][\w.+/:-]*)(?=[\s,"';|&)\]}]|$))"""
    r"""(?P<end>["';|&)\]}]?)"""
)
_NEXT = re.compile(rf"(?:[ \t]*,\s*|(?:[ \t]|{_CONTINUED}[ \t]*\n)+|\s*\n[ \t]*-[ \t]+){_WORD}")
"""The next word of an option: in a list of Python or YAML, or of a command, which ends with its line."""
_NEXT_INSIDE = re.compile(rf"\s*(?:,\s*|\s){_WORD}")
"""The same inside an array or a text of several lines."""
_WHOLE = re.compile(r""""[^"]*"|'[^']*'|\$\{[^}]*\}""")
_ARRAY = re.compile(r"""=\((?:"[^"]*"|'[^']*'|\([^()]*\)|[^()"']){0,20000}\)""")
_LONGEST, _DEEPEST = 1000, 20
"""Longest value, and most variables inside another, that are followed [1]."""
_LEAST_DUMPED = 3
"""Lines that make a list of printed arguments [1]."""


@record
class _Argument:
    name: str
    value: str | None
    line: int
    more: tuple[str, ...] = ()
    """Words behind the first."""


class _UnknownError(Exception):
    """A value that the file does not give."""


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _plain_lines(text: str) -> str:
    """Return a script without comments and backslashes at the ends of lines, line numbers unchanged."""
    text = unix_lines(text)
    return re.sub(r"\\(?=[ \t]*\n)", _CONTINUED, _COMMENT.sub(_blank, text))


def _bare(value: str | None) -> str | None:
    """Return a value without the quotes and brackets around it; None if it is empty then."""
    if value is None:
        return None
    value = value.strip().strip(",;").strip("\"'").strip()
    for left, right in ("()", "[]", "{}"):
        while value.endswith(right) and value.count(right) > value.count(left):
            value = value[:-1].rstrip("\"', ")
    return value or None


def _lines_of(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _printed_arguments(text: str) -> list[_Argument]:
    """Return the arguments that Megatron-LM has printed; empty if there is no such list."""
    text = unix_lines(text)
    starts = _lines_of(text)
    rows = [
        _Argument(row["name"], row["value"].rstrip(), bisect_right(starts, row.start()))
        for row in _DUMPED.finditer(text)
    ]
    return rows if len(rows) >= _LEAST_DUMPED else []


def arguments(plain: str) -> list[_Argument]:
    """Return the arguments and overrides of a text that `plain_lines` made."""
    starts, flags = _lines_of(plain), list(_FLAG.finditer(plain))
    several = [row for row in flags if row["name"].replace("-", "_") in _SEVERAL]
    spans = _spans(plain) if several else []
    more = {row.start(): _more(row, spans) for row in several}
    return [
        _Argument(row["name"], _bare(row["value"]), bisect_right(starts, row.start()), more.get(row.start(), ()))
        for row in [*flags, *_OVERRIDE.finditer(plain)]
    ]


def _spans(plain: str) -> list[tuple[int, int]]:
    """Return where arrays, and texts of several lines, begin and end."""
    texts = [row.span("lines") for row in _ASSIGNED.finditer(plain) if row["lines"] and "\n" in row["lines"]]
    return sorted([*(row.span() for row in _ARRAY.finditer(plain)), *texts])


def _more(flag: re.Match[str], spans: list[tuple[int, int]]) -> tuple[str, ...]:
    """Return the words behind the first of an option that takes several; `--name=word` takes one."""
    first, plain = flag["value"], flag.string
    if not first or plain[flag.end("name")] == "=":
        return ()
    if _WHOLE.fullmatch(first) is None and first.rstrip(",").endswith(tuple("\"';|&)]}")):
        return ()
    around = bisect_right(spans, (flag.start(), len(plain))) - 1
    inside = around >= 0 and flag.end() < spans[around][1]
    pattern, last = (_NEXT_INSIDE, spans[around][1]) if inside else (_NEXT, len(plain))
    # the comma of a list of Python is behind the first word
    at = flag.end("value") - (len(first) - len(first.rstrip(",")))
    words: list[str] = []
    while (found := pattern.match(plain, at, last)) is not None:
        words.append(_bare(found["word"]) or "")
        at = found.end("word")
        if found["end"]:
            break
    return tuple(words)


class _Variables:
    def __init__(self, plain: str) -> None:
        """Collect the assignments of a text that `plain_lines` made."""
        self.values: dict[str, list[str]] = {}
        for row in [*_ASSIGNED.finditer(plain), *_DEFAULTED.finditer(plain)]:
            self.values.setdefault(row["name"], []).append(_bare(row.groupdict().get("lines") or row["value"]) or "")
        self.known: dict[str, str] = {}
        """Values that have been worked out."""

    def expanded(self, text: str, inside: tuple[str, ...] = ()) -> str:
        """Return a text with its variables replaced, but those `inside` whose values it stands."""
        if len(text) > _LONGEST or len(inside) > _DEEPEST:
            raise _UnknownError("its variables do not end")
        made = _USE.sub(lambda use: self._used(use, inside), text)
        if len(made) > _LONGEST:
            raise _UnknownError("its variables do not end")
        return made

    def _used(self, use: re.Match[str], inside: tuple[str, ...]) -> str:
        if use["sum"] is not None:
            return str(self._sum(use["sum"], inside))
        if use["other"] is not None:
            raise _UnknownError("the shell alone knows its value")
        name, default = use["braced"] or use["bare"], use["default"]
        if name in self.known:
            return self.known[name]
        values = self.values.get(name, []) if name not in inside else []
        made = {self.expanded(value, (*inside, name)) for value in values}
        made = made or ({self.expanded(default, inside)} if default is not None else set())
        if not made:
            raise _UnknownError(f"`{name}` is not set in this file")
        if len(made) > 1:
            raise _UnknownError(f"`{name}` is set to {' and to '.join(sorted(made)[:2])}")
        if values:
            self.known[name] = made.pop()
            return self.known[name]
        return made.pop()

    def _sum(self, text: str, inside: tuple[str, ...]) -> int:
        named = re.sub(r"(?<![\w${])([A-Za-z_]\w*)", r"$\1", text)
        try:
            return _value(ast.parse(self.expanded(named, inside).strip(), mode="eval").body)
        except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
            raise _UnknownError("its sum cannot be worked out") from None


def _value(node: ast.expr) -> int:
    """Return a sum of whole numbers as the shell does it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left), _value(node.right)
        match node.op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.Div() | ast.FloorDiv():
                return left // right
            case ast.Mod():
                return left % right
    raise ValueError(ast.dump(node)[:_LONGEST])


def _settings_of(rows: Iterable[_Argument], variables: _Variables) -> dict[str, Setting]:
    """Return arguments by name, with their variables replaced; of a name with two values, both.

    What expands to nothing, or to more arguments, is no value: the argument stands alone.
    """
    settings: dict[str, Setting] = {}
    for row in rows:
        value, unknown = row.value, ""
        if value is not None and "$" in value:
            try:
                value = _bare(variables.expanded(value))
            except _UnknownError as error:
                unknown = str(error)
        value = value if unknown or not row.more else _joined(value, row.more, variables)
        flag = "." not in row.name and (value is None or value.startswith("--"))
        setting = Setting(value=True if flag else value, line=row.line, unknown=unknown, written=row.name)
        _noted(settings, row.name.replace("-", "_"), setting)
    return settings


def _joined(value: str | None, more: tuple[str, ...], variables: _Variables) -> str | None:
    """Return the words of an option up to the next; what the shell alone knows ends them, as it may be options."""
    words = [] if value is None else value.split()
    for word in more:
        try:
            words += variables.expanded(word).split()
        except _UnknownError:
            break
    end = next((at for at, word in enumerate(words) if word.startswith("--")), len(words))
    return " ".join(words[:end]) or None


_IF = re.compile(r"^\s*(?P<word>if|elif)\s+(?P<test>[^\n;]*?)\s*(?:;\s*(?:then\b.*)?)?$")
_TEST = re.compile(
    r"""\[\[?\s+(?P<left>"[^"]*"|'[^']*'|\S+)\s+(?P<how>==?|!=|-eq|-ne)\s+(?P<right>"[^"]*"|'[^']*'|\S+)\s+\]\]?"""
)
_CASE = re.compile(r"""^\s*case\s+(?P<left>"[^"]*"|'[^']*'|\S+)\s+in\b""")
_PATTERN = re.compile(r"""^\s*\(?(?P<names>["']?[\w.*+-]+["']?(?:\s*\|\s*["']?[\w.*+-]+["']?)*)\)""")
_QUOTED = re.compile(r"""(?<!\\)(?:"[^"]*"|'[^']*')""")
_BEGINS = re.compile(r"(?:^|(?<=;))\s*(?:if|elif|else|fi|case|esac)(?![\w.-])")
_ENDS = re.compile(r";;|(?:^|(?<=;))\s*(?:then|else)(?![\w.-])|\bcase\s+\S+\s+in\b")
"""Starts and ends of the parts of a branch, which may share a line."""
_MOST_TESTS, _MOST_FOLLOWED, _MOST_INSIDE = 200, 200_000, 50
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
    patterns = [name.strip().strip("\"'") for name in names.split("|")]
    if "*" in patterns:
        return True
    return None if subject is None or any("*" in pattern for pattern in patterns) else subject in patterns


def _pieces(line: str) -> list[str]:
    """Return a line cut where a branch, or a part of one, begins or ends."""
    plain = _QUOTED.sub(lambda quoted: '"' * len(quoted[0]), line)
    cuts = {match.start() for match in _BEGINS.finditer(plain)} | {match.end() for match in _ENDS.finditer(plain)}
    places = sorted(cuts | {0, len(line)})
    return [line[start:end] for start, end in pairwise(places)] or [line]


class _Reader:
    def __init__(self, *, follows: bool) -> None:
        """Work out conditions where `follows` says so."""
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
        if (test or case or pattern) and len(still) < _MOST_INSIDE:
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
    reader = _Reader(follows=len(plain) <= _MOST_FOLLOWED)
    maybe = {number for number, line in enumerate(plain.split("\n"), 1) if reader.line(line)}
    return _Branches("\n".join(reader.kept), frozenset(maybe))
