"""Removing any one price, GEMM rate or power from the catalogue never removes another figure from a report."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.base.plain import leaves, plain
from ffplan.catalog.store import Catalog
from tests.support import ROOT, assess_file

if TYPE_CHECKING:
    from pathlib import Path

DESIGNS = ("fire-flyer-2", "dgx-a100-10k", "fire-flyer-next", "superpod-h100-4su", "dragonfly-a100")
POWERS = re.compile(r"(^|\.)(power(\.|$)|power_per_end$|power_per_dimm$|power_max$)")
WORDS = re.compile(r"^(catalog|unverified|findings|assumptions)\b")
"""Parts of a report that say which files were read, and what to think of them."""


def _is_gap(kind: str, path: str) -> bool:
    return kind == "price-book" or path.startswith("gemm.") or bool(POWERS.search(path))


@cache
def whole(design: str) -> dict[str, Any]:
    """Return the figures of a report by path, lists of records by what they name."""
    return _figures(plain(assess_file(design)))


def _figures(report: dict[str, Any]) -> dict[str, Any]:
    for line in report["cost"].pop("lines") if report["cost"] else ():
        report["cost"][f"{line['category']} {line['part']}"] = line
    found = {path: value for path, value in leaves(report) if not WORDS.match(path)}
    return {path: value for path, value in found.items() if "missing" not in path and value is not None}


@cache
def removable(design: str) -> tuple[tuple[str, str], ...]:
    """Return (part, path) of every price, GEMM rate and power in the files that a design reads."""
    found = []
    for item in assess_file(design).catalog:
        entry = Catalog().entry(item.id)
        steps = [".".join(str(step) for step in path) for path, _ in entry.part.figures()]
        found += [(item.id, path) for path in steps if _is_gap(item.kind, path)]
    return tuple(found)


def without(part: str, path: str) -> str:
    """Return the file of a part without one figure."""
    data: Any = Catalog().entry(part).document.data
    copy = json.loads(json.dumps(data))  # shared memory of two sockets becomes two
    *steps, last = [int(step) if step.isdecimal() else step for step in _split(part, path)]
    inner = copy
    for step in steps:
        inner = inner[step]
    del inner[last]
    return json.dumps(copy)


def _split(part: str, path: str) -> list[str]:
    """Return the steps of a path; ids of parts in a price book may have dots."""
    head, _, rest = path.partition(".")
    return [head, rest] if Catalog().kind_of(part) == "price-book" else path.split(".")


def removed_with(part: str, path: str, server: str) -> re.Pattern[str]:
    """Return the figures that are that one figure, or nothing but its product."""
    own = [rf"^cost\.\S+ {re.escape(path.partition('.')[2])}(\.|$)"] if path.startswith("items.") else []
    if path == f"items.{server}":
        own += [r"^cost\.node_price", r"^cost\.servers$"]
    if path.startswith("gemm."):
        own.append(rf"^(hardware\.)?gemm_tflops\.{path.partition('.')[2]}$")
    if part.startswith("owned-"):  # without it nothing is known of the whole site
        own.append(r"^site\.")
    if path.startswith("items."):  # an empty list of what is left out has an entry now
        own.append(r"^site\.left_out")
    if path == "power.idle":
        own.append(r"^power\.nodes\[\d+\]\.idle_w$")
    return re.compile("|".join(own) or "a^")


@pytest.mark.parametrize(
    ("design", "each"), [("fire-flyer-2", 12), *(pytest.param(name, 1, marks=pytest.mark.deep) for name in DESIGNS)]
)
def test_one_gap_removes_no_other_figure(design: str, each: int, tmp_path: Path) -> None:
    """One at a time: every one of them, or a few."""
    before, same = whole(design), ("fabric.", "communication", "nodes.", "accelerators")
    for number, (part, path) in enumerate(removable(design)[::each]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / f"{part}.yaml").write_text(without(part, path))
        report = assess_file(design, str(folder))
        found, own = _figures(plain(report)), removed_with(part, path, report.power.nodes[0].server)
        lost = {name for name in before if name not in found and not own.search(name)}
        assert lost == set(), (part, path)
        moved = {name for name in before if name.startswith(same) and found[name] != before[name]}
        assert moved == set(), (part, path)


def test_there_is_something_to_remove() -> None:
    kinds = {path.partition(".")[0] for design in DESIGNS for _, path in removable(design)}
    assert {"items", "gemm", "power", "power_per_end", "sockets"} <= kinds
    assert (ROOT / "catalogs").is_dir()
