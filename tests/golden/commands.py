"""Command lines whose numbers are kept to their last digit, over settings that no report of a shipped design has.

A model of physics has many corners: a library with other algorithms, a switch that reduces, ranks that fill half of a
node, experts over several nodes, every policy of recomputation. The lines of `lines.txt` ask for them one by one.
"""

from __future__ import annotations

import json
import shlex
from functools import cache
from string import Template
from typing import TYPE_CHECKING

from ffplan.base.errors import FfplanError
from tests.golden.pages import LONGEST, MOST, page, table
from tests.support import DESIGNS, ROOT, invoked

if TYPE_CHECKING:
    from pathlib import Path

Words = tuple[str, ...]
LINES = ROOT / "tests" / "golden" / "lines.txt"
FOLDER = ROOT / "tests" / "golden" / "numbers"
"""What they print, as figures: a table for each family of lines."""
MEASURED = ROOT / "catalogs" / "measurements"
PROVENANCE = ("catalog", "tool", "tool_version", "design_sha256")
"""What a report says of its inputs; every change of a part would change it."""
PRICED = ("cost/", "tight/", "check/tight", "reliability/goodput", "size/size-priced")
"""Lines whose figures hang on prices: they share a table, so that a new price changes no other."""
PRICED_PARTS = ("cost", "site", "unverified", "assumptions")
"""What a report on a design says of prices, and of what nobody has verified."""
PROSE = 240
"""Letters of the messages of findings that are kept [1]."""
SAMPLED = {"tight/cabling": 24}
"""Items that are kept of the lists of a line [1]."""


def _listed() -> dict[str, Words]:
    """Return the lines of the list by the path of what they print."""
    parts: dict[str, str] = {}
    found: dict[str, Words] = {}
    for line in LINES.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        if ": " in line:
            name, _, words = line.partition(": ")
            found[name] = tuple(shlex.split(Template(words).substitute(parts)))
        else:
            name, _, parts[name.strip()] = line.partition(" = ")
    return found


def _replayed() -> dict[str, Words]:
    """Return the lines that replay every measured row beside the model's figure, a file of cases at a time."""
    found: dict[str, Words] = {}
    for kind in ("communication", "training"):
        for path in sorted((MEASURED / kind).glob("*.yaml")):
            if not path.stem.endswith("-memory"):  # measured bytes alone
                cases = str(path.relative_to(ROOT))
                found[f"measured/{kind}-{path.stem}"] = ("accuracy", kind, "--rows", "--cases", cases)
    return found


def _designs() -> dict[str, Words]:
    """Return the lines that assess every shipped design."""
    return {f"designs/{name}": ("design", name) for name in DESIGNS}


@cache
def commands() -> dict[str, Words]:
    """Return the command lines by name, all in JSON."""
    lines = {**_listed(), **_replayed(), **_designs()}
    return {name: (*words, "--format", "json") for name, words in lines.items()}


def place(name: str) -> Path:
    """Return the table that keeps the figures of a line."""
    folder, _, own = name.partition("/")
    if folder == "measured":
        return FOLDER / f"measured-{own.partition('-')[0]}.txt"
    return FOLDER / f"{'priced' if name.startswith(PRICED) else folder}.txt"


def found(name: str) -> str:
    """Return the figures of a line as they are today."""
    text = printed(*commands()[name])
    if name.startswith("designs/"):
        report = json.loads(text)
        text = json.dumps({key: report[key] for key in report if key not in PRICED_PARTS})
    return table(text, longest=PROSE if name.startswith("check/") else LONGEST, most=SAMPLED.get(name, MOST))


def tables() -> dict[Path, str]:
    """Return every table by where it is kept."""
    texts: dict[Path, dict[str, str]] = {}
    for name in sorted(commands()):
        texts.setdefault(place(name), {})[name] = found(name)
    return {path: page(own) for path, own in texts.items()}


def printed(*words: str) -> str:
    """Return what a command prints, with its exit code where that is not 0; JSON without its provenance."""
    result = invoked(*words)
    if isinstance(result.exception, FfplanError):
        return f"refused: {result.exception}\n"
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    text = result.stdout
    if words[-2:] == ("--format", "json") and text:
        report = json.loads(text)
        text = json.dumps({key: report[key] for key in report if key not in PROVENANCE}, indent=1) + "\n"
    return text if result.exit_code == 0 else f"exit {result.exit_code}\n{text}{result.stderr}"
