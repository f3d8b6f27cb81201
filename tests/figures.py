"""Figures in prose, written by the program.

A figure of a page that a command prints stands between two comments, which readers do not see:

    <!-- figure: design fire-flyer-2; fabric.switches.total; , -->122<!-- end -->

First the command without `ffplan`; `left-out` names the stored errors of what was predicted without itself. Then a
path into its JSON, where `[2]` takes an item and `[name=predicted]` the one item of this value; several paths are
joined by ` + `, ` - `, ` * ` or ` / `, from left to right, numbers among them. Last a format of Python; `.1%` gives
`9.3 %`. `make docs` writes every such figure anew, and a test fails where one differs.
"""

from __future__ import annotations

import json
import operator
import re
import shlex
from functools import cache
from typing import TYPE_CHECKING, Any

from tests.left_out import stored
from tests.support import ROOT, invoked

if TYPE_CHECKING:
    from pathlib import Path

MARKED = re.compile(
    r"<!-- figure: (?P<source>[^;>]+); (?P<path>[^;>]+); (?P<form>[^;>]*?) -->(?P<shown>.*?)<!-- end -->"
)
BEGIN = "<!-- figure:"
LEFT_OUT = "left-out"
JOINS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_STEP = re.compile(r"\[(?P<where>[a-z_]+=[^\]]+)\]|\[(?P<at>-?\d+)\]|(?P<name>[^.\[\]]+)")


class FigureError(Exception):
    """A marked figure cannot be computed."""


@cache
def printed(command: str) -> Any:
    """Return the JSON that a command prints."""
    if command == LEFT_OUT:
        return stored()
    words = shlex.split(command)
    done = invoked(*words, "--format", "json")
    if done.exit_code:
        raise FigureError(f"ffplan {command}: exit code {done.exit_code}")
    return json.loads(done.stdout)


def value_at(document: Any, path: str) -> Any:
    """Return the value at a path of a document.

    Raises:
        FigureError: where there is none, or where several items have the value that the path asks for.
    """
    here = document
    for step in _STEP.finditer(path):
        if step["where"]:
            fields = dict(pair.split("=") for pair in step["where"].split(","))
            matching = [item for item in here if all(str(item.get(key)) == value for key, value in fields.items())]
            if len(matching) != 1:
                raise FigureError(f"{path}: {len(matching)} items have {step['where']}")
            here = matching[0]
            continue
        try:
            here = here[int(step["at"])] if step["at"] else here[step["name"]]
        except (KeyError, IndexError, TypeError):
            raise FigureError(f"{path}: no {step[0]}") from None
    return here


def computed(command: str, expression: str) -> Any:
    """Return the value of an expression: a path, or paths and numbers joined from left to right."""
    words = expression.split(" ")

    def operand(word: str) -> Any:
        return float(word) if re.fullmatch(r"[\d.e+-]+", word) else value_at(printed(command), word)

    total = operand(words[0])
    for join, word in zip(words[1::2], words[2::2], strict=True):
        total = JOINS[join](total, operand(word))
    return total


def shown(value: Any, form: str) -> str:
    """Return a value in a format of Python, a blank before its percent sign."""
    return re.sub(r"(?<=\d)%$", " %", format(value, form))


def with_figures(text: str) -> str:
    """Return a page with its marked figures as the program has them today.

    Raises:
        FigureError: where a mark is malformed or its figure cannot be computed.
    """
    whole = len(MARKED.findall(text))
    if whole != text.count(BEGIN):
        raise FigureError(f"{text.count(BEGIN) - whole} marks of figures are malformed")

    def again(mark: re.Match[str]) -> str:
        value = shown(computed(mark["source"], mark["path"]), mark["form"])
        return f"{BEGIN} {mark['source']}; {mark['path']}; {mark['form']} -->{value}<!-- end -->"

    return MARKED.sub(again, text)


def marked_pages() -> list[Path]:
    """Return the pages that have marked figures."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if BEGIN in page.read_text()]
